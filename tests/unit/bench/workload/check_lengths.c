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

int main(void)
{
	Suite *s = suite_create("lengths");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, lengths_stay_within_their_bounds);
	tcase_add_test(tc, zipf_is_even_in_the_logarithm);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
