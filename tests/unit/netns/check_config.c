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
				      .leaves_per_plane = 1,
				      .priority_band = true,
				      .ipv4 = true,
				      .ipv6 = true};

/* Room for any topology here. */
static unsigned announced_mbps[64];

static const unsigned *told(const struct topology *t)
{
	ck_assert_uint_le(plan_links(t), sizeof(announced_mbps) / sizeof(*announced_mbps));
	for (unsigned k = 0; k < plan_links(t); k++)
		announced_mbps[k] = plan_link_mbps(t, k);
	return announced_mbps;
}

/* What a writer wrote; the caller frees. */
static char *bgpd_text_of(const struct topology *t, enum plan_role role, unsigned index,
			  const char *version)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ck_assert_int_eq(config_bgpd(f, t, (struct plan_host){role, index}, told(t),
				     frr_release_of(version)),
			 0);
	fclose(f);
	return text;
}

static char *bgpd_text(const struct topology *t, enum plan_role role, unsigned index)
{
	return bgpd_text_of(t, role, index, "8.4.4");
}

static char *fared_text(const struct topology *t, unsigned server, const char *version)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	config_fared(f, t, server, told(t), "/r", "/z", version, "/k");
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
		"health:\n  enabled: true\n  key_file: /k\n  queue_ms: 0\n"
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
	char *text = fared_text(&pairs, 1, "8.4.4");

	ck_assert_str_eq(text, wanted);
	free(text);
}
END_TEST

START_TEST(unshaped_scale_is_a_virtual_links)
{
	struct topology t = pairs;
	char *text;

	t.rate_mbps = 0;
	text = fared_text(&t, 0, "");
	has(text, "bandwidth_scale: 10000\n");
	has_not(text, "frr_version");
	free(text);
}
END_TEST

START_TEST(with_the_band_no_queue_is_allowed_for)
{
	struct topology t = pairs;
	char *text = fared_text(&t, 0, "");

	has(text, "  queue_ms: 0\n");
	free(text);
	t.priority_band = false;
	text = fared_text(&t, 0, "");
	has_not(text, "queue_ms");
	free(text);
}
END_TEST

START_TEST(server_filters_each_gpu)
{
	char *text = bgpd_text(&pairs, PLAN_SERVER, 1);

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
	text = bgpd_text_of(&t, PLAN_LEAF, 0, "10.3");
	ck_assert_ptr_nonnull(strstr(text, "neighbor GPU4 extended-link-bandwidth\n"));
	free(text);
	text = bgpd_text(&t, PLAN_LEAF, 0);
	ck_assert_ptr_null(strstr(text, "extended-link-bandwidth"));
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

START_TEST(unnumbered_links_have_sessions_by_device)
{
	struct topology t = pairs;
	char *text;

	t.unnumbered = true;
	text = bgpd_text(&t, PLAN_SERVER, 1);
	has(text, "neighbor LEAF-G1 remote-as external\n");
	has(text, "neighbor g1p0s1 interface peer-group LEAF-G1\n");
	has(text, "neighbor LEAF-G1 prefix-list SELF4-G1 out\n");
	has(text, "neighbor LEAF-G1 prefix-list SELF6-G1 out\n");
	has_not(text, "LEAF4");
	has_not(text, "LEAF6");
	free(text);
	text = bgpd_text(&t, PLAN_LEAF, 0);
	has(text, "neighbor s1g0s1 interface peer-group GPU\n");
	has(text, "neighbor GPU prefix-list LOOPBACKS6 out\n");
	free(text);
	text = fared_text(&t, 0, "8.4.4");
	has(text, "neighbors: [unnumbered]}\n");
	free(text);
}
END_TEST

START_TEST(in_one_as_leaves_and_spines_reflect)
{
	struct topology t = pairs;
	char *text;

	t.ibgp = true;
	t.leaves_per_plane = t.spines_per_plane = 2;
	text = bgpd_text(&t, PLAN_SERVER, 1);
	has(text, "router bgp 64512\n");
	has(text, "neighbor LEAF4-G0 remote-as internal\n");
	has_not(text, "route-reflector-client");
	free(text);
	text = bgpd_text(&t, PLAN_LEAF, 0);
	has(text, "router bgp 64512\n");
	has(text, " bgp route-reflector allow-outbound-policy\n");
	has(text, "  neighbor GPU4 route-reflector-client\n");
	has(text, "  neighbor GPU6 next-hop-self force\n");
	has(text, "  neighbor SPINE4 next-hop-self force\n");
	has_not(text, "neighbor SPINE4 route-reflector-client");
	free(text);
	text = bgpd_text(&t, PLAN_SPINE, 0);
	has(text, "  neighbor LEAF4 route-reflector-client\n");
	free(text);
}
END_TEST

START_TEST(rates_that_differ_are_announced)
{
	struct topology t = pairs;
	char *text;

	t.announce_rates = true;
	t.n_rates = 1;
	t.rates[0] = (struct topology_rate){1, TOPOLOGY_EVERY, TOPOLOGY_EVERY, 1, 10};
	text = bgpd_text(&t, PLAN_SERVER, 1);
	has(text, "route-map MBPS-50 permit 10\n set extcommunity bandwidth 50\nexit\n");
	has(text, "route-map MBPS-10 permit 10\n set extcommunity bandwidth 10\nexit\n");
	has(text, "  neighbor 198.18.0.8 route-map MBPS-50 out\n");
	has(text, "  neighbor 198.18.0.10 route-map MBPS-10 out\n");
	has(text, "  neighbor 2001:db8:18::a route-map MBPS-10 out\n");
	has(text, "  neighbor 198.18.0.14 route-map MBPS-10 out\n"); /* g1's */
	has_not(text, "extended-link-bandwidth");
	free(text);
	/* a leaf adds up in 64 bits what came in 64 bits */
	text = bgpd_text_of(&t, PLAN_SERVER, 1, "10.3");
	has(text, " neighbor LEAF4-G1 extended-link-bandwidth\n");
	free(text);
	text = bgpd_text_of(&pairs, PLAN_SERVER, 1, "10.3");
	has_not(text, "extended-link-bandwidth"); /* it sends none */
	free(text);
	text = bgpd_text(&t, PLAN_LEAF, 0);
	has_not(text, "route-map"); /* sums, and nothing else */
	free(text);
	text = fared_text(&t, 1, "");
	has(text, "bandwidth_scale: 1\n");
	has(text, "dev: g0p0s0, speed_mbps: 50,");
	has(text, "dev: g1p0s1, speed_mbps: 10,");
	free(text);
}
END_TEST

START_TEST(a_changed_rate_in_bgpds_words)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	config_link_rate(f, &pairs, 5, 25);
	fclose(f);
	ck_assert_str_eq(text, "route-map MBPS-25 permit 10\n set extcommunity bandwidth 25\nexit\n"
			       "router bgp\naddress-family ipv4 unicast\n"
			       "neighbor 198.18.0.10 route-map MBPS-25 out\n"
			       "route-map MBPS-25 permit 10\n set extcommunity bandwidth 25\nexit\n"
			       "router bgp\naddress-family ipv6 unicast\n"
			       "neighbor 2001:db8:18::a route-map MBPS-25 out\n");
	free(text);
}
END_TEST

START_TEST(without_ipv4)
{
	struct topology t = pairs;
	char *text;

	t.ipv4 = false;
	text = bgpd_text(&t, PLAN_LEAF, 0);
	has(text, "neighbor 2001:db8:18::1 peer-group GPU6\n");
	has_not(text, "ipv4 unicast\n");
	has_not(text, "GPU4");
	free(text);
	text = bgpd_text(&t, PLAN_SERVER, 0);
	has(text, "bmp monitor ipv6 unicast pre-policy\n");
	has_not(text, "ipv4 unicast pre-policy");
	has_not(text, "198.18.");
	free(text);
	text = fared_text(&t, 0, "");
	has(text, "peer_prefixes: [\"2001:db8:19::/48\"]\n");
	has(text, "addresses: [\"2001:db8:19::1\"]\n");
	has(text, "neighbors: [\"2001:db8:18::\"]}\n");
	has_not(text, "198.1");
	free(text);
}
END_TEST

START_TEST(leaves_and_spines)
{
	struct topology t = pairs;
	char *text;

	t.ipv6 = false;
	t.leaves_per_plane = 2; /* s0: l0, s1: l1 */
	t.spines_per_plane = 2;
	text = bgpd_text(&t, PLAN_LEAF, 1);
	has(text, "router bgp 65102\n");
	has(text, "neighbor 198.19.128.5 peer-group SPINE4\n"); /* up0 */
	has(text, "neighbor 198.19.128.7 peer-group SPINE4\n");
	has(text, "neighbor SPINE4 route-map BW out\n"); /* how many are live, for each spine */
	has(text, "neighbor GPU4 passive\n");
	has_not(text, "neighbor GPU4 route-map BW out\n");
	has_not(text, "neighbor SPINE4 passive\n");
	has_not(text, "198.18.0.1 "); /* s0's */
	free(text);
	text = bgpd_text(&t, PLAN_SERVER, 1);
	has(text, "neighbor 198.18.0.8 route-map MBPS-2 out\n"); /* as two spines add up to */
	free(text);
	text = bgpd_text(&t, PLAN_SPINE, 1);
	has(text, "router bgp 65401\n");
	has(text, "neighbor LEAF4 passive\n");
	has(text, "neighbor 198.19.128.2 peer-group LEAF4\n"); /* up1 of l0 */
	has(text, "neighbor 198.19.128.6 peer-group LEAF4\n"); /* up1 of l1 */
	has(text, "neighbor LEAF4 prefix-list LOOPBACKS4 out\n");
	has_not(text, "extcommunity");
	free(text);
	text = fared_text(&t, 0, "");
	has(text, "bandwidth_scale: 25\n  max_as_path: 4\n"); /* leaf, spine, leaf, GPU */
	has(text, "  max_routers: 3\n");
	free(text);
}
END_TEST

START_TEST(superspines)
{
	struct topology t = pairs;
	char *text;

	t.ipv6 = false;
	t.leaves_per_plane = t.spines_per_plane = t.pods = 2; /* s0: l0, sp0; s1: l1, sp1 */
	text = bgpd_text(&t, PLAN_SPINE, 1);
	has(text, "router bgp 65402\n");
	has(text, "neighbor LEAF4 passive\n");
	has(text, "neighbor 198.19.128.2 peer-group LEAF4\n");
	has(text,
	    "neighbor 198.19.128.7 peer-group SUPERSPINE4\n"); /* after 2 of leaves, and of sp0 */
	has(text, "neighbor SUPERSPINE4 prefix-list LOOPBACKS4 out\n");
	has_not(text, "neighbor SUPERSPINE4 passive\n"); /* the lower end connects */
	has_not(text, "extcommunity");
	free(text);
	text = bgpd_text(&t, PLAN_SUPERSPINE, 0);
	has(text, "router bgp 65371\n");
	has(text, "bgp router-id 198.19.253.0\n");
	has(text, "neighbor SPINE4 passive\n");
	has(text, "neighbor 198.19.128.4 peer-group SPINE4\n");
	has(text, "neighbor 198.19.128.6 peer-group SPINE4\n");
	has_not(text, "SUPERSPINE");
	free(text);
	text = fared_text(&t, 0, "");
	has(text, "bandwidth_scale: 50\n  max_as_path: 6\n");
	has(text, "  max_routers: 5\n"); /* leaf, spine, superspine, spine, leaf */
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
	tcase_add_test(tc, unshaped_scale_is_a_virtual_links);
	tcase_add_test(tc, with_the_band_no_queue_is_allowed_for);
	tcase_add_test(tc, server_filters_each_gpu);
	tcase_add_test(tc, leaf_counts_and_filters);
	tcase_add_test(tc, unnumbered_links_have_sessions_by_device);
	tcase_add_test(tc, in_one_as_leaves_and_spines_reflect);
	tcase_add_test(tc, rates_that_differ_are_announced);
	tcase_add_test(tc, a_changed_rate_in_bgpds_words);
	tcase_add_test(tc, without_ipv4);
	tcase_add_test(tc, leaves_and_spines);
	tcase_add_test(tc, superspines);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
