/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "core/rng.h"

START_TEST(the_same_on_every_machine)
{
	uint64_t state = 0;

	/* the first values of splitmix64 from seed 0, as its author publishes them */
	ck_assert_uint_eq(rng_next(&state), UINT64_C(0xe220a8397b1dcdaf));
	ck_assert_uint_eq(rng_next(&state), UINT64_C(0x6e789e6aa1b965f4));
}
END_TEST

START_TEST(means)
{
	uint64_t state = 7;
	double uniform = 0, exponential = 0;
	unsigned counts[5] = {0};

	for (int i = 0; i < 100000; i++) {
		double u = rng_uniform(&state);

		ck_assert(u >= 0 && u < 1);
		uniform += u;
		exponential += rng_exponential(&state);
		counts[rng_below(&state, 5)]++;
	}
	ck_assert_double_eq_tol(uniform / 100000, 0.5, 0.01);
	ck_assert_double_eq_tol(exponential / 100000, 1, 0.02);
	for (int i = 0; i < 5; i++)
		ck_assert(counts[i] > 19000 && counts[i] < 21000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rng");
	TCase *tc = tcase_create("numbers");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, the_same_on_every_machine);
	tcase_add_test(tc, means);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
