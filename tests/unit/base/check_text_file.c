/* SPDX-License-Identifier: BSD-2-Clause */
/* A file read whole: from a disk or a pipe, and not beyond its limit. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"

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

/* What a running daemon reads: it would wait for the pipe's writer. */
START_TEST(a_regular_file_alone)
{
	char dir[] = "/tmp/check_text_file.XXXXXX", name[64], command[64];
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(name, 0600), 0);
	ck_assert_int_eq(text_file_read_regular(name, 8, &text, &size), -EINVAL);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(text_file_read_regular(dir, 8, &text, &size), -EISDIR);
	ck_assert_int_eq(text_file_read_regular("/dev/null", 8, &text, &size), -EINVAL);
	snprintf(name, sizeof(name), "%s/file", dir);
	file = fopen(name, "w");
	fputs("node: s0", file);
	fclose(file);
	ck_assert_int_eq(text_file_read_regular(name, 8, &text, &size), 0);
	ck_assert_mem_eq(text, "node: s0", 8);
	free(text);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
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
	tcase_add_test(tc, a_regular_file_alone);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
