/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "nccl/nccl_credits.h"

static struct credits credits;

static bool add(unsigned id, int32_t tag)
{
	const struct credit credit = {.address = id, .tag = tag, .id = (uint16_t)id};

	return credits_add(&credits, &credit);
}

/* The address of the credit that a send of that tag takes; 0: it waits. */
static uint64_t take(int32_t tag)
{
	const struct credit *credit = credits_find(&credits, tag);
	uint64_t address = credit ? credit->address : 0;

	if (credit)
		credits_use(&credits, credit->id);
	return address;
}

/* ids from 1 on, so that no credit has the address 0 */
static void setup(void)
{
	credits = (struct credits){.oldest_id = 1};
}

START_TEST(one_tag_is_served_in_order)
{
	ck_assert(add(1, 7) && add(2, 7));
	ck_assert_uint_eq(take(7), 1);
	ck_assert_uint_eq(take(7), 2);
	ck_assert_uint_eq(take(7), 0);
}
END_TEST

START_TEST(tags_do_not_wait_for_each_other)
{
	ck_assert(add(1, 7) && add(2, 8));
	ck_assert_uint_eq(take(8), 2);
	ck_assert_uint_eq(take(9), 0);
	ck_assert_uint_eq(take(7), 1);
}
END_TEST

START_TEST(nothing_goes_past_one_that_was_overtaken)
{
	ck_assert(add(2, 7));
	ck_assert_uint_eq(take(7), 0);
	ck_assert(add(1, 7));
	ck_assert_uint_eq(take(7), 1);
	ck_assert_uint_eq(take(7), 2);
}
END_TEST

START_TEST(only_what_may_come_is_taken)
{
	ck_assert(add(1, 7));
	ck_assert(!add(1, 7)); /* twice */
	ck_assert(!add(0, 7)); /* long ago */
	ck_assert(!add(1 + NCCL_REQUESTS, 7));
	ck_assert(add(NCCL_REQUESTS, 7));
	ck_assert_uint_eq(take(7), 1);
	ck_assert(!add(1, 7));
	ck_assert(add(1 + NCCL_REQUESTS, 7));
}
END_TEST

START_TEST(numbers_wrap_around)
{
	for (unsigned id = 1; id < 70000; id++) {
		ck_assert(add(id, 7));
		ck_assert_uint_eq(take(7), id);
	}
}
END_TEST

START_TEST(a_used_one_is_not_given_again)
{
	ck_assert(add(1, 8) && add(2, 7) && add(3, 7));
	ck_assert_uint_eq(take(7), 2);
	ck_assert(!add(2, 7));
	ck_assert_uint_eq(take(7), 3);
	ck_assert_uint_eq(take(7), 0);
	ck_assert_uint_eq(take(8), 1);
	ck_assert_uint_eq(credits.oldest_id, 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nccl_credits");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, one_tag_is_served_in_order);
	tcase_add_test(tc, tags_do_not_wait_for_each_other);
	tcase_add_test(tc, nothing_goes_past_one_that_was_overtaken);
	tcase_add_test(tc, only_what_may_come_is_taken);
	tcase_add_test(tc, numbers_wrap_around);
	tcase_add_test(tc, a_used_one_is_not_given_again);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
