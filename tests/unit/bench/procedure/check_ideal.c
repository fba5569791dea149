/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
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

/* Of two requests with 1 or 3 tokens (1, 2, 3: mean 2) the longer has 22/9 on the mean. */
START_TEST(a_static_batch_waits_for_its_longest)
{
	ck_assert_double_eq_tol(ideal_static_share(1, 8, 24), 1, 1e-12);
	ck_assert_double_eq_tol(ideal_static_share(2, 1, 3), 2 / (22. / 9), 1e-12);
	ck_assert_double_eq_tol(ideal_static_share(1000, 8, 24), 16 / 24., 1e-6);
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

int main(void)
{
	Suite *suite = suite_create("ideal");
	TCase *tcase = tcase_create("ideal");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_transfer_takes_its_bytes_over_the_line);
	tcase_add_test(tcase, pairs_add_up_until_they_share_a_line);
	tcase_add_test(tcase, the_first_token_comes_after_a_step_and_a_half);
	tcase_add_test(tcase, a_static_batch_waits_for_its_longest);
	tcase_add_test(tcase, a_burst_fills_the_queue);
	tcase_add_test(tcase, a_burst_pauses_who_sends);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
