/* SPDX-License-Identifier: BSD-2-Clause */
/* How often something may happen. */
#include "base/token_bucket.h"

#include <check.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

static const struct token_rate rate = {.per_s = 10, .burst = 3};

START_TEST(a_burst_and_then_the_rate)
{
	for (uint64_t now = 0; now < 2; now++) { /* at time 0, and at any other */
		struct token_bucket b = {0};

		for (int i = 0; i < 3; i++)
			ck_assert(token_bucket_take(&b, rate, now * 1000 * MS));
		ck_assert(!token_bucket_take(&b, rate, now * 1000 * MS));
		ck_assert(!token_bucket_take(&b, rate, now * 1000 * MS + 99 * MS));
		ck_assert(token_bucket_take(&b, rate, now * 1000 * MS + 101 * MS));
		ck_assert(!token_bucket_take(&b, rate, now * 1000 * MS + 102 * MS));
	}
}
END_TEST

START_TEST(a_pause_gives_no_more_than_the_burst)
{
	struct token_bucket b = {0};
	unsigned n = 0;

	while (token_bucket_take(&b, rate, MS))
		n++;
	ck_assert_uint_eq(n, 3);
	for (n = 0; token_bucket_take(&b, rate, 3600 * 1000 * MS);)
		n++;
	ck_assert_uint_eq(n, 3);
}
END_TEST

START_TEST(what_it_says_to_wait_is_enough)
{
	struct token_bucket b = {0};
	uint64_t now = 5 * MS, wait;

	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(token_bucket_wait_ns(&b, rate, now), 0);
	for (int i = 0; i < 100; i++) {
		wait = token_bucket_wait_ns(&b, rate, now);
		ck_assert(wait > 0 && wait <= 100 * MS + 1);
		ck_assert(token_bucket_wait_ns(&b, rate, now + wait - 2) <= 3);
		now += wait;
		ck_assert_uint_eq(token_bucket_wait_ns(&b, rate, now), 0);
	}
}
END_TEST

START_TEST(time_that_stands_still_gives_nothing)
{
	struct token_bucket b = {0};

	while (token_bucket_take(&b, rate, 10 * MS))
		;
	ck_assert(!token_bucket_take(&b, rate, 10 * MS));
	ck_assert(!token_bucket_take(&b, rate, 9 * MS)); /* nor does a step back */
	ck_assert(token_bucket_take(&b, rate, 111 * MS));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("token_bucket");
	TCase *tc = tcase_create("token_bucket");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, a_burst_and_then_the_rate);
	tcase_add_test(tc, a_pause_gives_no_more_than_the_burst);
	tcase_add_test(tc, what_it_says_to_wait_is_enough);
	tcase_add_test(tc, time_that_stands_still_gives_nothing);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
