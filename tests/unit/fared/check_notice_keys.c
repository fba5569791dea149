/* SPDX-License-Identifier: BSD-2-Clause */
/* The key of the capacity notices: what file is taken, and why another is not. */
#include "key_file.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64], why[300];
static struct notice_key key;

static void setup(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/check_key_file.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

static void write_key(const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static void refused(int rc, const char *says)
{
	ck_assert_int_eq(key_file_read(path, &key, why, sizeof(why)), rc);
	ck_assert_msg(!strncmp(why, path, strlen(path)) && strstr(why, says), "'%s' lacks '%s'",
		      why, says);
}

START_TEST(white_space_at_the_end_is_no_part_of_it)
{
	write_key("0123456789abcdef \r\n");
	ck_assert_msg(!key_file_read(path, &key, why, sizeof(why)), "%s", why);
	ck_assert_uint_eq(key.length, 16);
	ck_assert_mem_eq(key.bytes, "0123456789abcdef", 16);
}
END_TEST

START_TEST(of_16_to_64_bytes)
{
	char text[66];

	write_key("0123456789abcde\n");
	refused(-EINVAL, "too few bytes; 16 to 64 are expected");
	write_key("");
	refused(-EINVAL, "too few bytes");
	memset(text, 'k', sizeof(text));
	text[65] = '\0';
	write_key(text);
	refused(-EINVAL, "too many bytes");
	text[64] = '\0';
	write_key(text);
	ck_assert_msg(!key_file_read(path, &key, why, sizeof(why)), "%s", why);
}
END_TEST

START_TEST(for_its_owner_alone)
{
	static const mode_t open_modes[] = {0644, 0640, 0602, 0610};

	write_key("0123456789abcdef");
	for (size_t i = 0; i < sizeof(open_modes) / sizeof(open_modes[0]); i++) {
		ck_assert_int_eq(chmod(path, open_modes[i]), 0);
		refused(-EPERM, "chmod 0600");
	}
	ck_assert_ptr_nonnull(strstr(why, "mode 0610"));
	ck_assert_int_eq(chmod(path, 0400), 0);
	ck_assert_msg(!key_file_read(path, &key, why, sizeof(why)), "%s", why);
}
END_TEST

START_TEST(a_file_and_nothing_else)
{
	unlink(path);
	refused(-ENOENT, "No such file");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refused(-EINVAL, "not a regular file");
}
END_TEST

/* Of a configuration: the second is left empty where none is named, and both where health is off */
START_TEST(both_keys_of_a_configuration)
{
	struct config_health health = {
		.enabled = true, .key_file_line = 7, .second_key_file_line = 8};
	struct notice_keys keys;
	unsigned line = 0;

	write_key("0123456789abcdef");
	snprintf(health.key_file, sizeof(health.key_file), "%s", path);
	ck_assert_int_eq(key_file_read_all(&health, &keys, &line, why, sizeof(why)), 0);
	ck_assert_uint_eq(keys.own.length, 16);
	ck_assert_uint_eq(keys.second.length, 0);
	snprintf(health.second_key_file, sizeof(health.second_key_file), "/nonexistent/key");
	ck_assert_int_eq(key_file_read_all(&health, &keys, &line, why, sizeof(why)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "health.second_key_file: /nonexistent/key: No such"));
	ck_assert_uint_eq(line, 8);
	ck_assert_uint_eq(keys.own.length, 0);
	snprintf(health.second_key_file, sizeof(health.second_key_file), "%s", path);
	ck_assert_int_eq(key_file_read_all(&health, &keys, NULL, why, sizeof(why)), 0);
	ck_assert_uint_eq(keys.second.length, 16);
	health.enabled = false;
	ck_assert_int_eq(key_file_read_all(&health, &keys, NULL, why, sizeof(why)), 0);
	ck_assert_uint_eq(keys.own.length + keys.second.length, 0);
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
	tcase_add_test(tc, for_its_owner_alone);
	tcase_add_test(tc, a_file_and_nothing_else);
	tcase_add_test(tc, both_keys_of_a_configuration);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
