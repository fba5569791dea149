/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs that are shared, and cursors over them through every change of weights: a million picks and
 * more. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spray_cursor.h"

static struct spray_shared shared;
static struct spray_cursor cursor;

static void setup(void)
{
	spray_cursor_init(&cursor);
}

static void teardown(void)
{
	ck_assert_ptr_null(shared.runs);
}

static struct spray_weights weigh(const uint64_t *bps, unsigned n, uint32_t live)
{
	struct spray_weights w;

	memset(&w, 0, sizeof(w));
	w.n = n;
	for (unsigned p = 0; p < n; p++) {
		w.bps[p] = bps[p];
		w.live[p] = live;
	}
	return w;
}

static struct fare_slot next_unit(void)
{
	if (cursor.at == cursor.end && !spray_cursor_refill(&cursor))
		ck_abort_msg("nothing is usable");
	return *cursor.at++;
}

/* Who walks it by itself, inline, may do so before there are any weights. */
START_TEST(begins_at_an_end)
{
	ck_assert_ptr_nonnull(cursor.at);
	ck_assert_ptr_eq(cursor.at, cursor.end);
	ck_assert_uint_eq(cursor.at->plane, FARE_SPRAY_END);
	ck_assert(!spray_cursor_refill(&cursor));
}
END_TEST

START_TEST(runs_are_shared_and_exact)
{
	static const uint64_t a[4] = {800, 800, 800, 400}, b[4] = {2, 2, 2, 1};
	struct spray_weights wa = weigh(a, 4, 3), wb = weigh(b, 4, 3);
	const struct spray_run *ra, *rb, *rc;
	unsigned count[4][8] = {0};

	ck_assert_int_eq(spray_shared_take_run(&shared, &wa, &ra), 0);
	ck_assert_int_eq(spray_shared_take_run(&shared, &wb, &rb), 0);
	ck_assert_ptr_eq(ra, rb);
	ck_assert_uint_eq(ra->users, 2);
	wb.live[2] = 4;
	ck_assert_int_eq(spray_shared_take_run(&shared, &wb, &rc), 0);
	ck_assert_ptr_ne(ra, rc);
	ck_assert_uint_eq(ra->period, 7);
	for (uint32_t t = 0; t < ra->length; t++)
		count[ra->unit[t].plane][ra->unit[t].sub_port]++;
	for (unsigned p = 0; p < 4; p++)
		for (unsigned s = 0; s < 2; s++)
			ck_assert_uint_eq(count[p][s] * 7 * 2, ra->length * b[p]);
	spray_shared_give_run(&shared, ra);
	spray_shared_give_run(&shared, rb);
	spray_shared_give_run(&shared, rc);
	spray_shared_give_run(&shared, NULL);
}
END_TEST

START_TEST(says_when_there_is_no_run)
{
	static const uint64_t odd[2] = {799999999999, 400000000007}, none[2] = {0, 0},
			      long_one[2] = {4000, 95};
	struct spray_weights w = weigh(odd, 2, 1);
	const struct spray_run *run;

	ck_assert_int_eq(spray_shared_take_run(&shared, &w, &run), -E2BIG);
	ck_assert_ptr_null(run);
	w = weigh(none, 2, 1);
	ck_assert_int_eq(spray_shared_take_run(&shared, &w, &run), -ENETUNREACH);
	w = weigh(long_one, 2, 0xff); /* 819 units, eight times round */
	ck_assert_int_eq(spray_shared_take_run(&shared, &w, &run), 0);
	ck_assert_uint_eq(run->period, 819);
	spray_shared_give_run(&shared, run);
	w.live[0] = 0x7f; /* seven times eight would be too long */
	ck_assert_int_eq(spray_shared_take_run(&shared, &w, &run), -E2BIG);
}
END_TEST

/* The fabric's weights: no window of any length is a whole unit off, in a million picks. */
START_TEST(fabric_windows_stay_below_one_unit)
{
	static const uint64_t v[][4] = {
		{4, 4, 4, 4}, {4, 4, 4, 2}, {800, 800, 400, 0}, {4, 4, 0, 4}};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct spray_weights w = weigh(v[i], 4, 3);
		const struct spray_run *run;
		double d[4] = {0}, low[4] = {0}, high[4] = {0}, sum = 0;

		ck_assert_int_eq(spray_shared_take_run(&shared, &w, &run), 0);
		spray_cursor_start(&cursor, &w, run, 0.37);
		for (unsigned p = 0; p < 4; p++)
			sum += (double)v[i][p];
		for (unsigned t = 0; t < 1000000; t++) {
			d[next_unit().plane] += 1;
			for (unsigned p = 0; p < 4; p++) {
				d[p] -= (double)v[i][p] / sum;
				low[p] = fmin(low[p], d[p]);
				high[p] = fmax(high[p], d[p]);
			}
		}
		for (unsigned p = 0; p < 4; p++)
			ck_assert_double_lt(high[p] - low[p], 1);
		spray_shared_give_run(&shared, run);
	}
}
END_TEST

/*
 * Any weights: windows within twice the schedule's bound, over a million picks of each kind (short
 * periods, long ones, none at all).
 */
START_TEST(any_windows_keep_the_bound)
{
	static const uint64_t range[] = {5, 300, 4000000000};

	srand(21);
	for (size_t k = 0; k < 3; k++) {
		for (int round = 0; round < 20; round++) {
			unsigned n = 2 + (unsigned)rand() % 6;
			double d[8] = {0}, low[8] = {0}, high[8] = {0}, sum = 0;
			const struct spray_run *run;
			struct spray_weights w;
			uint64_t bps[8];

			for (unsigned p = 0; p < n; p++) {
				bps[p] = 1 + (uint64_t)rand() % range[k];
				sum += (double)bps[p];
			}
			w = weigh(bps, n, 1);
			spray_shared_take_run(&shared, &w, &run);
			spray_cursor_start(&cursor, &w, run, rand() / (RAND_MAX + 1.0));
			for (unsigned t = 0; t < 50000; t++) {
				d[next_unit().plane] += 1;
				for (unsigned p = 0; p < n; p++) {
					d[p] -= (double)bps[p] / sum;
					low[p] = fmin(low[p], d[p]);
					high[p] = fmax(high[p], d[p]);
				}
			}
			for (unsigned p = 0; p < n; p++)
				ck_assert_double_le(high[p] - low[p], 2 - 1.0 / (n - 1) + 1e-6);
			spray_shared_give_run(&shared, run);
		}
	}
}
END_TEST

static struct spray_weights random_weights(unsigned n, bool deaths)
{
	static const uint64_t fabric[] = {800, 800, 800, 400, 200};
	uint64_t bps[FARE_MAX_PLANES];
	int kind = rand() % 3;

	for (unsigned p = 0; p < n; p++) {
		bps[p] = kind == 0   ? fabric[rand() % 5]
			 : kind == 1 ? 1 + (uint64_t)rand() % 30
				     : (uint64_t)rand() + 1;
		if (deaths && rand() % 6 == 0)
			bps[p] = 0;
	}
	bps[rand() % (int)n] |= 1;
	return weigh(bps, n, 1u + (uint32_t)(rand() % 3));
}

/*
 * Reweighted mid-stream, every few picks or every few thousand: what a plane had, against the sum
 * of all it was due under the weights of each moment, never strays beyond the stated bound: so no
 * switch can be a burst, nor can many.
 */
static void reweighted(unsigned n, int every, unsigned picks, double *high, double *low)
{
	double d[FARE_MAX_PLANES] = {0}, share[FARE_MAX_PLANES] = {0};
	const struct spray_run *run = NULL;

	spray_cursor_init(&cursor);
	for (unsigned t = 0; t < picks; t++) {
		if (t == 0 || rand() % every == 0) {
			struct spray_weights w = random_weights(n, false);
			const struct spray_run *former = run;
			double sum = 0;

			spray_shared_take_run(&shared, &w, &run);
			if (t == 0)
				spray_cursor_start(&cursor, &w, run, 0);
			else
				spray_cursor_reweight(&cursor, &w, run);
			spray_shared_give_run(&shared, former);
			for (unsigned p = 0; p < n; p++)
				sum += (double)w.bps[p];
			for (unsigned p = 0; p < n; p++)
				share[p] = (double)w.bps[p] / sum;
		}
		d[next_unit().plane] += 1;
		for (unsigned p = 0; p < n; p++) {
			d[p] -= share[p];
			*high = fmax(*high, d[p]);
			*low = fmin(*low, d[p]);
		}
	}
	spray_shared_give_run(&shared, run);
}

START_TEST(reweighting_is_no_burst)
{
	static const int every[] = {3, 20, 500, 5000};
	double high = 0, low = 0;

	srand(22);
	for (size_t k = 0; k < 4; k++)
		for (unsigned n = 2; n <= 4; n++)
			reweighted(n, every[k], 100000, &high, &low);
	ck_assert_double_lt(high, 1 + SPRAY_CURSOR_SLACK);
	ck_assert_double_gt(low, -1 - SPRAY_CURSOR_SLACK);
	for (size_t k = 0; k < 4; k++)
		reweighted(FARE_MAX_PLANES, every[k], 20000, &high, &low);
	ck_assert_double_lt(high, 1 + SPRAY_CURSOR_SLACK);
	ck_assert_double_gt(low, -3.4); /* 1 + 1/2 + ... + 1/16 */
}
END_TEST

/*
 * Planes die and return: a dead one gets nothing from the moment that is known, and no window over
 * a change gives a plane more than its share by twice the bound.
 */
START_TEST(deaths_are_no_burst)
{
	const struct spray_run *run = NULL;
	double worst = 0;

	srand(23);
	for (unsigned round = 0; round < 4000; round++) {
		unsigned n = 2 + (unsigned)rand() % 3;
		double d[4] = {0}, low[4] = {0};

		spray_cursor_init(&cursor);
		for (int part = 0; part < 3; part++) {
			struct spray_weights w = random_weights(n, true);
			const struct spray_run *former = run;
			unsigned picks = (unsigned)rand() % 200;
			double sum = 0;

			spray_shared_take_run(&shared, &w, &run);
			if (part == 0)
				spray_cursor_start(&cursor, &w, run, rand() / (RAND_MAX + 1.0));
			else
				spray_cursor_reweight(&cursor, &w, run);
			spray_shared_give_run(&shared, former);
			for (unsigned p = 0; p < n; p++)
				sum += (double)w.bps[p];
			for (unsigned t = 0; t < picks; t++) {
				unsigned got = next_unit().plane;

				if (!w.bps[got])
					ck_abort_msg("a dead plane got a unit");
				d[got] += 1;
				for (unsigned p = 0; p < n; p++) {
					d[p] -= (double)w.bps[p] / sum;
					low[p] = fmin(low[p], d[p]);
					worst = fmax(worst, d[p] - low[p]);
				}
			}
		}
		spray_shared_give_run(&shared, run);
		run = NULL;
	}
	ck_assert_double_lt(worst, 2 * (1 + SPRAY_CURSOR_SLACK));
}
END_TEST

START_TEST(nothing_usable_is_no_unit)
{
	static const uint64_t none[2] = {0, 0}, some[2] = {3, 4};
	struct spray_weights w = weigh(none, 2, 1);

	spray_cursor_start(&cursor, &w, NULL, 0.5);
	ck_assert(cursor.at == cursor.end && !spray_cursor_refill(&cursor));
	w = weigh(some, 2, 1);
	spray_cursor_reweight(&cursor, &w, NULL);
	ck_assert(cursor.at != cursor.end);
	w = weigh(none, 2, 1);
	spray_cursor_reweight(&cursor, &w, NULL);
	ck_assert(cursor.at == cursor.end && !spray_cursor_refill(&cursor));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spray_cursor");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, begins_at_an_end);
	tcase_add_test(t, runs_are_shared_and_exact);
	tcase_add_test(t, says_when_there_is_no_run);
	tcase_add_test(t, fabric_windows_stay_below_one_unit);
	tcase_add_test(t, any_windows_keep_the_bound);
	tcase_add_test(t, reweighting_is_no_burst);
	tcase_add_test(t, deaths_are_no_burst);
	tcase_add_test(t, nothing_usable_is_no_unit);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
