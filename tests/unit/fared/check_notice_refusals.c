/* SPDX-License-Identifier: BSD-2-Clause */
/* Refusals by the million, and how many of them are said. */
#include "notice_refusals.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)

static struct notice_refusals r;

static void setup(void)
{
	memset(&r, 0, sizeof(r));
}

START_TEST(a_pair_is_named_once_until_it_is_accepted)
{
	ck_assert(!notice_refusals_accepted(&r, 3));
	ck_assert(notice_refusals_refused(&r, 3, 5 * S));
	ck_assert(!notice_refusals_refused(&r, 3, 5 * S));
	ck_assert(!notice_refusals_refused(&r, 3, 500 * S));
	ck_assert(notice_refusals_accepted(&r, 3));
	ck_assert(!notice_refusals_accepted(&r, 3));
	ck_assert(!notice_refusals_refused(&r, 3, 501 * S)); /* no flood of both, either */
	ck_assert(notice_refusals_refused(&r, 3, 605 * S));
	notice_refusals_forget(&r, 3);
	ck_assert(!notice_refusals_accepted(&r, 3));
	ck_assert(notice_refusals_refused(&r, 3, 606 * S));
}
END_TEST

START_TEST(a_pair_is_named_again_at_a_decreasing_rate)
{
	unsigned n = 0;

	for (uint64_t s = 1; s < 3600; s++)
		n += notice_refusals_refused(&r, 3, s * S);
	ck_assert_uint_eq(n, 3); /* at once, after 10 and after 30 minutes */
	for (uint64_t s = 3600; s < 30 * 86400; s += 60)
		n += notice_refusals_refused(&r, 3, s * S);
	ck_assert_uint_ge(n, 30); /* once a day */
	ck_assert_uint_le(n, 40);
}
END_TEST

START_TEST(all_peers_names_at_once_are_one_a_second)
{
	unsigned n = 0;

	for (uint64_t now = S; now < 11 * S; now += S / 100)
		for (uint32_t pair = 0; pair < FARE_MAX_PAIRS; pair++)
			n += notice_refusals_refused(&r, pair, now);
	ck_assert_uint_eq(n, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("notice_refusals");
	TCase *tc = tcase_create("notice_refusals");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_pair_is_named_once_until_it_is_accepted);
	tcase_add_test(tc, a_pair_is_named_again_at_a_decreasing_rate);
	tcase_add_test(tc, all_peers_names_at_once_are_one_a_second);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
