/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/rng.h"
#include "launch/hosts_internal.h"

/* An exchange with a clock that is ahead by offset; out and back: delays of the network. */
static struct clock_exchange exchange(uint64_t at, int64_t offset, uint64_t out, uint64_t back)
{
	return (struct clock_exchange){.asked = at,
				       .taken = (uint64_t)((int64_t)(at + out) + offset),
				       .given = (uint64_t)((int64_t)(at + out + 50) + offset),
				       .answered = at + out + 50 + back};
}

START_TEST(even_delays_give_the_offset)
{
	static const int64_t offsets[] = {0, 1000000, -1000000, INT64_C(4000000000000)};

	for (unsigned i = 0; i < 4; i++) {
		struct clock_offset o = {0};
		struct clock_exchange e = exchange(10000000000, offsets[i], 700, 700);

		ck_assert_int_eq(clock_offset_add(&o, &e), 0);
		ck_assert_int_le(llabs(o.offset_ns - offsets[i]), 1);
		ck_assert(clock_offset_error_ns(&o) >= 700 && clock_offset_error_ns(&o) < 702);
	}
}
END_TEST

START_TEST(a_clock_that_began_later_is_behind)
{
	struct clock_offset o = {0};
	struct clock_exchange e = exchange(50000000000, INT64_C(-49000000000), 10, 10);

	ck_assert_int_eq(clock_offset_add(&o, &e), 0);
	ck_assert_int_le(llabs(o.offset_ns + INT64_C(49000000000)), 1);
}
END_TEST

/* However delays are spread over both ways, the bound holds, and the least delay decides. */
START_TEST(the_error_is_bounded)
{
	const int64_t truth = 123456789;
	uint64_t random = 7, least = UINT64_MAX;

	for (unsigned round = 0; round < 200; round++) {
		struct clock_offset o = {0};

		least = UINT64_MAX;
		for (unsigned i = 0; i < 16; i++) {
			uint64_t out = rng_next(&random) % 100000, back = rng_next(&random) % 3000;
			struct clock_exchange e =
				exchange(1000000000 + i * 1000000, truth, out, back);

			least = out + back < least ? out + back : least;
			ck_assert_int_eq(clock_offset_add(&o, &e), 0);
		}
		ck_assert_uint_eq(o.delay_ns, least);
		ck_assert(fabs((double)(o.offset_ns - truth)) <= clock_offset_error_ns(&o));
	}
}
END_TEST

/* A clock that is shifted between two estimates: the bound grows by the shift. */
START_TEST(a_shifted_clock_is_seen)
{
	struct clock_offset before = {0}, after = {0};
	struct clock_exchange e = exchange(1000000000, 0, 100, 100),
			      later = exchange(2000000000, 5000000, 100, 100);

	clock_offset_add(&before, &e);
	clock_offset_add(&after, &later);
	ck_assert(clock_offset_drift_ns(&before, &after) >= 5000000);
	ck_assert(clock_offset_drift_ns(&before, &before) < 102);
}
END_TEST

START_TEST(contradictions_do_not_count)
{
	static const struct clock_exchange bad[] = {
		{100, 50, 60, 99},  /* answered before it was asked */
		{100, 60, 50, 200}, /* given before it was taken */
		{100, 0, 101, 200}, /* held for longer than it was away */
		{100, UINT64_MAX, UINT64_MAX, 200},
		{0, 1, 1, UINT64_MAX},
	};
	struct clock_offset o = {0};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(clock_offset_add(&o, &bad[i]), -EBADMSG);
	ck_assert(isinf(clock_offset_error_ns(&o)));
	ck_assert(isinf(clock_offset_drift_ns(&o, &o)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock_sync");
	TCase *tcase = tcase_create("clock_sync");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, even_delays_give_the_offset);
	tcase_add_test(tcase, a_clock_that_began_later_is_behind);
	tcase_add_test(tcase, the_error_is_bounded);
	tcase_add_test(tcase, a_shifted_clock_is_seen);
	tcase_add_test(tcase, contradictions_do_not_count);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
