/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <string.h>

#include "core/rows.h"
#include "suite/derive.h"
#include "suite/test.h"

extern const struct test test_t9_1, test_t9_2, test_t9_3;

static void bus_bandwidth(struct rows *rows, const char *test, const char *size, double value)
{
	struct row row = {.kpi = "BusBW", .strategy = "mpi-fare", .n_params = 1, .n = 1};

	snprintf(row.test, sizeof(row.test), "%s", test);
	row.value = value;
	ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static double ratio(const struct rows *rows, const char *size, size_t *n)
{
	const struct rows_filter filter = {
		.test = "T9.3", .kpi = "over_allreduce", .trial = DERIVED_TRIAL};
	double found = NAN;

	*n = 0;
	for (size_t i = rows_next(rows, &filter, 0); i < rows_count(rows);
	     i = rows_next(rows, &filter, i + 1)) {
		++*n;
		if (strcmp(rows_at(rows, i)->param[0].text, size) == 0)
			found = rows_at(rows, i)->value;
	}
	return found;
}

/* Of the same size alone; of T9.3 alone; none where T9.1 was not measured. */
START_TEST(over_allreduce)
{
	struct rows *rows;
	size_t n;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	bus_bandwidth(rows, "T9.1", "1M", 4);
	bus_bandwidth(rows, "T9.3", "1M", 3);
	bus_bandwidth(rows, "T9.3", "8M", 5);
	ck_assert_int_eq(test_t9_1.derive(&test_t9_1, rows), 0);
	ck_assert_int_eq(test_t9_3.derive(&test_t9_3, rows), 0);
	ck_assert_double_eq_tol(ratio(rows, "1M", &n), 0.75, 1e-9);
	ck_assert_uint_eq(n, 1);
	rows_close(rows);
}
END_TEST

/* Iterations by their mean at the slowest rank, whatever BusBW says; ECMP itself has no row. */
START_TEST(jct_over_ecmp)
{
	static const struct {
		const char *balance;
		uint64_t took_ms[2];
	} of[] = {{"ecmp", {100, 300}}, {"spray", {350, 450}}, {"flowlet", {50, 150}}};
	const struct rows_filter filter = {
		.test = "T9.2", .kpi = "JCT_over_ecmp", .trial = DERIVED_TRIAL};
	static struct hist hist;
	struct rows *rows;
	size_t n = 0;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct row row = {.test = "T9.2",
				  .kpi = "BusBW",
				  .strategy = "mpi-fare",
				  .value = 4,
				  .n_params = 1,
				  .n = 1};

		ck_assert_int_eq(row_param_set(&row.param[0], "balance", of[i].balance), 0);
		ck_assert_int_eq(rows_add(rows, &row), 0);
		hist_init(&hist);
		hist_add(&hist, of[i].took_ms[0] * 1000000);
		hist_add(&hist, of[i].took_ms[1] * 1000000);
		snprintf(row.kpi, sizeof(row.kpi), "JCT");
		row.hist = &hist;
		ck_assert_int_eq(rows_add(rows, &row), 0);
	}
	ck_assert_int_eq(test_t9_2.derive(&test_t9_2, rows), 0);
	ROWS_EACH (i, rows, &filter) {
		const struct row *row = rows_at(rows, i);
		bool sprays = strcmp(row->param[0].text, "spray") == 0;

		n++;
		ck_assert(sprays || strcmp(row->param[0].text, "flowlet") == 0);
		ck_assert_double_eq_tol(row->value, sprays ? 2 : 0.5, 1e-9);
	}
	ck_assert_uint_eq(n, 2);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("09_collectives");
	TCase *tcase = tcase_create("09_collectives");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, over_allreduce);
	tcase_add_test(tcase, jct_over_ecmp);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
