/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_table.h"

#define MAX 512

static struct conn_shm_entry entries[MAX];

static struct flow_table *make(unsigned n, int64_t turn, uint64_t expiry)
{
	struct flow_table_attr attr = {.entries = entries,
				       .max_flows = MAX,
				       .n_planes = n,
				       .turn = turn,
				       .idle_expiry_ns = expiry};
	struct flow_table *t;

	memset(entries, 0, sizeof(entries));
	for (unsigned p = 0; p < n; p++)
		attr.slots[p] = 2;
	ck_assert_int_eq(flow_table_create(&t, &attr), 0);
	return t;
}

static void reweight(struct flow_table *t, const uint64_t *bps, unsigned n, unsigned *moved)
{
	struct weights w;
	unsigned m;

	weights_from_bps(&w, bps, n);
	m = flow_table_reweight(t, &w);
	if (moved)
		*moved = m;
}

/*
 * Least possible max(count / weight) over all ways to split `flows`: by adding one flow at a time
 * to the plane that stays lowest, which is optimal for this objective.
 */
static double best_load(const uint64_t *bps, unsigned n, unsigned flows)
{
	unsigned c[FARE_MAX_PLANES] = {0};
	double worst = 0;

	for (unsigned f = 0; f < flows; f++) {
		int best = -1;

		for (unsigned p = 0; p < n; p++)
			if (bps[p] && (best < 0 || (c[p] + 1.0) / (double)bps[p] <
							   (c[best] + 1.0) / (double)bps[best]))
				best = (int)p;
		c[best]++;
	}
	for (unsigned p = 0; p < n; p++)
		if (bps[p] && c[p] / (double)bps[p] > worst)
			worst = c[p] / (double)bps[p];
	return worst;
}

static double load_of(const struct flow_table *t, const uint64_t *bps, unsigned n)
{
	struct flow_table_stats s;
	double worst = 0;

	flow_table_stats(t, &s);
	for (unsigned p = 0; p < n; p++) {
		ck_assert(bps[p] || !s.count[p]);
		if (bps[p] && s.count[p] / (double)bps[p] > worst)
			worst = s.count[p] / (double)bps[p];
	}
	return worst;
}

/*
 * Fewest moves from counts `from` to any split whose load is at most `load` (brute force over
 * splits).
 */
static unsigned fewest_moves(const uint32_t *from, const uint64_t *bps, unsigned n, unsigned flows,
			     double load)
{
	unsigned best = flows + 1, c[4];

	for (c[0] = 0; c[0] <= flows; c[0]++)
		for (c[1] = 0; c[0] + c[1] <= flows; c[1]++)
			for (c[2] = 0; c[0] + c[1] + c[2] <= flows; c[2]++) {
				unsigned moves = 0;
				bool good = true;

				c[3] = flows - c[0] - c[1] - c[2];
				for (unsigned p = 0; p < 4; p++) {
					unsigned have = p < n ? from[p] : 0;
					double limit = p < n ? load * (double)bps[p] + 1e-9 : 0;

					good &= c[p] <= limit;
					moves += have > c[p] ? have - c[p] : 0;
				}
				if (good && moves < best)
					best = moves;
			}
	return best;
}

START_TEST(binds_in_proportion_and_keeps)
{
	static const uint64_t bps[4] = {200, 200, 200, 100};
	struct flow_table *t = make(4, 2, 0);
	struct flow_table_stats s;
	struct flow_slot slot, again;

	reweight(t, bps, 4, NULL);
	for (uint64_t k = 0; k < 70; k++)
		ck_assert_int_eq(flow_table_pick(t, k, 1, &slot), 0);
	flow_table_stats(t, &s);
	ck_assert_uint_eq(s.count[0], 20);
	ck_assert_uint_eq(s.count[3], 10);
	for (uint64_t k = 0; k < 70; k++) {
		flow_table_pick(t, k, 2, &slot);
		flow_table_pick(t, k, 3, &again);
		ck_assert(slot.plane == again.plane && slot.index == again.index);
	}
	ck_assert_uint_eq(s.binds, 70);
	ck_assert_uint_eq(entries[5].seq % 2, 0);
	flow_table_destroy(t);
}
END_TEST

START_TEST(moves_the_fewest_on_any_change)
{
	srand(3);
	for (int round = 0; round < 300; round++) {
		uint64_t a[4], b[4];
		unsigned flows = 24 + (unsigned)rand() % 16, moved;
		struct flow_table *t = make(4, rand() - rand(), 0);
		struct flow_table_stats before, after;
		struct flow_slot slot;

		for (unsigned p = 0; p < 4; p++) {
			a[p] = (uint64_t)rand() % 5;
			b[p] = (uint64_t)rand() % 5;
		}
		a[0] += !(a[0] + a[1] + a[2] + a[3]);
		b[1] += !(b[0] + b[1] + b[2] + b[3]);
		reweight(t, a, 4, NULL);
		for (uint64_t k = 0; k < flows; k++)
			ck_assert_int_eq(flow_table_pick(t, k * 77, 1, &slot), 0);
		ck_assert_double_eq_tol(load_of(t, a, 4), best_load(a, 4, flows), 1e-9);
		flow_table_stats(t, &before);
		reweight(t, b, 4, &moved);
		flow_table_stats(t, &after);
		ck_assert_double_eq_tol(load_of(t, b, 4), best_load(b, 4, flows), 1e-9);
		ck_assert_uint_eq(moved,
				  fewest_moves(before.count, b, 4, flows, best_load(b, 4, flows)));
		ck_assert_uint_eq(after.needless_moves, 0);
		flow_table_destroy(t);
	}
}
END_TEST

/*
 * The longest distance, in flows, between the number of a plane's flows among any first k and its
 * share of k. Flows are walked in the order of their numbers, as a group's sender does.
 */
static double unevenness(struct flow_table *t, unsigned flows, unsigned n)
{
	struct flow_table_stats s;
	double seen[4] = {0}, worst = 0;

	flow_table_stats(t, &s);
	for (uint64_t k = 0; k < flows; k++) {
		struct flow_slot slot;

		ck_assert_int_eq(flow_table_pick(t, k, 1, &slot), 0);
		seen[slot.plane]++;
		for (unsigned p = 0; p < n; p++)
			worst = fmax(worst, fabs(seen[p] - (double)(k + 1) * s.count[p] / flows));
	}
	return worst;
}

/*
 * A plane dies, comes back in steps, shrinks, and is well again: those who walk the flows never
 * miss a plane for long.
 */
START_TEST(a_walk_stays_even)
{
	static const uint64_t parts[][4] = {{4, 4, 4, 4}, {0, 4, 4, 4}, {1, 4, 4, 4}, {2, 4, 4, 4},
					    {3, 4, 4, 4}, {4, 4, 4, 4}, {4, 2, 4, 4}, {4, 4, 4, 4},
					    {4, 0, 4, 2}, {4, 4, 4, 4}};
	struct flow_table *t = make(4, 2, 0);
	struct flow_slot slot;

	reweight(t, parts[0], 4, NULL);
	for (uint64_t k = 0; k < 504; k++)
		ck_assert_int_eq(flow_table_pick(t, k, 1, &slot), 0);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		reweight(t, parts[i], 4, NULL);
		ck_assert_double_lt(unevenness(t, 504, 4), 4);
	}
	flow_table_destroy(t);
}
END_TEST

/*
 * Turns are even whatever has moved: no QP is a turn and a half from its share, and every flow has
 * one turn a round.
 */
START_TEST(turns_are_even_after_any_change)
{
	static const uint64_t parts[][4] = {
		{4, 4, 4, 4}, {0, 4, 4, 4}, {1, 4, 4, 4}, {4, 4, 4, 4}, {4, 0, 4, 2}};
	struct flow_table *t = make(4, 3, 0);
	struct flow_slot slot;
	uint64_t key;

	ck_assert_int_eq(flow_table_turn(t, 1, &key), -ENOENT);
	reweight(t, parts[0], 4, NULL);
	ck_assert_int_eq(flow_table_turn(t, 1, &key), -ENOENT);
	for (uint64_t k = 0; k < 504; k++)
		ck_assert_int_eq(flow_table_pick(t, k, 1, &slot), 0);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		unsigned turns[504] = {0}, count[4][2] = {{0}};
		double seen[4][2] = {{0}};

		reweight(t, parts[i], 4, NULL);
		for (uint64_t k = 0; k < 504; k++) {
			flow_table_pick(t, k, 1, &slot);
			count[slot.plane][slot.index]++;
		}
		for (unsigned k = 1; k <= 504; k++) {
			ck_assert_int_eq(flow_table_turn(t, 1, &key), 0);
			ck_assert_uint_lt(key, 504);
			turns[key]++;
			flow_table_pick(t, key, 1, &slot);
			seen[slot.plane][slot.index]++;
			for (unsigned p = 0; p < 8; p++)
				ck_assert_double_le(fabs(seen[p / 2][p % 2] -
							 (double)k * count[p / 2][p % 2] / 504),
						    1.5);
		}
		for (unsigned k = 0; k < 504; k++)
			ck_assert_uint_eq(turns[k], 1);
	}
	flow_table_destroy(t);
}
END_TEST

/* One flow a pair: no pair is proportional alone, all pairs together are. */
START_TEST(few_flows_are_spread_by_turn)
{
	static const uint64_t bps[4] = {2, 2, 2, 1};
	unsigned count[4] = {0};

	for (int i = 0; i < 700; i++) {
		struct flow_table *t = make(4, i - 350, 0);
		struct flow_slot slot;

		reweight(t, bps, 4, NULL);
		flow_table_pick(t, 1, 1, &slot);
		count[slot.plane]++;
		flow_table_destroy(t);
	}
	for (int p = 0; p < 3; p++)
		ck_assert_uint_eq(count[p], 200);
	ck_assert_uint_eq(count[3], 100);
}
END_TEST

START_TEST(few_flows_leave_a_dead_plane)
{
	static const uint64_t before[4] = {2, 2, 2, 2}, after[4] = {2, 0, 2, 2};
	struct flow_table *t = make(4, 1, 0);
	struct flow_slot was[3], slot;
	struct flow_table_stats s;

	reweight(t, before, 4, NULL);
	for (uint64_t k = 0; k < 3; k++)
		flow_table_pick(t, k, 1, &was[k]);
	reweight(t, after, 4, NULL);
	for (uint64_t k = 0; k < 3; k++) {
		ck_assert_int_eq(flow_table_pick(t, k, 2, &slot), 0);
		ck_assert_uint_ne(slot.plane, 1);
		if (was[k].plane != 1)
			ck_assert_uint_eq(slot.plane, was[k].plane);
	}
	flow_table_stats(t, &s);
	ck_assert_uint_eq(s.needless_moves, 0);
	flow_table_destroy(t);
}
END_TEST

/*
 * A daemon that starts with fewer planes: what is on those that went away leaves them, however many
 * they are.
 */
START_TEST(flows_leave_a_plane_that_is_no_more)
{
	static const uint64_t bps[4] = {1, 1, 1, 1};

	for (unsigned flows = 5; flows <= 400; flows += 395) {
		struct flow_table *t = make(4, 0, 0);
		struct flow_table_stats s;
		struct flow_slot slot;
		unsigned moved;

		reweight(t, bps, 4, NULL);
		for (uint64_t k = 0; k < flows; k++)
			ck_assert_int_eq(flow_table_pick(t, k, 1, &slot), 0);
		flow_table_stats(t, &s);
		ck_assert_uint_gt(s.count[3], 0);
		reweight(t, bps, 3, &moved);
		ck_assert_uint_ge(moved, s.count[3]);
		flow_table_stats(t, &s);
		ck_assert_uint_eq(s.count[3], 0);
		ck_assert_uint_eq(s.count[0] + s.count[1] + s.count[2], flows);
		for (uint64_t k = 0; k < flows; k++) {
			ck_assert_int_eq(flow_table_pick(t, k, 1, &slot), 0);
			ck_assert_uint_lt(slot.plane, 3);
		}
		reweight(t, bps, 3, &moved);
		ck_assert_uint_eq(moved, 0);
		flow_table_destroy(t);
	}
}
END_TEST

START_TEST(expires_and_survives_emptiness)
{
	static const uint64_t none[2] = {0, 0}, some[2] = {1, 1};
	struct flow_table *t = make(2, 0, 100);
	struct flow_slot slot;
	struct flow_table_stats s;

	ck_assert_int_eq(flow_table_pick(t, 1, 1, &slot), -ENETUNREACH);
	reweight(t, some, 2, NULL);
	for (uint64_t k = 0; k < MAX; k++)
		ck_assert_int_eq(flow_table_pick(t, k, 10, &slot), 0);
	ck_assert_int_eq(flow_table_pick(t, 9999, 20, &slot), -ENOSPC);
	ck_assert_int_eq(flow_table_release(t, 3), 0);
	ck_assert_int_eq(flow_table_release(t, 3), -ENOENT);
	ck_assert_int_eq(flow_table_pick(t, 9999, 20, &slot), 0);
	reweight(t, none, 2, NULL);
	ck_assert_int_eq(flow_table_pick(t, 9999, 30, &slot), -ENETUNREACH);
	reweight(t, some, 2, NULL);
	ck_assert_int_eq(flow_table_pick(t, 9999, 40, &slot), 0);
	ck_assert_uint_eq(flow_table_expire(t, 130), MAX - 1);
	ck_assert_uint_eq(flow_table_expire(t, 130), 0);
	flow_table_stats(t, &s);
	ck_assert_uint_eq(s.in_use, 1);
	flow_table_destroy(t);
}
END_TEST

/* A full table makes room for a new flow as soon as one of those it comes upon is over. */
START_TEST(makes_room_when_full)
{
	static const uint64_t some[2] = {1, 1};
	struct flow_table *t = make(2, 0, 100);
	struct flow_slot slot;
	struct flow_table_stats s;

	reweight(t, some, 2, NULL);
	for (uint64_t k = 0; k < MAX; k++)
		ck_assert_int_eq(flow_table_pick(t, k, k < 40 ? 10 : 1000, &slot), 0);
	for (uint64_t k = 0; k < 40; k++)
		while (flow_table_pick(t, MAX + k, 1000, &slot) == -ENOSPC)
			;
	ck_assert_int_eq(flow_table_pick(t, 9999, 1000, &slot), -ENOSPC);
	for (uint64_t k = 40; k < MAX + 40; k++)
		ck_assert_int_eq(flow_table_pick(t, k, 1000, &slot), 0);
	flow_table_stats(t, &s);
	ck_assert_uint_eq(s.binds, MAX + 40);
	ck_assert_uint_eq(s.expiries, 40);
	ck_assert_uint_eq(s.count[0], MAX / 2);
	flow_table_destroy(t);
}
END_TEST

/* Flows bound and released at random, their keys evenly spaced or far apart: a pick holds. */
START_TEST(keeps_every_binding)
{
	for (int spaced = 0; spaced < 2; spaced++) {
		struct flow_table_attr attr = {.entries = entries,
					       .max_flows = MAX,
					       .n_planes = 2,
					       .slots = {3, 3},
					       .seed = 9};
		static const uint64_t some[2] = {3, 2};
		static struct flow_slot at[2000];
		static bool bound[2000];
		struct flow_slot slot;
		struct flow_table *t;
		unsigned n = 0;

		memset(entries, 0, sizeof(entries));
		memset(bound, 0, sizeof(bound));
		srand(5);
		ck_assert_int_eq(flow_table_create(&t, &attr), 0);
		reweight(t, some, 2, NULL);
		for (int step = 0; step < 200000; step++) {
			unsigned i = (unsigned)rand() % 2000;
			uint64_t key =
				spaced ? (uint64_t)i << 17 : i * UINT64_C(0x9e3779b97f4a7c15);

			if (rand() % 3 == 0) {
				ck_assert_int_eq(flow_table_release(t, key),
						 bound[i] ? 0 : -ENOENT);
				n -= bound[i];
				bound[i] = false;
				continue;
			}
			if (!bound[i] && n == MAX) {
				ck_assert_int_eq(flow_table_pick(t, key, 1, &slot), -ENOSPC);
				continue;
			}
			ck_assert_int_eq(flow_table_pick(t, key, 1, &slot), 0);
			if (bound[i])
				ck_assert(slot.plane == at[i].plane && slot.index == at[i].index);
			n += !bound[i];
			bound[i] = true;
			at[i] = slot;
		}
		flow_table_destroy(t);
	}
}
END_TEST

START_TEST(an_older_time_ends_nothing)
{
	static const uint64_t bps[2] = {1, 1};
	struct flow_table *t = make(2, 0, 100);
	struct flow_slot slot;

	reweight(t, bps, 2, NULL);
	ck_assert_int_eq(flow_table_pick(t, 7, 1000, &slot), 0);
	ck_assert_uint_eq(flow_table_expire(t, 999), 0);
	ck_assert_uint_eq(flow_table_expire(t, 1100), 0);
	ck_assert_uint_eq(flow_table_expire(t, 1101), 1);
	flow_table_destroy(t);
}
END_TEST

/*
 * By bytes: one flow carries as much as all others; it gets a plane for itself, and new flows keep
 * away from it.
 */
START_TEST(goes_by_bytes_when_asked)
{
	struct flow_table_attr attr = {.entries = entries,
				       .max_flows = MAX,
				       .n_planes = 2,
				       .slots = {2, 2},
				       .by_bytes = true,
				       .balance_ns = 10};
	static const uint64_t some[2] = {1, 1}, other[2] = {0, 1};
	struct flow_slot elephant, slot;
	struct flow_table_stats s;
	struct flow_table *t;

	memset(entries, 0, sizeof(entries));
	ck_assert_int_eq(flow_table_create(&t, &attr), 0);
	reweight(t, some, 2, NULL);
	for (uint64_t now = 1; now < 200; now += 10) {
		for (uint64_t k = 0; k < 20; k++) {
			ck_assert_int_eq(flow_table_pick(t, k, now, &slot), 0);
			flow_table_account(t, k, k ? 100 : 1900, 0);
		}
	}
	flow_table_pick(t, 0, 300, &elephant);
	flow_table_stats(t, &s);
	ck_assert_uint_le(s.count[elephant.plane], 4);
	ck_assert_uint_eq(s.moves, s.count[!elephant.plane] - 10);
	ck_assert_uint_eq(s.needless_moves, 0);
	for (uint64_t k = 100; k < 103; k++) {
		ck_assert_int_eq(flow_table_pick(t, k, 300, &slot), 0);
		flow_table_release(t, k);
	}
	reweight(t, other, 2, NULL);
	flow_table_stats(t, &s);
	ck_assert_uint_eq(s.count[0], 0);
	ck_assert_uint_eq(s.count[1], 20);
	flow_table_destroy(t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("flow_table");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, binds_in_proportion_and_keeps);
	tcase_add_test(t, moves_the_fewest_on_any_change);
	tcase_add_test(t, a_walk_stays_even);
	tcase_add_test(t, turns_are_even_after_any_change);
	tcase_add_test(t, few_flows_are_spread_by_turn);
	tcase_add_test(t, few_flows_leave_a_dead_plane);
	tcase_add_test(t, flows_leave_a_plane_that_is_no_more);
	tcase_add_test(t, expires_and_survives_emptiness);
	tcase_add_test(t, an_older_time_ends_nothing);
	tcase_add_test(t, makes_room_when_full);
	tcase_add_test(t, goes_by_bytes_when_asked);
	tcase_add_test(t, keeps_every_binding);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
