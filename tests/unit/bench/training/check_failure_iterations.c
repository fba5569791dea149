/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>

#include "training/failure_iterations.h"

#define MS UINT64_C(1000000)

/* Iterations of 10 ms, back to back; lengths from some index on are given. */
static void timeline(uint64_t *start, uint64_t *took, unsigned n, unsigned from,
		     const uint64_t *lengths_ms, unsigned n_lengths, uint64_t after_ms)
{
	uint64_t at = 1000 * MS;

	for (unsigned i = 0; i < n; i++) {
		took[i] = (i < from		  ? 10
			   : i < from + n_lengths ? lengths_ms[i - from]
						  : after_ms) *
			  MS;
		start[i] = at;
		at += took[i];
	}
}

START_TEST(a_fault_between_two_steady_states)
{
	static const uint64_t lengths[] = {55, 12, 20};
	uint64_t start[400], took[400];
	struct failure_iterations f;

	timeline(start, took, 400, 320, lengths, 3, 11);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[320] + 5 * MS, &f), 0);
	ck_assert_uint_eq(f.n_before, 320);
	ck_assert_double_eq(f.steady_ns, 10e6);
	ck_assert_double_eq(f.steady_p99_ns, 10e6);
	ck_assert_double_eq(f.failure_ns, 55e6);
	ck_assert_double_eq(f.worst_ns, 55e6);
	ck_assert_double_eq(f.after_ns, 11e6);
	/* 12 is within 10% of 11; 20 is not: until its end */
	ck_assert_double_eq(f.redistributed_ns, (50 + 12 + 20) * 1e6);
	/* what stays slower has not recovered, and is not the fastest to do so */
	timeline(start, took, 400, 320, lengths, 3, 13);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[320] + 5 * MS, &f), 0);
	ck_assert(!f.recovered && isnan(f.redistributed_ns));
}
END_TEST

START_TEST(a_fault_that_nobody_sees)
{
	uint64_t start[400], took[400];
	struct failure_iterations f;

	timeline(start, took, 400, 400, NULL, 0, 10);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[350], &f), 0);
	ck_assert_double_eq(f.redistributed_ns, 0);
	ck_assert_double_eq(f.failure_ns, f.steady_p99_ns);
}
END_TEST

/* What varies by a third without a fault is not redistributed for as long as it goes on varying;
 * what is longer than that is. */
START_TEST(noise_is_no_redistribution)
{
	uint64_t start[400], took[400];
	struct failure_iterations f;

	timeline(start, took, 400, 400, NULL, 0, 10);
	for (unsigned i = 0; i < 400; i += 7)
		took[i] = 13 * MS;
	ck_assert_int_eq(failure_iterations(start, took, 400, start[320] + 5 * MS, &f), 0);
	ck_assert_double_eq(f.redistributed_ns, 0);
	took[321] = 15 * MS; /* 10 times 1.3 and a tenth more is 14.3 */
	ck_assert_int_eq(failure_iterations(start, took, 400, start[320] + 5 * MS, &f), 0);
	ck_assert_double_eq(f.redistributed_ns, (double)(start[321] - start[320]) + 15e6 - 5e6);
	/* nine tell no spread */
	ck_assert_int_eq(failure_iterations(start, took, 400, start[9] + 5 * MS, &f), 0);
	ck_assert(isnan(f.redistributed_ns));
	ck_assert_int_eq(failure_iterations(start, took, 400, start[10] + 5 * MS, &f), 0);
	ck_assert(isfinite(f.redistributed_ns));
}
END_TEST

START_TEST(too_few_say_so)
{
	uint64_t start[400], took[400];
	struct failure_iterations f;

	timeline(start, took, 400, 400, NULL, 0, 10);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[0], &f), -ERANGE);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[396], &f), -ERANGE);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[399] + 20 * MS, &f), -ERANGE);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[395], &f), 0);
	ck_assert_int_eq(failure_iterations(start, took, 400, start[299], &f), 0);
	ck_assert(isnan(f.steady_p99_ns));
	ck_assert_int_eq(failure_iterations(start, took, 400, start[300], &f), 0);
	ck_assert(isfinite(f.steady_p99_ns));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failure_iterations");
	TCase *tcase = tcase_create("failure_iterations");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_fault_between_two_steady_states);
	tcase_add_test(tcase, a_fault_that_nobody_sees);
	tcase_add_test(tcase, noise_is_no_redistribution);
	tcase_add_test(tcase, too_few_say_so);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
