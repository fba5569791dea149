/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate that leaves the machine time to spare: which holds, which is next, and that it ends. */
#include <check.h>

#include "demo/demo.h"

START_TEST(a_rate_that_leaves_enough_holds)
{
	struct rate_step step = {160, 30, 5, 0.98};
	unsigned next;

	ck_assert_int_eq(rate_search_next(&step, 80, 50, &next), RATE_HOLDS);
	step.idle_percent = 29.9;
	ck_assert_int_eq(rate_search_next(&step, 80, 50, &next), RATE_LOWER);
	/* enough of the machine, and one core has next to nothing: with many cores that can be */
	step = (struct rate_step){160, 90, 4, 0.98};
	ck_assert_int_eq(rate_search_next(&step, 95, 50, &next), RATE_LOWER);
	ck_assert_uint_lt(next, 160);
}
END_TEST

/* Half of the links' capacity cost 80% of the machine; 45% may be spent. */
START_TEST(cost_is_in_proportion_to_what_arrives)
{
	struct rate_step step = {160, 0, 0, 0.5};
	unsigned next;

	ck_assert_int_eq(rate_search_next(&step, 80, 20, &next), RATE_LOWER);
	ck_assert_uint_eq(next, 45);
	step = (struct rate_step){160, 20, 20, 1};
	ck_assert_int_eq(rate_search_next(&step, 80, 20, &next), RATE_LOWER);
	ck_assert_uint_eq(next, 120);
}
END_TEST

START_TEST(a_near_miss_is_lowered_by_a_tenth)
{
	struct rate_step step = {100, 29.9, 29, 0.98};
	unsigned next;

	/* without traffic next to nothing more was idle: proportion says nothing */
	ck_assert_int_eq(rate_search_next(&step, 99, 50, &next), RATE_LOWER);
	ck_assert_uint_eq(next, 90);
}
END_TEST

/* The slowest useful rate is measured before it is given up. */
START_TEST(too_slow_is_known_only_at_the_slowest_rate)
{
	struct rate_step step = {160, 0, 0, 0.2};
	unsigned next = 0;

	ck_assert_int_eq(rate_search_next(&step, 80, 50, &next), RATE_LOWER);
	ck_assert_uint_eq(next, 50);
	step = (struct rate_step){50, 12, 10, 0.9};
	ck_assert_int_eq(rate_search_next(&step, 80, 50, &next), RATE_TOO_SLOW);
	/* somebody else has the machine: no budget at all */
	step = (struct rate_step){160, 0, 0, 0.5};
	ck_assert_int_eq(rate_search_next(&step, 10, 50, &next), RATE_LOWER);
	ck_assert_uint_eq(next, 50);
}
END_TEST

/* Whatever is measured: rates fall, never below the slowest, and there are few steps. */
START_TEST(it_ends)
{
	for (double idle = 0; idle < 30; idle += 5)
		for (double unloaded = 0; unloaded <= 100; unloaded += 10) {
			struct rate_step step = {400, idle, idle, 1};
			unsigned steps = 0, next = 0;

			while (rate_search_next(&step, unloaded, 50, &next) == RATE_LOWER) {
				ck_assert_uint_lt(next, step.mbps);
				ck_assert_uint_ge(next, 50);
				step.mbps = next;
				steps++;
			}
			ck_assert_uint_eq(step.mbps, 50);
			ck_assert_uint_le(steps, 20);
		}
}
END_TEST

/* Three senders' windows of 192 KiB in 100 ms are 47 Mb/s. */
START_TEST(the_slowest_useful_rate)
{
	ck_assert_uint_eq(rate_search_slowest_mbps(3), 50);
	ck_assert_uint_eq(rate_search_slowest_mbps(1), 20);
	ck_assert_uint_eq(rate_search_slowest_mbps(7), 115);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rate_search");
	TCase *tcase = tcase_create("rate_search");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_rate_that_leaves_enough_holds);
	tcase_add_test(tcase, cost_is_in_proportion_to_what_arrives);
	tcase_add_test(tcase, a_near_miss_is_lowered_by_a_tenth);
	tcase_add_test(tcase, too_slow_is_known_only_at_the_slowest_rate);
	tcase_add_test(tcase, it_ends);
	tcase_add_test(tcase, the_slowest_useful_rate);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
