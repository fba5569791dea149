/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>

#include "training/ramp.h"

/* 1,000 below; 100 in each part, marked as the ramp to 80% says: 5, 15, ... 75; 50 above, all. */
START_TEST(a_ramp_that_is_right)
{
	const double packets[] = {100, 100, 100, 100, 100, 100, 100, 100, 50},
		     marked[] = {5, 15, 25, 35, 45, 55, 65, 75, 50};
	struct ramp r = ramp_of(1850, 370, packets, marked, packets, .8);

	ck_assert_double_eq(r.below_packets, 1000);
	ck_assert_double_eq(r.below_marked, 0);
	ck_assert_double_eq(r.above_packets, 50);
	ck_assert_double_eq(r.above_marked, 50);
	ck_assert_double_eq(r.met, 800);
	ck_assert_double_eq_tol(r.expected, 370, 1e-9);
	ck_assert_double_eq_tol(r.deviation, 0, 1e-9);
}
END_TEST

/* A mark below; the third part marks 60 of 100, not 25; half above. */
START_TEST(a_ramp_that_is_wrong)
{
	const double packets[] = {100, 0, 100, 0, 0, 0, 0, 0, 50},
		     marked[] = {5, 0, 60, 0, 0, 0, 0, 0, 25};
	struct ramp r = ramp_of(500, 91, packets, marked, packets, .8);

	ck_assert_double_eq(r.below_marked, 1);
	ck_assert_double_eq(r.above_marked, 25);
	ck_assert_double_eq_tol(r.deviation, .35, 1e-9);
	ck_assert(r.deviation > r.allowed && r.allowed > .05 && r.allowed < .2);
}
END_TEST

/* Of 160 packets half were marked where a quarter is expected: ten super-packets of 16 may, as many
 * packets each by itself may not. */
START_TEST(super_packets_are_one_draw)
{
	const double packets[] = {0, 0, 160, 0, 0, 0, 0, 0, 0},
		     marked[] = {0, 0, 80, 0, 0, 0, 0, 0, 0},
		     squares[] = {0, 0, 160 * 16, 0, 0, 0, 0, 0, 0};
	struct ramp one = ramp_of(160, 80, packets, marked, packets, .8),
		    super = ramp_of(160, 80, packets, marked, squares, .8);

	ck_assert_double_eq_tol(one.deviation, .25, 1e-9);
	ck_assert_double_eq_tol(super.deviation, .25, 1e-9);
	ck_assert_double_lt(one.allowed, .25);
	ck_assert_double_gt(super.allowed, .25);
}
END_TEST

/* Without a ramp: none below, all above is 0; 1 of 400 below and 5 of 50 above: a tenth. */
START_TEST(a_threshold_is_a_step)
{
	struct ramp r = {.below_packets = 400, .above_packets = 50, .above_marked = 50};

	ck_assert_double_eq(ramp_step_deviation(&r), 0);
	r.below_marked = 1;
	ck_assert_double_eq_tol(ramp_step_deviation(&r), .0025, 1e-12);
	r.above_marked = 45;
	ck_assert_double_eq_tol(ramp_step_deviation(&r), .1, 1e-12);
	r.above_packets = 0;
	ck_assert(isnan(ramp_step_deviation(&r)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ramp");
	TCase *tcase = tcase_create("ramp");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_ramp_that_is_right);
	tcase_add_test(tcase, a_ramp_that_is_wrong);
	tcase_add_test(tcase, super_packets_are_one_draw);
	tcase_add_test(tcase, a_threshold_is_a_step);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
