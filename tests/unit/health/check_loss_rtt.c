/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "health_limits.h"
#include "loss_rtt.h"

#define MS UINT64_C(1000000)

static struct loss_rtt l;

static void setup(void)
{
	loss_rtt_init(&l);
}

static uint32_t sent(uint64_t now, uint64_t nonce, uint8_t local_sub_port, uint8_t port,
		     bool is_void)
{
	const struct loss_rtt_probe probe = {
		.nonce = nonce, .local_sub_port = local_sub_port, .port = port, .void_ = is_void};

	return loss_rtt_sent(&l, now, &probe);
}

START_TEST(answer_counts_once_and_only_with_its_nonce)
{
	struct loss_rtt_probe probe;
	uint32_t s = sent(10 * MS, 1234, 1, 5, false);

	ck_assert(!loss_rtt_answered(&l, 11 * MS, s, 1235, 0, &probe));
	ck_assert(!loss_rtt_answered(&l, 11 * MS, s + 1, 1234, 0, &probe));
	ck_assert(!loss_rtt_answered(&l, 11 * MS, s - 1, 1234, 0, &probe));
	ck_assert(loss_rtt_answered(&l, 11 * MS, s, 1234, 0, &probe));
	ck_assert_uint_eq(probe.local_sub_port, 1);
	ck_assert_uint_eq(probe.port, 5);
	ck_assert(!loss_rtt_answered(&l, 12 * MS, s, 1234, 0, &probe));
	loss_rtt_settle(&l, 20 * MS);
	ck_assert_uint_eq(loss_rtt_ppm(&l), 0);
	ck_assert_uint_eq(l.n_decided, 1);
}
END_TEST

START_TEST(a_clean_run_begins_after_the_newest_that_is_missing)
{
	struct loss_rtt_probe probe;
	uint64_t now = 100 * MS;

	ck_assert_uint_eq(loss_rtt_clean_run(&l, now, 2 * MS, MS), 0);
	for (uint32_t i = 0; i < 40; i++, now += 10 * MS) {
		uint32_t s = sent(now, i, 0, 0, i == 30);

		if (i != 20 && i != 30)
			ck_assert(loss_rtt_answered(&l, now + 2 * MS, s, i, 0, &probe));
	}
	/* neither the void one nor one on its way ends it */
	sent(now, 40, 0, 0, false);
	ck_assert_uint_eq(loss_rtt_clean_run(&l, now + MS, 2 * MS, MS), 18);
	ck_assert_uint_eq(loss_rtt_clean_run(&l, now + 3 * MS, 2 * MS, MS), 0);
	ck_assert_uint_eq(loss_rtt_clean_run(&l, now + 3 * MS, 9 * MS, MS), 18);
	/* nor does it matter whether they are decided */
	loss_rtt_settle(&l, now - 5 * MS);
	ck_assert_uint_eq(loss_rtt_clean_run(&l, now + MS, 2 * MS, MS), 18);
	for (uint32_t i = 0; i < 2 * LOSS_RTT_WINDOW; i++, now += 10 * MS)
		ck_assert(loss_rtt_answered(&l, now + 2 * MS, sent(now, i, 0, 0, false), i, 0,
					    &probe));
	ck_assert_uint_eq(loss_rtt_clean_run(&l, now, 2 * MS, MS), UINT32_MAX);
	loss_rtt_forget(&l);
	ck_assert_uint_eq(loss_rtt_clean_run(&l, now, 2 * MS, MS), 0);
}
END_TEST

/* Sent out of that sub-port toward a remote one. */
static void sent_by(uint64_t now, uint64_t nonce, uint8_t local, int8_t remote)
{
	const struct loss_rtt_probe probe = {
		.nonce = nonce, .local_sub_port = local, .remote = remote, .back = (int8_t)local};

	loss_rtt_sent(&l, now, &probe);
}

/* Replies of other cables may overtake; those over the same ones cannot. */
START_TEST(a_probe_that_was_overtaken_is_missing)
{
	struct loss_rtt_probe probe;

	for (uint32_t i = 1; i <= 20; i++)
		sent_by(i * MS, i, i % 2, 0);
	for (uint32_t i = 1; i <= 19; i += 2) /* every second one is late: another cable's queue */
		ck_assert(loss_rtt_answered(&l, 20 * MS, i, i, 0, &probe));
	ck_assert_uint_eq(loss_rtt_clean_run(&l, 30 * MS, 100 * MS, MS), 10);
	ck_assert(loss_rtt_answered(&l, 30 * MS, 12, 12, 0, &probe));
	/* read in the same moment as others, perhaps before those: neither counts nor overtakes */
	ck_assert_uint_eq(loss_rtt_clean_run(&l, 30 * MS + MS / 2, 100 * MS, MS), 10);
	ck_assert_uint_eq(loss_rtt_clean_run(&l, 31 * MS, 100 * MS, MS), 6); /* 11, 12, 13 .. 19 */
	ck_assert(loss_rtt_answered(&l, 31 * MS, 10, 10, 0, &probe));
	ck_assert_uint_eq(loss_rtt_clean_run(&l, 32 * MS, 100 * MS, MS), 8);
}
END_TEST

START_TEST(a_late_answer_says_that_nothing_was_lost)
{
	struct loss_rtt_probe probe;
	uint32_t s = sent(10 * MS, 7, 0, 0, false);

	loss_rtt_settle(&l, 20 * MS);
	ck_assert_uint_eq(loss_rtt_ppm(&l), 1000000);
	ck_assert(!loss_rtt_answered(&l, 30 * MS, s, 8, 0, &probe)); /* forged */
	ck_assert_uint_eq(l.n_lost, 1);
	ck_assert(!loss_rtt_answered(&l, 30 * MS, s, 7, 0, &probe));
	ck_assert(!loss_rtt_answered(&l, 31 * MS, s, 7, 0, &probe)); /* repeated */
	ck_assert_uint_eq(l.n_lost, 0);
	ck_assert_uint_eq(l.n_lost_ever, 1); /* a counter never goes back */
	ck_assert_uint_eq(l.n_decided, 1);
	ck_assert_uint_eq(l.rtt_peak_ns, 20 * MS);	      /* queues are full */
	for (uint32_t age = 2; age <= LOSS_RTT_WINDOW; age++) /* never sent */
		ck_assert(!loss_rtt_answered(&l, 30 * MS, s + 1 - age, 0, 0, &probe));
}
END_TEST

/*
 * Three probes, then three replies that name none: none is lost. A fourth reply has nothing to
 * answer.
 */
START_TEST(answers_that_name_no_probe_count_one_each)
{
	struct loss_rtt_probe probe;
	uint32_t first = sent(10 * MS, 1, 0, 0, false);

	ck_assert(loss_rtt_answered_one(&l, 11 * MS, 0, &probe));
	sent(20 * MS, 2, 1, 0, false);
	sent(23 * MS, 3, 0, 0, false);
	sent(26 * MS, 4, 1, 0, false);
	for (uint64_t nonce = 4; nonce > 1; nonce--) {
		ck_assert(loss_rtt_answered_one(&l, 27 * MS, 0, &probe));
		ck_assert_uint_eq(probe.nonce, nonce);
	}
	ck_assert(!loss_rtt_answered_one(&l, 27 * MS, 0, &probe));
	ck_assert_uint_eq(l.newest_answered, first + 3);
	sent(30 * MS, 5, 0, 0, false);
	loss_rtt_settle(&l, 40 * MS);
	ck_assert(!loss_rtt_answered_one(&l, 50 * MS, 0, &probe)); /* too late */
	ck_assert_uint_eq(l.n_decided, 5);
	ck_assert_uint_eq(l.n_lost, 1);
}
END_TEST

START_TEST(the_window_forgets)
{
	struct loss_rtt_probe probe;
	uint32_t s;

	for (unsigned i = 0; i < 3 * LOSS_RTT_WINDOW; i++) {
		s = sent(i * MS, i, 0, 0, false);
		if (i >= 100 || i % 2)
			loss_rtt_answered(&l, i * MS + 1000, s, i, 0, &probe);
		loss_rtt_settle(&l, i * MS);
	}
	ck_assert_uint_eq(l.n_decided, LOSS_RTT_WINDOW);
	ck_assert_uint_eq(l.n_lost, 0);
	ck_assert_uint_eq(l.n_lost_ever, 50);
}
END_TEST

START_TEST(loss_is_what_was_lost)
{
	struct loss_rtt_probe probe;

	for (unsigned i = 0; i < 1000; i++) {
		uint32_t s = sent(i * MS, i, 0, 0, false);

		if (i % 20)
			loss_rtt_answered(&l, i * MS + 100000, s, i, 0, &probe);
	}
	loss_rtt_settle(&l, 2000 * MS);
	ck_assert_uint_ge(loss_rtt_ppm(&l), 45000);
	ck_assert_uint_le(loss_rtt_ppm(&l), 55000);
}
END_TEST

/* What waits to be read is no part of the round trip that is shown, but of the longest. */
START_TEST(waiting_to_be_read_is_not_the_network)
{
	struct loss_rtt_probe probe;

	for (unsigned i = 0; i < 100; i++)
		loss_rtt_answered(&l, (i * 3 + 2) * MS, sent(i * 3 * MS, i, 0, 0, false), i,
				  19 * MS / 10, &probe);
	ck_assert_uint_le(loss_rtt_percentile_ns(&l, 99), 125000);
	ck_assert_uint_eq(l.ring[1].rtt_us, 2000);
	ck_assert_uint_eq(l.rtt_peak_ns, 2 * MS);
}
END_TEST

START_TEST(silence_begins_after_the_newest_answer)
{
	struct loss_rtt_probe probe;
	uint32_t s;

	ck_assert_uint_eq(loss_rtt_silent_since(&l), 0);
	sent(1 * MS, 1, 0, 0, false);
	s = sent(2 * MS, 2, 0, 0, false);
	for (unsigned i = 3; i < 8; i++)
		sent(i * MS, i, 0, 0, i == 3); /* the third counts neither way */
	ck_assert_uint_eq(loss_rtt_silent_since(&l), 1 * MS);
	ck_assert(loss_rtt_answered(&l, 9 * MS, s, 2, 0, &probe));
	ck_assert_uint_eq(loss_rtt_silent_since(&l), 4 * MS);
}
END_TEST

START_TEST(probes_of_a_dead_link_say_nothing)
{
	sent(1 * MS, 1, 0, 0, false);
	sent(2 * MS, 2, 1, 0, false);
	sent(3 * MS, 3, 0, 0, true);
	loss_rtt_void(&l, 0);
	ck_assert_uint_eq(loss_rtt_silent_since(&l), 2 * MS);
	loss_rtt_settle(&l, 10 * MS);
	ck_assert_uint_eq(l.n_lost, 1);
}
END_TEST

START_TEST(sequence_numbers_wrap)
{
	struct loss_rtt_probe probe;

	l.next = UINT32_MAX - 5;
	l.settled = l.next - 1;
	l.newest_answered = l.settled;
	for (unsigned i = 0; i < 600; i++) {
		uint32_t s = sent(i * MS, i, 0, 0, false);

		ck_assert(loss_rtt_answered(&l, i * MS + 1, s, i, 0, &probe));
	}
	ck_assert_uint_eq(l.n_lost, 0);
	ck_assert_uint_eq(l.newest_answered, l.next - 1);
}
END_TEST

/* What was answered before the wrap counts after it. */
START_TEST(a_run_goes_on_over_the_wrap)
{
	struct loss_rtt_probe probe;

	l.next = UINT32_MAX - 99;
	l.settled = l.newest_answered = l.next - 1;
	for (unsigned i = 1; i <= 110; i++) {
		uint32_t s = sent(i * MS, i, 0, 0, false);

		ck_assert(loss_rtt_answered(&l, i * MS + 1, s, i, 0, &probe));
	}
	ck_assert_uint_eq(loss_rtt_clean_run(&l, 1000 * MS, MS, 0), 110);
}
END_TEST

/* A peer that was away for long has not had full queues for so long. */
START_TEST(the_longest_round_trip_is_bounded)
{
	struct loss_rtt_probe probe;
	uint32_t s = sent(MS, 1, 0, 0, false);

	ck_assert(loss_rtt_answered(&l, 20000 * MS, s, 1, 0, &probe));
	ck_assert_uint_eq(l.rtt_peak_ns, HEALTH_PEAK_MAX_NS);
}
END_TEST

START_TEST(percentiles_are_within_a_quarter_octave)
{
	struct loss_rtt_probe probe;

	for (unsigned i = 1; i <= 1000; i++) {
		uint32_t s = sent(i * MS, i, 0, 0, false);

		loss_rtt_answered(&l, i * MS + i * 1000, s, i, 0, &probe); /* 1..1000 us */
	}
	ck_assert_uint_ge(loss_rtt_percentile_ns(&l, 50), 500000);
	ck_assert_uint_le(loss_rtt_percentile_ns(&l, 50), 625000);
	ck_assert_uint_ge(loss_rtt_percentile_ns(&l, 99), 990000);
	ck_assert_uint_le(loss_rtt_percentile_ns(&l, 99), 1240000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loss_rtt");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, answer_counts_once_and_only_with_its_nonce);
	tcase_add_test(tc, a_clean_run_begins_after_the_newest_that_is_missing);
	tcase_add_test(tc, a_late_answer_says_that_nothing_was_lost);
	tcase_add_test(tc, answers_that_name_no_probe_count_one_each);
	tcase_add_test(tc, the_window_forgets);
	tcase_add_test(tc, loss_is_what_was_lost);
	tcase_add_test(tc, waiting_to_be_read_is_not_the_network);
	tcase_add_test(tc, a_probe_that_was_overtaken_is_missing);
	tcase_add_test(tc, silence_begins_after_the_newest_answer);
	tcase_add_test(tc, probes_of_a_dead_link_say_nothing);
	tcase_add_test(tc, sequence_numbers_wrap);
	tcase_add_test(tc, a_run_goes_on_over_the_wrap);
	tcase_add_test(tc, the_longest_round_trip_is_bounded);
	tcase_add_test(tc, percentiles_are_within_a_quarter_octave);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
