/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "base/address.h"
#include "launch/limits.h"

static bool allowed(const struct limits *limits, const char *text)
{
	struct in6_addr address;

	ck_assert_int_eq(address_parse(text, &address), 0);
	return limits_allow(limits, &address);
}

START_TEST(only_ranges_for_benchmarks_by_default)
{
	const struct limits none = {0};

	ck_assert(allowed(&none, "198.18.0.0"));
	ck_assert(allowed(&none, "198.19.255.255"));
	ck_assert(allowed(&none, "2001:db8::1"));
	ck_assert(!allowed(&none, "198.17.255.255"));
	ck_assert(!allowed(&none, "198.20.0.0"));
	ck_assert(!allowed(&none, "2001:db9::"));
	ck_assert(!allowed(&none, "10.0.0.1"));
	ck_assert(!allowed(&none, "::1"));
	ck_assert(!allowed(&none, "0.0.0.0"));
}
END_TEST

START_TEST(ranges_are_added)
{
	struct limits limits = {0};

	ck_assert_int_eq(limits_add_range(&limits, "10.20.0.0/16"), 0);
	ck_assert_int_eq(limits_add_range(&limits, "fd00:1::/32"), 0);
	ck_assert(allowed(&limits, "10.20.255.1"));
	ck_assert(!allowed(&limits, "10.21.0.0"));
	ck_assert(allowed(&limits, "fd00:1::5"));
	ck_assert(!allowed(&limits, "fd00:2::"));
	/* an IPv4 range holds no IPv6 address, and the other way round */
	ck_assert_int_eq(limits_add_range(&limits, "0.0.0.0/0"), 0);
	ck_assert(!allowed(&limits, "fd00:2::"));
	ck_assert_int_eq(limits_add_range(&limits, "10.20.0.1/16"), -EINVAL);
	ck_assert_int_eq(limits_add_range(&limits, "10.20.0.0"), -EINVAL);
	while (limits.n_ranges < LIMITS_MAX_RANGES)
		ck_assert_int_eq(limits_add_range(&limits, "10.20.0.0/16"), 0);
	ck_assert_int_eq(limits_add_range(&limits, "10.20.0.0/16"), -E2BIG);
}
END_TEST

/* Whoever sends whenever it may sends as fast as is allowed, and no faster. */
START_TEST(the_rate_is_kept)
{
	const struct limits limits = {.max_bps = 1000000000};
	struct limits_meter meter = {0};
	uint64_t now = 5000000000, start = now, sent = 0;

	while (now < start + 1000000000) {
		uint64_t wait = limits_wait_ns(&limits, &meter, now);

		if (wait) {
			ck_assert_uint_gt(wait, now);
			now = wait;
			continue;
		}
		limits_sent(&limits, &meter, now, 100000);
		sent += 100000;
	}
	ck_assert_uint_ge(sent, 125000000);
	ck_assert_uint_le(sent, 125000000 + LIMITS_BURST_NS / 8 + 200000);
}
END_TEST

START_TEST(a_pause_saves_nothing_up)
{
	const struct limits limits = {.max_bps = 1000000000};
	struct limits_meter meter = {0};
	uint64_t sent = 0, now = 3600000000000;

	for (; !limits_wait_ns(&limits, &meter, now); sent += 100000)
		limits_sent(&limits, &meter, now, 100000);
	ck_assert_uint_le(sent, LIMITS_BURST_NS / 8 + 100000);
}
END_TEST

START_TEST(no_limit_no_wait)
{
	const struct limits none = {0};
	struct limits_meter meter = {0};

	limits_sent(&none, &meter, 1, UINT64_MAX / 16);
	ck_assert_uint_eq(limits_wait_ns(&none, &meter, 1), 0);
	ck_assert(!limits_is_over(&none, 1, UINT64_MAX));
}
END_TEST

START_TEST(time_runs_out)
{
	const struct limits limits = {.max_run_ns = 1000};

	ck_assert(!limits_is_over(&limits, 500, 1500));
	ck_assert(limits_is_over(&limits, 500, 1501));
	ck_assert(!limits_is_over(&limits, 500, 400));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("limits");
	TCase *tcase = tcase_create("limits");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, only_ranges_for_benchmarks_by_default);
	tcase_add_test(tcase, ranges_are_added);
	tcase_add_test(tcase, the_rate_is_kept);
	tcase_add_test(tcase, a_pause_saves_nothing_up);
	tcase_add_test(tcase, no_limit_no_wait);
	tcase_add_test(tcase, time_runs_out);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
