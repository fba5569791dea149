/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs between two files: each key with both values, and what a reload can do of it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_diff.h"

static const char before[] = "node: s0\n"
			     "run_dir: /run/x\n"
			     "log_level: warning\n"
			     "bgp:\n"
			     "  bmp_port: 5002\n"
			     "  zserv_path: /y\n"
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

/* before with the first `from` replaced by `to`. */
static struct config *edited(const char *from, const char *to)
{
	const char *at = strstr(before, from);
	char text[2048];

	ck_assert_ptr_nonnull(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - before), before, to, at + strlen(from));
	return parsed(text);
}

#define PORT "local_gpus[0].planes[0].sub_ports[0]."

static const struct {
	const char *from, *to;
	const char *key, *old, *new; /* key NULL: nothing differs */
	enum config_effect effect;
} edits[] = {
	{"node: s0", "node: s0", NULL, NULL, NULL, 0},
	{"warning", "debug", "log_level", "warning", "debug", CONFIG_AT_ONCE},
	{"log_level: warning", "log_level: warning\nkernel_routes: on", "kernel_routes", "off",
	 "on", CONFIG_AT_ONCE},
	{"speed_mbps: 200", "speed_mbps: 100", PORT "speed_mbps", "200", "100", CONFIG_AT_ONCE},
	{"speed_mbps: 200, ", "", PORT "speed_mbps", "200", "0", CONFIG_AT_ONCE},
	{"stale_s: 60", "stale_s: 61", "bgp.stale_s", "60", "61", CONFIG_SOURCES},
	{"5002", "5003", "bgp.bmp_port", "5002", "5003", CONFIG_SOURCES},
	{"5002", "5002\n  bmp_address: \"::1\"", "bgp.bmp_address", "127.0.0.1", "[::1]",
	 CONFIG_SOURCES},
	{"5002", "5002\n  max_as_path: 3", "bgp.max_as_path", "2", "3", CONFIG_SOURCES},
	{"5002", "5002\n  bandwidth_scale: 2.5", "bgp.bandwidth_scale", "1", "2.5", CONFIG_SOURCES},
	{"/y", "/z", "bgp.zserv_path", "/y", "/z", CONFIG_SOURCES},
	{"5002", "5002\n  frr_version: \"8.4\"", "bgp.frr_version", "", "8.4", CONFIG_SOURCES},
	{"5002", "5002\n  bmp_user: bird", "bgp.bmp_user", "", "bird", CONFIG_RESTART},
	{"198.19.0.0/16", "198.19.0.0/17, \"2001:db8::/48\"", "bgp.peer_prefixes",
	 "[198.19.0.0/16]", "[198.19.0.0/17, 2001:db8::/48]", CONFIG_SOURCES},
	{"198.18.0.0", "198.18.0.0, 198.18.0.6", PORT "neighbors", "[198.18.0.0]",
	 "[198.18.0.0, 198.18.0.6]", CONFIG_SOURCES},
	{"node: s0", "node: s1", "node", "s0", "s1", CONFIG_RESTART},
	{"node: s0", "node: s0\nuser: u", "user", "", "u", CONFIG_RESTART},
	{"node: s0", "node: s0\ngroup: g", "group", "", "g", CONFIG_RESTART},
	{"node: s0", "node: s0\ngroup: g\nattach_group: a", "attach_group", "", "a",
	 CONFIG_RESTART},
	{"node: s0", "node: s0\ngroup: g\noperator_group: o", "operator_group", "", "o",
	 CONFIG_RESTART},
	{"name: g0", "name: g1", "local_gpus[0].name", "g0", "g1", CONFIG_RESTART},
	{"[198.19.0.1]", "[198.19.0.1, \"2001:db8::1\"]", "local_gpus[0].addresses", "[198.19.0.1]",
	 "[198.19.0.1, 2001:db8::1]", CONFIG_RESTART},
	{"dev: a0", "dev: a2", PORT "dev", "a0", "a2", CONFIG_RESTART},
	{"      - sub_ports:", "      - plane: 1\n        sub_ports:",
	 "local_gpus[0].planes[0].plane", "0", "1", CONFIG_RESTART},
	{"/run/x", "/run/y", "run_dir", "/run/x", "/run/y", CONFIG_RESTART},
#define HEALTH(key, given, old, new)                                                               \
	{                                                                                          \
		"local_gpus:", "health: {" key ": " given "}\nlocal_gpus:", "health." key, old,    \
			new, CONFIG_RESTART                                                        \
	}
	HEALTH("enabled", "false", "true", "false"),
	HEALTH("realtime", "false", "true", "false"),
	HEALTH("interval_ms", "2.5", "3", "2.5"),
	HEALTH("slow_interval_ms", "10", "1000", "10"),
	HEALTH("multiplier", "4", "3", "4"),
	HEALTH("max_routers", "3", "1", "3"),
	HEALTH("max_probes_per_s", "1000", "25200", "1000"),
	HEALTH("dscp", "10", "48", "10"),
	HEALTH("queue_ms", "0", "100", "0"),
	HEALTH("recover_probes", "11", "10", "11"),
	HEALTH("max_loss_percent", "0.5", "2", "0.5"),
	HEALTH("hold_ms", "60", "50", "60"),
	HEALTH("hold_max_ms", "20000", "10000", "20000"),
	HEALTH("ramp_ms", "0", "200", "0"),
	{"local_gpus:", "health: {key_file: /k}\nlocal_gpus:", "health.key_file", "", "/k",
	 CONFIG_AT_ONCE},
	{"local_gpus:", "health: {key_file: /k, second_key_file: /l}\nlocal_gpus:",
	 "health.second_key_file", "", "/l", CONFIG_AT_ONCE},
};

START_TEST(each_edit_is_told_with_both_values)
{
	struct config *a = parsed(before), *b = edited(edits[_i].from, edits[_i].to);
	struct config_diff *diff;
	const struct config_change *c;

	ck_assert_int_eq(config_diff_create(&diff, a, b), 0);
	ck_assert_uint_ge(diff->n, edits[_i].key ? 1 : 0);
	ck_assert(edits[_i].key || !diff->n);
	if (edits[_i].key) {
		c = &diff->changes[0];
		for (size_t i = 0; i < diff->n && strcmp(c->key, edits[_i].key) != 0; i++)
			c = &diff->changes[i];
		ck_assert_str_eq(c->key, edits[_i].key);
		ck_assert_str_eq(c->before, edits[_i].old);
		ck_assert_str_eq(c->after, edits[_i].new);
		ck_assert_int_eq(c->effect, edits[_i].effect);
		ck_assert(config_diff_has(diff, edits[_i].effect));
	}
	config_diff_destroy(diff);
	config_destroy(a);
	config_destroy(b);
}
END_TEST

/* Every key that a file may have is in the table above, so that none is forgotten in the list. */
START_TEST(every_key_is_listed)
{
	struct config *c = parsed(before);
	struct config_list *list;

	ck_assert_int_eq(config_list_create(&list, c), 0);
	for (size_t i = 0; i < list->n; i++) {
		bool found = strstr(list->entries[i].key, "sub_ports[1].") != NULL;

		for (size_t e = 0; !found && e < sizeof(edits) / sizeof(edits[0]); e++)
			found = edits[e].key && !strcmp(edits[e].key, list->entries[i].key);
		ck_assert_msg(found, "%s", list->entries[i].key);
	}
	config_list_destroy(list);
	config_destroy(c);
}
END_TEST

START_TEST(a_sub_port_more_or_less_needs_a_restart)
{
	struct config *a = parsed(before);
	struct config *b = edited("          - {dev: a1, neighbors: [198.18.0.2]}\n", "");
	struct config_diff *diff;
	char keys[400], cut[45];

	ck_assert_int_eq(config_diff_create(&diff, a, b), 0);
	ck_assert_uint_eq(diff->n, 3);
	for (size_t i = 0; i < diff->n; i++) {
		ck_assert_int_eq(diff->changes[i].effect, CONFIG_RESTART);
		ck_assert(diff->changes[i].before && !diff->changes[i].after);
	}
	ck_assert_str_eq(config_diff_keys(diff, CONFIG_RESTART, keys, sizeof(keys)),
			 "local_gpus[0].planes[0].sub_ports[1].dev, "
			 "local_gpus[0].planes[0].sub_ports[1].neighbors, "
			 "local_gpus[0].planes[0].sub_ports[1].speed_mbps");
	ck_assert_str_eq(config_diff_keys(diff, CONFIG_RESTART, cut, sizeof(cut)),
			 "local_gpus[0].planes[0].sub_ports[1].dev");
	ck_assert_str_eq(config_diff_keys(diff, CONFIG_SOURCES, keys, sizeof(keys)), "");
	config_diff_destroy(diff);
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

	tcase_add_loop_test(t, each_edit_is_told_with_both_values, 0,
			    (int)(sizeof(edits) / sizeof(edits[0])));
	tcase_add_test(t, every_key_is_listed);
	tcase_add_test(t, a_sub_port_more_or_less_needs_a_restart);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
