/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration files: fared.yaml to the letter, and what of FRR's a lab stands or falls with. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static const struct topology pairs = {.servers = 2,
				      .gpus_per_server = 2,
				      .planes = 1,
				      .sub_ports = 2,
				      .rate_mbps = 50,
				      .keepalive_s = 1,
				      .hold_s = 3,
				      .graceful_restart_s = 20,
				      .ipv6 = true};

/* What a writer wrote; the caller frees. */
static char *leaf_text(const struct topology *t, unsigned plane)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	config_leaf_bgpd(f, t, plane);
	fclose(f);
	return text;
}

static char *server_text(const struct topology *t, unsigned server)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	config_server_bgpd(f, t, server);
	fclose(f);
	return text;
}

static void has(const char *text, const char *line)
{
	ck_assert_msg(strstr(text, line) != NULL, "no \"%s\" in:\n%s", line, text);
}

static void has_not(const char *text, const char *line)
{
	ck_assert_msg(strstr(text, line) == NULL, "\"%s\" in:\n%s", line, text);
}

START_TEST(fared_to_the_letter)
{
	static const char wanted[] =
		"node: s1\nrun_dir: /r\nlog_level: info\nuser: \"\"\ngroup: \"\"\n"
		"bgp:\n  bmp_address: 127.0.0.1\n  bmp_port: 5001\n  bandwidth_scale: 50\n"
		"  max_as_path: 2\n  stale_s: 120\n  zserv_path: /z\n  frr_version: \"8.4.4\"\n"
		"  peer_prefixes: [198.19.0.0/16, \"2001:db8:19::/48\"]\n"
		"health:\n  enabled: true\n  key_file: /k\n"
		"local_gpus:\n"
		"  - name: g0\n    addresses: [198.19.0.3, \"2001:db8:19::3\"]\n    planes:\n"
		"      - sub_ports:\n"
		"          - {dev: g0p0s0, speed_mbps: 50, neighbors: [198.18.0.8, "
		"\"2001:db8:18::8\"]}\n"
		"          - {dev: g0p0s1, speed_mbps: 50, neighbors: [198.18.0.10, "
		"\"2001:db8:18::a\"]}\n"
		"  - name: g1\n    addresses: [198.19.0.4, \"2001:db8:19::4\"]\n    planes:\n"
		"      - sub_ports:\n"
		"          - {dev: g1p0s0, speed_mbps: 50, neighbors: [198.18.0.12, "
		"\"2001:db8:18::c\"]}\n"
		"          - {dev: g1p0s1, speed_mbps: 50, neighbors: [198.18.0.14, "
		"\"2001:db8:18::e\"]}\n";
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	config_fared(f, &pairs, 1, "/r", "/z", "8.4.4", "/k");
	fclose(f);
	ck_assert_str_eq(text, wanted);
	free(text);
}
END_TEST

START_TEST(unshaped_scale_is_one)
{
	struct topology t = pairs;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	t.rate_mbps = 0;
	config_fared(f, &t, 0, "/r", "/z", "", "/k");
	fclose(f);
	has(text, "bandwidth_scale: 1\n");
	has_not(text, "frr_version");
	free(text);
}
END_TEST

START_TEST(server_filters_each_gpu)
{
	char *text = server_text(&pairs, 1);

	has(text, "router bgp 64514\n");
	has(text, " coalesce-time 10\n"); /* a new session is told at once */
	has(text, "ip prefix-list SELF4-G1 seq 5 permit 198.19.0.4/32\n");
	has(text, "neighbor LEAF4-G1 prefix-list SELF4-G1 out\n");
	has(text, "neighbor LEAF6-G0 prefix-list SELF6-G0 out\n");
	has(text, "neighbor 198.18.0.12 peer-group LEAF4-G1\n");
	has(text, "neighbor 2001:db8:18::8 peer-group LEAF6-G0\n");
	has(text, "bmp monitor ipv4 unicast pre-policy\n");
	has(text, "bmp monitor ipv6 unicast pre-policy\n");
	has(text, "bgp graceful-restart preserve-fw-state\n");
	has_not(text, "198.18.0.0 "); /* the other server's */
	free(text);
}
END_TEST

START_TEST(leaf_counts_and_filters)
{
	struct topology t = pairs;
	char *text;

	t.ipv6 = false;
	t.graceful_restart_s = 0;
	text = leaf_text(&t, 0);
	has(text, "router bgp 65101\n");
	has(text, "set extcommunity bandwidth num-multipaths\n");
	has(text, "neighbor GPU4 route-map BW out\n");
	has(text, "neighbor GPU4 prefix-list LOOPBACKS4 out\n");
	has(text, "neighbor GPU4 remote-as external\n");
	has(text, "neighbor 198.18.0.1 peer-group GPU4\n");
	has(text, "neighbor 198.18.0.15 peer-group GPU4\n");
	has_not(text, "graceful-restart");
	has_not(text, "GPU6");
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *tc = tcase_create("config");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, fared_to_the_letter);
	tcase_add_test(tc, unshaped_scale_is_one);
	tcase_add_test(tc, server_filters_each_gpu);
	tcase_add_test(tc, leaf_counts_and_filters);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
