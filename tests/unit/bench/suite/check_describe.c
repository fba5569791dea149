/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <string.h>

#include "bench/check_bench_fabric.h"
#include "core/machine.h"
#include "suite/describe.h"
#include "suite/suite.h"

/* The value of a row of any table; NULL: there is none. */
static const char *said(const json_t *run, const char *name)
{
	json_t *table, *row;
	size_t i, k;

	json_array_foreach (json_object_get(run, "tables"), i, table)
		json_array_foreach (json_object_get(table, "rows"), k, row)
			if (strcmp(json_string_value(json_array_get(row, 0)), name) == 0)
				return json_string_value(json_array_get(row, 1));
	return NULL;
}

/* When it began, not when the report was made; and which trials nobody judged. */
START_TEST(a_run_says_what_it_was)
{
	struct machine machine = {.started = "2026-01-02 03:04:05 UTC"};
	struct fabric lab = {.topo = parsed(fabric(4))};
	struct suite_options options = {.even_busy = true};
	struct describe about = {
		.fabric = &lab, .options = &options, .machine = &machine, .scale = 250};
	json_t *run;

	lab.topo->bucket_bytes = 131072;
	run = describe_json(&about);
	ck_assert_str_eq(said(run, "Started"), "2026-01-02 03:04:05 UTC");
	ck_assert_str_eq(json_string_value(json_object_get(run, "started")),
			 "2026-01-02 03:04:05 UTC");
	ck_assert_str_eq(said(run, "Idle time"), "not looked at (--even-busy)");
	ck_assert_ptr_nonnull(strstr(said(run, "Scale"), "token buckets"));
	ck_assert_ptr_nonnull(strstr(said(run, "Accelerators"), "4 processes stand"));
	json_decref(run);
	options.even_busy = false;
	about.busy = 2;
	run = describe_json(&about);
	ck_assert_str_eq(said(run, "Trials kept although busy"),
			 "2: none of their attempts was better");
	json_decref(run);
	topo_destroy(lab.topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("describe");
	TCase *tcase = tcase_create("describe");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_run_says_what_it_was);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
