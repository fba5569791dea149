/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories with and without an FRR in them: scripts that answer --version, and nothing else. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frr_install.h"

static char dir[] = "/tmp/check_frr_install_XXXXXX", error[FRR_INSTALL_ERROR_MAX];
static struct frr_install frr;

static void put(const char *name, const char *body)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

static void setup(void)
{
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	put("zebra", "exit 1");
}

static void teardown(void)
{
	static const char *const names[] = {"zebra", "bgpd", "mgmtd"};
	char path[PATH_MAX];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(an_old_one)
{
	put("bgpd", "echo \"bgpd version 8.4.4\"; echo \"'--enable-multipath=256' '--x'\"");
	ck_assert_int_eq(frr_install_find(dir, &frr, error), 0);
	ck_assert_str_eq(frr.version, "8.4.4");
	ck_assert_uint_eq(frr.multipath, 256);
	ck_assert_str_eq(frr.dir, dir);
	put("mgmtd", "");
	ck_assert(!frr_install_needs_mgmtd(&frr));
}
END_TEST

START_TEST(a_new_one_with_mgmtd_and_without)
{
	put("bgpd", "echo \"bgpd version 10.7.0\"");
	ck_assert_int_eq(frr_install_find(dir, &frr, error), 0);
	ck_assert_str_eq(frr.version, "10.7.0");
	ck_assert_uint_eq(frr.multipath, 0);
	ck_assert(!frr_install_needs_mgmtd(&frr));
	put("mgmtd", "");
	ck_assert(frr_install_needs_mgmtd(&frr));
}
END_TEST

START_TEST(without_bgpd)
{
	ck_assert_int_eq(frr_install_find(dir, &frr, error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error, "no program bgpd in /tmp/check_frr_install_"));
}
END_TEST

START_TEST(that_does_not_run)
{
	put("bgpd", "echo libfrr.so.0: cannot open shared object file >&2; exit 127");
	ck_assert_int_eq(frr_install_find(dir, &frr, error), -EIO);
	ck_assert_ptr_nonnull(strstr(error, "names no version"));
}
END_TEST

START_TEST(that_says_more_than_fits)
{
	put("bgpd", "echo bgpd version 8.4.4; head -c 300000 /dev/zero | tr '\\0' x");
	ck_assert_int_eq(frr_install_find(dir, &frr, error), 0);
	ck_assert_str_eq(frr.version, "8.4.4");
}
END_TEST

START_TEST(no_such_directory)
{
	ck_assert_int_eq(frr_install_find("/nowhere/at/all", &frr, error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error, "/nowhere/at/all"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("frr_install");
	TCase *t = tcase_create("frr_install");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_old_one);
	tcase_add_test(t, a_new_one_with_mgmtd_and_without);
	tcase_add_test(t, without_bgpd);
	tcase_add_test(t, that_does_not_run);
	tcase_add_test(t, that_says_more_than_fits);
	tcase_add_test(t, no_such_directory);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
