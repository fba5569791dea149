/* SPDX-License-Identifier: BSD-2-Clause */
/* What was confirmed comes back while another is on trial, and nothing that others wrote. */
#include "trial_file.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

static char dir[] = "/tmp/check_trial_file.XXXXXX";
static char path[64];
static struct config *confirmed, *on_trial, *other;

static struct config *parse(const char *node, unsigned stale_s, const char *key_file)
{
	struct config_error error;
	struct config *config;
	char text[1024];

	snprintf(text, sizeof(text),
		 "node: %s\nrun_dir: %s\nbgp: {peer_prefixes: [198.19.0.0/16], stale_s: %u}\n"
		 "health: {key_file: %s}\n"
		 "local_gpus:\n"
		 "  - {name: g0, addresses: [198.19.0.1], planes: [{sub_ports: [{dev: a0, "
		 "neighbors: [198.18.0.0]}]}]}\n",
		 node, dir, stale_s, key_file);
	ck_assert_msg(!config_parse(&config, text, strlen(text), "f", &error), "%s", error.text);
	return config;
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" TRIAL_FILE_NAME, dir);
	confirmed = parse("s0", 30, "/former");
	on_trial = parse("s0", 91, "/new");
	other = parse("s1", 91, "/new");
}

static void teardown(void)
{
	config_destroy(confirmed);
	config_destroy(on_trial);
	config_destroy(other);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else is left there */
}

static int load(const struct config *config, struct config **out, char why[400])
{
	return trial_file_load(out, config, geteuid(), why, 400);
}

START_TEST(what_was_confirmed_comes_back_while_the_other_is_on_trial)
{
	struct config *out;
	struct stat st;
	char why[400];

	ck_assert_int_eq(load(on_trial, &out, why), 0); /* there is no file */
	ck_assert_ptr_null(out);
	ck_assert_int_eq(trial_file_save(confirmed, on_trial), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(load(on_trial, &out, why), 0);
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(out->stale_ns, confirmed->stale_ns);
	ck_assert_uint_eq(out->text_bytes, confirmed->text_bytes);
	ck_assert_str_eq(out->text, confirmed->text);
	ck_assert_str_eq(out->health.key_file, "/new"); /* this file names no secrets */
	config_destroy(out);
	/* that one is not on trial */
	ck_assert_int_eq(load(confirmed, &out, why), 0);
	ck_assert_ptr_null(out);
	ck_assert_int_eq(trial_file_remove(confirmed), 0);
	ck_assert_int_eq(trial_file_remove(confirmed), 0);
	ck_assert_int_eq(load(on_trial, &out, why), 0);
	ck_assert_ptr_null(out);
}
END_TEST

static void refuse(int error, const char *reason)
{
	struct config *out;
	char why[400];

	ck_assert_int_eq(load(on_trial, &out, why), error);
	ck_assert_ptr_null(out);
	ck_assert_msg(strstr(why, reason) != NULL, "%s", why);
	unlink(path);
}

START_TEST(what_others_wrote_is_refused)
{
	ck_assert_int_eq(trial_file_save(other, on_trial), 0);
	refuse(-EPERM, "node");
	ck_assert_int_eq(trial_file_save(confirmed, on_trial), 0);
	ck_assert_int_eq(truncate(path, 200), 0);
	refuse(-EBADMSG, TRIAL_FILE_NAME);
	ck_assert_int_eq(trial_file_save(confirmed, on_trial), 0);
	ck_assert_int_eq(chmod(path, 0620), 0);
	refuse(-EINVAL, "not a file that fared wrote");
	ck_assert_int_eq(trial_file_save(confirmed, on_trial), 0);
	ck_assert_int_eq(truncate(path, 2 << 20), 0);
	refuse(-EINVAL, "not a file that fared wrote");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refuse(-EINVAL, "not a file that fared wrote");
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	refuse(-ELOOP, "symbolic");
}
END_TEST

START_TEST(a_record_that_cannot_be_kept_is_an_error)
{
	struct config *elsewhere = parse("s0", 30, "/former");

	snprintf(elsewhere->run_dir, sizeof(elsewhere->run_dir), "%s/none", dir);
	ck_assert_int_eq(trial_file_save(elsewhere, on_trial), -ENOENT);
	config_destroy(elsewhere);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trial_file");
	TCase *tc = tcase_create("trial_file");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_was_confirmed_comes_back_while_the_other_is_on_trial);
	tcase_add_test(tc, what_others_wrote_is_refused);
	tcase_add_test(tc, a_record_that_cannot_be_kept_is_an_error);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
