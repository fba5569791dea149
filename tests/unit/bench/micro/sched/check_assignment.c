/* SPDX-License-Identifier: BSD-2-Clause */
/* 64 GPUs, all to all, one plane halved: within 2% of the optimum at 1, 4 and 16 QPs a pair; other
 * ways are not. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "micro/sched/assignment.h"

static double all_to_all(enum assignment_choice choice, unsigned qps, unsigned stride,
			 int halved_while_bound)
{
	struct assignment a = {64, qps, stride, choice, halved_while_bound};
	double over;

	ck_assert_int_eq(assignment_all_to_all(&a, &over), 0);
	ck_assert_double_ge(over, 1 - 1e-6);
	return over;
}

/* Addresses numbered through, or with a stride that has a factor in common with the schedule's
 * period. */
START_TEST(one_halved_plane_is_within_two_percent)
{
	static const unsigned qps[] = {1, 4, 16};

	for (unsigned i = 0; i < 3; i++) {
		ck_assert_double_le(all_to_all(ASSIGNMENT_FARE, qps[i], 1, 0), 1.02);
		ck_assert_double_le(all_to_all(ASSIGNMENT_FARE, qps[i], 28, 0), 1.02);
	}
}
END_TEST

/* The plane is halved while flows are bound: what must moves, and with a few QPs a pair it is as
 * good as new. */
START_TEST(halved_while_bound_is_as_good)
{
	ck_assert_double_le(all_to_all(ASSIGNMENT_FARE, 4, 1, 1), 1.02);
	ck_assert_double_le(all_to_all(ASSIGNMENT_FARE, 16, 1, 1), 1.02);
}
END_TEST

START_TEST(other_ways_are_told_apart)
{
	ck_assert_double_gt(all_to_all(ASSIGNMENT_ECMP, 4, 1, 0), 1.5);
	ck_assert_double_gt(all_to_all(ASSIGNMENT_WECMP, 4, 1, 0), 1.1);
	ck_assert_double_gt(all_to_all(ASSIGNMENT_ALIKE, 1, 1, 0), 3);
}
END_TEST

START_TEST(refuses_what_it_cannot_do)
{
	struct assignment a = {1, 1, 1, ASSIGNMENT_FARE, 0};
	double over;

	ck_assert_int_eq(assignment_all_to_all(&a, &over), -EINVAL);
	a.gpus = 4;
	a.qps = 65;
	ck_assert_int_eq(assignment_all_to_all(&a, &over), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("assignment");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 100);
	tcase_add_test(t, one_halved_plane_is_within_two_percent);
	tcase_add_test(t, halved_while_bound_is_as_good);
	tcase_add_test(t, other_ways_are_told_apart);
	tcase_add_test(t, refuses_what_it_cannot_do);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
