/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <unistd.h>

#include "core/cpu.h"

START_TEST(idle_shares)
{
	struct cpu_times before, after;
	struct cpu_idle idle;

	ck_assert_int_eq(cpu_parse(&before, "cpu  9 9 9 9 9 9 9 9 0 0\n"
					    "cpu0 100 0 0 100 0 0 0 0 0 0\n"
					    "cpu1 100 0 0 100 0 0 0 0 0 0\nintr 1\n"),
			 0);
	ck_assert_int_eq(cpu_parse(&after, "cpu  9 9 9 9 9 9 9 9 0 0\n"
					   "cpu0 150 0 10 120 20 0 0 0 0 0\n"
					   "cpu1 100 0 0 200 0 0 0 0 0 0\nintr 1\n"),
			 0);
	ck_assert_uint_eq(before.n_cores, 2);
	ck_assert_int_eq(cpu_idle(&before, &after, &idle), 0);
	ck_assert_double_eq_tol(idle.mean_percent, 70, 1e-9);
	ck_assert_double_eq_tol(idle.busiest_core_percent, 40, 1e-9);
}
END_TEST

START_TEST(what_a_hypervisor_took)
{
	struct cpu_times before, after;
	struct cpu_idle idle;

	ck_assert_int_eq(cpu_parse(&before, "cpu0 100 0 0 100 0 0 0 5\ncpu1 100 0 0 100 0 0 0 0\n"),
			 0);
	ck_assert_int_eq(cpu_parse(&after, "cpu0 160 0 0 110 0 0 0 35\ncpu1 100 0 0 200 0 0 0 0\n"),
			 0);
	ck_assert_int_eq(cpu_idle(&before, &after, &idle), 0);
	ck_assert_double_eq_tol(idle.stolen_percent, 15, 1e-9);
	ck_assert_int_eq(cpu_idle(&after, &before, &idle), -ERANGE);
}
END_TEST

/* A core that was busy for less than a tick at a time: its counters do not add up to the time. */
START_TEST(shares_are_of_the_time_that_passed)
{
	struct cpu_times before, after;
	struct cpu_idle idle;

	ck_assert_int_eq(cpu_parse(&before, "cpu0 100 0 0 100 0 0 0 0\ncpu1 100 0 0 100 0 0 0 0\n"),
			 0);
	ck_assert_int_eq(cpu_parse(&after, "cpu0 100 0 0 180 0 0 0 10\ncpu1 140 0 0 160 0 0 0 0\n"),
			 0);
	before.at_s = 7;
	after.at_s = 7 + 100. / (double)sysconf(_SC_CLK_TCK);
	ck_assert_int_eq(cpu_idle(&before, &after, &idle), 0);
	ck_assert_double_eq_tol(idle.mean_percent, 70, 1e-9);
	ck_assert_double_eq_tol(idle.busiest_core_percent, 60, 1e-9);
	ck_assert_double_eq_tol(idle.stolen_percent, 5, 1e-9);
}
END_TEST

START_TEST(no_time_or_no_cores)
{
	struct cpu_times times;
	struct cpu_idle idle;

	ck_assert_int_eq(cpu_parse(&times, ""), -EBADMSG);
	ck_assert_int_eq(cpu_parse(&times, "intr 5\nctxt 6\n"), -EBADMSG);
	ck_assert_int_eq(cpu_parse(&times, "cpu0 1 2 3 4 5 6 7 8\n"), 0);
	ck_assert_int_eq(cpu_idle(&times, &times, &idle), -ERANGE);
}
END_TEST

START_TEST(this_machine)
{
	struct cpu_times times;

	ck_assert_int_eq(cpu_read(&times), 0);
	ck_assert_uint_ge(times.n_cores, 1);
	ck_assert(times.at_s > 0);
}
END_TEST

START_TEST(this_process)
{
	double before = cpu_of_process(getpid());

	/* it counts by ticks: for as long as it takes */
	while (cpu_of_process(getpid()) <= before)
		;
	ck_assert(cpu_of_process(0) == 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu");
	TCase *tcase = tcase_create("cpu");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, idle_shares);
	tcase_add_test(tcase, what_a_hypervisor_took);
	tcase_add_test(tcase, shares_are_of_the_time_that_passed);
	tcase_add_test(tcase, no_time_or_no_cores);
	tcase_add_test(tcase, this_machine);
	tcase_add_test(tcase, this_process);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
