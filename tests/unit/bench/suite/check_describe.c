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

/* When it began, not when the report was made; and how many trials had a core without idle
 * time. */
START_TEST(a_run_says_what_it_was)
{
	struct machine machine = {.started = "2026-01-02 03:04:05 UTC"};
	struct fabric lab = {.topo = parsed(fabric(4))};
	struct suite_options options = {.even_busy = true};
	struct describe about = {.fabric = &lab,
				 .options = &options,
				 .machine = &machine,
				 .scale = 250,
				 .busy = 3,
				 .included = 7,
				 .idle_percent = 41.4,
				 .idle_trials = 6};
	json_t *run;

	lab.topo->bucket_bytes = 131072;
	lab.topo->queue_bytes = 65536;
	lab.topo->ecn_threshold_bytes = 102400;
	lab.topo->pfc =
		(struct topo_pfc){.xoff_bytes = 131072, .xon_bytes = 65536, .watchdog_ms = 200};
	run = describe_json(&about);
	ck_assert_str_eq(said(run, "Started"), "2026-01-02 03:04:05 UTC");
	ck_assert_str_eq(json_string_value(json_object_get(run, "started")),
			 "2026-01-02 03:04:05 UTC");
	ck_assert_str_eq(said(run, "Idle time"), "41% of the machine, mean of 6 trials");
	ck_assert_str_eq(said(run, "Trials kept although busy"),
			 "3 of 7: a core was idle for less than 2.5% of the time; none is made "
			 "again for that (--even-busy)");
	ck_assert_ptr_nonnull(strstr(said(run, "Scale"), "token buckets"));
	ck_assert_ptr_nonnull(strstr(said(run, "Accelerators"), "4 processes stand"));
	ck_assert_ptr_nonnull(strstr(said(run, "Queue of a shaped port"), "65536 bytes"));
	ck_assert_ptr_nonnull(strstr(said(run, "Marks (ECN)"), "all from 102400 bytes"));
	ck_assert_ptr_nonnull(strstr(said(run, "Pauses (PFC)"), "XOFF at 131072 bytes"));
	ck_assert_ptr_nonnull(strstr(said(run, "Pauses (PFC)"), "XON at 65536"));
	ck_assert_ptr_nonnull(strstr(said(run, "Pauses (PFC)"), "watchdog 200 ms"));
	ck_assert_ptr_nonnull(
		strstr(said(run, "Frames of data"), "port 4791, DSCP 26, ECN ECT(0)"));
	ck_assert_ptr_nonnull(strstr(said(run, "QPs of a pair"), "one for each sub-port"));
	ck_assert_ptr_null(said(run, "Continuous Batching")); /* of the inference draft */
	ck_assert_ptr_null(strstr(said(run, "NIC QP State"), "resumed"));
	json_decref(run);
	options.even_busy = false;
	about.busy = 2;
	about.resumed = true;
	run = describe_json(&about);
	ck_assert_ptr_nonnull(strstr(said(run, "NIC QP State"), "; since the run was resumed"));
	ck_assert_str_eq(said(run, "Trials kept although busy"),
			 "2: none of their attempts was better");
	json_decref(run);
	topo_destroy(lab.topo);
}
END_TEST

/* Section 14, system configuration and workload: every element has a row. */
START_TEST(what_section_14_asks_for)
{
	static const char *const elements[] = {
		"Model, parameter count", "Parallelism", "xPyD ratio",
		"Inference serving framework", "KV cache transfer library", "Accelerators",
		"NIC, firmware", "Switches", "Switch software", "Topology", "Link speed",
		"Traffic generation (3.4)", "Requests, where a test has none of its own",
		/* appendix D */
		"Frames of data",
		/* appendix C, table 13 */
		"Disaggregated Prefill/Decode", "KV Cache Transfer Protocol",
		"MoE Expert Parallelism", "Continuous Batching", "Prefix / KV Cache Sharing",
		"RDMA Transport", "GPU-Initiated Networking", "Container Orchestration",
		"Maximum Reported Scale"};
	struct machine machine = {.started = "2026-01-02 03:04:05 UTC"};
	struct fabric lab = {.topo = parsed(fabric(4))};
	struct suite_options options = {.even_busy = true};
	struct describe about = {.fabric = &lab,
				 .options = &options,
				 .machine = &machine,
				 .scale = 250,
				 .draft = true};
	json_t *run = describe_json(&about);

	for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
		ck_assert_msg(said(run, elements[i]) != NULL, "no %s", elements[i]);
	ck_assert_ptr_nonnull(strstr(said(run, elements[0]), "70 billion parameters"));
	ck_assert_ptr_nonnull(strstr(said(run, "xPyD ratio"), "2P2D GPUs"));
	ck_assert_ptr_nonnull(strstr(said(run, "Parallelism"), "DP 2, EP 2"));
	ck_assert_ptr_nonnull(strstr(said(run, elements[12]),
				     "prompts: Zipf (1), 128 to 8192 tokens, mean 1023, P50 216, "
				     "P99 7499; outputs: uniform, 8 to 24 tokens, mean 16"));
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

	tcase_add_test(tcase, what_section_14_asks_for);
	tcase_add_test(tcase, a_run_says_what_it_was);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
