/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet's age, while the clock that stamped it is set. */
#include "udp_age.h"

#include <check.h>
#include <stdlib.h>

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static const struct udp_age_clocks emptied = {1000 * S, 50 * S};

/* What came `at` after that and is read at `read`; the clock was set by `by` at `set`. */
static uint64_t age(int64_t at, int64_t read, int64_t set, int64_t by)
{
	struct udp_age_clocks now = {emptied.real_ns + read + (read >= set ? by : 0),
				     emptied.mono_ns + read};

	return udp_age_ns(emptied.real_ns + at + (at >= set ? by : 0), &emptied, &now);
}

START_TEST(it_is_the_time_between_stamp_and_reading)
{
	ck_assert_uint_eq(age(2 * MS, 10 * MS, S, 0), 8 * MS);
	ck_assert_uint_eq(age(MS, 61 * S, 100 * S, 0), 61 * S - MS); /* the process was stopped */
	ck_assert_uint_eq(age(10 * MS, 10 * MS, S, 0), 0);
	ck_assert_uint_eq(age(11 * MS, 10 * MS, S, 0), 0); /* it came just now */
	ck_assert_uint_eq(age(-MS, 10 * MS, S, 0), 0);	   /* it would have been read */
}
END_TEST

START_TEST(a_clock_that_is_set_makes_no_age)
{
	static const int64_t steps[] = {200 * MS, -200 * MS, 3600 * S,	-3600 * S,
					5 * MS,	  -5 * MS,   86400 * S, -86400 * S};

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		/* while it waits: 1 ms after it came, 1 s before it is read; and shortly before */
		ck_assert_uint_eq(age(2 * MS, S, 3 * MS, steps[i]), 0);
		ck_assert_uint_eq(age(2 * MS, 10 * MS, 3 * MS, steps[i]), 0);
		ck_assert_uint_eq(age(S, S + 2 * MS, S + MS, steps[i]), 0);
		/* before it came, since the last reading: it would be right, and is not used */
		ck_assert_uint_eq(age(5 * MS, 10 * MS, 3 * MS, steps[i]), 0);
		/* after the reading: it is not known of yet */
		ck_assert_uint_eq(age(2 * MS, 10 * MS, 20 * MS, steps[i]), 8 * MS);
	}
}
END_TEST

START_TEST(a_clock_that_is_slewed_is_used)
{
	struct udp_age_clocks now = {emptied.real_ns + 10 * S + 10 * S / 2500,
				     emptied.mono_ns + 10 * S};

	ck_assert_uint_eq(udp_age_ns(now.real_ns - MS, &emptied, &now), MS);
}
END_TEST

START_TEST(both_clocks_are_read)
{
	struct udp_age_clocks first = udp_age_clocks(), second = udp_age_clocks();

	ck_assert_int_ge(second.mono_ns, first.mono_ns);
	ck_assert_int_gt(first.real_ns, first.mono_ns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("udp_age");
	TCase *tc = tcase_create("udp_age");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, it_is_the_time_between_stamp_and_reading);
	tcase_add_test(tc, a_clock_that_is_set_makes_no_age);
	tcase_add_test(tc, a_clock_that_is_slewed_is_used);
	tcase_add_test(tc, both_clocks_are_read);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
