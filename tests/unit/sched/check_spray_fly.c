/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spray_fly.h"

static unsigned random_weights(uint64_t *w, unsigned n)
{
	unsigned usable = 0;

	for (unsigned p = 0; p < n; p++) {
		w[p] = rand() % 4 ? ((uint64_t)rand() << 15 ^ (uint64_t)rand()) >> rand() % 40 : 0;
		usable += w[p] > 0;
	}
	return usable;
}

/* Worst distance from the true shares over all prefixes, reckoned apart from the code under test.
 */
static double worst_prefix(struct spray_fly *fly, const uint64_t *w, unsigned n, unsigned picks)
{
	double sum = 0, worst = 0;
	unsigned count[FARE_MAX_PLANES] = {0};

	for (unsigned p = 0; p < n; p++)
		sum += (double)w[p];
	for (unsigned t = 1; t <= picks; t++) {
		count[spray_fly_next(fly)]++;
		for (unsigned p = 0; p < n; p++)
			worst = fmax(worst, fabs(count[p] - (double)w[p] / sum * t));
	}
	return worst;
}

START_TEST(any_weights_keep_the_bound)
{
	srand(11);
	for (int i = 0; i < 500; i++) {
		unsigned n = 1 + (unsigned)rand() % FARE_MAX_PLANES, usable;
		uint64_t w[FARE_MAX_PLANES];
		struct spray_fly fly;
		double worst;

		usable = random_weights(w, n);
		if (!usable)
			continue;
		spray_fly_init(&fly, w, n, NULL);
		worst = worst_prefix(&fly, w, n, 2000);
		ck_assert_double_le(worst, (usable > 1 ? 1 - 1.0 / (2 * usable - 2) : 0) + 1e-6);
	}
}
END_TEST

/* Weights as a fabric has them, one plane unlike the others: no window is a unit off. */
START_TEST(fabric_weights_stay_below_one_unit_in_any_window)
{
	static const uint64_t v[][4] = {
		{1, 1, 1, 1},	    {2, 2, 2, 1}, {4, 4, 4, 2},
		{800, 800, 400, 0}, {1, 1, 1, 0}, {1, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		double d[4] = {0}, low[4] = {0}, high[4] = {0};
		struct weights w;
		struct spray_fly fly;

		weights_from_bps(&w, v[i], 4);
		spray_fly_init(&fly, v[i], 4, NULL);
		for (uint32_t t = 0; t < 3 * w.sum; t++) {
			d[spray_fly_next(&fly)] += 1;
			for (unsigned p = 0; p < 4; p++) {
				d[p] -= (double)w.w[p] / w.sum;
				low[p] = fmin(low[p], d[p]);
				high[p] = fmax(high[p], d[p]);
				ck_assert_double_lt(high[p] - low[p], 1);
				if ((t + 1) % w.sum == 0) /* exact after a whole period */
					ck_assert_double_eq_tol(d[p], 0, 1e-6);
			}
		}
	}
}
END_TEST

/* Counts of any place of the schedule lead on as the schedule does. */
START_TEST(counts_are_a_place_in_the_schedule)
{
	srand(14);
	for (unsigned round = 0; round < 300; round++) {
		unsigned n = 1 + (unsigned)rand() % FARE_MAX_PLANES;
		uint64_t bps[FARE_MAX_PLANES], counts[FARE_MAX_PLANES] = {0};
		struct spray_fly whole, from;
		struct weights w;

		for (unsigned p = 0; p < n; p++)
			bps[p] = rand() % 3 ? (uint64_t)rand() % 40 : 0;
		weights_from_bps(&w, bps, n);
		spray_fly_init(&whole, bps, n, NULL);
		for (uint32_t t = 0; t < 2 * w.sum; t++) {
			int plane = spray_fly_next(&whole);

			spray_fly_from_counts(&from, &w, counts);
			ck_assert_int_eq(spray_fly_next(&from), plane);
			counts[plane]++;
		}
		spray_fly_from_counts(&from, &w, counts);
		if (!w.sum)
			ck_assert_int_eq(spray_fly_next(&from), -1);
	}
}
END_TEST

START_TEST(counts_out_of_schedule_serve_what_is_behind)
{
	static const uint64_t bps[3] = {2, 2, 0}, counts[3] = {1000000, 3, 77};
	struct spray_fly fly;
	struct weights w;

	weights_from_bps(&w, bps, 3);
	spray_fly_from_counts(&fly, &w, counts);
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_int_eq(spray_fly_next(&fly), 1);
}
END_TEST

/* A million picks of weights that have no short period: nothing drifts. */
START_TEST(a_million_picks_do_not_drift)
{
	static const uint64_t w[5] = {799999999999, 400000000007, 123456789011, 1, 800000000000};
	struct spray_fly fly;

	spray_fly_init(&fly, w, 5, NULL);
	ck_assert_double_lt(worst_prefix(&fly, w, 5, 1000000), 1);
}
END_TEST

/* Weights that change every few picks, as badly as chance can: still nobody is two units off. */
START_TEST(changing_weights_keep_the_bound)
{
	double harmonic = 0;

	srand(12);
	for (unsigned n = 2; n <= FARE_MAX_PLANES; n++) {
		uint64_t w[FARE_MAX_PLANES];
		double owed[FARE_MAX_PLANES] = {0}, sum = 0;
		struct spray_fly fly;

		memset(&fly, 0, sizeof(fly));
		harmonic = 0;
		for (unsigned p = 0; p < n; p++)
			harmonic += 1.0 / (p + 1);
		for (unsigned t = 0; t < 60000; t++) {
			if (rand() % 5 == 0 || t == 0) {
				double arrears[FARE_MAX_PLANES];

				sum = 0;
				for (unsigned p = 0; p < n; p++) {
					arrears[p] = spray_fly_arrears(&fly, p);
					w[p] = 1 + (uint64_t)rand() % (rand() % 3 ? 1000 : 3);
					sum += (double)w[p];
				}
				spray_fly_init(&fly, w, n, t ? arrears : NULL);
			}
			owed[spray_fly_next(&fly)] -= 1;
			for (unsigned p = 0; p < n; p++)
				owed[p] += (double)w[p] / sum;
		}
		for (unsigned p = 0; p < n; p++) {
			ck_assert_double_gt(owed[p], -1 - 1e-3);
			ck_assert_double_lt(owed[p], harmonic + 1e-3);
		}
	}
}
END_TEST

/*
 * Pieces of any sizes, also such as follow a pattern that goes with the number of planes: by bytes
 * all get their part.
 */
START_TEST(pieces_are_paid_for_by_their_size)
{
	srand(13);
	for (unsigned round = 0; round < 200; round++) {
		unsigned n = 2 + (unsigned)rand() % (FARE_MAX_PLANES - 1),
			 pattern = (unsigned)rand() % 5;
		unsigned sizes[4] = {1, SPRAY_FLY_UNIT, 1 + (unsigned)rand() % SPRAY_FLY_UNIT,
				     1 + (unsigned)rand() % SPRAY_FLY_UNIT};
		double owed[FARE_MAX_PLANES] = {0}, sum = 0, harmonic = 0, low = 0, high = 0;
		uint64_t w[FARE_MAX_PLANES];
		struct spray_fly fly;

		for (unsigned p = 0; p < n; p++) {
			w[p] = round % 3 ? 400 : 1 + (uint64_t)rand() % 1000;
			sum += (double)w[p];
			harmonic += 1.0 / (p + 1);
		}
		spray_fly_init(&fly, w, n, NULL);
		for (unsigned t = 0; t < 4000; t++) {
			unsigned parts = pattern ? sizes[t % pattern % 4]
						 : 1 + (unsigned)rand() % SPRAY_FLY_UNIT;
			double part = (double)parts / SPRAY_FLY_UNIT;

			for (unsigned p = 0; p < n; p++)
				owed[p] += (double)w[p] / sum * part;
			owed[spray_fly_next_part(&fly, parts)] -= part;
			for (unsigned p = 0; p < n; p++) {
				low = fmin(low, owed[p]);
				high = fmax(high, owed[p]);
			}
		}
		ck_assert_double_gt(low, -1 - 1e-6);
		ck_assert_double_lt(high, harmonic + 1e-6);
		for (unsigned p = 0; p < n; p++)
			ck_assert_double_eq_tol(owed[p], spray_fly_arrears(&fly, p), 1e-6);
	}
}
END_TEST

/* Pieces that follow each other to one plane, a unit at most: it is paid for them, too. */
START_TEST(what_stays_on_a_plane_is_paid_for)
{
	const uint64_t w[3] = {100, 300, 400};
	double bytes[3] = {0}, all = 0;
	unsigned parts, plane;
	struct spray_fly fly;

	spray_fly_init(&fly, w, 3, NULL);
	for (unsigned turn = 0; turn < 4000; turn++) {
		parts = 1 + (unsigned)rand() % 64;
		plane = (unsigned)spray_fly_next_part(&fly, parts);
		for (unsigned stayed = 0; stayed + parts <= SPRAY_FLY_UNIT; stayed += parts) {
			if (stayed)
				spray_fly_pay(&fly, plane, parts);
			bytes[plane] += (double)parts / SPRAY_FLY_UNIT;
			all += (double)parts / SPRAY_FLY_UNIT;
		}
		for (unsigned p = 0; p < 3; p++)
			ck_assert_double_le(fabs(bytes[p] - all * (double)w[p] / 800), 2);
	}
}
END_TEST

START_TEST(dead_planes_get_nothing_and_leave_nothing)
{
	uint64_t w[3] = {5, 0, 5};
	double arrears[3] = {0.25, 0.5, -0.75};
	struct spray_fly fly;

	spray_fly_init(&fly, w, 3, arrears);
	ck_assert_double_eq_tol(spray_fly_arrears(&fly, 0), 0.5, 1e-6);
	ck_assert_double_eq_tol(spray_fly_arrears(&fly, 2), -0.5, 1e-6);
	for (int i = 0; i < 100; i++)
		ck_assert_int_ne(spray_fly_next(&fly), 1);
	memset(w, 0, sizeof(w));
	spray_fly_init(&fly, w, 3, arrears);
	ck_assert_int_eq(spray_fly_next(&fly), -1);
	w[1] = UINT64_MAX; /* absurd, but from a file that anybody may have scribbled on */
	w[2] = 1;
	spray_fly_init(&fly, w, 3, NULL);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_ge(spray_fly_next(&fly), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spray_fly");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, any_weights_keep_the_bound);
	tcase_add_test(t, fabric_weights_stay_below_one_unit_in_any_window);
	tcase_add_test(t, counts_are_a_place_in_the_schedule);
	tcase_add_test(t, counts_out_of_schedule_serve_what_is_behind);
	tcase_add_test(t, a_million_picks_do_not_drift);
	tcase_add_test(t, changing_weights_keep_the_bound);
	tcase_add_test(t, pieces_are_paid_for_by_their_size);
	tcase_add_test(t, what_stays_on_a_plane_is_paid_for);
	tcase_add_test(t, dead_planes_get_nothing_and_leave_nothing);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
