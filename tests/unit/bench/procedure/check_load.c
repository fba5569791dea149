/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>

#include "bench/check_bench_fabric.h"
#include "fabric/optimum.h"
#include "procedure/load.h"

/* With two GPUs on either side two pairs share none, and four are all that there are. */
START_TEST(pairs_share_a_gpu_only_when_they_must)
{
	static const unsigned src[] = {0, 1, 0, 1, 0}, dst[] = {0, 1, 1, 0, 0};
	unsigned a, b;

	for (unsigned i = 0; i < 5; i++) {
		load_pair(i, 2, 2, &a, &b);
		ck_assert_uint_eq(a, src[i]);
		ck_assert_uint_eq(b, dst[i]);
	}
}
END_TEST

/* Of pools of all sizes: after any number of pairs no GPU has two more than another of its pool,
 * and the first sources x sinks pairs are all different. */
START_TEST(pairs_are_spread_evenly)
{
	for (unsigned sources = 1; sources <= 9; sources++)
		for (unsigned sinks = 1; sinks <= 9; sinks++) {
			unsigned tx[9] = {0}, rx[9] = {0}, met[9][9] = {{0}}, a, b;

			for (unsigned i = 0; i < sources * sinks; i++) {
				load_pair(i, sources, sinks, &a, &b);
				ck_assert_uint_lt(a, sources);
				ck_assert_uint_lt(b, sinks);
				ck_assert_uint_eq(met[a][b]++, 0);
				ck_assert_uint_le(++tx[a], i / sources + 1);
				ck_assert_uint_le(++rx[b], i / sinks + 1);
			}
		}
}
END_TEST

/* Two servers that each fill their links evenly, one at 80% and one at 10%: even, not 0.62. */
START_TEST(servers_are_not_compared_with_each_other)
{
	static const double even[] = {.8, .8, .1, .1}, uneven[] = {.8, 0, .1, .1};
	static const unsigned server[] = {4, 4, 7, 7}, mixed[] = {4, 7, 4, 7};
	static const double crossed[] = {.8, .1, .8, .1};

	ck_assert_double_eq_tol(load_evenness(even, server, 4), 1, 1e-12);
	ck_assert_double_eq_tol(load_evenness(crossed, mixed, 4), 1, 1e-12);
	/* (0.8 + 0)^2 / (2 x 0.64) = 0.5 and 1 */
	ck_assert_double_eq_tol(load_evenness(uneven, server, 4), .75, 1e-12);
	ck_assert(isnan(load_evenness(even, server, 0)));
	ck_assert_double_eq_tol(load_max_over_mean(even, server, 4), 1, 1e-12);
	ck_assert_double_eq_tol(load_max_over_mean(crossed, mixed, 4), 1, 1e-12);
	ck_assert_double_eq_tol(load_max_over_mean(uneven, server, 4), 2, 1e-12);
	ck_assert(isnan(load_max_over_mean(even, server, 0)));
}
END_TEST

/* 300 of 1,200 packets to GPU 1: a quarter. Its second mark came first, at 2 ms and 9,000 bytes;
 * that of GPU 2, which came before, is of another. */
START_TEST(marks_of_a_receiver)
{
	struct topo *topo = parsed(fabric(3));
	struct topo_plane *plane = topo->gpus[1].plane;
	struct load_marks marks;

	plane[0].sub_port[0].marks = (struct topo_marks){.packets = 400,
							 .marked = 100,
							 .onset_ns = 5000000,
							 .queue_at_onset_bytes = 7000,
							 .queue_peak_bytes = 30000};
	plane[3].sub_port[1].marks = (struct topo_marks){.packets = 800,
							 .marked = 200,
							 .onset_ns = 2000000,
							 .queue_at_onset_bytes = 9000,
							 .queue_peak_bytes = 20000};
	topo->gpus[2].plane[0].sub_port[0].marks = (struct topo_marks){
		.packets = 800, .marked = 700, .onset_ns = 1000000, .queue_at_onset_bytes = 1};
	plane[0].sub_port[0].marks.ramp_packets[4] = plane[0].sub_port[0].marks.ramp_marked[4] = 10;
	plane[3].sub_port[1].marks.ramp_packets[4] = 20;
	plane[3].sub_port[1].marks.ramp_marked[4] = 2;
	marks = load_marks(topo, 1, 2);
	ck_assert_double_eq(marks.packets, 1200);
	ck_assert_double_eq(marks.rate_percent, 25);
	ck_assert_double_eq(marks.onset_ms, 2);
	ck_assert_double_eq(marks.onset_bytes, 9000);
	ck_assert_double_eq(marks.peak_bytes, 30000);
	ck_assert_double_eq(marks.ramp_packets[4], 30);
	ck_assert_double_eq(marks.ramp_marked[4], 12);
	ck_assert_double_eq(load_marks(topo, 0, 3).rate_percent, 50);
	marks = load_marks(topo, 0, 1);
	ck_assert(isnan(marks.rate_percent) && isnan(marks.onset_ms));
	topo_destroy(topo);
}
END_TEST

/* Sub-ports of 200 Mb/s carry 100, 50 and 0 Mb/s; of 1,000 packets 5 were dropped. The queues of a
 * lab know better than its interfaces: 20 of 2,000. */
START_TEST(links_and_drops)
{
	struct topo *topo = parsed(fabric(2));
	struct fabric f = {.topo = topo};
	const struct trial t = {.fabric = &f};
	struct measured_link link[] = {{.dev = "g0p0s0", .tx_bps = 100e6, .tx_packets = 600},
				       {.dev = "g0p0s1",
					.tx_bps = 50e6,
					.tx_packets = 400,
					.tx_dropped = 3,
					.rx_dropped = 2},
				       {.dev = "g0p1s0"},
				       {.dev = "lo", .tx_bps = 1e9}};
	struct measured m = {.n_links = 4, .link = link};
	struct load_links use;

	use = load_links(&t, &m, NULL);
	ck_assert_uint_eq(use.n, 3);
	ck_assert_double_eq_tol(use.max, .5, 1e-12);
	ck_assert_double_eq_tol(use.min, 0, 1e-12);
	ck_assert_double_eq_tol(use.mean, .25, 1e-12);
	ck_assert_double_eq_tol(use.drop_ppm, 5000, 1e-9);
	m.fabric_sent = 2000;
	m.fabric_dropped = 20;
	ck_assert_double_eq_tol(load_links(&t, &m, NULL).drop_ppm, 10000, 1e-9);
	topo_destroy(topo);
}
END_TEST

/* Servers 1 and 2 only receive and acknowledge, with more than server 0's last link sends: their
 * links are not in the mean, as the plan has GPU 0 alone send. */
START_TEST(a_receiver_is_no_sender)
{
	struct topo *topo = parsed(fabric(3));
	struct fabric f = {.topo = topo};
	const struct trial t = {.fabric = &f};
	struct measured_link link[] = {{.dev = "g0p0s0", .tx_bps = 200e6},
				       {.dev = "g0p1s0", .tx_bps = 100e6},
				       {.dev = "g0p2s0", .tx_bps = 3e6},
				       {.server = 1, .dev = "g0p0s0", .tx_bps = 10e6},
				       {.server = 1, .dev = "g0p1s0", .tx_bps = 12e6},
				       {.server = 2, .dev = "g0p1s0", .tx_bps = 150e6}};
	struct measured m = {.n_links = 6, .link = link};
	struct traffic_load load = {0};
	struct plan plan = {0};
	bool senders[TOPO_MAX_GPUS];
	struct load_links use;

	plan_stream(&plan, plan_load(&plan, &load), 0, 1, 1, 4096);
	load_senders(&plan, senders);
	ck_assert(senders[0] && !senders[1] && !senders[2]);
	use = load_links(&t, &m, senders);
	ck_assert_uint_eq(use.n, 3);
	ck_assert_double_eq_tol(use.mean, .505, 1e-12);
	ck_assert_double_eq_tol(use.min, .015, 1e-12);
	/* (1 + .5 + .015)^2 / (3 x (1 + .25 + .000225)) */
	ck_assert_double_eq_tol(use.jfi, .611950, 1e-6);
	plan_fini(&plan);
	topo_destroy(topo);
}
END_TEST

/* 5 were due: 1 never left, 1 arrived too late. */
START_TEST(what_did_not_end)
{
	struct measured_load load = {.unposted = 1, .late = 1};

	hist_init(&load.posted);
	for (unsigned i = 0; i < 4; i++)
		hist_add(&load.posted, 7);
	ck_assert_double_eq_tol(load_unfinished(&load), .4, 1e-12);
	load = (struct measured_load){0};
	hist_init(&load.posted);
	ck_assert(isnan(load_unfinished(&load)));
	ck_assert(load_beat_line(89, 100) && !load_beat_line(91, 100));
	ck_assert(!load_beat_line(NAN, 100) && !load_beat_line(89, NAN));
}
END_TEST

/* A window of 0.8 s offers 148 messages of 64 KiB: with 142.7 of them acknowledged a backlog grows;
 * one that is under way and 1% are none. Ten streams may have a message each under way. */
START_TEST(a_backlog_that_grows)
{
	const double message = 65536 * 8, offered = 148 * message / .8;

	ck_assert(load_keeps_pace(offered, offered, .8, 1, 65536));
	ck_assert(load_keeps_pace(offered, 145.6 * message / .8, .8, 1, 65536));
	ck_assert(!load_keeps_pace(offered, 145.4 * message / .8, .8, 1, 65536));
	ck_assert(!load_keeps_pace(97.04e6, 93.55e6, .8, 1, 65536));
	ck_assert(!load_keeps_pace(84.72e6, 80.25e6, .8, 1, 65536));
	ck_assert(load_keeps_pace(53.91e6, 53.76e6, .8, 1, 65536));
	ck_assert(load_keeps_pace(offered, 137 * message / .8, .8, 10, 65536));
}
END_TEST

/* Four planes, a leaf of each with two links of 400 Mb/s to spines: 3.2 Gb/s of two pairs across
 * leaves, a quarter where these links are four times slower; twice that where half stays inside. */
START_TEST(links_to_spines_bound_pairs)
{
	struct topo *topo = parsed(two_tiers()), *flat = parsed(fabric(4));
	struct plan plan = {0};
	struct traffic_load load = {0};
	double factor = optimum_goodput_factor(topo);
	unsigned at = plan_load(&plan, &load);

	plan_stream(&plan, at, 0, 2, 1, 4096);
	ck_assert_double_eq_tol(load_uplinks_bps(topo, &plan), 3.2e9 * factor, 1e3);
	plan_stream(&plan, at, 1, 3, 1, 4096);
	ck_assert_double_eq_tol(load_uplinks_bps(topo, &plan), 3.2e9 * factor, 1e3);
	for (unsigned i = 0; i < topo->n_uplinks; i++)
		topo->uplinks[i].rate_bps /= 4;
	ck_assert_double_eq_tol(load_uplinks_bps(topo, &plan), 0.8e9 * factor, 1e3);
	plan_stream(&plan, at, 0, 1, 1, 4096);
	plan_stream(&plan, at, 2, 3, 1, 4096);
	ck_assert_double_eq_tol(load_uplinks_bps(topo, &plan), 1.6e9 * factor, 1e3);
	ck_assert(isinf(load_uplinks_bps(flat, &plan)));
	plan_fini(&plan);
	topo_destroy(topo);
	topo_destroy(flat);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("load");
	TCase *tcase = tcase_create("load");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, pairs_share_a_gpu_only_when_they_must);
	tcase_add_test(tcase, pairs_are_spread_evenly);
	tcase_add_test(tcase, servers_are_not_compared_with_each_other);
	tcase_add_test(tcase, marks_of_a_receiver);
	tcase_add_test(tcase, links_and_drops);
	tcase_add_test(tcase, a_receiver_is_no_sender);
	tcase_add_test(tcase, what_did_not_end);
	tcase_add_test(tcase, a_backlog_that_grows);
	tcase_add_test(tcase, links_to_spines_bound_pairs);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
