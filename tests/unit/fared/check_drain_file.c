/* SPDX-License-Identifier: BSD-2-Clause */
/* Drains come back as they were, and a file that is not one of ours is refused with its reason. */
#include "drain_file.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "config.h"

static char dir[] = "/tmp/check_drain_file.XXXXXX";
static char path[64];
static struct config *config;

static void setup(void)
{
	static const char format[] =
		"node: s0\nrun_dir: %s\nbgp:\n  peer_prefixes: [198.19.0.0/16]\n"
		"local_gpus:\n"
		"  - {name: g0, addresses: [198.19.0.1], planes: [{sub_ports: [{dev: a0, "
		"neighbors: "
		"[198.18.0.0]}]}]}\n"
		"  - {name: g1, addresses: [198.19.0.2], planes: [{sub_ports: [{dev: b0, "
		"neighbors: "
		"[198.18.0.2]}]}]}\n";
	struct config_error error;
	char text[1024];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(text, sizeof(text), format, dir);
	ck_assert_msg(!config_parse(&config, text, strlen(text), "f", &error), "%s", error.text);
	snprintf(path, sizeof(path), "%s/" DRAIN_FILE_NAME, dir);
}

static void teardown(void)
{
	config_destroy(config);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else is left there */
}

START_TEST(what_was_saved_is_loaded)
{
	struct drain_set set = {.n = 4,
				.rules =
					{{.has_plane = true, .plane = 3},
					 {.has_peer = true},
					 {.has_gpu = true, .gpu = 1, .has_plane = true, .plane = 1},
					 {.has_plane = true, .has_sub_port = true, .sub_port = 7}}},
			 back;
	char why[400], text[128];
	struct stat st;

	ck_assert_int_eq(address_parse("2001:db8::9", &set.rules[1].peer), 0);
	ck_assert_int_eq(drain_file_load(config, &back, why, sizeof(why)), 0);
	ck_assert_uint_eq(back.n, 0); /* there is no file */
	ck_assert_int_eq(drain_file_save(config, &set), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(drain_file_load(config, &back, why, sizeof(why)), 0);
	ck_assert_uint_eq(back.n, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_mem_eq(&back.rules[i], &set.rules[i], sizeof(set.rules[i]));
	ck_assert_str_eq(drain_file_text(config, &back.rules[1], text, sizeof(text)),
			 "2001:db8::9");
	ck_assert_str_eq(drain_file_text(config, &back.rules[2], text, sizeof(text)),
			 "all plane 1 of GPU g1");
	ck_assert_str_eq(drain_file_text(config, &back.rules[3], text, sizeof(text)),
			 "all plane 0 sub-port 7");
	set.n = 0;
	ck_assert_int_eq(drain_file_save(config, &set), 0);
	ck_assert_int_eq(drain_file_load(config, &back, why, sizeof(why)), 0);
	ck_assert_uint_eq(back.n, 0);
}
END_TEST

static int load(const char *text, struct drain_set *set, char *why, size_t size)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return drain_file_load(config, set, why, size);
}

static const struct {
	const char *text, *says;
} refused[] = {
	{"[", "not JSON"},
	{"{}", "no list"},
	{"[1]", "drain 0: not an object"},
	{"[{\"gpu\":null,\"peer\":null,\"plane\":null}]", "not an object of"},
	{"[{\"gpu\":null,\"peer\":\"x\",\"plane\":null,\"sub_port\":null}]", "no address"},
	{"[{\"gpu\":null,\"peer\":null,\"plane\":16,\"sub_port\":null}]", "\"plane\""},
	{"[{\"gpu\":null,\"peer\":null,\"plane\":-1,\"sub_port\":null}]", "\"plane\""},
	{"[{\"gpu\":null,\"peer\":null,\"plane\":0,\"sub_port\":8}]", "\"sub_port\""},
	{"[{\"gpu\":null,\"peer\":null,\"plane\":null,\"sub_port\":1}]", "needs a plane"},
	{"[{\"gpu\":7,\"peer\":null,\"plane\":null,\"sub_port\":null}]", "\"gpu\""},
	{"[{\"gpu\":null,\"peer\":null,\"plane\":0,\"sub_port\":null,\"more\":1}]",
	 "not an object"},
};

START_TEST(what_is_refused)
{
	struct drain_set set;
	char why[400] = "";

	ck_assert_int_eq(load(refused[_i].text, &set, why, sizeof(why)), -EBADMSG);
	ck_assert_msg(strstr(why, refused[_i].says) && strstr(why, path), "'%s' for %s", why,
		      refused[_i].text);
	ck_assert_uint_eq(set.n, 0);
}
END_TEST

START_TEST(drains_of_former_gpus_are_left_out)
{
	struct drain_set set;
	char why[400];

	ck_assert_int_eq(load("[{\"gpu\":\"gone\",\"peer\":null,\"plane\":0,\"sub_port\":null},"
			      "{\"gpu\":\"g1\",\"peer\":null,\"plane\":0,\"sub_port\":null}]",
			      &set, why, sizeof(why)),
			 0);
	ck_assert_uint_eq(set.n, 1);
	ck_assert_uint_eq(set.rules[0].gpu, 1);
	ck_assert_msg(strstr(why, "drain 0: left out"), "%s", why);
	ck_assert_int_eq(load("[]", &set, why, sizeof(why)), 0);
	ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(what_is_not_a_file_of_ours_is_not_read)
{
	struct drain_set set;
	char why[400] = "";
	FILE *f;

	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(drain_file_load(config, &set, why, sizeof(why)), -ELOOP);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(drain_file_load(config, &set, why, sizeof(why)), -EINVAL);
	unlink(path);
	f = fopen(path, "w");
	ck_assert_int_eq(fprintf(f, "%0*d", 1 << 20, 0), 1 << 20);
	fclose(f);
	ck_assert_int_eq(drain_file_load(config, &set, why, sizeof(why)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, path));
}
END_TEST

/* As many drains as there may be, each as long as it may be, fit the file that is read. */
START_TEST(a_full_set_comes_back)
{
	struct drain_set set = {.n = DRAIN_RULES_MAX}, back;
	char why[400];

	for (uint32_t i = 0; i < set.n; i++) {
		set.rules[i] = (struct drain_rule){
			.has_gpu = true, .has_peer = true, .has_plane = true, .plane = 15};
		memset(&set.rules[i].peer, 0xfe, sizeof(set.rules[i].peer));
		set.rules[i].peer.s6_addr[0] = (uint8_t)i;
	}
	set.rules[set.n - 1] = (struct drain_rule){0}; /* the last is for everything */
	ck_assert_int_eq(drain_file_save(config, &set), 0);
	ck_assert_msg(!drain_file_load(config, &back, why, sizeof(why)), "%s", why);
	ck_assert_uint_eq(back.n, DRAIN_RULES_MAX);
}
END_TEST

START_TEST(what_cannot_be_written_is_an_error)
{
	struct drain_set set = {.n = 1};

	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(drain_file_save(config, &set), -ENOENT);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("drain_file");
	TCase *tc = tcase_create("file");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_was_saved_is_loaded);
	tcase_add_loop_test(tc, what_is_refused, 0, (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(tc, drains_of_former_gpus_are_left_out);
	tcase_add_test(tc, what_is_not_a_file_of_ours_is_not_read);
	tcase_add_test(tc, a_full_set_comes_back);
	tcase_add_test(tc, what_cannot_be_written_is_an_error);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
