/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "../check_bench_fabric.h"
#include "training/collective.h"

static const enum collective all[] = {COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLTOALL,
				      COLLECTIVE_ALLGATHER};

/* 8 GPUs, 1 GB in 0.1 s: the figures of a table of bus bandwidths. */
START_TEST(factors)
{
	ck_assert_double_eq_tol(collective_factor(COLLECTIVE_ALLREDUCE, 8), 1.75, 1e-12);
	ck_assert_double_eq_tol(collective_factor(COLLECTIVE_ALLTOALL, 8), 0.875, 1e-12);
	ck_assert_double_eq_tol(collective_factor(COLLECTIVE_ALLGATHER, 8), 0.875, 1e-12);
	ck_assert_double_eq_tol(collective_busbw_bps(COLLECTIVE_ALLREDUCE, 8, 1000000000, 0.1),
				140e9, 1);
}
END_TEST

/* What a rank sends is its vector times the factor, whatever the collective. */
START_TEST(matrices_add_up)
{
	for (size_t k = 0; k < 3; k++)
		for (unsigned ranks = 2; ranks < 9; ranks++) {
			uint64_t cells[64], bytes = 840 * 1024;

			collective_matrix(all[k], ranks, bytes, cells);
			for (unsigned src = 0; src < ranks; src++) {
				uint64_t sent = 0, got = 0;

				ck_assert_uint_eq(cells[src * ranks + src], 0);
				for (unsigned i = 0; i < ranks; i++) {
					sent += cells[src * ranks + i];
					got += cells[i * ranks + src];
				}
				ck_assert_uint_eq(sent, got);
				ck_assert_double_eq_tol(
					(double)sent,
					(double)bytes * collective_factor(all[k], ranks), 1e-6);
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

	collective_matrix(COLLECTIVE_ALLREDUCE, 4, 4000000, cells);
	whole = collective_optimum_s(topo, 4, cells);
	ck_assert_double_eq_tol(whole, 6000000 * 8 / 1600e6 / factor, 1e-9);
	topo->gpus[3].plane[0].sub_port[0].up = topo->gpus[3].plane[0].sub_port[1].up = false;
	ck_assert_double_eq_tol(collective_optimum_s(topo, 4, cells), whole * 4 / 3, 1e-9);
	/* a ring of the first three does not meet it */
	collective_matrix(COLLECTIVE_ALLREDUCE, 3, 4000000 / 3 * 3, cells);
	ck_assert_double_lt(collective_optimum_s(topo, 3, cells), whole);
	ck_assert(isnan(collective_optimum_s(topo, 5, cells)));
	topo_destroy(topo);
}
END_TEST

/* Recursive doubling on 4 ranks sends the whole vector twice, a ring one and a half times. */
START_TEST(another_algorithm_is_seen)
{
	ck_assert(collective_sent(COLLECTIVE_ALLREDUCE, 4, 1 << 20, 1.53 * (1 << 20)));
	ck_assert(!collective_sent(COLLECTIVE_ALLREDUCE, 4, 1 << 20, 2.0 * (1 << 20)));
	ck_assert(!collective_sent(COLLECTIVE_ALLREDUCE, 4, 1 << 20, 1.3 * (1 << 20)));
	ck_assert(collective_sent(COLLECTIVE_ALLTOALL, 4, 1 << 20, 0.77 * (1 << 20)));
	ck_assert(!collective_sent(COLLECTIVE_ALLTOALL, 4, 1 << 20, 1.0 * (1 << 20)));
}
END_TEST

START_TEST(rooflines)
{
	/* 1 MB by 4 ranks is 1.5 MB each way: 12 ms at 1 Gb/s */
	ck_assert_double_eq_tol(
		collective_roofline_s(COLLECTIVE_ALLREDUCE, 4, 1000000, 0.01, 1e9, 0), 0.022, 1e-9);
	/* buckets of 1 MB that fill in 8 ms */
	ck_assert_double_eq_tol(
		collective_roofline_s(COLLECTIVE_ALLREDUCE, 4, 1000000, 0.01, 1e9, 1e6), 0.014,
		1e-9);
	ck_assert_double_eq_tol(
		collective_roofline_s(COLLECTIVE_ALLREDUCE, 4, 1000000, 0.004, 1e9, 1e6), 0.012,
		1e-9);
	ck_assert_double_eq_tol(
		collective_roofline_s(COLLECTIVE_ALLREDUCE, 4, 1000, 0.01, 1e9, 1e6), 0.01, 1e-9);
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
	tcase_add_test(tcase, rooflines);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
