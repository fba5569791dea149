/* SPDX-License-Identifier: BSD-2-Clause */
/* check_class_probe.c - for how long probes were lost: made by hand, one each 10 ms. */
#include <check.h>

#include "fabric/class_probe.h"

#define MS     UINT64_C(1000000)
#define PERIOD (10 * MS)
#define AT(n)  (1000 * MS + (n)*PERIOD)
#define N      100u

/* All but those from `first` until `end` come, those of two gaps; 5 ms later. */
static struct class_probe probe_with(unsigned first, unsigned end, unsigned second, unsigned until)
{
	struct class_probe p = {.newest_ns = AT(0)};

	for (unsigned i = 0; i < N; i++)
		if (!(i >= first && i < end) && !(i >= second && i < until))
			class_probe_came(&p, i, AT(i), AT(i) + 5 * MS);
	class_probe_ended(&p, N, PERIOD, AT(N));
	return p;
}

START_TEST(none_is_lost)
{
	struct class_probe p = probe_with(0, 0, 0, 0);

	ck_assert_uint_eq(p.lossy_ns, 0);
	ck_assert_uint_eq(p.received, N);
	ck_assert_uint_eq(p.delay.min, 5 * MS);
}
END_TEST

START_TEST(a_gap)
{
	ck_assert_uint_eq(probe_with(40, 60, 0, 0).lossy_ns, 20 * PERIOD);
	ck_assert_uint_eq(probe_with(40, 41, 0, 0).lossy_ns, PERIOD);
	ck_assert_uint_eq(probe_with(40, 60, 0, 0).received, N - 20);
}
END_TEST

/* Some of a sprayed flow arrive meanwhile: from the first that was lost to the last. */
START_TEST(what_arrives_between)
{
	ck_assert_uint_eq(probe_with(40, 44, 50, 55).lossy_ns, 15 * PERIOD);
}
END_TEST

/* It has not ended, or began before the first. */
START_TEST(the_ends)
{
	ck_assert_uint_eq(probe_with(90, N, 0, 0).lossy_ns, 10 * PERIOD);
	ck_assert_uint_ge(probe_with(0, N, 0, 0).lossy_ns, 99 * PERIOD);
	ck_assert_uint_ge(probe_with(0, 5, 0, 0).lossy_ns, 4 * PERIOD);
}
END_TEST

/* What another one overtook is not lost. */
START_TEST(late_ones)
{
	struct class_probe p = {.newest_ns = AT(0)};

	class_probe_came(&p, 0, AT(0), AT(0) + MS);
	class_probe_came(&p, 2, AT(2), AT(2) + MS);
	class_probe_came(&p, 1, AT(1), AT(2) + 2 * MS);
	class_probe_ended(&p, 3, PERIOD, AT(3));
	ck_assert_uint_eq(p.received, 3);
	ck_assert_uint_eq(p.lossy_ns, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("class_probe");
	TCase *tcase = tcase_create("class_probe");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, none_is_lost);
	tcase_add_test(tcase, a_gap);
	tcase_add_test(tcase, what_arrives_between);
	tcase_add_test(tcase, the_ends);
	tcase_add_test(tcase, late_ones);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
