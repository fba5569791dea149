/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of each user a second: bursts, rates, and users beyond the table. */
#include "control_rate.h"

#include <check.h>

#define S UINT64_C(1000000000)

static struct control_rate rate;

static void setup(void)
{
	rate = (struct control_rate){0};
}

static unsigned take_all(uid_t uid, uint64_t now_ns)
{
	unsigned n = 0;

	while (!control_rate_take(&rate, uid, now_ns))
		ck_assert_uint_le(++n, CONTROL_RATE_BURST);
	return n;
}

START_TEST(a_burst_and_then_a_rate)
{
	uint64_t wait;

	ck_assert_uint_eq(take_all(7, S), CONTROL_RATE_BURST);
	wait = control_rate_take(&rate, 7, S);
	ck_assert_uint_gt(wait, 0);
	ck_assert_uint_le(wait, S / CONTROL_RATE_PER_S + 1);
	ck_assert_uint_eq(take_all(7, S + wait), 1);
	ck_assert_uint_eq(take_all(7, 2 * S + wait), CONTROL_RATE_PER_S);
	ck_assert_uint_eq(take_all(7, 100 * S), CONTROL_RATE_BURST); /* it holds no more */
}
END_TEST

START_TEST(users_do_not_share)
{
	ck_assert_uint_eq(take_all(7, S), CONTROL_RATE_BURST);
	ck_assert_uint_eq(take_all(8, S), CONTROL_RATE_BURST);
	ck_assert_uint_gt(control_rate_take(&rate, 7, S), 0);
}
END_TEST

/* Whoever has used up most stays known; a clock that stands still fills nothing. */
START_TEST(more_users_than_buckets)
{
	take_all(7, S);
	for (uid_t uid = 1000; uid < 1000 + 3 * CONTROL_RATE_USERS; uid++)
		ck_assert_uint_eq(control_rate_take(&rate, uid, S), 0);
	ck_assert_uint_gt(control_rate_take(&rate, 7, S), 0);
	ck_assert_uint_gt(control_rate_take(&rate, 7, S / 2), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control_rate");
	TCase *t = tcase_create("core");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, a_burst_and_then_a_rate);
	tcase_add_test(t, users_do_not_share);
	tcase_add_test(t, more_users_than_buckets);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
