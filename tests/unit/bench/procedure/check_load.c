/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>

#include "procedure/load.h"

/* With two GPUs on either side two pairs share none, and four are all that there are. */
START_TEST(pairs_share_a_gpu_only_when_they_must)
{
	static const unsigned src[] = {0, 1, 0, 1, 0}, dst[] = {0, 1, 1, 0, 0};
	unsigned a, b;

	for (unsigned i = 0; i < 5; i++) {
		load_pair(i, 2, 2, &a, &b);
		ck_assert_uint_eq(a, src[i]);
		ck_assert_uint_eq(b, dst[i]);
	}
}
END_TEST

/* Of pools of all sizes: after any number of pairs no GPU has two more than another of its pool,
 * and the first sources x sinks pairs are all different. */
START_TEST(pairs_are_spread_evenly)
{
	for (unsigned sources = 1; sources <= 9; sources++)
		for (unsigned sinks = 1; sinks <= 9; sinks++) {
			unsigned tx[9] = {0}, rx[9] = {0}, met[9][9] = {{0}}, a, b;

			for (unsigned i = 0; i < sources * sinks; i++) {
				load_pair(i, sources, sinks, &a, &b);
				ck_assert_uint_lt(a, sources);
				ck_assert_uint_lt(b, sinks);
				ck_assert_uint_eq(met[a][b]++, 0);
				ck_assert_uint_le(++tx[a], i / sources + 1);
				ck_assert_uint_le(++rx[b], i / sinks + 1);
			}
		}
}
END_TEST

/* Two servers that each fill their links evenly, one at 80% and one at 10%: even, not 0.62. */
START_TEST(servers_are_not_compared_with_each_other)
{
	static const double even[] = {.8, .8, .1, .1}, uneven[] = {.8, 0, .1, .1};
	static const unsigned server[] = {4, 4, 7, 7}, mixed[] = {4, 7, 4, 7};
	static const double crossed[] = {.8, .1, .8, .1};

	ck_assert_double_eq_tol(load_evenness(even, server, 4), 1, 1e-12);
	ck_assert_double_eq_tol(load_evenness(crossed, mixed, 4), 1, 1e-12);
	/* (0.8 + 0)^2 / (2 x 0.64) = 0.5 and 1 */
	ck_assert_double_eq_tol(load_evenness(uneven, server, 4), .75, 1e-12);
	ck_assert(isnan(load_evenness(even, server, 0)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("load");
	TCase *tcase = tcase_create("load");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, pairs_share_a_gpu_only_when_they_must);
	tcase_add_test(tcase, pairs_are_spread_evenly);
	tcase_add_test(tcase, servers_are_not_compared_with_each_other);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
