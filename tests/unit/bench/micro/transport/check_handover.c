/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "micro/transport/end.h"

START_TEST(one_core_hands_nothing_over)
{
	ck_assert_double_eq(handover_ns(0, 0), -EINVAL);
	ck_assert_double_eq(handover_ns(0, CPU_SETSIZE), -EINVAL);
}
END_TEST

/*
 * No cache line gets from a core to another in a nanosecond; and what is told is the time of one
 * handover, of which the call has waited for a thousand at the least, however busy the host.
 */
START_TEST(two_cores_take_a_while)
{
	cpu_set_t before, after;
	double ns, start_ns;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	start_ns = (double)clock_now_ns();
	ns = handover_ns(0, 1);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert_double_gt(ns, 1);
	ck_assert_double_lt(1000 * ns, (double)clock_now_ns() - start_ns);
	ck_assert(CPU_EQUAL(&before, &after));
}
END_TEST

START_TEST(a_core_that_is_not_there)
{
	ck_assert_double_eq(handover_ns(0, CPU_SETSIZE - 1), -EAGAIN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handover");
	TCase *tcase = tcase_create("handover");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, one_core_hands_nothing_over);
	tcase_add_test(tcase, two_cores_take_a_while);
	tcase_add_test(tcase, a_core_that_is_not_there);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
