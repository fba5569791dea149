/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "sized.h"

struct own {
	uint32_t a, b;
};

START_TEST(an_older_callers_is_shorter)
{
	struct own o = {9, 9};
	uint32_t given = 5;

	ck_assert_int_eq(sized_in(&o, sizeof(o), &given, sizeof(given)), 0);
	ck_assert(o.a == 5 && o.b == 0);
	sized_out(&given, sizeof(given), &(struct own){7, 8}, sizeof(o));
	ck_assert_uint_eq(given, 7);
}
END_TEST

START_TEST(a_newer_callers_is_longer)
{
	uint32_t given[3] = {1, 2, 0};
	struct own o;

	ck_assert_int_eq(sized_in(&o, sizeof(o), given, sizeof(given)), 0);
	ck_assert(o.a == 1 && o.b == 2);
	given[2] = 1;
	ck_assert_int_eq(sized_in(&o, sizeof(o), given, sizeof(given)), -E2BIG);
	sized_out(given, sizeof(given), &(struct own){7, 8}, sizeof(o));
	ck_assert(given[0] == 7 && given[1] == 8 && given[2] == 0);
}
END_TEST

START_TEST(none_is_all_zero)
{
	struct own o = {9, 9};

	ck_assert_int_eq(sized_in(&o, sizeof(o), NULL, sizeof(o)), 0);
	ck_assert(o.a == 0 && o.b == 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sized");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, an_older_callers_is_shorter);
	tcase_add_test(tc, a_newer_callers_is_longer);
	tcase_add_test(tc, none_is_all_zero);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
