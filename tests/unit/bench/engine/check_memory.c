/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/memory.h"

#define BYTES (3 * MEMORY_BLOCK)

static const char *store(void)
{
	const char *named = getenv("FARE_TEST_STORE");

	return named ? named : "/var/tmp";
}

/* 77: files there cannot be opened with O_DIRECT (tmpfs of old kernels). */
static void open_file(struct memory *m, char *text)
{
	int err = memory_open(m, MEMORY_FILE, BYTES - 7, store(), text);

	if (err == -EINVAL || err == -EOPNOTSUPP) {
		puts(text);
		exit(77);
	}
	ck_assert_msg(err == 0, "%s", text);
}

START_TEST(host_memory_has_no_file)
{
	char text[MEMORY_TEXT_MAX];
	struct memory m;

	ck_assert_int_eq(memory_open(&m, MEMORY_HOST, 100, NULL, text), 0);
	ck_assert_str_eq(text, "host memory");
	memset(m.at, 1, 100);
	ck_assert_int_eq(memory_put(&m, 1, 5), 0);
	ck_assert_int_eq(memory_compare(&m, 1, 5), 0);
	memory_close(&m);
	ck_assert_ptr_null(m.at);
	memory_close(&m);
}
END_TEST

/* Of three hosts the one in the middle has no NVMe: a tier's medium says so. */
START_TEST(every_medium_is_named)
{
	char text[200] = "", small[12] = "";

	memory_text_add(text, sizeof(text), "GPU s0/g0", "nvme0n1");
	memory_text_add(text, sizeof(text), "GPU s0/g1", "nvme0n1");
	memory_text_add(text, sizeof(text), "GPU s1/g0", "a file on sda");
	memory_text_add(text, sizeof(text), "GPU s1/g1", "a file on sda");
	memory_text_add(text, sizeof(text), "GPU s2/g0", "nvme0n1");
	ck_assert_str_eq(text, "nvme0n1; GPU s1/g0 from here on: a file on sda; GPU s2/g0 from "
			       "here on: nvme0n1");
	for (int i = 0; i < 5; i++)
		memory_text_add(small, sizeof(small), "GPU s0/g0", i & 1 ? "a" : "b");
	ck_assert_uint_lt(strlen(small), sizeof(small));
}
END_TEST

START_TEST(a_file_keeps_what_memory_forgets)
{
	char text[MEMORY_TEXT_MAX];
	struct memory m;

	open_file(&m, text);
	ck_assert_ptr_nonnull(strstr(text, "O_DIRECT"));
	ck_assert_uint_eq(m.bytes, BYTES);
	memset(m.at, 7, BYTES);
	ck_assert_int_eq(memory_put(&m, MEMORY_BLOCK, 5000), 0);
	memset(m.at, 0, BYTES);
	ck_assert_int_eq(memory_get(&m, MEMORY_BLOCK, 5000), 0);
	ck_assert_uint_eq(m.at[MEMORY_BLOCK], 7);
	ck_assert_uint_eq(m.at[MEMORY_BLOCK + 4999], 7);
	ck_assert_uint_eq(m.at[0], 0);
	memory_close(&m);
}
END_TEST

START_TEST(a_file_with_other_bytes_is_noticed)
{
	char text[MEMORY_TEXT_MAX], *other = aligned_alloc(MEMORY_BLOCK, MEMORY_BLOCK);
	struct memory m;

	open_file(&m, text);
	memset(m.at, 7, BYTES);
	ck_assert_int_eq(memory_put(&m, 0, BYTES), 0);
	ck_assert_int_eq(memory_compare(&m, 0, BYTES), 0);
	memset(other, 8, MEMORY_BLOCK);
	ck_assert_int_eq(pwrite(m.fd, other, MEMORY_BLOCK, 2 * MEMORY_BLOCK), MEMORY_BLOCK);
	ck_assert_int_eq(memory_compare(&m, 0, BYTES), -EILSEQ);
	ck_assert_int_eq(memory_compare(&m, 0, 2 * MEMORY_BLOCK), 0);
	memory_close(&m);
	free(other);
}
END_TEST

START_TEST(what_lies_across_blocks_or_outside_is_refused)
{
	char text[MEMORY_TEXT_MAX];
	struct memory m;

	open_file(&m, text);
	ck_assert_int_eq(memory_put(&m, 64, 64), -EINVAL);
	ck_assert_int_eq(memory_get(&m, 2 * MEMORY_BLOCK, MEMORY_BLOCK + 1), -EINVAL);
	ck_assert_int_eq(memory_get(&m, UINT64_MAX - MEMORY_BLOCK + 1, 1), -EINVAL);
	memory_close(&m);
}
END_TEST

START_TEST(what_there_is_none_of_is_said)
{
	char text[MEMORY_TEXT_MAX];
	struct memory m;

	ck_assert_int_eq(memory_open(&m, MEMORY_FILE, BYTES, NULL, text), -ENOENT);
	ck_assert_ptr_nonnull(strstr(text, "--store"));
	ck_assert_int_lt(memory_open(&m, MEMORY_FILE, BYTES, "/proc/self", text), 0);
	ck_assert_ptr_nonnull(strstr(text, "/proc/self"));
	ck_assert_ptr_null(m.at);
}
END_TEST

/* In the VM of tests/vm a real one; elsewhere the reason. */
START_TEST(a_dma_buf_or_why_there_is_none)
{
	char text[MEMORY_TEXT_MAX];
	struct memory m;
	int err = memory_open(&m, MEMORY_DMABUF, BYTES, NULL, text);

	if (access("/dev/udmabuf", R_OK | W_OK)) {
		ck_assert_int_lt(err, 0);
		ck_assert_ptr_nonnull(strstr(text, "/dev/udmabuf"));
		return;
	}
	ck_assert_msg(err == 0, "%s", text);
	memset(m.at, 5, BYTES);
	ck_assert_uint_eq(m.at[BYTES - 1], 5);
	ck_assert_ptr_nonnull(strstr(text, "emulated"));
	memory_close(&m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tcase = tcase_create("memory");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, host_memory_has_no_file);
	tcase_add_test(tcase, every_medium_is_named);
	tcase_add_test(tcase, a_file_keeps_what_memory_forgets);
	tcase_add_test(tcase, a_file_with_other_bytes_is_noticed);
	tcase_add_test(tcase, what_lies_across_blocks_or_outside_is_refused);
	tcase_add_test(tcase, what_there_is_none_of_is_said);
	tcase_add_test(tcase, a_dma_buf_or_why_there_is_none);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
