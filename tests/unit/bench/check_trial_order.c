/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <string.h>

#include "trial_order.h"

#define N	   5
#define MAX_TRIALS (STRATEGY_COUNT * TRIAL_ORDER_TESTS * N)

static const bool four[STRATEGY_COUNT] = {[STRATEGY_ECMP] = true,
					  [STRATEGY_WECMP_KERNEL] = true,
					  [STRATEGY_FARE_FLOW] = true,
					  [STRATEGY_FARE_SPRAY] = true};

START_TEST(each_trial_once)
{
	unsigned seen[STRATEGY_COUNT][TRIAL_ORDER_TESTS][N] = {0};
	struct trial_order trials[MAX_TRIALS];
	uint64_t random = 7;

	ck_assert_uint_eq(trial_order_draw(four, N, false, &random, trials), 40);
	for (unsigned i = 0; i < 40; i++)
		seen[trials[i].strategy][trials[i].test][trials[i].repetition]++;
	for (int s = 0; s < STRATEGY_COUNT; s++)
		for (unsigned test = 0; test < TRIAL_ORDER_TESTS; test++)
			for (unsigned i = 0; i < N; i++)
				ck_assert_uint_eq(seen[s][test][i], four[s]);
}
END_TEST

/* The kernel's weights change once, and the half asked for comes first. */
START_TEST(weights_change_once)
{
	struct trial_order trials[MAX_TRIALS];
	uint64_t random = 1;

	for (int equal_first = 0; equal_first < 2; equal_first++) {
		unsigned n = trial_order_draw(four, N, equal_first, &random, trials), changes = 0;
		int in_force = -1, first = -1;

		for (unsigned i = 0; i < n; i++) {
			int equal = strategy_equal_weights(trials[i].strategy);

			if (strategy_mode(trials[i].strategy) != FARE_MODE_KERNEL)
				continue;
			first = first < 0 ? equal : first;
			changes += in_force >= 0 && equal != in_force;
			in_force = equal;
		}
		ck_assert_int_eq(first, equal_first);
		ck_assert_uint_eq(changes, 1);
	}
}
END_TEST

/* fare's strategies, which need no weights, have trials on both sides of the change. */
START_TEST(the_others_are_in_both_halves)
{
	struct trial_order trials[MAX_TRIALS];
	unsigned before[STRATEGY_COUNT][TRIAL_ORDER_TESTS] = {0}, i = 0;
	uint64_t random = 3;

	trial_order_draw(four, N, true, &random, trials);
	for (; i < 20; i++)
		before[trials[i].strategy][trials[i].test]++;
	for (unsigned test = 0; test < TRIAL_ORDER_TESTS; test++) {
		ck_assert_uint_eq(before[STRATEGY_ECMP][test], N);
		ck_assert_uint_eq(before[STRATEGY_WECMP_KERNEL][test], 0);
		ck_assert_uint_ge(before[STRATEGY_FARE_FLOW][test], N / 2);
		ck_assert_uint_le(before[STRATEGY_FARE_FLOW][test], N / 2 + 1);
		ck_assert_uint_eq(before[STRATEGY_FARE_SPRAY][test],
				  before[STRATEGY_FARE_FLOW][test]);
	}
}
END_TEST

START_TEST(a_seed_is_an_order)
{
	struct trial_order one[MAX_TRIALS], same[MAX_TRIALS], other[MAX_TRIALS];
	uint64_t a = 11, b = 11, c = 12;

	memset(one, 0, sizeof(one));
	memset(same, 0, sizeof(same));
	memset(other, 0, sizeof(other));
	trial_order_draw(four, N, false, &a, one);
	trial_order_draw(four, N, false, &b, same);
	trial_order_draw(four, N, false, &c, other);
	ck_assert_mem_eq(one, same, sizeof(one));
	ck_assert_mem_ne(one, other, sizeof(one));
	trial_order_draw(four, N, false, &b, same); /* the next scenario has another one */
	ck_assert_mem_ne(one, same, sizeof(one));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trial_order");
	TCase *tcase = tcase_create("trial_order");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, each_trial_once);
	tcase_add_test(tcase, weights_change_once);
	tcase_add_test(tcase, the_others_are_in_both_halves);
	tcase_add_test(tcase, a_seed_is_an_order);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
