/* SPDX-License-Identifier: BSD-2-Clause */
/* What lasts is said once, and again after twice as long each time. */
#include "reminder.h"

#include <check.h>
#include <stdlib.h>

#define S UINT64_C(1000000000)

/* At what second it is said, looked at each second until then; 0: never. */
static uint64_t said_at(struct reminder *r, uint64_t from_s, uint64_t to_s)
{
	for (uint64_t s = from_s; s <= to_s; s++)
		if (reminder_due(r, true, 10 * S, s * S))
			return s;
	return 0;
}

START_TEST(once_and_again_at_a_decreasing_rate)
{
	struct reminder r = {0};
	uint64_t at = 0, n = 0;

	ck_assert_uint_eq(said_at(&r, 100, 200), 110);
	ck_assert_uint_eq(said_at(&r, 111, 1000), 170);
	ck_assert_uint_eq(said_at(&r, 171, 1000), 290);
	ck_assert_uint_eq(said_at(&r, 291, 1000), 530);
	ck_assert_uint_eq(r.since_ns, 100 * S);
	for (uint64_t s = 531; s < 30 * 86400; s++)
		if (reminder_due(&r, true, 10 * S, s * S))
			n++, at = s;
	ck_assert_uint_ge(n, 30); /* not more than a day apart */
	ck_assert_uint_le(n, 40);
	ck_assert_uint_ge(at, 28 * 86400);
}
END_TEST

START_TEST(what_ends_begins_anew)
{
	struct reminder r = {0};

	ck_assert_uint_eq(said_at(&r, 100, 109), 0);
	ck_assert(!reminder_due(&r, false, 10 * S, 109 * S)); /* too short to be said */
	ck_assert_uint_eq(said_at(&r, 110, 200), 120);
	ck_assert(!reminder_due(&r, false, 10 * S, 121 * S));
	ck_assert_uint_eq(said_at(&r, 122, 200), 132);
	ck_assert_uint_eq(said_at(&r, 133, 200), 192);
}
END_TEST

START_TEST(at_once)
{
	struct reminder r = {0};

	ck_assert(reminder_due(&r, true, 0, 7 * S));
	ck_assert(!reminder_due(&r, true, 0, 8 * S));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reminder");
	TCase *tc = tcase_create("reminder");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, once_and_again_at_a_decreasing_rate);
	tcase_add_test(tc, what_ends_begins_anew);
	tcase_add_test(tc, at_once);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
