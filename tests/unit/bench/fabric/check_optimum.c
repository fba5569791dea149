/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "bench/check_bench_fabric.h"
#include "engine/moe.h"
#include "micro/fluid/fluid.h"
#include "fabric/optimum.h"

enum scenario { HEALTHY, SUB_PORT, PLANE, LEAF, SCENARIOS };

static struct topo *in(enum scenario scenario)
{
	struct topo *topo = parsed(fabric(4));

	if (scenario == SUB_PORT || scenario == PLANE)
		topo->gpus[1].plane[1].sub_port[0].up = false;
	if (scenario == PLANE)
		topo->gpus[1].plane[1].sub_port[1].up = false;
	if (scenario == LEAF)
		topo->leaves[1].up = false;
	return topo;
}

/*
 * Links 2k and 2k+1 of the fluid: GPU k / n_planes, plane k % n_planes, out and in; after those of
 * all GPUs, out of and into each leaf by its spines.
 */
static void add_pair(const struct topo *topo, struct fluid *fluid, unsigned src, unsigned dst,
		     double bytes)
{
	double total = (double)optimum_pair_bps(topo, src, dst);

	ck_assert_double_gt(total, 0);
	for (unsigned plane = 0; plane < topo->n_planes; plane++) {
		double share = (double)optimum_path_bps(topo, src, dst, plane);
		unsigned leaves = 2 * topo->n_gpus * topo->n_planes;
		int links[4] = {(int)(2 * (src * topo->n_planes + plane)),
				(int)(2 * (dst * topo->n_planes + plane) + 1),
				(int)(leaves + 2 * topo->gpus[src].plane[plane].leaf),
				(int)(leaves + 2 * topo->gpus[dst].plane[plane].leaf + 1)};

		if (share > 0)
			ck_assert_int_ge(
				fluid_add_flow(fluid, share, bytes * share / total, links,
					       topo_same_leaf(topo, src, dst, plane) ? 2 : 4),
				0);
	}
}

/*
 * Seconds that the fluid takes if every pair splits its bytes over planes in proportion to
 * optimum_path_bps(), all pairs at once: the bound cannot be below.
 */
static double proportional_s(const struct topo *topo, const uint64_t *bytes)
{
	struct fluid *fluid;
	double seconds;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	for (unsigned i = 0; i < topo->n_gpus * topo->n_planes * 2; i++)
		fluid_add_link(fluid, (double)topo_capacity_bps(topo, i / 2 / topo->n_planes,
								i / 2 % topo->n_planes));
	for (unsigned i = 0; i < topo->n_leaves * 2; i++)
		fluid_add_link(fluid, (double)topo_uplinks_bps(topo, i / 2));
	for (unsigned i = 0; i < topo->n_gpus * topo->n_gpus; i++)
		if (bytes[i])
			add_pair(topo, fluid, i / topo->n_gpus, i % topo->n_gpus, (double)bytes[i]);
	ck_assert_int_eq(fluid_run(fluid, &seconds), 0);
	fluid_destroy(fluid);
	return seconds;
}

START_TEST(pairs)
{
	static const uint64_t want_mbps[SCENARIOS] = {1600, 1400, 1200, 1200},
			      other[SCENARIOS] = {1600, 1600, 1600, 1200};

	for (int i = 0; i < SCENARIOS; i++) {
		struct topo *topo = in((enum scenario)i);

		ck_assert_uint_eq(optimum_pair_bps(topo, 0, 1), want_mbps[i] * 1000000);
		ck_assert_uint_eq(optimum_pair_bps(topo, 1, 0), want_mbps[i] * 1000000);
		ck_assert_uint_eq(optimum_pair_bps(topo, 0, 2), other[i] * 1000000);
		topo_destroy(topo);
	}
}
END_TEST

START_TEST(the_busiest_gpu_is_the_bound)
{
	uint64_t bytes[16] = {0};
	struct topo *topo = in(HEALTHY);

	bytes[0 * 4 + 1] = 100000000;
	bytes[2 * 4 + 1] = 100000000; /* 200 MB into GPU 1 at 200 MB/s */
	bytes[0 * 4 + 3] = 50000000;
	ck_assert_double_eq_tol(optimum_all_to_all_s(topo, bytes), 1, 1e-9);
	topo_destroy(topo);
	topo = in(LEAF);
	ck_assert_double_eq_tol(optimum_all_to_all_s(topo, bytes), 4.0 / 3, 1e-9);
	for (int leaf = 0; leaf < 4; leaf++)
		topo->leaves[leaf].up = false;
	ck_assert(isinf(optimum_all_to_all_s(topo, bytes)));
	topo_destroy(topo);
}
END_TEST

/* A pair cannot use what only one of the two ends has: capacity in different planes does not add
 * up. */
START_TEST(planes_do_not_mix)
{
	struct topo *topo = in(PLANE);
	uint64_t bytes[16] = {0};

	topo->gpus[0].plane[2].sub_port[0].up = topo->gpus[0].plane[2].sub_port[1].up = false;
	bytes[1] = 100000000;
	ck_assert_uint_eq(optimum_pair_bps(topo, 0, 1), 800000000);
	ck_assert_double_eq_tol(optimum_all_to_all_s(topo, bytes), 1, 1e-9);
	topo_destroy(topo);
}
END_TEST

/* Equal shares: a split in proportion to the paths' bandwidth reaches the bound exactly in all
 * scenarios. */
START_TEST(ten_buckets)
{
	struct topo *topo = in(HEALTHY);
	double bucket;

	topo->bucket_bytes = 4000;
	bucket = optimum_bucket_bytes(topo, 0);
	ck_assert(bucket > 4000 * 7 && bucket < 4000 * 8); /* eight sub-ports, less of headers */
	ck_assert(optimum_short(topo, 0, 10 * bucket - 1));
	ck_assert(!optimum_short(topo, 0, 10 * bucket));
	topo->bucket_bytes = 0; /* nothing shapes */
	ck_assert(!optimum_short(topo, 0, 1));
	topo_destroy(topo);
}
END_TEST

START_TEST(proportional_reaches_the_bound)
{
	for (int i = 0; i < SCENARIOS; i++) {
		struct topo *topo = in((enum scenario)i);
		uint64_t bytes[16];
		double fluid;

		for (int j = 0; j < 16; j++)
			bytes[j] = j % 5 ? 10000000 : 0;
		fluid = proportional_s(topo, bytes);
		ck_assert_double_eq_tol(fluid / optimum_all_to_all_s(topo, bytes), 1, 1e-6);
		topo_destroy(topo);
	}
}
END_TEST

/* Seeded routing over as many rounds as the demo measures: the bound holds, and the split comes
 * within 1% of it. */
START_TEST(routed_traffic_comes_close)
{
	const struct moe moe = {.gpus = 4,
				.tokens = 256,
				.top_k = 8,
				.experts = 64,
				.hidden = 7168,
				.element_bytes = 1,
				.seed = 1};

	for (int i = 0; i < SCENARIOS; i++) {
		struct topo *topo = in((enum scenario)i);
		uint64_t bytes[16], sum[16] = {0};
		double fluid, bound;

		for (uint64_t round = 0; round < 15; round++) {
			moe_round(&moe, round, bytes);
			for (int j = 0; j < 16; j++)
				sum[j] += bytes[j];
		}
		fluid = proportional_s(topo, sum);
		bound = optimum_all_to_all_s(topo, sum);
		ck_assert_double_ge(fluid, bound * (1 - 1e-9));
		ck_assert_double_le(fluid, bound * 1.01);
		topo_destroy(topo);
	}
}
END_TEST

/* uplinks[0]: l0 (of s0 and s1, on plane 0) and sp0. */
START_TEST(spines_bound_what_crosses_them)
{
	struct topo *topo = parsed(two_tiers());
	uint64_t across[16] = {[0 * 4 + 2] = 100000000, [1 * 4 + 3] = 100000000};
	double fluid;

	ck_assert_uint_eq(optimum_path_bps(topo, 0, 1, 0), 400000000);
	ck_assert_uint_eq(optimum_path_bps(topo, 0, 2, 0), 400000000);
	ck_assert_uint_eq(optimum_usable_bps(topo, 0, 2, 0), 400000000);
	ck_assert_double_eq_tol(optimum_all_to_all_s(topo, across), 0.5, 1e-9);
	topo->uplinks[0].up = false;
	/* one pair alone still has all; BGP tells the share of spines */
	ck_assert_uint_eq(optimum_path_bps(topo, 0, 2, 0), 400000000);
	ck_assert_uint_eq(optimum_usable_bps(topo, 0, 2, 0), 200000000);
	ck_assert_uint_eq(optimum_usable_bps(topo, 2, 0, 0), 200000000);
	ck_assert_uint_eq(optimum_usable_bps(topo, 0, 1, 0), 400000000);
	ck_assert_uint_eq(optimum_usable_bps(topo, 0, 2, 1), 400000000);
	/* two at once: 200 MB over 7 links of 400 Mb/s */
	ck_assert_double_eq_tol(optimum_all_to_all_s(topo, across), 1.6e9 / 2.8e9, 1e-9);
	fluid = proportional_s(topo, across);
	ck_assert_double_ge(fluid, optimum_all_to_all_s(topo, across) * (1 - 1e-9));
	topo->uplinks[0].up = true;
	topo->uplinks[1].rate_bps = 100000000; /* l0 and sp1: slow, and nobody is told */
	ck_assert_uint_eq(optimum_path_bps(topo, 0, 2, 0), 400000000);
	topo->spines[0].up = false;
	ck_assert_uint_eq(optimum_path_bps(topo, 0, 2, 0), 100000000);
	ck_assert_uint_eq(optimum_usable_bps(topo, 0, 2, 0), 200000000);
	topo->spines[1].up = false;
	ck_assert_uint_eq(optimum_path_bps(topo, 0, 2, 0), 0);
	ck_assert_uint_eq(optimum_path_bps(topo, 0, 1, 0), 400000000);
	topo_destroy(topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("optimum");
	TCase *tcase = tcase_create("optimum");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, pairs);
	tcase_add_test(tcase, the_busiest_gpu_is_the_bound);
	tcase_add_test(tcase, planes_do_not_mix);
	tcase_add_test(tcase, ten_buckets);
	tcase_add_test(tcase, proportional_reaches_the_bound);
	tcase_add_test(tcase, routed_traffic_comes_close);
	tcase_add_test(tcase, spines_bound_what_crosses_them);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
