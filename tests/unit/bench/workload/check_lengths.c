/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "workload/lengths.h"

START_TEST(lengths_stay_within_their_bounds)
{
	struct lengths laws[] = {{LENGTHS_FIXED, 7, 0, 0},
				 {LENGTHS_UNIFORM, 3, 9, 0},
				 {LENGTHS_ZIPF, 128, 8192, 1},
				 {LENGTHS_ZIPF, 1, 10, 1.5}};
	uint64_t random = 5;

	for (int law = 0; law < 4; law++) {
		unsigned most = law ? laws[law].max : laws[law].min;

		for (int i = 0; i < 20000; i++) {
			unsigned n = lengths_draw(&laws[law], &random);

			ck_assert(n >= laws[law].min && n <= most);
		}
	}
}
END_TEST

/* Zipf with exponent 1: as many between 1 and 10 as between 10 and 100 times the least. */
START_TEST(zipf_is_even_in_the_logarithm)
{
	struct lengths zipf = {LENGTHS_ZIPF, 1, 999, 1};
	uint64_t random = 5;
	unsigned decade[3] = {0};

	for (int i = 0; i < 30000; i++) {
		unsigned n = lengths_draw(&zipf, &random);

		decade[n < 10 ? 0 : n < 100 ? 1 : 2]++;
	}
	for (int i = 0; i < 3; i++)
		ck_assert(decade[i] > 9500 && decade[i] < 10500);
}
END_TEST

/* Of the usual prompts: quantile u is (n + 1)^u behind the least; what is drawn agrees. */
START_TEST(quantiles_and_means)
{
	struct lengths fixed = {LENGTHS_FIXED, 7, 0, 0};
	uint64_t random = 5;
	unsigned below = 0;
	double sum = 0;

	ck_assert_uint_eq(lengths_quantile(&fixed, 0.99), 7);
	ck_assert_double_eq(lengths_mean(&fixed), 7);
	ck_assert_uint_eq(lengths_quantile(&lengths_usual_output, 0.5), 16);
	ck_assert_uint_eq(lengths_quantile(&lengths_usual_output, 1), 24);
	ck_assert_double_eq_tol(lengths_mean(&lengths_usual_output), 16, 0.01);
	ck_assert_uint_eq(lengths_quantile(&lengths_usual_prompt, 0.5), 128 + 88); /* 8066^0.5 */
	ck_assert_uint_eq(lengths_quantile(&lengths_usual_prompt, 0.99), 128 + 7371);
	for (int i = 0; i < 40000; i++) {
		unsigned n = lengths_draw(&lengths_usual_prompt, &random);

		sum += n;
		below += n < 7499;
	}
	ck_assert_double_eq_tol(sum / 40000, lengths_mean(&lengths_usual_prompt), 30);
	ck_assert(below > 39480 && below < 39720);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lengths");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, lengths_stay_within_their_bounds);
	tcase_add_test(tc, quantiles_and_means);
	tcase_add_test(tc, zipf_is_even_in_the_logarithm);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
