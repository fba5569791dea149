/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "flow_spread.h"

#define PLANES 4

static const uint16_t slots[PLANES] = {2, 2, 3, 1};

static void make(struct flow_spread *s, int64_t turn)
{
	struct flow_spread_attr attr = {.slots = slots, .n_planes = PLANES, .turn = turn};

	ck_assert_int_eq(flow_spread_init(s, &attr), 0);
}

static void reweight(struct flow_spread *s, const uint64_t *bps, unsigned n)
{
	struct weights w;

	weights_from_bps(&w, bps, n);
	flow_spread_reweight(s, &w);
}

static void random_bps(uint64_t *bps, unsigned *seed)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < PLANES; p++)
		sum += bps[p] = (uint64_t)(rand_r(seed) % 9);
	if (!sum)
		bps[0] = 1;
}

START_TEST(few_flows_of_all_pairs_together_are_proportional)
{
	const uint64_t bps[PLANES] = {2, 2, 2, 1};
	uint32_t sum[PLANES] = {0};

	/* a whole round of consecutive turns: each place of the schedule is taken equally often */
	for (int64_t turn = -3; turn < 4; turn++) {
		struct flow_spread s;
		uint64_t target[FARE_MAX_PLANES];
		uint32_t all = 0;

		make(&s, turn);
		reweight(&s, bps, PLANES);
		for (unsigned f = 0; f < 3; f++)
			flow_spread_enter(&s, flow_spread_next(&s));
		ck_assert(flow_spread_is_few(&s, s.in_use));
		flow_spread_window(&s, target);
		for (unsigned p = 0; p < PLANES; p++) {
			/* who is bound by the window has nothing to move */
			ck_assert_uint_eq(target[p], s.count[p]);
			ck_assert(target[p] * 7 < 3 * bps[p] + 7);
			all += s.count[p];
			sum[p] += s.count[p];
		}
		ck_assert_uint_eq(all, 3);
		flow_spread_fini(&s);
	}
	for (unsigned p = 0; p < PLANES; p++)
		ck_assert_uint_eq(sum[p], 3 * bps[p]);
}
END_TEST

static double worst_load(const uint32_t *count, const uint64_t *bps)
{
	double worst = 0;

	for (unsigned p = 0; p < PLANES; p++) {
		ck_assert(bps[p] || !count[p]);
		if (bps[p] && count[p] / (double)bps[p] > worst)
			worst = count[p] / (double)bps[p];
	}
	return worst;
}

/* The least worst load of all ways to split n flows. */
static double least_worst(const uint64_t *bps, uint32_t n)
{
	uint32_t c[PLANES];
	double least = 1e9;

	for (c[0] = 0; c[0] <= n; c[0]++)
		for (c[1] = 0; c[0] + c[1] <= n; c[1]++)
			for (c[2] = 0; c[0] + c[1] + c[2] <= n; c[2]++) {
				bool dead = false;
				double load;

				c[3] = n - c[0] - c[1] - c[2];
				for (unsigned p = 0; p < PLANES; p++)
					dead |= !bps[p] && c[p];
				load = dead ? least : worst_load(c, bps);
				least = load < least ? load : least;
			}
	return least;
}

START_TEST(targets_are_best_and_ask_of_each_qp_what_it_has)
{
	unsigned seed = 3;

	for (unsigned round = 0; round < 200; round++) {
		uint32_t target[FARE_MAX_PLANES], n_moves,
			given = 0, taken = 0, flows = 20 + (uint32_t)rand_r(&seed) % 10;
		uint64_t bps[PLANES];
		struct flow_spread s;

		make(&s, round);
		random_bps(bps, &seed);
		reweight(&s, bps, PLANES);
		for (uint32_t f = 0; f < flows; f++)
			flow_spread_enter(&s, flow_spread_next(&s));
		random_bps(bps, &seed);
		reweight(&s, bps, PLANES);
		n_moves = flow_spread_targets(&s, target);
		ck_assert_double_eq_tol(worst_load(target, bps), least_worst(bps, flows), 1e-9);
		for (unsigned p = 0; p < PLANES; p++) {
			uint32_t excess = 0;

			for (unsigned k = 0; k < s.slots[p]; k++) {
				ck_assert_uint_le(s.excess[p][k], s.slot_count[p][k]);
				excess += s.excess[p][k];
			}
			/* nobody both gives up and takes */
			ck_assert(!excess || target[p] + excess == s.count[p]);
			given += excess;
			taken += target[p] > s.count[p] ? target[p] - s.count[p] : 0;
		}
		ck_assert_uint_eq(given, n_moves);
		ck_assert_uint_eq(taken, n_moves);
		flow_spread_fini(&s);
	}
}
END_TEST

START_TEST(a_plane_s_qps_fill_evenly)
{
	struct flow_spread s;

	make(&s, 0);
	reweight(&s, (const uint64_t[]){1, 1, 1, 1}, PLANES);
	for (unsigned f = 0; f < 6; f++)
		ck_assert_uint_lt(flow_spread_enter(&s, 2), 3);
	for (unsigned k = 0; k < 3; k++)
		ck_assert_uint_eq(s.slot_count[2][k], 2);
	flow_spread_leave(&s, 2, 0);
	flow_spread_leave(&s, 2, 2);
	ck_assert_uint_eq(flow_spread_fullest(&s, 2), 1);
	ck_assert_uint_ne(flow_spread_enter(&s, 2), 1);
	ck_assert_uint_eq(s.in_use, 5);
	ck_assert_uint_eq(s.count[2], 5);
	flow_spread_fini(&s);
}
END_TEST

START_TEST(turns_are_as_many_as_flows)
{
	uint32_t had[PLANES][3] = {{0}};
	unsigned plane, index;
	struct flow_spread s;

	make(&s, 1);
	ck_assert_ptr_null(flow_spread_take_turn(&s, 1, &plane, &index));
	reweight(&s, (const uint64_t[]){4, 4, 0, 1}, PLANES);
	ck_assert_ptr_null(flow_spread_take_turn(&s, 1, &plane, &index));
	for (unsigned f = 0; f < 36; f++)
		flow_spread_enter(&s, flow_spread_next(&s));
	for (unsigned f = 0; f < 36; f++) {
		ck_assert_ptr_nonnull(flow_spread_take_turn(&s, 1, &plane, &index));
		had[plane][index]++;
	}
	for (unsigned p = 0; p < PLANES; p++)
		for (unsigned k = 0; k < s.slots[p]; k++)
			ck_assert_uint_eq(had[p][k], s.slot_count[p][k]);
	ck_assert_uint_eq(s.count[2], 0);
	flow_spread_fini(&s);
}
END_TEST

/*
 * Small and large ones in turn, eight QPs of equally many flows: each gets its eighth of the bytes,
 * within a large one or two.
 */
START_TEST(turns_cost_their_size)
{
	enum { LARGE = 60000, TURNS = 1000 };
	uint64_t had[PLANES][3] = {{0}}, sum = 0;
	unsigned plane, index;
	struct flow_spread s;

	make(&s, 2);
	reweight(&s, (const uint64_t[]){2, 2, 3, 1}, PLANES);
	for (unsigned f = 0; f < 80; f++)
		flow_spread_enter(&s, flow_spread_next(&s));
	for (unsigned i = 0; i < TURNS; i++) {
		uint32_t size = i % 2 ? LARGE : 8;

		ck_assert_ptr_nonnull(flow_spread_take_turn(&s, size, &plane, &index));
		had[plane][index] += size;
		sum += size;
	}
	for (unsigned p = 0; p < PLANES; p++)
		for (unsigned k = 0; k < s.slots[p]; k++) {
			ck_assert_uint_eq(s.slot_count[p][k], 10);
			ck_assert_msg(had[p][k] > sum / 8 - 2 * LARGE &&
					      had[p][k] < sum / 8 + 2 * LARGE,
				      "plane %u, QP %u: %llu of %llu", p, k,
				      (unsigned long long)had[p][k], (unsigned long long)sum);
		}
	flow_spread_fini(&s);
}
END_TEST

START_TEST(planes_that_came_later_do_not_count)
{
	struct flow_spread s;

	make(&s, 0);
	reweight(&s, (const uint64_t[]){0, 1, 0, 0, 7, 7}, 6);
	ck_assert_uint_eq(s.weights.n, PLANES);
	ck_assert_uint_eq(s.weights.sum, 1);
	for (unsigned f = 0; f < 20; f++)
		ck_assert_uint_eq(flow_spread_next(&s), 1);
	reweight(&s, (const uint64_t[]){0, 0, 0, 0, 7, 7}, 6);
	ck_assert_uint_eq(s.weights.sum, 0);
	flow_spread_fini(&s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flow_spread");
	TCase *t = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(t, few_flows_of_all_pairs_together_are_proportional);
	tcase_add_test(t, targets_are_best_and_ask_of_each_qp_what_it_has);
	tcase_add_test(t, a_plane_s_qps_fill_evenly);
	tcase_add_test(t, turns_are_as_many_as_flows);
	tcase_add_test(t, turns_cost_their_size);
	tcase_add_test(t, planes_that_came_later_do_not_count);
	suite_add_tcase(suite, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
