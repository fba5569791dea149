/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>

#include "procedure/anomaly.h"

/* A day of samples a minute: noise of 2%, and from 8 h on ten minutes at twice the value. */
START_TEST(ten_minutes_of_a_day)
{
	static double at_s[1440], value[1440];
	struct anomaly found[4];

	for (int i = 0; i < 1440; i++) {
		at_s[i] = 60 * i;
		value[i] = 1.5 + 0.015 * sin(i * 12.9898) + (i >= 480 && i < 490 ? 1.5 : 0);
	}
	ck_assert_uint_eq(
		anomaly_find(at_s, 86400, value, 1440, anomaly_usual(value, 1440), found, 4), 1);
	ck_assert_double_eq(found[0].at_s, 28800);
	ck_assert_double_eq(found[0].lasted_s, 600);
	ck_assert_double_gt(found[0].value, 2.9);
}
END_TEST

/* What must not happen at all: the band is 0. One in the middle, one that lasts until the end. */
START_TEST(a_flap_that_nobody_ordered)
{
	const double at_s[] = {0, 60, 120, 180, 240}, flaps[] = {0, 0, 2, 0, 1};
	struct anomaly found[1];

	ck_assert_uint_eq(anomaly_find(at_s, 300, flaps, 5, (struct anomaly_band){0, 0}, found, 1),
			  2);
	ck_assert_double_eq(found[0].at_s, 120);
	ck_assert_double_eq(found[0].lasted_s, 60);
	ck_assert_double_eq(found[0].value, 2);
}
END_TEST

START_TEST(few_samples_have_nothing_unusual)
{
	struct anomaly_band band = anomaly_usual(NULL, 0);
	const double one[] = {3}, few[] = {1, 1, 1, 1, 9};

	ck_assert(isinf(band.low) && isinf(band.high));
	band = anomaly_usual(few, 5);
	ck_assert(isinf(band.low) && isinf(band.high));
	ck_assert_uint_eq(anomaly_find(one, 4, one, 1, anomaly_usual(one, 1), NULL, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("anomaly");
	TCase *tcase = tcase_create("anomaly");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, ten_minutes_of_a_day);
	tcase_add_test(tcase, a_flap_that_nobody_ordered);
	tcase_add_test(tcase, few_samples_have_nothing_unusual);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
