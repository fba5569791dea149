/* SPDX-License-Identifier: BSD-2-Clause */
/* Topology files: what a good one means, and where a bad one is at fault. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology.h"

static int parse(const char *text, struct topology *t, char *error)
{
	error[0] = '\0';
	return topology_parse("lab.yaml", text, strlen(text), t, error);
}

START_TEST(defaults)
{
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_int_eq(parse("servers: 4\nplanes: 3\nsub_ports: 2\n", &t, error), 0);
	ck_assert_str_eq(t.name, "");
	ck_assert_uint_eq(t.servers, 4);
	ck_assert_uint_eq(t.planes, 3);
	ck_assert_uint_eq(t.sub_ports, 2);
	ck_assert_uint_eq(t.gpus_per_server, 1);
	ck_assert_uint_eq(t.rate_mbps, 200);
	ck_assert_uint_eq(t.queue_bytes, 1048576);
	ck_assert_uint_eq(topology_bucket_bytes(&t), 131072);
	ck_assert(t.priority_band);
	ck_assert_uint_eq(t.mtu, 4200);
	ck_assert_uint_eq(t.keepalive_s, 1);
	ck_assert_uint_eq(t.hold_s, 3);
	ck_assert_uint_eq(t.graceful_restart_s, 20);
	ck_assert(t.ipv4 && !t.ipv6 && !t.announce_rates);
	ck_assert_uint_eq(t.leaves_per_plane, 1);
	ck_assert_uint_eq(t.spines_per_plane, 0);
	ck_assert_uint_eq(t.ecn_threshold_kb, 0);
	ck_assert_uint_eq(t.ecn_max_kb, 0);
	ck_assert_uint_eq(t.ecn_max_percent, 100);
	ck_assert_uint_eq(t.lb.mode, TOPOLOGY_LB_KERNEL);
	ck_assert_uint_eq(t.lb.seed, TOPOLOGY_EVERY);
	ck_assert_uint_eq(t.lb.gap_us, 500);
	ck_assert_uint_eq(topology_rate(&t, 3, 0, 2, 1), 200);
}
END_TEST

START_TEST(rates)
{
	const char *text = "servers: 4\nplanes: 4\nsub_ports: 2\nrate_mbps: 25\nrates:\n"
			   "  - {plane: 2, rate_mbps: 50}\n"
			   "  - {sub_port: 1, rate_mbps: 20}\n"
			   "  - {server: 1, gpu: 0, plane: 2, sub_port: 1, rate_mbps: 5}\n";
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_msg(!parse(text, &t, error), "%s", error);
	ck_assert(t.announce_rates);
	ck_assert_uint_eq(topology_rate(&t, 0, 0, 0, 0), 25);
	ck_assert_uint_eq(topology_rate(&t, 0, 0, 2, 0), 50);
	ck_assert_uint_eq(topology_rate(&t, 0, 0, 2, 1), 20); /* the last that fits */
	ck_assert_uint_eq(topology_rate(&t, 1, 0, 2, 1), 5);
	ck_assert_uint_eq(topology_rate(&t, 2, 0, 2, 1), 20);
	ck_assert_uint_eq(topology_most_announced(&t), 17000);
}
END_TEST

START_TEST(three_tiers)
{
	const char *text = "servers: 4\nplanes: 2\nsub_ports: 1\nrate_mbps: 50\n"
			   "leaves_per_plane: 4\nspines_per_plane: 4\npods: 2\n";
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_msg(!parse(text, &t, error), "%s", error);
	ck_assert_uint_eq(topology_pod_spines(&t), 2);
	ck_assert_uint_eq(t.spine_rate_mbps, 25);      /* a server's 50 over its pod's two */
	ck_assert_uint_eq(t.superspine_rate_mbps, 50); /* two leaves' 25 */
}
END_TEST

START_TEST(tiers)
{
	const char *text = "servers: 5\nplanes: 2\nsub_ports: 2\nrate_mbps: 50\n"
			   "leaves_per_plane: 2\nspines_per_plane: 2\nipv4: false\nipv6: true\n";
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_msg(!parse(text, &t, error), "%s", error);
	ck_assert_uint_eq(t.spine_rate_mbps, 150); /* three servers' 300 over two */
	ck_assert_uint_eq(topology_leaf(&t, 0), 0);
	ck_assert_uint_eq(topology_leaf(&t, 2), 0);
	ck_assert_uint_eq(topology_leaf(&t, 3), 1);
	ck_assert_uint_eq(topology_leaf(&t, 4), 1);
	ck_assert(!t.ipv4 && t.ipv6);
}
END_TEST

START_TEST(pfc)
{
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_int_eq(parse("servers: 2\nplanes: 1\nsub_ports: 1\n", &t, error), 0);
	ck_assert_uint_eq(t.pfc.xoff_bytes, 0);
	ck_assert_msg(!parse("servers: 2\nplanes: 1\nsub_ports: 1\nrate_mbps: 50\n"
			     "pfc: {xoff_bytes: 65536}\n",
			     &t, error),
		      "%s", error);
	ck_assert_uint_eq(t.pfc.class, 3);
	ck_assert_uint_eq(t.pfc.xon_bytes, 32768);
	ck_assert_uint_eq(t.pfc.headroom_bytes, 25000 + 4 * 4214);
	ck_assert_uint_eq(t.pfc.watchdog_ms, 0);
	ck_assert_uint_eq(t.bucket_frames, 2);
	ck_assert_msg(!parse("servers: 2\nplanes: 1\nsub_ports: 1\nrate_mbps: 400\n"
			     "bucket_frames: 3\npfc: {class: 4, xoff_bytes: 9, xon_bytes: 0, "
			     "headroom_bytes: 0, watchdog_ms: 80}\n",
			     &t, error),
		      "%s", error);
	ck_assert_uint_eq(t.pfc.class, 4);
	ck_assert_uint_eq(t.pfc.xon_bytes, 0);
	ck_assert_uint_eq(t.pfc.headroom_bytes, 0); /* none, on purpose */
	ck_assert_uint_eq(t.pfc.watchdog_ms, 80);
	ck_assert_uint_eq(t.bucket_frames, 3);
}
END_TEST

START_TEST(every_key)
{
	const char *text = "name: a-1\nservers: 2\ngpus_per_server: 8\nplanes: 16\nsub_ports: "
			   "2\nrate_mbps: 0\n"
			   "queue_bytes: 65536\nbucket_frames: 2\npriority_band: false\n"
			   "lb: flowlet\nlb_seed: 0\nlb_gap_us: 20\n"
			   "mtu: 9000\nipv6: true\nunnumbered: true\nibgp: true\n"
			   "graceful_restart_s: 0\n"
			   "bgp_timers: {keepalive_s: 3, hold_s: 9}\n";
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_int_eq(parse(text, &t, error), 0);
	ck_assert_str_eq(t.name, "a-1");
	ck_assert_uint_eq(t.gpus_per_server, 8);
	ck_assert_uint_eq(t.rate_mbps, 0); /* given, and not the default */
	ck_assert_uint_eq(t.queue_bytes, 65536);
	ck_assert_uint_eq(topology_bucket_bytes(&t), 2 * 9014);
	ck_assert(!t.priority_band);
	ck_assert_uint_eq(t.mtu, 9000);
	ck_assert_uint_eq(t.lb.mode, TOPOLOGY_LB_FLOWLET);
	ck_assert_str_eq(topology_lb_name(t.lb.mode), "flowlet");
	ck_assert_uint_eq(t.lb.seed, 0);
	ck_assert_uint_eq(t.lb.gap_us, 20);
	ck_assert_uint_eq(t.graceful_restart_s, 0);
	ck_assert_uint_eq(t.keepalive_s, 3);
	ck_assert_uint_eq(t.hold_s, 9);
	ck_assert(t.ipv6 && t.unnumbered && t.ibgp);
}
END_TEST

static const struct {
	const char *text;
	unsigned line;
	const char *says;
} bad[] = {
	{"", 1, "empty"},
	{"servers: 4\nplanes: 2\n", 1, "sub_ports: this required key is missing at the top level"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nswitches: 3\nmtu: 1500\n", 4,
	 "switches: there is no such key"},
	{"servers: 4\nplanes: 2\nsub_ports: two\n", 3, "sub_ports"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\necn_threshold_kb: 20\necn_max_kb: 20\n", 5,
	 "ecn_max_kb: 20 is not above ecn_threshold_kb"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nlb: hash\n", 4, "lb: give kernel, ecmp"},
	{"servers: -4\nplanes: 2\nsub_ports: 2\n", 1, "servers"},
	{"servers: 4\n# planes: 1\nplanes: 0\nsub_ports: 2\n", 3, "planes: 0 is out of range"},
	{"servers: 4\nplanes: 17\nsub_ports: 2\n", 2, "planes: 17 is out of range"},
	{"servers: 4\nplanes: 4\nsub_ports: 9\n", 3, "sub_ports: 9 is out of range"},
	{"servers: 1025\nplanes: 1\nsub_ports: 1\n", 1, "servers: 1025 is out of range"},
	{"servers: 4294967297\nplanes: 1\nsub_ports: 1\n", 1, "servers"},
	{"planes: 1\nservers: 1024\ngpus_per_server: 2\nsub_ports: 1\n", 2, "1024 at most"},
	{"planes: 16\nservers: 1024\nsub_ports: 8\n", 2, "sub-links in all"},
	{"servers: 2\ngpus_per_server: 16\nplanes: 16\nsub_ports: 2\n", 4, "FRR takes 256"},
	{"name: Lab\nservers: 4\nplanes: 2\nsub_ports: 2\n", 1, "name: use"},
	{"servers: 4\nname: ../etc\nplanes: 2\nsub_ports: 2\n", 2, "name: use"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nname: a-\n", 4, "name: use"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nmtu: 100\n", 4, "mtu: 100 is out of range"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nmtu: 1000\nipv6: true\n", 4, "mtu: 1000 is below"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nipv6: maybe\n", 4, "ipv6"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nbgp_timers:\n  keepalive_s: 9\n  hold_s: 3\n", 6,
	 "hold_s: 3"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nbgp_timers: {hold: 3}\n", 4, "hold"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 1000000\n", 4,
	 "rate_mbps: 1000000 is out"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nipv4: false\n", 4,
	 "ipv4: false leaves no addresses"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nipv6: true\nibgp: true\n", 5, "only unnumbered"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrates: []\n", 4, "rates"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrates: [{plane: 2, rate_mbps: 50}]\n", 4,
	 "rates[0].plane: 2: they end at 1 here"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrates: [{server: 4, rate_mbps: 50}]\n", 4,
	 "rates[0].server: 4: they end at 3 here"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrates:\n  - {plane: 1, rate_mbps: 9}\n  - {plane: "
	 "0, rate_mbps: 0}\n",
	 6, "rates[1].rate_mbps: 0 (unshaped) is for all"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrates: [{plane: 1}]\n", 4,
	 "rates[0].rate_mbps: this required key is missing"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrates: [{plane: 1, rate_mbps: 17001}]\n", 4,
	 "rates: FRR announces 17000 Mbit/s at most for one of 2 sub-links"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 0\nannounce_rates: true\n", 4,
	 "rate_mbps: 0 (unshaped) is no rate"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrates: [{rate_mbps: 9}]\nannounce_rates: false\n", 5,
	 "announce_rates: false, but"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nleaves_per_plane: 2\n", 4,
	 "leaves_per_plane: a plane has one leaf and no spine"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nspines_per_plane: 2\n", 4,
	 "spines_per_plane: a plane has one leaf and no spine"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nspine_rate_mbps: 2\n", 4,
	 "spine_rate_mbps: there are no spines"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\npods: 2\n", 4,
	 "pods: 2 pods of a plane do not have equal numbers of its 1 leaves"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nleaves_per_plane: 4\nspines_per_plane: 3\npods: 2\n",
	 6,
	 "pods: 2 pods of a plane do not have equal numbers of its 4 leaves, and of its 3 spines"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nleaves_per_plane: 4\nspines_per_plane: 4\npods: 9\n",
	 6, "pods: 9"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nleaves_per_plane: 2\nspines_per_plane: 1\n"
	 "superspine_rate_mbps: 9\n",
	 6, "superspine_rate_mbps: there are no superspines without pods"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nleaves_per_plane: 2\nspines_per_plane: 2\npods: 2\n"
	 "superspine_rate_mbps: 0\necn_threshold_kb: 9\n",
	 8, "ecn_threshold_kb: a link without a rate"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nleaves_per_plane: 5\nspines_per_plane: 1\n", 4,
	 "leaves_per_plane: 5 leaves for 4"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nleaves_per_plane: 2\nspines_per_plane: "
	 "1\nannounce_rates: true\n",
	 6, "announce_rates: not with spines"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 0\necn_threshold_kb: 9\n", 5,
	 "ecn_threshold_kb: a link without a rate"},
	{"servers: 4\nplanes: 1\nsub_ports: 1\nrate_mbps: 50\n"
	 "pfc: {xoff_bytes: 65536, headroom_bytes: 40000}\n",
	 5,
	 "headroom_bytes: 40000; 50 Mbit/s for the 4000 us in which a queue is paused, a bucket of "
	 "2 frames and 2 of mtu 4200 are 41856 bytes"},
	{"servers: 4\nplanes: 1\nsub_ports: 1\nrates: [{plane: 0, rate_mbps: 401}]\n"
	 "pfc: {xoff_bytes: 65536}\n",
	 4, "rates: 401: PFC is emulated in time at 1 to 400"},
	{"servers: 4\nplanes: 1\nsub_ports: 1\nrate_mbps: 0\npfc: {xoff_bytes: 65536}\n", 4,
	 "rate_mbps: 0: PFC is"},
	{"servers: 4\nplanes: 1\nsub_ports: 1\nbucket_frames: 0\npfc: {xoff_bytes: 9}\n", 4,
	 "bucket_frames: 0: no headroom"},
	{"servers: 4\nplanes: 1\nsub_ports: 1\npfc: {xoff_bytes: 9, xon_bytes: 9}\n", 4,
	 "xon_bytes: 9 is not below"},
	{"servers: 4\nplanes: 1\nsub_ports: 1\npfc: {class: 3}\n", 4, "pfc.xoff_bytes: this"},
	{"servers: 4\nplanes: 1\nsub_ports: 1\npfc: {class: 8, xoff_bytes: 9}\n", 4, "class: 8"},
	{"servers: [4]\nplanes: 2\nsub_ports: 2\n", 1, "servers"},
	{"servers: 4\nservers: 5\nplanes: 2\nsub_ports: 2\n", 2, "given twice (first on line 1)"},
	{"- servers\n", 1, ""},
	{"servers: 4\nplanes: 2\nsub_ports: {\n", 0, ""},
	{"servers: 4\nplanes: &a 2\nsub_ports: *a\n", 2,
	 "sub_ports: what is on this line is used again by an alias"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 400G\n", 4,
	 "rate_mbps: \"400G\" is not a number of megabits per second: a decimal integer from 0 to "
	 "100000 is expected"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 40e3\n", 4, "\"40e3\" is not a number"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 400.5\n", 4, "\"400.5\" is not a"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 40_000\n", 4, "\"40_000\" is not a"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 0100\n", 4, "\"0100\" is not a number"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nprobe_interval_ms: 10ms\n", 4, "\"10ms\" is not"},
	{"servers: 4\nplanes: 2\nsub_ports: 2%\n", 3, "sub_ports: \"2%\" is not a number"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nmtu: '9000,'\n", 4, "\"9000,\" is not a number"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nipv6: yes\n", 4, "ipv6: \"yes\": true or false"},
	{"servers: 4\nplanes: 2\nsub_ports: 2\nbgp_timers:\n  keepalive_s: 1s\n", 5,
	 "bgp_timers.keepalive_s: \"1s\" is not a number of seconds"},
};

START_TEST(bad_files)
{
	char error[TOPOLOGY_ERROR_MAX], place[32];
	struct topology t, before;

	memset(&t, 0x5a, sizeof(t));
	before = t;
	ck_assert_int_eq(parse(bad[_i].text, &t, error), -EBADMSG);
	ck_assert_msg(!memcmp(&t, &before, sizeof(t)), "half a topology was handed out");
	snprintf(place, sizeof(place), "lab.yaml:%u:", bad[_i].line);
	if (bad[_i].line)
		ck_assert_msg(!strncmp(error, place, strlen(place)), "wanted %s, have: %s", place,
			      error);
	ck_assert_msg(strstr(error, bad[_i].says) != NULL, "wanted \"%s\", have: %s", bad[_i].says,
		      error);
	ck_assert_msg(strlen(error) > strlen("lab.yaml:1: "), "no reason: %s", error);
}
END_TEST

START_TEST(zero_byte)
{
	const char text[] = "servers: 4\0planes: 2";
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_int_eq(topology_parse("lab.yaml", text, sizeof(text), &t, error), -EBADMSG);
	ck_assert(strstr(error, "lab.yaml:1: not YAML") != NULL);
}
END_TEST

START_TEST(names)
{
	ck_assert(topology_name_valid("a"));
	ck_assert(topology_name_valid("demo-2"));
	ck_assert(topology_name_valid("0123456789abcdef0123456789abcdef"));
	ck_assert(!topology_name_valid("0123456789abcdef0123456789abcdef0"));
	ck_assert(!topology_name_valid(""));
	ck_assert(!topology_name_valid("-a"));
	ck_assert(!topology_name_valid("a-"));
	ck_assert(!topology_name_valid(".."));
	ck_assert(!topology_name_valid("a/b"));
	ck_assert(!topology_name_valid("a b"));
}
END_TEST

START_TEST(shipped_files)
{
	char dir[512], path[1024], error[TOPOLOGY_ERROR_MAX];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	ck_assert_ptr_nonnull(getenv("FARE_SOURCE_DIR"));
	snprintf(dir, sizeof(dir), "%s/netns/topologies", getenv("FARE_SOURCE_DIR"));
	d = opendir(dir);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		struct topology t;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		ck_assert_msg(topology_load(path, &t, error) == 0, "%s", error);
		ck_assert_msg(t.name[0], "%s names no lab", path);
		n++;
	}
	closedir(d);
	ck_assert_uint_ge(n, 6);
}
END_TEST

START_TEST(missing_file)
{
	char error[TOPOLOGY_ERROR_MAX];
	struct topology t;

	ck_assert_int_eq(topology_load("/nonexistent/lab.yaml", &t, error), -ENOENT);
	ck_assert(strstr(error, "/nonexistent/lab.yaml") != NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topology");
	TCase *tc = tcase_create("topology");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, defaults);
	tcase_add_test(tc, rates);
	tcase_add_test(tc, tiers);
	tcase_add_test(tc, three_tiers);
	tcase_add_test(tc, pfc);
	tcase_add_test(tc, every_key);
	tcase_add_loop_test(tc, bad_files, 0, sizeof(bad) / sizeof(*bad));
	tcase_add_test(tc, zero_byte);
	tcase_add_test(tc, names);
	tcase_add_test(tc, shipped_files);
	tcase_add_test(tc, missing_file);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
