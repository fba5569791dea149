/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dcqcn_model.h"
#include "simfab/queues.h"

#define LINE   40e9
#define PACKET 1000u

static struct queues with(unsigned senders)
{
	return (struct queues){.senders = senders,
			       .packet_bytes = PACKET,
			       .delay_slots = 10,
			       .line_bps = LINE,
			       .seconds = 0.02,
			       .min_bytes = 5000,
			       .max_bytes = 200000,
			       .max_percent = 10,
			       .xoff_bytes = 20000,
			       .xon_bytes = 10000,
			       .headroom_bytes = 12000,
			       .seed = 7};
}

static struct queues_result run(const struct queues *q)
{
	struct queues_result r;

	ck_assert_int_eq(queues_run(q, &r), 0);
	printf("%u senders: depth %.0f %.0f %.0f, marked %.4f, paused %.4f, of line %.3f, jfi "
	       "%.4f, "
	       "drops %llu, pauses %llu, converged %.3f s\n",
	       q->senders, r.depth_p50, r.depth_p99, r.depth_max, r.marked, r.paused, r.of_line,
	       r.jfi, (unsigned long long)r.drops, (unsigned long long)r.pauses, r.converged_s);
	return r;
}

static const unsigned senders[] = {2, 8, 64, 256};

/* What arrives is what leaves: each sender sends 1/N of the time, and is paused in the rest. */
START_TEST(incast_with_headroom_pauses_and_drops_nothing)
{
	struct queues q = with(senders[_i]);
	struct queues_result r = run(&q);

	ck_assert_uint_eq(r.drops, 0);
	ck_assert_uint_gt(r.pauses, 0);
	ck_assert_double_eq_tol(r.of_line, 1, 0.01);
	ck_assert_double_eq_tol(r.paused, 1 - 1. / q.senders, 0.02);
	ck_assert_double_gt(r.jfi, 0.98);
	ck_assert_double_le(r.depth_max, q.senders * (double)(q.xoff_bytes + q.headroom_bytes));
	/* after XOFF so many packets arrive, and one is on its way into the leaf */
	ck_assert_double_le(r.depth_max,
			    q.senders * (q.xoff_bytes + (q.delay_slots + 1.) * PACKET));
}
END_TEST

START_TEST(without_headroom_packets_are_dropped)
{
	struct queues q = with(8);
	struct queues_result r;

	q.headroom_bytes = 0;
	r = run(&q);
	ck_assert_uint_gt(r.drops, 0);
	/* the delay before a stop is what headroom is for: half of it is not enough */
	q.headroom_bytes = 5 * PACKET;
	ck_assert_uint_gt(run(&q).drops, 0);
}
END_TEST

START_TEST(one_sender_meets_no_queue)
{
	struct queues q = with(1);
	struct queues_result r = run(&q);

	ck_assert_uint_eq(r.pauses, 0);
	ck_assert_double_eq(r.marked, 0);
	ck_assert_double_le(r.depth_max, PACKET);
	ck_assert_double_eq(r.converged_s, 0);
}
END_TEST

static const unsigned flows[] = {4, 8, 16};

/* With switch and queue packet by packet the marked share is still the model's. */
START_TEST(dcqcn_settles_at_the_fixed_point)
{
	struct queues q = with(flows[_i]);
	struct queues_result r;
	double expected = dcqcn_model_marked(LINE, PACKET, q.senders);

	q.does_dcqcn = q.cnps_as_model = true;
	q.seconds = 1;
	q.xoff_bytes = 400000; /* PFC does not meet it */
	r = run(&q);
	printf("model %.5f\n", expected);
	ck_assert_double_eq_tol(r.marked / expected, 1, 0.25);
	ck_assert_double_gt(r.of_line, 0.95);
	ck_assert_double_gt(r.jfi, 0.98);
	ck_assert_uint_eq(r.drops, 0);
	ck_assert_uint_eq(r.pauses, 0);
}
END_TEST

START_TEST(nonsense_is_refused_and_seeds_repeat)
{
	struct queues q = with(8);
	struct queues_result a, b;

	q.does_dcqcn = true;
	a = run(&q);
	b = run(&q);
	ck_assert_double_eq(a.marked, b.marked);
	ck_assert_double_eq(a.depth_p99, b.depth_p99);
	q.seed++;
	b = run(&q);
	ck_assert_double_ne(a.marked, b.marked);
	q.delay_slots = QUEUES_MAX_DELAY;
	ck_assert_int_eq(queues_run(&q, &a), -EINVAL);
	q = with(0);
	ck_assert_int_eq(queues_run(&q, &a), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("queues");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, incast_with_headroom_pauses_and_drops_nothing, 0, 4);
	tcase_add_test(t, without_headroom_packets_are_dropped);
	tcase_add_test(t, one_sender_meets_no_queue);
	tcase_add_loop_test(t, dcqcn_settles_at_the_fixed_point, 0, 3);
	tcase_add_test(t, nonsense_is_refused_and_seeds_repeat);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
