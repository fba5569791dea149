/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/anomalies.h"
#include "suite/trial.h"

static const struct kpi kpis[] = {{"Link_utilization", "%", "DUT-F", "", BETTER_NONE, 0},
				  {"degradation", "%", "DUT-F", "", BETTER_LOWER, 0},
				  {"JFI_decode", "", "DUT-F", "", BETTER_HIGHER, 0},
				  {"bandwidth_reduction", "%", "DUT-F", "", BETTER_HIGHER, 0},
				  {"Packet_drop_rate", "ppm", "DUT-F", "", BETTER_LOWER, 0},
				  {"QP_errors", "", "DUT-N", "", BETTER_LOWER, 0},
				  {"flaps", "", "DUT-S", "", BETTER_LOWER, 0},
				  {"unfinished", "%", "SUT-E", "", BETTER_LOWER, 0},
				  {"TTFT", "ms", "SUT-E", "", BETTER_LOWER, 1e-6},
				  {"JCT", "ms", "SUT-E", "", BETTER_LOWER, 1e-6},
				  {.name = NULL}};
static const struct param params[] = {PARAM("load", PARAM_COUNT, "%", "", "0,50,90"),
				      PARAM("over", PARAM_NUMBER, "", "", "1,2"), LIST_END};
static const struct test calm = {.id = "6.1", .params = params, .kpis = kpis},
			 faults = {.id = "12.3",
				   .params = params,
				   .kpis = kpis,
				   .needs = NEED_FAULTS},
			 congested = {.id = "8.1", .params = params, .kpis = kpis};

/* The rule that one row breaks in that test; NULL: none. */
static const char *rule_of(const struct test *test, const char *kpi, double value, const char *over)
{
	static struct anomalies found;
	struct row row = {.strategy = "fare-spray", .value = value, .n = 1, .n_params = 1};
	struct rows *rows;

	found = (struct anomalies){.n = 0};
	snprintf(row.test, sizeof(row.test), "%s", test->id);
	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	ck_assert_int_eq(row_param_set(&row.param[0], "over", over), 0);
	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
	ck_assert_int_eq(anomalies_read(&found, test, rows), 0);
	rows_close(rows);
	ck_assert_uint_le(found.n, 1);
	return found.n ? found.list[0].rule : NULL;
}

START_TEST(rules_of_rows)
{
	static const struct {
		const struct test *test;
		const char *kpi;
		double value;
		const char *over, *rule;
	} cases[] = {
		{&calm, "Link_utilization", 101.9, "1", NULL},
		{&calm, "Link_utilization", 103, "1", "a value that cannot be"},
		{&calm, "Link_utilization", -1, "1", "a value that cannot be"},
		{&calm, "degradation", 400, "1", NULL}, /* no share */
		{&calm, "JFI_decode", 1, "1", NULL},
		{&calm, "JFI_decode", 1.1, "1", "a value that cannot be"},
		{&calm, "JFI_delta", -0.04, "1", NULL}, /* a difference of two */
		{&calm, "bandwidth_reduction", 3, "1", NULL},
		{&calm, "bandwidth_reduction", -3, "1", "a change in the wrong direction"},
		{&calm, "Packet_drop_rate", 0, "1", NULL},
		{&calm, "Packet_drop_rate", 12, "1", "drops without overload"},
		{&congested, "Packet_drop_rate", 12, "1", NULL},
		{&faults, "Packet_drop_rate", 12, "1", NULL},
		{&calm, "QP_errors", 0, "1", NULL},
		{&calm, "QP_errors", 2, "1", "paths of QP groups died"},
		{&calm, SUITE_DEATHS, 2, "1", "paths of QP groups died"},
		{&faults, SUITE_DEATHS, 2, "1", NULL},
		{&calm, "flaps", 1, "1", "BGP sessions ended"},
		{&faults, "flaps", 1, "1", NULL},
		{&calm, "unfinished", 20, "1", NULL},
		{&calm, "unfinished", 21, "1", "unfinished requests"},
		{&calm, "unfinished", 60, "2", NULL}, /* more came than can be served */
		{&calm, SUITE_KEPT, 0, "1", "kept although busy"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *rule =
			rule_of(cases[i].test, cases[i].kpi, cases[i].value, cases[i].over);

		ck_assert_msg(rule == cases[i].rule ||
				      (rule && cases[i].rule && !strcmp(rule, cases[i].rule)),
			      "%s %s %g: %s", cases[i].test->id, cases[i].kpi, cases[i].value,
			      rule ? rule : "nothing");
	}
}
END_TEST

static void add_latencies(struct rows *rows, const char *strategy, const char *load, uint64_t ns)
{
	static struct hist hist;
	struct row row = {.test = "6.1", .kpi = "TTFT", .n = 1, .n_params = 1, .hist = &hist};

	hist_init(&hist);
	for (unsigned i = 0; i < 100; i++)
		hist_add(&hist, ns + i * ns / 1000);
	snprintf(row.strategy, sizeof(row.strategy), "%s", strategy);
	ck_assert_int_eq(row_param_set(&row.param[0], "load", load), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

START_TEST(less_latency_at_more_load)
{
	static struct anomalies found;
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add_latencies(rows, "ecmp-flow", "0", 1000000);
	add_latencies(rows, "ecmp-flow", "50", 2000000);
	add_latencies(rows, "ecmp-flow", "90", 3000000);
	add_latencies(rows, "fare-spray", "0", 1000000);
	add_latencies(rows, "fare-spray", "50", 3000000);
	add_latencies(rows, "fare-spray", "90", 2000000);
	ck_assert_int_eq(anomalies_read(&found, &calm, rows), 0);
	ck_assert_uint_eq(found.n, 1);
	ck_assert_str_eq(found.list[0].rule, "more load, less latency");
	ck_assert_str_eq(found.list[0].strategy, "fare-spray");
	ck_assert_str_eq(found.list[0].place, "load=50 to 90");
	ck_assert_double_eq_tol(found.list[0].worst, 2.1, 0.1);
	rows_close(rows);
}
END_TEST

/* An iteration takes 2.9 times as long as the fastest, or 3.1 times, or a fault was ordered. */
START_TEST(an_iteration_stalls)
{
	static const struct {
		const struct test *test;
		uint64_t longest_ns;
		size_t found;
	} cases[] = {{&calm, 290000000, 0}, {&calm, 310000000, 1}, {&faults, 310000000, 0}};
	static struct hist hist;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct anomalies found;
		struct row row = {.kpi = "JCT", .strategy = "mpi-fare", .n = 1, .hist = &hist};
		struct rows *rows;

		found = (struct anomalies){.n = 0};
		snprintf(row.test, sizeof(row.test), "%s", cases[i].test->id);
		hist_init(&hist);
		hist_add(&hist, 100000000);
		hist_add(&hist, cases[i].longest_ns);
		ck_assert_int_eq(rows_open(&rows, NULL), 0);
		ck_assert_int_eq(rows_add(rows, &row), 0);
		ck_assert_int_eq(anomalies_read(&found, cases[i].test, rows), 0);
		rows_close(rows);
		ck_assert_uint_eq(found.n, cases[i].found);
		if (found.n) {
			ck_assert_str_eq(found.list[0].rule, "an iteration stalled");
			ck_assert_double_eq_tol(found.list[0].worst, 310, 1e-6);
		}
	}
}
END_TEST

/* Each rule, KPI and strategy once, with the worst; a spoilt trial once, not for each KPI. */
START_TEST(many_are_one_line)
{
	static struct anomalies found;
	static const char *const sizes[] = {"50", "90"};
	struct row row = {.test = "6.1", .kpi = "Packet_drop_rate", .n = 1, .n_params = 1};
	char lost[] = TRIAL_SPOILT "2 bytes";
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (row.trial = 0; row.trial < 4; row.trial++) {
		ck_assert_int_eq(row_param_set(&row.param[0], "load", sizes[row.trial % 2]), 0);
		row.value = row.trial == 1 ? 70 : 5;
		ck_assert_int_eq(rows_add(rows, &row), 0);
	}
	row.missing = lost;
	row.value = NAN;
	ck_assert_int_eq(rows_add(rows, &row), 0);
	strcpy(row.kpi, "flaps");
	ck_assert_int_eq(rows_add(rows, &row), 0);
	ck_assert_int_eq(anomalies_read(&found, &calm, rows), 0);
	ck_assert_uint_eq(found.n, 2);
	ck_assert_uint_eq(found.list[0].n, 4);
	ck_assert_double_eq(found.list[0].worst, 70);
	ck_assert_str_eq(found.list[0].place, "load=90");
	ck_assert_str_eq(found.list[1].rule, "spoilt trial");
	ck_assert_uint_eq(found.list[1].n, 1);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("anomalies");
	TCase *tcase = tcase_create("anomalies");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, rules_of_rows);
	tcase_add_test(tcase, less_latency_at_more_load);
	tcase_add_test(tcase, an_iteration_stalls);
	tcase_add_test(tcase, many_are_one_line);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
