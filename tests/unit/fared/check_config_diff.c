/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a changed fared.yaml a reload can do, and what needs a restart. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_diff.h"

static const char before[] = "node: s0\n"
			     "run_dir: /run/x\n"
			     "log_level: warning\n"
			     "bgp:\n"
			     "  bmp_port: 5002\n"
			     "  stale_s: 60\n"
			     "  peer_prefixes: [198.19.0.0/16]\n"
			     "local_gpus:\n"
			     "  - name: g0\n"
			     "    addresses: [198.19.0.1]\n"
			     "    planes:\n"
			     "      - sub_ports:\n"
			     "          - {dev: a0, speed_mbps: 200, neighbors: [198.18.0.0]}\n"
			     "          - {dev: a1, neighbors: [198.18.0.2]}\n";

static struct config *parsed(const char *text)
{
	struct config_error error;
	struct config *c;

	ck_assert_msg(!config_parse(&c, text, strlen(text), "f.yaml", &error), "%s", error.text);
	return c;
}

START_TEST(each_edit_has_its_remedy)
{
	static const struct {
		const char *from, *to, *restart;
		bool sources;
	} edits[] = {
		{"node: s0", "node: s0", "", false},
		{"warning", "debug", "", false},
		{"speed_mbps: 200", "speed_mbps: 100", "", false},
		{"stale_s: 60", "stale_s: 61", "", true},
		{"5002", "5003", "", true},
		{"5002", "5002\n  bmp_user: bird", "bgp.bmp_user", false},
		{"198.19.0.0/16", "198.19.0.0/17", "", true},
		{"198.18.0.2", "198.18.0.6", "", true},
		{"node: s0", "node: s1", "node", false},
		{"name: g0", "name: g1", "local_gpus (other than speed_mbps and neighbors)", false},
		{"dev: a1", "dev: a2", "local_gpus (other than speed_mbps and neighbors)", false},
		{"/run/x", "/run/y", "run_dir", false},
		{"local_gpus:", "health: {interval_ms: 4}\nlocal_gpus:", "health", false},
		{"local_gpus:", "health: {key_file: /k}\nlocal_gpus:", "health", false},
	};
	struct config *a = parsed(before);

	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		const char *at = strstr(before, edits[i].from);
		char text[2048], keys[200];
		struct config *b;

		ck_assert_ptr_nonnull(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - before), before, edits[i].to,
			 at + strlen(edits[i].from));
		b = parsed(text);
		config_restart_keys(a, b, keys, sizeof(keys));
		ck_assert_str_eq(keys, edits[i].restart);
		ck_assert_int_eq(config_sources_differ(a, b), edits[i].sources);
		config_destroy(b);
	}
	config_destroy(a);
}
END_TEST

START_TEST(several_are_named_and_a_short_line_is_cut)
{
	static const char after[] = "node: s1\n"
				    "run_dir: /run/y\n"
				    "bgp: {peer_prefixes: [198.19.0.0/16]}\n"
				    "local_gpus:\n"
				    "  - name: g0\n"
				    "    addresses: [198.19.0.1]\n"
				    "    planes:\n"
				    "      - sub_ports:\n"
				    "          - {dev: a0, neighbors: [198.18.0.0]}\n";
	struct config *a = parsed(before), *b = parsed(after);
	char keys[200], line[8];

	config_restart_keys(a, b, keys, sizeof(keys));
	ck_assert_str_eq(keys, "node, run_dir, local_gpus (other than speed_mbps and neighbors)");
	config_restart_keys(a, b, line, sizeof(line));
	ck_assert_str_eq(line, "node, r");
	config_destroy(a);
	config_destroy(b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_diff");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(t, each_edit_has_its_remedy);
	tcase_add_test(t, several_are_named_and_a_short_line_is_cut);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
