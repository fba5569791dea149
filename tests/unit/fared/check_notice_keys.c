/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of the capacity notices, as a configuration names them. */
#include "notice_keys.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64], why[300];

static void setup(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/check_notice_keys.XXXXXX");
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

/* Of a configuration: the second is left empty where none is named, and both where health is off */
START_TEST(both_keys_of_a_configuration)
{
	struct config_health health = {
		.enabled = true, .key_file_line = 7, .second_key_file_line = 8};
	struct notice_keys keys;
	unsigned line = 0;

	write_key("0123456789abcdef");
	snprintf(health.key_file, sizeof(health.key_file), "%s", path);
	ck_assert_int_eq(notice_keys_read(&health, &keys, &line, why, sizeof(why)), 0);
	ck_assert_uint_eq(keys.own.length, 16);
	ck_assert_uint_eq(keys.second.length, 0);
	snprintf(health.second_key_file, sizeof(health.second_key_file), "/nonexistent/key");
	ck_assert_int_eq(notice_keys_read(&health, &keys, &line, why, sizeof(why)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "health.second_key_file: /nonexistent/key: No such"));
	ck_assert_ptr_nonnull(strstr(why, "; copy another server's key"));
	ck_assert_uint_eq(line, 8);
	ck_assert_uint_eq(keys.own.length, 0);
	snprintf(health.second_key_file, sizeof(health.second_key_file), "%s", path);
	ck_assert_int_eq(notice_keys_read(&health, &keys, NULL, why, sizeof(why)), 0);
	ck_assert_uint_eq(keys.second.length, 16);
	/* a daemon's keys are its own user's alone */
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(notice_keys_read(&health, &keys, NULL, why, sizeof(why)), -EKEYREJECTED);
	health.enabled = false;
	ck_assert_int_eq(notice_keys_read(&health, &keys, NULL, why, sizeof(why)), 0);
	ck_assert_uint_eq(keys.own.length + keys.second.length, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("notice_keys");
	TCase *tc = tcase_create("files");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, both_keys_of_a_configuration);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
