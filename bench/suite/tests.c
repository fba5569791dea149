/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tests.c - which tests there are: one line for each, and nothing else.
 */
#include "suite/test.h"

/* clang-format off */
#define TESTS(X) \
	X(test_5_1) \
	X(test_5_2) \
	X(test_5_3) \
	X(test_5_4) \
	X(test_6_1) \
	X(test_6_2) \
	X(test_6_3) \
	X(test_6_4) \
	X(test_7_1) \
	X(test_7_2) \
	X(test_7_3) \
	X(test_7_4) \
	X(test_8_1) \
	X(test_8_2) \
	X(test_8_3) \
	X(test_8_4) \
	X(test_9_1) \
	X(test_9_2) \
	X(test_9_3) \
	X(test_9_4) \
	X(test_10_1) \
	X(test_10_2) \
	X(test_10_3) \
	X(test_10_4) \
	X(test_11_1) \
	X(test_11_2) \
	X(test_11_3) \
	X(test_12_1) \
	X(test_12_2) \
	X(test_12_3) \
	X(test_13_1) \
	X(test_13_2) \
	X(test_13_3) \
	X(test_t5_1) \
	X(test_t5_2) \
	X(test_t5_3) \
	X(test_t6_1) \
	X(test_t6_2) \
	X(test_t6_3) \
	X(test_t6_4) \
	X(test_t6_5) \
	X(test_t6_6) \
	X(test_t6_7) \
	X(test_t7_1) \
	X(test_t7_2) \
	X(test_t7_3) \
	X(test_t7_4) \
	X(test_t8_1) \
	X(test_t8_2) \
	X(test_t8_3) \
	X(test_t8_4) \
	X(test_t9_1) \
	X(test_t9_2) \
	X(test_t9_3) \
	X(test_t9_4) \
	X(test_t10_1) \
	X(test_t10_2) \
	X(test_t10_3) \
	X(test_t11_1) \
	X(test_t11_2) \
	X(test_t11_3) \
	X(test_t12_1) \
	X(test_t12_2) \
	X(test_demo_goodput) \
	X(test_demo_shift) \
	X(test_demo_chaos) \
	X(test_demo_plain) \
	X(test_collectives) \
	X(test_collectives_programs) \
	X(test_failover) \
	X(test_drill) \
	X(test_converge) \
	X(test_sched_pick) \
	X(test_sched_publish) \
	X(test_sched_lookup) \
	X(test_sched_assignment) \
	X(test_transport_goodput) \
	X(test_transport_qps) \
	X(test_transport_cpu) \
	X(test_transport_latency) \
	X(test_transport_shaped) \
	X(test_transport_sharing) \
	X(test_probes_cost) \
	X(test_probes_bfdd) \
	X(test_probes_most) \
	X(test_probes_false_downs) \
	X(test_probes_daemon) \
	X(test_fluid)
/* clang-format on */

#define DECLARE(name) extern const struct test name;
#define LIST(name)    &name,

TESTS(DECLARE)

static const struct test *const tests[] = {TESTS(LIST)};

const struct test *const *tests_all(size_t *n)
{
	*n = sizeof(tests) / sizeof(tests[0]);
	return tests;
}
