/* SPDX-License-Identifier: BSD-2-Clause */
/* The wheel against a plain list: what is due, when, and once. */
#include <check.h>
#include <stdlib.h>

#include "wheel.h"

#define MS UINT64_C(1000000)
#define N  500u

static struct wheel *w;

static void setup(void)
{
	ck_assert_int_eq(wheel_create(&w, N, MS, 5 * MS), 0);
}

static void teardown(void)
{
	wheel_destroy(w);
}

START_TEST(each_is_taken_once_and_in_time)
{
	uint32_t e;

	wheel_set(w, 3, 10 * MS);
	wheel_set(w, 4, 10 * MS + 1);
	wheel_set(w, 5, 8 * MS);
	wheel_set(w, 3, 20 * MS); /* later after all */
	wheel_set(w, 6, 9 * MS);
	wheel_clear(w, 6);
	wheel_clear(w, 6);
	ck_assert_uint_eq(wheel_next_ns(w), 9 * MS);
	ck_assert(!wheel_take(w, 8 * MS, &e));
	ck_assert(wheel_take(w, 9 * MS, &e) && e == 5);
	ck_assert(!wheel_take(w, 9 * MS, &e));
	ck_assert(wheel_take(w, 11 * MS, &e) && e == 4);
	ck_assert(!wheel_take(w, 20 * MS, &e));
	ck_assert(wheel_take(w, 21 * MS, &e) && e == 3);
	ck_assert_uint_eq(wheel_next_ns(w), 0);
}
END_TEST

START_TEST(one_that_is_far_away_waits_for_its_turn)
{
	uint32_t e;

	wheel_set(w, 1, 3000 * MS);
	for (uint64_t now = 6 * MS; now < 3001 * MS; now += MS / 2)
		ck_assert(!wheel_take(w, now, &e));
	ck_assert(wheel_take(w, 3001 * MS, &e) && e == 1);
}
END_TEST

START_TEST(a_long_sleep_loses_none)
{
	uint32_t e, n = 0;

	for (uint32_t i = 0; i < N; i++)
		wheel_set(w, i, (6 + 7 * i) * MS);
	while (wheel_take(w, 100000 * MS, &e))
		n++;
	ck_assert_uint_eq(n, N);
}
END_TEST

START_TEST(agrees_with_a_plain_list)
{
	uint64_t due[N] = {0}, now = 5 * MS;

	srand(11);
	for (int step = 0; step < 20000; step++) {
		uint32_t e, i = (uint32_t)rand() % N;

		if (rand() % 4 == 0) {
			wheel_clear(w, i);
			due[i] = 0;
		} else {
			due[i] = now + (uint64_t)(rand() % 2000) * MS / 3 + 1;
			wheel_set(w, i, due[i]);
		}
		now += (uint64_t)(rand() % 3) * MS / 2;
		while (wheel_take(w, now, &e)) {
			ck_assert(due[e] && due[e] <= now);
			due[e] = 0;
		}
		for (i = 0; i < N; i++)
			if (due[i] && due[i] + MS < now)
				ck_abort_msg("%u was due at %llu", i, (unsigned long long)due[i]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wheel");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_is_taken_once_and_in_time);
	tcase_add_test(tc, one_that_is_far_away_waits_for_its_turn);
	tcase_add_test(tc, a_long_sleep_loses_none);
	tcase_add_test(tc, agrees_with_a_plain_list);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
