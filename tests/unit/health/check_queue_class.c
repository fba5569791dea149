/* SPDX-License-Identifier: BSD-2-Clause */
/* How probes are queued beside data, by pairs of round trips that are made here. */
#include "queue_class.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "health_limits.h"
#include "loss_rtt.h"

#define MEMORY (2 * LOSS_RTT_WINDOW)

#define US	   UINT64_C(1000)
#define BURST_NS   (10 * US)
#define FASTEST_NS (50 * US)

static struct queue_class q;
static uint64_t now;

static void setup(void)
{
	memset(&q, 0, sizeof(q));
	now = 1000 * HEALTH_MS_NS;
}

/* n pairs of which each waited so long beyond the fastest round trip. */
static void pairs(unsigned n, uint64_t probe_ns, uint64_t data_ns)
{
	for (unsigned i = 0; i < n; i++, now += HEALTH_DOUBTFUL_NS) {
		uint32_t sequence = queue_class_sent(&q, now, now);

		ck_assert(queue_class_answered(&q, sequence, now, now + FASTEST_NS + probe_ns,
					       BURST_NS));
		ck_assert(queue_class_answered(&q, sequence + 1, now, now + FASTEST_NS + data_ns,
					       BURST_NS));
	}
}

static void check_finding(enum queue_class_finding expected)
{
	ck_assert_str_eq(queue_class_name(queue_class_finding(&q)), queue_class_name(expected));
}

START_TEST(nothing_is_known_before_a_queue_was_met)
{
	check_finding(QUEUE_CLASS_UNKNOWN);
	pairs(1000, 0, 0);
	pairs(1000, HEALTH_CLASS_NOISE_NS + 4 * BURST_NS, HEALTH_CLASS_NOISE_NS + 4 * BURST_NS);
	check_finding(QUEUE_CLASS_UNKNOWN);
	ck_assert_uint_eq(q.longest_ns[QUEUE_CLASS_DATA], 0);
	pairs(HEALTH_RUN - 1, 0, HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_UNKNOWN);
	pairs(1, 0, HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_BEFORE);
}
END_TEST

START_TEST(probes_that_wait_as_data_does_are_behind_it)
{
	pairs(1, 0, 0);
	pairs(HEALTH_RUN, HEALTH_MS_NS, HEALTH_MS_NS + 10 * US);
	check_finding(QUEUE_CLASS_BEHIND);
	ck_assert_uint_eq(q.longest_ns[QUEUE_CLASS_PROBE], HEALTH_MS_NS);
	ck_assert_uint_eq(q.longest_ns[QUEUE_CLASS_DATA], HEALTH_MS_NS + 10 * US);
}
END_TEST

/* A batch in transmission at each port is none of data's queue. */
START_TEST(probes_behind_a_batch_are_before_data)
{
	pairs(1, 0, 0);
	pairs(HEALTH_RUN, 4 * BURST_NS, HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_BEFORE);
	ck_assert_uint_eq(q.longest_ns[QUEUE_CLASS_PROBE], 4 * BURST_NS);
}
END_TEST

/* One port of several without a priority queue; not a probe that is late now and then. */
START_TEST(the_share_of_pairs_that_wait_decides)
{
	pairs(1, 0, 0);
	pairs(80, 0, HEALTH_MS_NS);
	pairs(20, HEALTH_MS_NS, 0);
	check_finding(QUEUE_CLASS_BEFORE);
	pairs(20, HEALTH_MS_NS, HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_BEHIND);
}
END_TEST

START_TEST(a_fabric_that_is_configured_anew_is_seen)
{
	pairs(1, 0, 0);
	pairs(10 * MEMORY, 2 * HEALTH_MS_NS, 2 * HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_BEHIND);
	ck_assert_uint_le(q.n_before + q.n_behind, MEMORY);
	pairs(2 * MEMORY, 0, HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_BEFORE);
	ck_assert_uint_lt(q.longest_ns[QUEUE_CLASS_PROBE], HEALTH_MS_NS);
	pairs(MEMORY, HEALTH_MS_NS, HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_BEHIND);
}
END_TEST

/* The queue stood already when the first pair left: data's round trip tells, probes' is fastest. */
START_TEST(a_queue_that_was_always_there_is_passed)
{
	pairs(HEALTH_RUN, 0, HEALTH_MS_NS);
	check_finding(QUEUE_CLASS_BEFORE);
}
END_TEST

START_TEST(only_answers_of_pairs_under_way_count)
{
	uint32_t sequence = queue_class_sent(&q, 77, now);
	uint64_t came_ns = now + FASTEST_NS;

	ck_assert(!queue_class_answered(&q, sequence, 78, came_ns, 0));
	ck_assert(!queue_class_answered(&q, sequence + 2, 77, came_ns, 0));
	ck_assert(!queue_class_answered(&q, sequence + 2, 0, came_ns, 0));
	ck_assert(!queue_class_answered(&q, sequence, 77, now, 0)); /* a clock was set */
	ck_assert(queue_class_answered(&q, sequence, 77, came_ns, 0));
	ck_assert(!queue_class_answered(&q, sequence, 77, came_ns, 0)); /* twice */
	for (uint32_t i = 0; i < QUEUE_CLASS_PAIRS; i++)
		queue_class_sent(&q, 100 + i, now);
	ck_assert(!queue_class_answered(&q, sequence + 1, 77, came_ns, 0)); /* too late */
	check_finding(QUEUE_CLASS_UNKNOWN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("queue_class");
	TCase *tests = tcase_create("all");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, nothing_is_known_before_a_queue_was_met);
	tcase_add_test(tests, probes_that_wait_as_data_does_are_behind_it);
	tcase_add_test(tests, probes_behind_a_batch_are_before_data);
	tcase_add_test(tests, the_share_of_pairs_that_wait_decides);
	tcase_add_test(tests, a_fabric_that_is_configured_anew_is_seen);
	tcase_add_test(tests, a_queue_that_was_always_there_is_passed);
	tcase_add_test(tests, only_answers_of_pairs_under_way_count);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
