/* SPDX-License-Identifier: BSD-2-Clause */
/* What a configuration names on this machine: an absent interface is a warning, an unusable key an
 * error, and both have a line. */
#include "config_check.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"

#define NO_KEY "/nonexistent/fared.key"

static char logged[4096];

/* config_check() of a file whose health: is that. */
static int check(const char *health)
{
	char text[1024];
	struct config_error error;
	struct config *config;
	struct log log;
	int ends[2], rc;
	ssize_t n;

	snprintf(text, sizeof(text),
		 "node: s0\n"
		 "bgp: {peer_prefixes: [198.19.0.0/16]}\n"
		 "health:\n"
		 "  %s\n"
		 "local_gpus:\n"
		 "  - name: g0\n"
		 "    addresses: [198.19.0.1]\n"
		 "    planes:\n"
		 "      - sub_ports:\n"
		 "          - {dev: lo, neighbors: [198.18.0.0]}\n"
		 "          - {dev: absent0, neighbors: [198.18.0.2]}\n",
		 health);
	ck_assert_msg(!config_parse(&config, text, strlen(text), "f.yaml", &error), "%s",
		      error.text);
	ck_assert_int_eq(pipe(ends), 0);
	log_init(&log, ends[1], LOG_WARNING);
	rc = config_check(config, "f.yaml", &log);
	config_destroy(config);
	close(ends[1]);
	n = read(ends[0], logged, sizeof(logged) - 1);
	close(ends[0]);
	ck_assert_int_ge(n, 0);
	logged[n] = '\0';
	return rc;
}

START_TEST(an_absent_interface_is_a_warning)
{
	ck_assert_int_eq(check("dscp: 48"), 0);
	ck_assert_str_eq(logged, "<4>config: f.yaml:11: local_gpus[0].planes[0].sub_ports[1].dev: "
				 "warning: there is no interface absent0 now; fared uses it once "
				 "it appears\n");
}
END_TEST

START_TEST(probes_in_the_class_of_data_are_a_warning)
{
	ck_assert_int_eq(check("dscp: 26"), 0);
	ck_assert_ptr_nonnull(strstr(logged, "<4>config: f.yaml: health.dscp: warning: 26 is"));
}
END_TEST

START_TEST(a_missing_key_is_an_error)
{
	ck_assert_int_eq(check("key_file: " NO_KEY), -ENOENT);
	ck_assert_ptr_nonnull(
		strstr(logged, "<3>config: f.yaml:4: health.key_file: " NO_KEY ": No such file"));
}
END_TEST

START_TEST(a_missing_second_key_is_an_error)
{
	char path[] = "/tmp/check_config_check.XXXXXX", health[200];
	int fd = mkstemp(path);

	ck_assert_int_eq(write(fd, "a key of twenty byte", 20), 20);
	close(fd);
	snprintf(health, sizeof(health), "{key_file: %s,\n   second_key_file: " NO_KEY "}", path);
	ck_assert_int_eq(check(health), -ENOENT);
	ck_assert_ptr_nonnull(strstr(logged, "<3>config: f.yaml:5: health.second_key_file: " NO_KEY
					     ": No such file"));
	unlink(path);
}
END_TEST

START_TEST(a_key_without_a_use_is_not_read)
{
	ck_assert_int_eq(check("{enabled: false, key_file: " NO_KEY "}"), 0);
	ck_assert_ptr_null(strstr(logged, "key_file"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("config_check");
	TCase *tc = tcase_create("machine");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, an_absent_interface_is_a_warning);
	tcase_add_test(tc, probes_in_the_class_of_data_are_a_warning);
	tcase_add_test(tc, a_missing_key_is_an_error);
	tcase_add_test(tc, a_missing_second_key_is_an_error);
	tcase_add_test(tc, a_key_without_a_use_is_not_read);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
