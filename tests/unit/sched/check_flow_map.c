/* SPDX-License-Identifier: BSD-2-Clause */
/* The map against a model: lines crowded on purpose, counts recomputed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "flow_map.h"

#define UNIVERSE 600u

static int64_t model[UNIVERSE]; /* number, or -1 */
static uint64_t keys[UNIVERSE];
static struct flow_map map;

/* Keys that follow each other, in blocks far apart, and the two extremes. */
static void name_keys(void)
{
	for (uint32_t i = 0; i < UNIVERSE; i++)
		keys[i] = (uint64_t)(i / 20) << 56 | (0x100 + i % 20);
	keys[0] = 0;
	keys[1] = ~UINT64_C(0);
}

/* Each count is how many entries passed the line, and nothing is there that the model lacks. */
static void counts_are_right(uint32_t entries)
{
	uint32_t *passed = calloc(map.n_lines, sizeof(*passed)), found = 0;
	uint64_t key;

	for (uint64_t l = 0; l < map.n_lines; l++) {
		for (unsigned i = 0; i < FLOW_MAP_LANES; i++) {
			if (!map.lines[l].number[i])
				continue;
			found++;
			key = (uint64_t)map.lines[l].high[i] << 32 | map.lines[l].low[i];
			for (uint64_t at = flow_map_home(&map, key); at != l;
			     at = (at + 1) % map.n_lines)
				passed[at]++;
		}
	}
	for (uint64_t l = 0; l < map.n_lines; l++)
		ck_assert_uint_eq(map.lines[l].passed, passed[l]);
	ck_assert_uint_eq(found, entries);
	free(passed);
}

static void lookups_are_right(void)
{
	for (uint32_t i = 0; i < UNIVERSE; i++)
		ck_assert_uint_eq(flow_map_find(&map, keys[i]),
				  model[i] < 0 ? FLOW_MAP_NONE : (uint32_t)model[i]);
	ck_assert_uint_eq(flow_map_find(&map, 12345678901), FLOW_MAP_NONE);
}

/* From a single line to a map that nobody fills. */
START_TEST(is_like_its_model)
{
	static const uint32_t sizes[] = {1, 2, 5, 9, 16, 100, 600, 700};

	srand(7);
	name_keys();
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t entries = 0;

		ck_assert_int_eq(flow_map_init(&map, sizes[s], s), 0);
		memset(model, -1, sizeof(model));
		for (int op = 0; op < 8000; op++) {
			uint32_t i = (uint32_t)rand() % UNIVERSE;

			if (model[i] >= 0 || rand() % 4 == 0) {
				flow_map_remove(&map, keys[i]);
				entries -= model[i] >= 0;
				model[i] = -1;
			} else if (entries < sizes[s]) {
				model[i] = op % 9 ? (int64_t)op : (int64_t)FLOW_MAP_NONE - 1;
				flow_map_add(&map, keys[i], (uint32_t)model[i]);
				entries++;
			}
			if (op % 200)
				continue;
			lookups_are_right();
			counts_are_right(entries);
		}
		flow_map_fini(&map);
	}
	flow_map_fini(&map);
}
END_TEST

/* Whatever regular keys there are, and a full map: hardly any stands behind its home line. */
static double behind_home(uint64_t step, uint64_t seed)
{
	const uint32_t n = 1 << 16;
	uint64_t behind = 0;

	ck_assert_int_eq(flow_map_init(&map, n, seed), 0);
	for (uint32_t i = 0; i < n; i++)
		flow_map_add(&map, i * step, i);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(flow_map_find(&map, i * step), i);
	for (uint64_t l = 0; l < map.n_lines; l++)
		behind += map.lines[l].passed;
	flow_map_fini(&map);
	return (double)behind / n;
}

START_TEST(regular_keys_do_not_crowd)
{
	for (unsigned shift = 0; shift <= 46; shift += 2)
		for (uint64_t seed = 0; seed < 2; seed++) {
			ck_assert_double_lt(behind_home(UINT64_C(1) << shift, seed), 0.08);
			ck_assert_double_lt(behind_home(UINT64_C(3) << shift, seed), 0.08);
		}
	ck_assert_double_lt(behind_home(UINT64_C(0x9e3779b97f4a7c15), 3), 0.08);
}
END_TEST

START_TEST(a_large_one_is_like_a_small_one)
{
	const uint32_t n = 3 << 20; /* in huge pages, where there are any */

	ck_assert_int_eq(flow_map_init(&map, n, 1), 0);
	for (uint32_t i = 0; i < n; i += 1000)
		flow_map_add(&map, i, i);
	for (uint32_t i = 0; i < n; i += 500)
		ck_assert_uint_eq(flow_map_find(&map, i), i % 1000 ? FLOW_MAP_NONE : i);
	flow_map_fini(&map);
	ck_assert_ptr_null(map.lines);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("flow_map");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, is_like_its_model);
	tcase_add_test(t, regular_keys_do_not_crowd);
	tcase_add_test(t, a_large_one_is_like_a_small_one);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
