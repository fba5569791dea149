/* SPDX-License-Identifier: BSD-2-Clause */
/* A file read whole: from a disk or a pipe, and not beyond its limit. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text_file.h"

static char path[64], *text;
static size_t size;

/* The path of a pipe that holds the words and has ended. */
static void pipe_with(const char *words)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], words, strlen(words)), (ssize_t)strlen(words));
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
}

START_TEST(up_to_its_limit)
{
	pipe_with("node: s0");
	ck_assert_int_eq(text_file_read(path, 8, &text, &size), 0);
	ck_assert_uint_eq(size, 8);
	ck_assert_mem_eq(text, "node: s0", 8);
	free(text);
	pipe_with("");
	ck_assert_int_eq(text_file_read(path, 8, &text, &size), 0);
	ck_assert_uint_eq(size, 0);
	free(text);
}
END_TEST

START_TEST(or_not_at_all)
{
	pipe_with("node: s00");
	ck_assert_int_eq(text_file_read(path, 8, &text, &size), -EFBIG);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(text_file_read("/nonexistent", 8, &text, &size), -ENOENT);
	ck_assert_int_eq(text_file_read("/proc", 8, &text, &size), -EISDIR);
	ck_assert_ptr_null(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text_file");
	TCase *tc = tcase_create("files");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, up_to_its_limit);
	tcase_add_test(tc, or_not_at_all);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
