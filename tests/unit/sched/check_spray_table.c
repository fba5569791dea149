/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "spray_table.h"

static struct spray_table table;

static void weigh(struct weights *w, const uint32_t *v, unsigned n)
{
	uint64_t bps[FARE_MAX_PLANES];

	for (unsigned i = 0; i < n; i++)
		bps[i] = v[i];
	weights_from_bps(w, bps, n);
}

/* Worst distance from the ideal share over all prefixes, and over all windows, of one period. */
static void deviation(const struct weights *w, double *prefix, double *window)
{
	*prefix = *window = 0;
	for (unsigned p = 0; p < w->n; p++) {
		double d = 0, low = 0, high = 0;

		for (uint32_t t = 0; t < table.period; t++) {
			d += (table.plane[t] == p) - (double)w->w[p] / w->sum;
			low = d < low ? d : low;
			high = d > high ? d : high;
		}
		ck_assert_double_eq_tol(d, 0, 1e-6); /* exact after a whole period */
		*prefix = high > *prefix ? high : *prefix;
		*prefix = -low > *prefix ? -low : *prefix;
		*window = high - low > *window ? high - low : *window;
	}
}

START_TEST(fabric_weights_stay_below_one_unit_in_any_window)
{
	static const uint32_t v[][4] = {
		{1, 1, 1, 1},	    {2, 2, 2, 1}, {4, 4, 4, 2},
		{800, 800, 400, 0}, {1, 1, 1, 0}, {1, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct weights w;
		double prefix, window;

		weigh(&w, v[i], 4);
		spray_table_build(&table, &w);
		ck_assert_uint_eq(table.period, w.sum);
		deviation(&w, &prefix, &window);
		ck_assert_double_lt(prefix, 1);
		ck_assert_double_lt(window, 1);
	}
}
END_TEST

/*
 * Any weights: every prefix within 1 - 1/(2n-2), Tijdeman's bound; hence every window within twice
 * that.
 */
START_TEST(any_weights_keep_the_bound)
{
	srand(2);
	for (int i = 0; i < 2000; i++) {
		uint32_t v[FARE_MAX_PLANES];
		unsigned n = 2 + (unsigned)rand() % 15, usable = 0;
		struct weights w;
		double prefix, window;

		for (unsigned p = 0; p < n; p++) {
			v[p] = (uint32_t)rand() % 40;
			usable += v[p] > 0;
		}
		weigh(&w, v, n);
		spray_table_build(&table, &w);
		if (!table.period || usable < 2)
			continue;
		deviation(&w, &prefix, &window);
		ck_assert_double_le(prefix, 1 - 1.0 / (2 * usable - 2) + 1e-9);
	}
}
END_TEST

START_TEST(unusable_planes_never_appear)
{
	static const uint32_t v[4] = {3, 0, 5, 0};
	struct weights w;

	weigh(&w, v, 4);
	spray_table_build(&table, &w);
	for (uint32_t t = 0; t < table.period; t++)
		ck_assert(table.plane[t] == 0 || table.plane[t] == 2);
	memset(&w, 0, sizeof(w));
	spray_table_build(&table, &w);
	ck_assert_uint_eq(table.period, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spray_table");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, fabric_weights_stay_below_one_unit_in_any_window);
	tcase_add_test(t, any_weights_keep_the_bound);
	tcase_add_test(t, unusable_planes_never_appear);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
