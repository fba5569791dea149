/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "resilience/stalls.h"

#define MS UINT64_C(1000000)

static struct stalls_log kept;

static void setup(void)
{
	memset(&kept, 0, sizeof(kept));
}

START_TEST(what_is_on_time_is_no_stall)
{
	stalls_note(&kept, 100 * MS, 100 * MS + STALLS_LEAST_NS - 1);
	ck_assert_uint_eq(stalls_longest_in(&kept, 0, UINT64_MAX), 0);
	stalls_note(&kept, 100 * MS, 100 * MS + STALLS_LEAST_NS);
	ck_assert_uint_eq(stalls_longest_in(&kept, 0, UINT64_MAX), STALLS_LEAST_NS);
}
END_TEST

START_TEST(what_lies_between_counts)
{
	stalls_note(&kept, 100 * MS, 120 * MS);
	stalls_note(&kept, 200 * MS, 205 * MS);
	ck_assert_uint_eq(stalls_longest_in(&kept, 0, UINT64_MAX), 20 * MS);
	ck_assert_uint_eq(stalls_longest_in(&kept, 0, 100 * MS), 0);
	ck_assert_uint_eq(stalls_longest_in(&kept, 0, 107 * MS), 7 * MS);
	ck_assert_uint_eq(stalls_longest_in(&kept, 110 * MS, 115 * MS), 5 * MS);
	ck_assert_uint_eq(stalls_longest_in(&kept, 117 * MS, 300 * MS), 5 * MS);
	ck_assert_uint_eq(stalls_longest_in(&kept, 120 * MS, 200 * MS), 0);
	ck_assert_uint_eq(stalls_longest_in(&kept, 205 * MS, UINT64_MAX), 0);
}
END_TEST

START_TEST(the_latest_are_kept)
{
	for (uint64_t i = 0; i < 3 * STALLS_KEPT; i++)
		stalls_note(&kept, i * 10 * MS,
			    i * 10 * MS + 2 * MS + (i == 10 || i == 2 * STALLS_KEPT + 10 ? MS : 0));
	ck_assert_uint_eq(stalls_longest_in(&kept, 0, 2 * STALLS_KEPT * 10 * MS), 0);
	ck_assert_uint_eq(stalls_longest_in(&kept, 0, UINT64_MAX), 3 * MS);
	ck_assert_uint_eq(stalls_longest_in(&kept, (3 * STALLS_KEPT - 1) * 10 * MS, UINT64_MAX),
			  2 * MS);
}
END_TEST

/* The real ones: every core is watched, and nobody is left. */
START_TEST(watchers_come_and_go)
{
	struct stalls *s;
	struct timespec t;
	uint64_t now, longest;
	int err = stalls_create(&s);

	if (err == -EPERM) {
		ck_assert_ptr_null(s);
		return;
	}
	ck_assert_int_eq(err, 0);
	poll(NULL, 0, 50);
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	longest = stalls_longest_ns(s, now - 50 * MS, now);
	ck_assert_uint_le(longest, 50 * MS);
	stalls_destroy(s);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	stalls_destroy(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stalls");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, what_is_on_time_is_no_stall);
	tcase_add_test(t, what_lies_between_counts);
	tcase_add_test(t, the_latest_are_kept);
	tcase_add_test(t, watchers_come_and_go);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
