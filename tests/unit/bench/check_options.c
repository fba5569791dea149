#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "options.h"
#include "strategy.h"

START_TEST(numbers)
{
	uint64_t n = 0;

	ck_assert_int_eq(options_number("x", "12", 1, 100, &n), 0);
	ck_assert_uint_eq(n, 12);
	ck_assert_int_eq(options_number("x", "4K", 1, 4096, &n), 0);
	ck_assert_uint_eq(n, 4096);
	ck_assert_int_eq(options_number("x", "4K", 1, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "0", 1, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "-1", 0, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "", 0, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "1x", 0, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "99999999999999999999", 0, UINT64_MAX, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "18446744073709551615G", 0, UINT64_MAX, &n), -EINVAL);
}
END_TEST

START_TEST(seconds)
{
	double s = 0;

	ck_assert_int_eq(options_seconds("x", "0.25", &s), 0);
	ck_assert(s == 0.25);
	ck_assert_int_eq(options_seconds("x", "0", &s), -EINVAL);
	ck_assert_int_eq(options_seconds("x", "-1", &s), -EINVAL);
	ck_assert_int_eq(options_seconds("x", "", &s), -EINVAL);
	ck_assert_int_eq(options_seconds("x", "1s", &s), -EINVAL);
	ck_assert_int_eq(options_seconds("x", "nan", &s), -EINVAL);
	ck_assert_int_eq(options_seconds("x", "inf", &s), -EINVAL);
}
END_TEST

START_TEST(lists)
{
	uint64_t list[2];

	ck_assert_int_eq(options_sizes("64K,1", list, 2), 2);
	ck_assert_uint_eq(list[0], 65536);
	ck_assert_uint_eq(list[1], 1);
	ck_assert_int_eq(options_sizes("1,2,3", list, 2), -EINVAL);
	ck_assert_int_eq(options_sizes("1,", list, 2), -EINVAL);
	ck_assert_int_eq(options_strategies("fare-spray,ecmp", list, 2), 2);
	ck_assert_uint_eq(list[0], STRATEGY_FARE_SPRAY);
	ck_assert_uint_eq(list[1], STRATEGY_ECMP);
	ck_assert_int_eq(options_strategies("best", list, 2), -EINVAL);
	ck_assert_int_eq(options_strategies("fare-packet", list, 2), 1);
	ck_assert_uint_eq(list[0], STRATEGY_FARE_PACKET);
	ck_assert_int_eq(strategy_mode(STRATEGY_FARE_PACKET), FARE_MODE_PACKET);
	ck_assert_uint_ge(list[0], STRATEGY_COMPARED); /* only where it is named */
}
END_TEST

START_TEST(a_lab_and_nothing_else)
{
	optind = 3;
	ck_assert_int_eq(options_lab("farebench x", 3, "mine"), 0);
	ck_assert_int_eq(options_lab("farebench x", 3, NULL), -EINVAL);
	ck_assert_int_eq(options_lab("farebench x", 4, "mine"), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, numbers);
	tcase_add_test(tcase, seconds);
	tcase_add_test(tcase, lists);
	tcase_add_test(tcase, a_lab_and_nothing_else);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
