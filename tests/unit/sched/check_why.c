/* SPDX-License-Identifier: BSD-2-Clause */
/* Each thing that can be missing is named. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "why.h"

static char dir[32], key[64], segment[64], out[WHY_BYTES];

static void setup(void)
{
	strcpy(dir, "/tmp/fare-check-why-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(key, sizeof(key), "%s/key", dir);
	snprintf(segment, sizeof(segment), "%s/paths.shm", dir);
}

static void teardown(void)
{
	unlink(key);
	unlink(segment);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void says(const char *text)
{
	ck_assert_msg(strstr(out, text), "\"%s\" does not say \"%s\"", out, text);
}

static void write_key(const char *content, mode_t mode)
{
	FILE *f = fopen(key, "w");

	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fchmod(fileno(f), mode);
	fclose(f);
}

START_TEST(the_run_directory_and_its_group)
{
	why_attach(-ENOENT, NULL, out);
	says("no fared to attach to in /run/fared: No such file");
	why_attach(-ENOENT, dir, out);
	says(dir);
	ck_assert_int_eq(symlink("/dev/null", segment), 0);
	why_attach(-EACCES, dir, out);
	says("no access to fared's /tmp/fare-check-why-");
	says("it needs the group ");
	why_attach(-EACCES, "/nonexistent/run", out);
	says("no access to fared's /nonexistent/run");
	why_attach(-EPROTO, dir, out);
	says("another release");
}
END_TEST

START_TEST(the_key)
{
	struct fare_domain_options options = {.key_file = key};

	why_domain(-ENOKEY, &(struct fare_domain_options){0}, out);
	says("FARE_KEY_FILE names no key");
	why_domain(-ENOENT, &options, out);
	says("key file");
	says(key);
	says("No such file");
	write_key("short", 0600);
	why_domain(-EKEYREJECTED, &options, out);
	says(key);
	write_key("0123456789abcdef0123456789abcdef", 0604);
	why_domain(-EKEYREJECTED, &options, out);
	says(key);
	/* a good one is not to blame */
	write_key("0123456789abcdef0123456789abcdef", 0600);
	why_domain(-ENOENT, &options, out);
	ck_assert_ptr_null(strstr(out, "key"));
}
END_TEST

START_TEST(devices)
{
	struct fare_domain_options options = {.provider = "verbs", .trusted_network = true};

	why_domain(-ENXIO, &options, out);
	says("/dev/infiniband");
	why_domain(-EACCES, &options, out);
	says("no access to the devices in /dev/infiniband");
	why_domain(-ENOSYS, &options, out);
	says("ib_uverbs");
	why_domain(-ENODEV, &options, out);
	says("no RDMA device");
	why_domain(-EADDRNOTAVAIL, &options, out);
	says("GID");
	options.provider = "soft";
	why_domain(-EADDRNOTAVAIL, &options, out);
	says("the GPU's address is not on this host");
	ck_assert_ptr_null(strstr(out, "GID"));
	options.port = 9228;
	why_domain(-EADDRINUSE, &options, out);
	says("UDP port 9228");
}
END_TEST

START_TEST(locked_memory)
{
	const struct rlimit low = {8 << 20, 8 << 20};
	struct fare_domain_options options = {.provider = "verbs", .trusted_network = true};

	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &low), 0);
	why_domain(-ENOMEM, &options, out);
	says("RLIMIT_MEMLOCK (ulimit -l) is 8192 KiB");
	why_memory(-ENOMEM, "verbs", out);
	says("RLIMIT_MEMLOCK");
	/* soft locks none */
	why_memory(-ENOMEM, "soft", out);
	ck_assert_str_eq(out, strerror(ENOMEM));
	why_memory(-EINVAL, "verbs", out);
	ck_assert_str_eq(out, strerror(EINVAL));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("why");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_run_directory_and_its_group);
	tcase_add_test(tc, the_key);
	tcase_add_test(tc, devices);
	tcase_add_test(tc, locked_memory);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
