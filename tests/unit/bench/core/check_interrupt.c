/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <signal.h>

#include "core/interrupt.h"

START_TEST(a_signal_waits_until_it_is_asked_for)
{
	interrupt_hold();
	ck_assert_int_eq(interrupt_pending(), 0);
	raise(SIGTERM);
	ck_assert_int_eq(interrupt_pending(), SIGTERM);
	ck_assert_int_eq(interrupt_pending(), SIGTERM); /* asking takes nothing away */
}
END_TEST

START_TEST(what_was_ignored_stays_ignored)
{
	signal(SIGHUP, SIG_IGN);
	interrupt_hold();
	raise(SIGHUP);
	ck_assert_int_eq(interrupt_pending(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interrupt");
	TCase *tc = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, a_signal_waits_until_it_is_asked_for);
	tcase_add_test(tc, what_was_ignored_stays_ignored);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
