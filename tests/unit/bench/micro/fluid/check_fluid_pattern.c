/* SPDX-License-Identifier: BSD-2-Clause */
/* Who sends to whom: every pair once, all alike; and what choices make of it against the optimum.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "micro/fluid/fluid.h"
#include "micro/fluid/fluid_pattern.h"

#define MAX_GPUS 64

struct seen {
	unsigned planes, gpus, links;
	double pair[MAX_GPUS][MAX_GPUS]; /* bytes */
	double plane[FARE_MAX_PLANES];
	int fail_after; /* flows; 0: never */
};

static int seen_link(void *context, double capacity_bps)
{
	struct seen *seen = context;

	ck_assert_double_ge(capacity_bps, 0);
	seen->links++;
	return 0;
}

static int seen_flow(void *context, double weight, double bytes, int tx_link, int rx_link)
{
	struct seen *seen = context;
	unsigned tx = (unsigned)tx_link / 2, rx = (unsigned)rx_link / 2;

	ck_assert_double_gt(weight, 0);
	ck_assert(tx_link % 2 == 0 && rx_link % 2 == 1);
	ck_assert_uint_eq(tx % seen->planes, rx % seen->planes);
	ck_assert_uint_lt((unsigned)rx_link, seen->links);
	seen->pair[tx / seen->planes][rx / seen->planes] += bytes;
	seen->plane[tx % seen->planes] += bytes;
	return seen->fail_after && --seen->fail_after == 0 ? -ENOSPC : 0;
}

static const struct fluid_pattern usual = {
	.test = FLUID_PATTERN_ALL_TO_ALL,
	.choice = FLUID_PATTERN_FARE,
	.gpus = 64,
	.gpus_per_server = 1,
	.planes = 4,
	.sub_ports = 2,
	.qps = 4,
	.plane_bps = {2000, 2000, 2000, 1000},
	.bytes = 1 << 20,
};

static void look(const struct fluid_pattern *p, struct seen *seen)
{
	const struct fluid_pattern_sink sink = {seen_link, seen_flow, seen};

	memset(seen, 0, sizeof(*seen));
	seen->planes = p->planes;
	seen->gpus = p->gpus;
	ck_assert_int_eq(fluid_pattern_check(p), 0);
	ck_assert_int_eq(fluid_pattern_run(p, &sink), 0);
	ck_assert_uint_eq(seen->links, p->gpus * p->planes * 2);
}

START_TEST(every_gpu_sends_once_to_each_of_other_servers)
{
	struct fluid_pattern p = usual;
	static struct seen seen;

	p.gpus_per_server = 4;
	p.choice = (enum fluid_pattern_choice)_i;
	look(&p, &seen);
	for (unsigned s = 0; s < p.gpus; s++)
		for (unsigned d = 0; d < p.gpus; d++)
			ck_assert_double_eq_tol(seen.pair[s][d], s / 4 == d / 4 ? 0 : p.bytes,
						1e-6);
}
END_TEST

/* 10 peers in servers of 4: two servers and half of the third, but everybody hears from ten. */
START_TEST(few_peers_are_spread_evenly)
{
	struct fluid_pattern p = usual;
	static struct seen seen;

	p.gpus_per_server = 4;
	p.peers = 10;
	look(&p, &seen);
	ck_assert_uint_eq(fluid_pattern_peers(&p), 10);
	for (unsigned g = 0; g < p.gpus; g++) {
		unsigned tx = 0, rx = 0;

		for (unsigned other = 0; other < p.gpus; other++) {
			tx += seen.pair[g][other] > 0;
			rx += seen.pair[other][g] > 0;
			if (other / 4 == g / 4)
				ck_assert_double_eq(seen.pair[g][other], 0);
		}
		ck_assert_uint_eq(tx, 10);
		ck_assert_uint_eq(rx, 10);
	}
}
END_TEST

START_TEST(kv_goes_from_one_half_to_the_other)
{
	struct fluid_pattern p = usual;
	static struct seen seen;

	p.test = FLUID_PATTERN_KV;
	look(&p, &seen);
	for (unsigned s = 0; s < p.gpus; s++)
		for (unsigned d = 0; d < p.gpus; d++)
			ck_assert_double_eq(seen.pair[s][d], s < 32 && d == s + 32 ? p.bytes : 0);
}
END_TEST

START_TEST(a_lost_plane_is_not_used)
{
	struct fluid_pattern p = usual;
	static struct seen seen;

	p.plane_bps[1] = 0;
	p.choice = (enum fluid_pattern_choice)_i;
	look(&p, &seen);
	ck_assert_double_eq(seen.plane[1], 0);
	ck_assert_double_gt(seen.plane[3], 0);
}
END_TEST

static int add_link(void *context, double capacity_bps)
{
	int link = fluid_add_link(context, capacity_bps);

	return link < 0 ? link : 0;
}

static int add_flow(void *context, double weight, double bytes, int tx_link, int rx_link)
{
	int links[2] = {tx_link, rx_link};
	int flow = fluid_add_flow(context, weight, bytes, links, 2);

	return flow < 0 ? flow : 0;
}

static double over_optimum(const struct fluid_pattern *p)
{
	struct fluid_pattern_sink sink = {add_link, add_flow, NULL};
	double finish_s, optimum_s;
	struct fluid *fluid;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	sink.context = fluid;
	ck_assert_int_eq(fluid_pattern_run(p, &sink), 0);
	ck_assert_int_eq(fluid_run(fluid, &finish_s), 0);
	ck_assert_int_eq(fluid_pattern_optimum_s(p, &optimum_s), 0);
	fluid_destroy(fluid);
	return finish_s / optimum_s;
}

START_TEST(choices_stand_where_they_should)
{
	struct fluid_pattern p = usual;
	double fare = over_optimum(&p), hash, weighted;

	ck_assert_double_le(fare, 1.02);
	p.choice = FLUID_PATTERN_HASH;
	hash = over_optimum(&p);
	p.choice = FLUID_PATTERN_WEIGHTED_HASH;
	weighted = over_optimum(&p);
	ck_assert_double_gt(weighted, 1.1);
	ck_assert_double_gt(hash, weighted);
	p.choice = FLUID_PATTERN_SPRAY;
	ck_assert_double_eq_tol(over_optimum(&p), 1, 1e-9);
}
END_TEST

/* Addresses numbered through, or with a stride that has a factor in common with the schedule's
 * period. */
START_TEST(one_halved_plane_is_within_two_percent)
{
	static const unsigned qps[] = {1, 4, 16};
	struct fluid_pattern p = usual;

	for (unsigned i = 0; i < 3; i++) {
		p.qps = qps[i];
		p.stride = 1;
		ck_assert_double_le(over_optimum(&p), 1.02);
		p.stride = 28;
		ck_assert_double_le(over_optimum(&p), 1.02);
	}
}
END_TEST

/* The plane is halved while flows are bound: what must moves, and with a few QPs a pair it is as
 * good as new. */
START_TEST(halved_while_bound_is_as_good)
{
	static const uint64_t whole[FARE_MAX_PLANES] = {2000, 2000, 2000, 2000};
	struct fluid_pattern p = usual;

	p.bound_bps = whole;
	ck_assert_double_le(over_optimum(&p), 1.02);
	p.qps = 16;
	ck_assert_double_le(over_optimum(&p), 1.02);
}
END_TEST

START_TEST(pairs_that_begin_alike_are_told_apart)
{
	struct fluid_pattern p = usual;

	p.choice = FLUID_PATTERN_ALIKE;
	p.qps = 1;
	ck_assert_double_gt(over_optimum(&p), 3);
	p.qps = 4;
	p.choice = FLUID_PATTERN_HASH;
	ck_assert_double_gt(over_optimum(&p), 1.5);
}
END_TEST

/* Whoever sends or receives most sets the optimum, and nothing is sooner. */
START_TEST(varied_sizes_keep_their_mean_and_the_bound)
{
	struct fluid_pattern p = usual;
	static struct seen seen;
	double sum = 0, alike_s, varied_s;

	ck_assert_int_eq(fluid_pattern_optimum_s(&p, &alike_s), 0);
	ck_assert_double_eq_tol(alike_s, 63 * 8.0 * (1 << 20) / 7000, 1e-6);
	p.vary_percent = 90;
	look(&p, &seen);
	for (unsigned s = 0; s < p.gpus; s++)
		for (unsigned d = 0; d < p.gpus; d++) {
			sum += seen.pair[s][d];
			if (s != d) {
				ck_assert_double_ge(seen.pair[s][d], p.bytes * 0.0999);
				ck_assert_double_le(seen.pair[s][d], p.bytes * 1.9001);
			}
		}
	ck_assert_double_eq_tol(sum / (64 * 63) / p.bytes, 1, 0.05);
	ck_assert_int_eq(fluid_pattern_optimum_s(&p, &varied_s), 0);
	ck_assert_double_gt(varied_s, alike_s);
	ck_assert_double_ge(over_optimum(&p), 1 - 1e-9);
}
END_TEST

START_TEST(the_sinks_error_ends_it)
{
	static struct seen seen;
	const struct fluid_pattern_sink sink = {seen_link, seen_flow, &seen};

	memset(&seen, 0, sizeof(seen));
	seen.planes = 4;
	seen.gpus = 64;
	seen.fail_after = 7;
	ck_assert_int_eq(fluid_pattern_run(&usual, &sink), -ENOSPC);
	ck_assert_int_eq(seen.fail_after, 0);
}
END_TEST

START_TEST(nonsense_is_refused)
{
	struct fluid_pattern p;

#define REFUSED(member, value)                                                                     \
	do {                                                                                       \
		p = usual;                                                                         \
		p.member = value;                                                                  \
		ck_assert_int_eq(fluid_pattern_check(&p), -EINVAL);                                \
	} while (0)
	REFUSED(test, FLUID_PATTERN_TESTS);
	REFUSED(choice, FLUID_PATTERN_CHOICES);
	REFUSED(gpus, 1);
	REFUSED(gpus, FLUID_PATTERN_MAX_GPUS + 1);
	REFUSED(gpus_per_server, 0);
	REFUSED(gpus_per_server, 7);
	REFUSED(gpus_per_server, 64);
	REFUSED(planes, 0);
	REFUSED(planes, FARE_MAX_PLANES + 1);
	REFUSED(sub_ports, 0);
	REFUSED(sub_ports, FARE_MAX_SUB_PORTS + 1);
	REFUSED(qps, 0);
	REFUSED(qps, FLUID_PATTERN_MAX_QPS + 1);
	REFUSED(bytes, 0);
	REFUSED(vary_percent, 100);
	p = usual;
	p.test = FLUID_PATTERN_KV;
	p.gpus = 63;
	ck_assert_int_eq(fluid_pattern_check(&p), -EINVAL);
	p = usual;
	memset(p.plane_bps, 0, sizeof(p.plane_bps));
	ck_assert_int_eq(fluid_pattern_check(&p), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fluid_pattern");
	TCase *tcase = tcase_create("fluid_pattern");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 100);
	tcase_add_loop_test(tcase, every_gpu_sends_once_to_each_of_other_servers, 0,
			    FLUID_PATTERN_CHOICES);
	tcase_add_test(tcase, few_peers_are_spread_evenly);
	tcase_add_test(tcase, kv_goes_from_one_half_to_the_other);
	tcase_add_loop_test(tcase, a_lost_plane_is_not_used, 0, FLUID_PATTERN_CHOICES);
	tcase_add_test(tcase, choices_stand_where_they_should);
	tcase_add_test(tcase, one_halved_plane_is_within_two_percent);
	tcase_add_test(tcase, halved_while_bound_is_as_good);
	tcase_add_test(tcase, pairs_that_begin_alike_are_told_apart);
	tcase_add_test(tcase, varied_sizes_keep_their_mean_and_the_bound);
	tcase_add_test(tcase, the_sinks_error_ends_it);
	tcase_add_test(tcase, nonsense_is_refused);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
