/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <string.h>
#include <math.h>

#include "procedure/ideal.h"
#include "workload/model.h"

/* 2,048 tokens of CFG-B are 671 MB (appendix F): 13.4 ms at 400 Gb/s, whatever both are divided by;
 * 331 KB of them at 200 Mb/s fit into 1,049 KB of buckets. */
START_TEST(a_transfer_takes_its_bytes_over_the_line)
{
	double bytes = model_kv_bytes(model_find("CFG-B"), 2048);

	ck_assert_double_eq(bytes, 671088640);
	ck_assert_double_eq_tol(ideal_transfer_s(bytes, 400e9, 0), 13.42e-3, 1e-5);
	ck_assert_double_eq_tol(ideal_transfer_s(bytes / 2000, 200e6, 0), 13.42e-3, 1e-5);
	ck_assert_double_eq(ideal_transfer_s(bytes / 2000, 200e6, 1048576), 0);
	ck_assert_double_eq_tol(ideal_transfer_s(2048576, 200e6, 1048576), .04, 1e-12);
}
END_TEST

START_TEST(pairs_add_up_until_they_share_a_line)
{
	static const double want[] = {49, 98, 98, 98};

	for (unsigned pairs = 1; pairs <= 4; pairs++)
		ck_assert_double_eq(ideal_pairs_bps(pairs, 2, 2, 49), want[pairs - 1]);
	ck_assert_double_eq(ideal_pairs_bps(8, 4, 2, 49), 98);
	ck_assert_double_eq(ideal_pairs_bps(64, 48, 48, 1), 48);
}
END_TEST

/* 100 ms of prefill, 13 of transfer, and a step and a half of 20 ms. */
START_TEST(the_first_token_comes_after_a_step_and_a_half)
{
	ck_assert_double_eq_tol(ideal_ttft_s(.05, .1, .013, .02), .193, 1e-12);
}
END_TEST

/* Two lines into one: a queue fills at the rate of one. Four with buckets of more than the queue:
 * 3 of them wait in it. */
START_TEST(a_burst_fills_the_queue)
{
	ck_assert_double_eq_tol(ideal_burst_bytes(2, 1e6, 0), 1e6, 1e-3);
	ck_assert_double_eq_tol(ideal_burst_bytes(5, 1e6, 1e5), 2.5e5, 1e-3);
	ck_assert_double_eq_tol(ideal_burst_bytes(4, 3e5, 1e5), 1e5, 1e-3);
	ck_assert_double_eq_tol(ideal_burst_bytes(4, 2e5, 1e6), 3e5, 1e-3);
}
END_TEST

START_TEST(a_burst_pauses_who_sends)
{
	ck_assert_double_eq_tol(ideal_paused(2, 1e12, 1e5), 0.5, 1e-6);
	ck_assert_double_eq_tol(ideal_paused(4, 1e6, 1e5), 0.65, 1e-9);
	ck_assert_double_eq(ideal_paused(3, 1e5, 1e5), 0); /* all of it fits */
}
END_TEST

/* Steps of 20 ms; a prefill of 16.4 after a step's end waits for the next one's, and a step: 40. */
START_TEST(a_request_alone_comes_when_a_step_ends)
{
	ck_assert_double_eq_tol(ideal_ttft_alone_s(.0164, 0, .02), .04, 1e-9);
	ck_assert_double_eq_tol(ideal_ttft_alone_s(.0164, .005, .02), .06, 1e-9);
	ck_assert_double_eq_tol(ideal_ttft_alone_s(.0136, .0064, .02), .04, 1e-9);
}
END_TEST

/*
 * Steps of 100 ms, counted from 0.2 to 1 s. Worker 0: ready at 0.05, in the batch at 0.1,
 * tokens at 0.2 to 0.5: 4; ready at 0.15, tokens at 0.3 to 1.2, 7 of 10 before 1 s. Worker 1:
 * one token, at 0.1, too early. A batch of one: the second begins at 0.5: 0.6 to 0.9: 4. A
 * static batch that began with the first takes the second when it has ended, the same.
 */
START_TEST(tokens_are_those_of_the_requests_that_came)
{
	const struct ideal_request came[] = {{.15, 0, 10}, {.05, 0, 4}, {0, 1, 1}};
	struct ideal_request r[3];

	memcpy(r, came, sizeof(r));
	ck_assert_double_eq(ideal_tokens(r, 3, 2, false, .1, .2, 1), 11);
	memcpy(r, came, sizeof(r));
	ck_assert_double_eq(ideal_tokens(r, 3, 1, false, .1, .2, 1), 8);
	memcpy(r, came, sizeof(r));
	ck_assert_double_eq(ideal_tokens(r, 3, 2, true, .1, .2, 1), 8);
	ck_assert_double_eq(ideal_tokens(r, 0, 2, true, .1, .2, 1), 0);
}
END_TEST

/* Four together, of 1, 2, 3 and 4 tokens, in static batches of two: 2 steps, then 4. */
START_TEST(static_batches_end_with_their_longest)
{
	struct ideal_request r[] = {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {0, 0, 4}};

	ck_assert_double_eq(ideal_tokens(r, 4, 2, true, .1, 0, .65), 10);
	ck_assert_double_eq(ideal_tokens(r, 4, 2, true, .1, 0, .55), 9);
	ck_assert_double_eq(ideal_tokens(r, 4, 2, true, .1, 0, .25), 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ideal");
	TCase *tcase = tcase_create("ideal");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_transfer_takes_its_bytes_over_the_line);
	tcase_add_test(tcase, pairs_add_up_until_they_share_a_line);
	tcase_add_test(tcase, the_first_token_comes_after_a_step_and_a_half);
	tcase_add_test(tcase, a_request_alone_comes_when_a_step_ends);
	tcase_add_test(tcase, tokens_are_those_of_the_requests_that_came);
	tcase_add_test(tcase, static_batches_end_with_their_longest);
	tcase_add_test(tcase, a_burst_fills_the_queue);
	tcase_add_test(tcase, a_burst_pauses_who_sends);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
