/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that repeat neither themselves nor those of another stream. */
#include "nonces.h"

#include <check.h>
#include <stdlib.h>

#define N 4096u

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

START_TEST(none_comes_twice)
{
	static uint64_t all[2 * N];
	struct nonces a, b;

	ck_assert_int_eq(nonces_init(&a), 0);
	ck_assert_int_eq(nonces_init(&b), 0);
	for (unsigned i = 0; i < N; i++) {
		all[2 * i] = nonces_next(&a);
		all[2 * i + 1] = nonces_next(&b);
	}
	qsort(all, 2 * N, sizeof(all[0]), compare);
	for (unsigned i = 1; i < 2 * N; i++)
		ck_assert_uint_ne(all[i - 1], all[i]);
}
END_TEST

/* Six standard deviations (half the root of N each): chance fails that once in ten million runs. */
START_TEST(every_bit_is_as_often_set_as_not)
{
	unsigned n_set[64] = {0};
	struct nonces n;

	ck_assert_int_eq(nonces_init(&n), 0);
	for (unsigned i = 0; i < N; i++)
		for (uint64_t bits = nonces_next(&n), bit = 0; bit < 64; bit++)
			n_set[bit] += bits >> bit & 1;
	for (unsigned bit = 0; bit < 64; bit++) {
		ck_assert_uint_gt(n_set[bit], N / 2 - 6 * 32);
		ck_assert_uint_lt(n_set[bit], N / 2 + 6 * 32);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nonces");
	TCase *tc = tcase_create("stream");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, none_comes_twice);
	tcase_add_test(tc, every_bit_is_as_often_set_as_not);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
