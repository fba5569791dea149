/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "../check_bench_fabric.h"
#include "training/common.h"
#include "training/simulated.h"

extern const struct test test_t8_1, test_t10_1;

#define BYTES (UINT64_C(64) << 20)

static struct fabric under_test;

static struct trial begin(const struct test *test, json_t *root)
{
	struct trial t = {.test = test,
			  .fabric = &under_test,
			  .strategy_name = "mpi-fare",
			  .seed = 7,
			  .n_params = 1};

	under_test = (struct fabric){.topo = parsed(root)};
	ck_assert_int_eq(row_param_set(&t.param[0], "balance", "ecmp"), 0);
	return t;
}

static void end(struct trial *t)
{
	trial_fini(t);
	topo_destroy(under_test.topo);
}

/* The last row of that KPI; NaN: it is missing. */
static double value(const struct trial *t, const char *kpi)
{
	for (unsigned i = t->n_rows; i-- > 0;)
		if (strcmp(t->row[i].kpi, kpi) == 0)
			return t->row[i].missing ? NAN : t->row[i].value;
	ck_abort_msg("no row %s", kpi);
	return NAN;
}

/* Two spines a plane: one QP has one of two links, 64 have both. */
START_TEST(leaves_that_hash)
{
	struct trial t = begin(&test_t8_1, two_tiers());

	simulated_add_leaves(&t, 64, 1, "ecmp");
	ck_assert_double_eq_tol(value(&t, "Simulated_uplinks_JFI"), 0.5, 1e-9);
	ck_assert_double_eq_tol(value(&t, "Simulated_uplinks_MMR"), 2, 1e-9);
	simulated_add_leaves(&t, 64, 64, "ecmp");
	ck_assert_double_eq_tol(value(&t, "Simulated_uplinks_JFI"), 64. / (2 + 64 - 1), 0.01);
	simulated_add_leaves(&t, 1, 4, "ecmp");
	ck_assert(isnan(value(&t, "Simulated_uplinks_JFI")));
	/* the same draws would stand there twice, as if two modes had been simulated */
	simulated_add_leaves(&t, 64, 64, "bth");
	ck_assert(isnan(value(&t, "Simulated_uplinks_JFI")));
	end(&t);
}
END_TEST

/* Eight ranks are at one leaf, and no figure of uplinks is of them; nine are not. */
START_TEST(ranks_of_one_leaf)
{
	struct trial t = begin(&test_t10_1, two_tiers());

	simulated_add(&t, COLLECTIVE_ALLREDUCE, SIMULATED_LEAF_RANKS, BYTES, 0);
	ck_assert(isnan(value(&t, "Simulated_BusBW")));
	simulated_add(&t, COLLECTIVE_ALLREDUCE, SIMULATED_LEAF_RANKS + 1, BYTES, 0);
	ck_assert_double_gt(value(&t, "Simulated_BusBW"), 0);
	ck_assert_double_gt(value(&t, "Simulated_uplinks_JFI"), 0);
	end(&t);
}
END_TEST

/* An iteration's compute is in its time and in the ideal one alike. */
START_TEST(compute_before_a_collective)
{
	struct trial t = begin(&test_t10_1, two_tiers());
	double line_bps = training_line_bps(&t), ideal_s = BYTES * 8 * 2 * 63. / 64 / line_bps,
	       alone, with;

	simulated_add(&t, COLLECTIVE_ALLREDUCE, 64, BYTES, 0);
	alone = value(&t, "Simulated_JCT_ratio");
	simulated_add(&t, COLLECTIVE_ALLREDUCE, 64, BYTES, 3 * ideal_s);
	with = value(&t, "Simulated_JCT_ratio");
	ck_assert_double_gt(alone, 1.001);
	ck_assert_double_eq_tol(with, (3 + alone) / 4, 1e-6);
	end(&t);
}
END_TEST

/* What goes on beside the compute has no model: not that of what comes after it. */
START_TEST(a_collective_beside_the_compute)
{
	struct trial t = begin(&test_t10_1, two_tiers());

	simulated_add(&t, COLLECTIVE_ALLREDUCE, 64, BYTES, NAN);
	ck_assert(isfinite(value(&t, "Simulated_BusBW")));
	ck_assert(isfinite(value(&t, "Simulated_uplinks_JFI")));
	for (unsigned i = 0; i < t.n_rows; i++)
		if (strncmp(t.row[i].kpi, "Simulated_JCT_ratio", 19) == 0)
			ck_assert_str_eq(t.row[i].missing,
					 "a collective beside the compute is not simulated");
	ck_assert(isnan(value(&t, "Simulated_JCT_ratio")));
	end(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simulated");
	TCase *tcase = tcase_create("simulated");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, leaves_that_hash);
	tcase_add_test(tcase, ranks_of_one_leaf);
	tcase_add_test(tcase, compute_before_a_collective);
	tcase_add_test(tcase, a_collective_beside_the_compute);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
