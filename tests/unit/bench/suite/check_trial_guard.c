/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "suite/trial.h"

static const struct cpu_idle busy = {.mean_percent = 60, .busiest_core_percent = 2.4};
static const struct cpu_idle calm = {.mean_percent = 3, .busiest_core_percent = 2.5};

/* A core without idle time, however idle the others: repeated and counted. */
START_TEST(a_core_without_idle_time)
{
	struct trial_guard guard = {0};

	ck_assert_int_eq(trial_guard_judge(&guard, &calm), 0);
	ck_assert_uint_eq(guard.repeated, 0);
	ck_assert_int_eq(trial_guard_judge(&guard, &busy), -EAGAIN);
	ck_assert_int_eq(trial_guard_judge(&guard, &calm), 0);
	ck_assert_uint_eq(guard.repeated, 1);
}
END_TEST

START_TEST(too_many_in_a_row)
{
	struct trial_guard guard = {0};

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < TRIAL_GUARD_IN_A_ROW; i++)
			ck_assert_int_eq(trial_guard_judge(&guard, &busy), -EAGAIN);
		if (round < 2)
			ck_assert_int_eq(trial_guard_judge(&guard, &calm), 0);
	}
	ck_assert_int_eq(trial_guard_judge(&guard, &busy), -EBUSY);
	ck_assert_uint_eq(guard.repeated, 3 * TRIAL_GUARD_IN_A_ROW);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trial_guard");
	TCase *tcase = tcase_create("trial_guard");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_core_without_idle_time);
	tcase_add_test(tcase, too_many_in_a_row);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
