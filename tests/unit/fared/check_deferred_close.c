/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors handed over are closed, by whatever thread, and after the end of who did. What
 * sleeps: check_control.c.
 */
#include "deferred_close.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "patience.h"

#define MANY (2 * DEFERRED_CLOSE_FULL)

/* The reading end of a pipe whose n writing ends have been handed over. */
static int hand_over(struct deferred_close *c, unsigned n)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	for (unsigned i = 1; i < n; i++)
		deferred_close_take(c, fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
	deferred_close_take(c, ends[1]);
	return ends[0];
}

/* All writing ends are closed: the reading one says so. */
static void await_end(int reading)
{
	struct pollfd p = {.fd = reading};

	ck_assert_int_eq(poll(&p, 1, PATIENCE_S * 1000), 1);
	close(reading);
}

START_TEST(what_is_handed_over_is_closed)
{
	struct deferred_close *c;

	ck_assert_int_eq(deferred_close_create(&c), 0);
	deferred_close_take(c, -1);
	await_end(hand_over(c, 1));
	await_end(hand_over(c, MANY));
	ck_assert(!deferred_close_is_full(c));
	deferred_close_destroy(c);
	deferred_close_destroy(NULL);
}
END_TEST

START_TEST(and_after_the_end_still)
{
	struct deferred_close *c;
	int reading;

	ck_assert_int_eq(deferred_close_create(&c), 0);
	reading = hand_over(c, MANY);
	deferred_close_destroy(c);
	await_end(reading);
}
END_TEST

START_TEST(nothing_was_handed_over)
{
	struct deferred_close *c;

	ck_assert_int_eq(deferred_close_create(&c), 0);
	ck_assert(!deferred_close_is_full(c));
	deferred_close_destroy(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("deferred_close");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_is_handed_over_is_closed);
	tcase_add_test(tc, and_after_the_end_still);
	tcase_add_test(tc, nothing_was_handed_over);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
