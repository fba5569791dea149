/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "../check_bench_fabric.h"
#include "workload/collective.h"

/* 8 GPUs, 1 GB in 0.1 s: the figures of a table of bus bandwidths. */
START_TEST(factors)
{
	ck_assert_double_eq_tol(collective_factor(COLLECTIVE_ALLREDUCE, 8), 1.75, 1e-12);
	ck_assert_double_eq_tol(collective_factor(COLLECTIVE_ALLTOALL, 8), 0.875, 1e-12);
	ck_assert_double_eq_tol(collective_factor(COLLECTIVE_ALLGATHER, 8), 0.875, 1e-12);
	ck_assert_double_eq_tol(collective_factor(COLLECTIVE_REDUCE_SCATTER, 8), 0.875, 1e-12);
	ck_assert_double_eq(collective_factor(COLLECTIVE_BCAST, 8), 1);
	ck_assert_double_eq(collective_factor(COLLECTIVE_SENDRECV, 8), 1);
	ck_assert_double_eq_tol(collective_busbw_bps(COLLECTIVE_ALLREDUCE, 8, 1000000000, 0.1),
				140e9, 1);
}
END_TEST

/* What a rank sends is its vector times the factor, whatever the collective. */
START_TEST(matrices_add_up)
{
	for (enum collective c = 0; c < COLLECTIVE_COUNT; c++)
		for (unsigned ranks = 2; ranks < 9; ranks++) {
			uint64_t cells[64], bytes = 840 * 1024;

			collective_matrix(NULL, c, ranks, bytes, cells);
			for (unsigned src = 0; src < ranks; src++) {
				uint64_t sent = 0, got = 0;

				ck_assert_uint_eq(cells[src * ranks + src], 0);
				for (unsigned i = 0; i < ranks; i++) {
					sent += cells[src * ranks + i];
					got += cells[i * ranks + src];
				}
				/* a broadcast ends somewhere, and begins */
				if (c != COLLECTIVE_BCAST || (src && src < ranks - 1))
					ck_assert_uint_eq(sent, got);
				if (c != COLLECTIVE_BCAST || src < ranks - 1)
					ck_assert_double_eq_tol(
						(double)sent,
						(double)bytes * collective_factor(c, ranks), ranks);
			}
		}
}
END_TEST

/* 4 planes of two 200 Mb/s each; GPU 3 then lacks a plane. */
START_TEST(optimum_is_of_the_links_that_live)
{
	struct topo *topo = parsed(fabric(4));
	double factor = topo_goodput_factor(topo_path_mtu(topo->mtu_bytes, false), false), whole;
	uint64_t cells[16];

	collective_matrix(topo, COLLECTIVE_ALLREDUCE, 4, 4000000, cells);
	whole = collective_optimum_s(topo, 4, cells);
	ck_assert_double_eq_tol(whole, 6000000 * 8 / 1600e6 / factor, 1e-9);
	topo->gpus[3].plane[0].sub_port[0].up = topo->gpus[3].plane[0].sub_port[1].up = false;
	ck_assert_double_eq_tol(collective_optimum_s(topo, 4, cells), whole * 4 / 3, 1e-9);
	/* a ring of the first three does not meet it */
	collective_matrix(topo, COLLECTIVE_ALLREDUCE, 3, 4000000 / 3 * 3, cells);
	ck_assert_double_lt(collective_optimum_s(topo, 3, cells), whole);
	ck_assert(isnan(collective_optimum_s(topo, 5, cells)));
	topo_destroy(topo);
}
END_TEST

/* Of 4 ranks: parts of a vector of 1, and acknowledgements of them the other way. */
static void fill(double cells[16], const double of[4][4])
{
	for (unsigned i = 0; i < 16; i++)
		cells[i] = 1e6 * (of[i / 4][i % 4] + 0.03 * of[i % 4][i / 4]);
}

static const char *seen(enum collective c, const double of[4][4], double *times)
{
	double cells[16];

	fill(cells, of);
	return collective_seen(NULL, c, 4, 1000000, cells, times);
}

static bool covered(enum collective c, const double of[4][4])
{
	double cells[16];

	fill(cells, of);
	return collective_covered(NULL, c, 4, 1000000, cells);
}

/* All that recursive doubling sends in an all-gather is as much as a ring does, to others. */
START_TEST(another_algorithm_is_seen)
{
	static const double ring[4][4] = {{0, .75}, {0, 0, .75}, {0, 0, 0, .75}, {.75}},
			    doubling[4][4] = {{0, .25, .5},
					      {.25, 0, 0, .5},
					      {.5, 0, 0, .25},
					      {0, .5, .25, 0}},
			    whole[4][4] = {{0, 1, 1}, {1, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 1, 0}},
			    pairs[4][4] = {{0, .25, .25, .25},
					   {.25, 0, .25, .25},
					   {.25, .25, 0, .25},
					   {.25, .25, .25, 0}},
			    bruck[4][4] = {{0, .5, .5}, {0, 0, .5, .5}, {.5, 0, 0, .5}, {.5, .5}},
			    chain[4][4] = {{0, 1}, {0, 0, 1}, {0, 0, 0, 1}},
			    twice[4][4] = {{0, 1.5}, {0, 0, 1.6}, {0, 0, 0, 1.4}, {1.5}},
			    less[4][4] = {{0, .5}, {0, 0, .75}, {0, 0, 0, .75}, {.75}},
			    again[4][4] = {{0, .5, .25, .25},
					   {.25, 0, .25, .25},
					   {.25, .9, 0, .25},
					   {.25, .25, .4, 0}};
	const enum collective gather = COLLECTIVE_ALLGATHER;
	double times;

	ck_assert_str_eq(collective_shape(gather), "ring");
	ck_assert_str_eq(seen(gather, ring, &times), "ring");
	ck_assert_double_eq_tol(times, 1.03, 1e-3);
	ck_assert_str_eq(seen(gather, doubling, &times), "halving");
	ck_assert_double_eq_tol(times, 1.03, 1e-3);
	ck_assert_str_eq(seen(COLLECTIVE_ALLREDUCE, whole, &times), "doubling");
	ck_assert_str_eq(seen(COLLECTIVE_ALLTOALL, pairs, &times), "pairs");
	ck_assert_str_eq(seen(COLLECTIVE_ALLTOALL, bruck, &times), "nothing known");
	ck_assert_str_eq(seen(COLLECTIVE_BCAST, chain, &times), "chain");
	/* what is sent again is to the same ones; what is not sent at all is missing */
	ck_assert_str_eq(seen(gather, twice, &times), "ring");
	ck_assert_double_eq_tol(times, 2.06, 1e-3);
	ck_assert_str_eq(seen(gather, less, &times), "nothing known");
	/* and what is sent again to some alone hides the pairs, but does not look like less */
	ck_assert_str_eq(seen(COLLECTIVE_ALLTOALL, again, &times), "nothing known");
	ck_assert(covered(COLLECTIVE_ALLTOALL, again));
	ck_assert(covered(COLLECTIVE_ALLTOALL, pairs));
	ck_assert(!covered(COLLECTIVE_ALLTOALL, bruck));
	ck_assert(!covered(gather, less));
	ck_assert(!covered(gather, doubling));
}
END_TEST

/* Ranks 0 and 1 on one server, 2 and 3 on the other: what stays within them is no link's. */
START_TEST(within_servers)
{
	struct topo *topo = parsed(fabric(4));
	static const double of_ring[16] = {[1 * 4 + 2] = 750e3, [3 * 4] = 750e3},
			    apart[16] = {[0 * 4 + 2] = 750e3,
					 [2 * 4 + 1] = 750e3,
					 [1 * 4 + 3] = 750e3,
					 [3 * 4] = 750e3},
			    one_gpu[16] = {[0 * 4 + 2] = 750e3, [2 * 4] = 750e3};
	const enum collective gather = COLLECTIVE_ALLGATHER, all = COLLECTIVE_ALLTOALL;
	double times, alone = collective_fabric_bytes(NULL, all, 4, 1000000);
	uint64_t cells[16];

	topo->gpus[1].server = 0;
	topo->gpus[2].server = topo->gpus[3].server = 1;
	collective_matrix(topo, gather, 4, 1000000, cells);
	for (unsigned i = 0; i < 16; i++)
		ck_assert_double_eq((double)cells[i], of_ring[i]);
	ck_assert_str_eq(collective_seen(topo, gather, 4, 1000000, of_ring, &times), "ring");
	ck_assert_double_eq_tol(times, 1, 1e-9);
	ck_assert_str_eq(collective_seen(topo, gather, 4, 1000000, apart, &times), "nothing known");
	ck_assert_str_eq(collective_seen(topo, gather, 4, 1000000, one_gpu, &times),
			 "nothing known");
	ck_assert_double_eq_tol(collective_fabric_bytes(topo, gather, 4, 1000000), 750e3, 1e-6);
	ck_assert_double_eq_tol(alone, 750e3, 1e-6);
	ck_assert_double_eq_tol(collective_fabric_bytes(topo, all, 4, 1000000), 500e3, 1e-6);
	topo_destroy(topo);
}
END_TEST

START_TEST(rooflines)
{
	/* 1 MB by 4 ranks is 1.5 MB each way: 12 ms at 1 Gb/s */
	ck_assert_double_eq_tol(
		collective_roofline_s(NULL, COLLECTIVE_ALLREDUCE, 4, 1000000, 0.01, 1e9, 0), 0.022,
		1e-9);
	/* buckets of 1 MB that fill in 8 ms */
	ck_assert_double_eq_tol(
		collective_roofline_s(NULL, COLLECTIVE_ALLREDUCE, 4, 1000000, 0.01, 1e9, 1e6),
		0.014, 1e-9);
	ck_assert_double_eq_tol(
		collective_roofline_s(NULL, COLLECTIVE_ALLREDUCE, 4, 1000000, 0.004, 1e9, 1e6),
		0.012, 1e-9);
	ck_assert_double_eq_tol(
		collective_roofline_s(NULL, COLLECTIVE_ALLREDUCE, 4, 1000, 0.01, 1e9, 1e6), 0.01,
		1e-9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("collective");
	TCase *tcase = tcase_create("collective");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, factors);
	tcase_add_test(tcase, matrices_add_up);
	tcase_add_test(tcase, optimum_is_of_the_links_that_live);
	tcase_add_test(tcase, another_algorithm_is_seen);
	tcase_add_test(tcase, within_servers);
	tcase_add_test(tcase, rooflines);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
