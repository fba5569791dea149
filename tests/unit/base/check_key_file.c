/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared key: what file is taken, and why another is not. */
#include "base/key_file.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64], other[80], why[300];
static uint8_t key[KEY_FILE_MAX];
static size_t length;
static mode_t forbidden;

static void setup(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/check_key_file.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(other, sizeof(other), "%s.other", path);
	forbidden = S_IRWXG | S_IRWXO;
}

static void teardown(void)
{
	unlink(path);
	unlink(other);
}

static void write_key(const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static int read_key(const char *from)
{
	return key_file_read(from, forbidden, key, &length, why, sizeof(why));
}

static void refused(const char *from, int rc, const char *says)
{
	length = 0;
	ck_assert_int_eq(read_key(from), rc);
	ck_assert_msg(!strncmp(why, from, strlen(from)) && strstr(why, says), "'%s' lacks '%s'",
		      why, says);
	ck_assert_uint_eq(length, 0);
}

static void taken(const char *from)
{
	ck_assert_msg(!read_key(from), "%s", why);
}

START_TEST(white_space_at_the_end_is_no_part_of_it)
{
	write_key("0123456789abcdef \r\n");
	taken(path);
	ck_assert_uint_eq(length, 16);
	ck_assert_mem_eq(key, "0123456789abcdef", 16);
}
END_TEST

START_TEST(of_16_to_64_bytes)
{
	char text[66];

	write_key("0123456789abcde\n");
	refused(path, -EKEYREJECTED, "too few bytes; 16 to 64 are expected");
	write_key("");
	refused(path, -EKEYREJECTED, "too few bytes");
	memset(text, 'k', sizeof(text));
	text[65] = '\0';
	write_key(text);
	refused(path, -EKEYREJECTED, "too many bytes");
	text[64] = '\0';
	write_key(text);
	taken(path);
}
END_TEST

START_TEST(nobody_else_may_use_it)
{
	static const mode_t open_modes[] = {0644, 0640, 0602, 0610};

	write_key("0123456789abcdef");
	for (size_t i = 0; i < sizeof(open_modes) / sizeof(open_modes[0]); i++) {
		ck_assert_int_eq(chmod(path, open_modes[i]), 0);
		refused(path, -EKEYREJECTED, "chmod 0600");
	}
	ck_assert_ptr_nonnull(strstr(why, "mode 0610"));
	ck_assert_int_eq(chmod(path, 0400), 0);
	taken(path);
	forbidden = S_IRWXO;
	ck_assert_int_eq(chmod(path, 0640), 0);
	taken(path);
	ck_assert_int_eq(chmod(path, 0604), 0);
	refused(path, -EKEYREJECTED, "mode 0604");
}
END_TEST

/* A FIFO that nobody writes to would stop who opens it. */
START_TEST(a_file_and_nothing_else)
{
	refused("/tmp", -EINVAL, "not a regular file");
	refused("/dev/zero", -EINVAL, "not a regular file");
	unlink(path);
	refused(path, -ENOENT, "No such file");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refused(path, -EINVAL, "not a regular file");
	ck_assert_int_eq(symlink(path, other), 0);
	refused(other, -EINVAL, "not a regular file");
}
END_TEST

START_TEST(a_link_is_what_it_leads_to)
{
	write_key("0123456789abcdef");
	ck_assert_int_eq(symlink(path, other), 0);
	taken(other);
	ck_assert_int_eq(chmod(path, 0604), 0);
	refused(other, -EKEYREJECTED, "mode 0604");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("key_file");
	TCase *tc = tcase_create("files");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, white_space_at_the_end_is_no_part_of_it);
	tcase_add_test(tc, of_16_to_64_bytes);
	tcase_add_test(tc, nobody_else_may_use_it);
	tcase_add_test(tc, a_file_and_nothing_else);
	tcase_add_test(tc, a_link_is_what_it_leads_to);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
