/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "../check_bench_fabric.h"
#include "training/coll_rows.h"
#include "training/common.h"

extern const struct test test_t9_2;

#define BYTES (UINT64_C(1) << 20)

static struct fabric under_test;

static const struct row *row_of(const struct trial *t, const char *kpi)
{
	for (unsigned i = 0; i < t->n_rows; i++)
		if (strcmp(t->row[i].kpi, kpi) == 0)
			return &t->row[i];
	ck_abort_msg("no row %s", kpi);
	return NULL;
}

/* Ranks that do not wait for each other overlap: three iterations of 300, 600 and 900 ms at the
 * slowest rank passed in 1.2 s, not in 1.8. All rows are of the 600 ms that one takes. */
START_TEST(all_are_of_one_clock)
{
	static uint64_t took[] = {300000000, 600000000, 900000000}, start[3];
	const struct mpi_result r = {
		.n = 3, .took_ns = took, .start_ns = start, .wall_s = 1.2, .checked = 12};
	struct trial t = {.test = &test_t9_2, .fabric = &under_test, .strategy_name = "mpi-fare"};
	const struct mpi_job job = {.bytes = BYTES, .ranks = 4, .alternates = true};
	double busbw;

	under_test = (struct fabric){.topo = parsed(fabric(4))};
	for (const struct param *p = test_t9_2.params; p->name; p++)
		ck_assert_int_eq(row_param_set(&t.param[t.n_params++], p->name, "1"), 0);
	coll_rows_add(&t, COLLECTIVE_ALLTOALL, &job, &r);
	ck_assert_int_eq(t.err, 0);
	busbw = BYTES * 8 * 0.75 / 0.6 / 1e9;
	ck_assert_double_eq_tol(row_of(&t, "BusBW")->value, busbw, 1e-9);
	ck_assert_double_eq_tol(hist_mean(row_of(&t, "JCT")->hist), 600e6, 1);
	ck_assert_double_eq_tol(row_of(&t, "BusBW_efficiency")->value,
				busbw * 1e9 / training_line_bps(&t) * 100, 1e-6);
	/* of the place whose mean is that of all: 300 and 900 */
	ck_assert_double_eq_tol(row_of(&t, "busbw")->value * 8, busbw, 1e-9);
	trial_fini(&t);
	topo_destroy(under_test.topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coll_rows");
	TCase *tcase = tcase_create("coll_rows");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, all_are_of_one_clock);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
