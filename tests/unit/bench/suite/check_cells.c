/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suite/cells.h"

static const struct param params[] = {{"size", PARAM_BYTES, "bytes", "", {"64K,1M", NULL, "4M"}},
				      {"mode", PARAM_NAME, "", "", {"a,b,c", NULL, NULL}},
				      {.name = NULL}};
static const struct test test = {.id = "0.1", .params = params};
static const struct test alone = {.id = "0.2", .params = params, .no_strategies = true};
static const char *const own[] = {"mpi-a", "mpi-b", NULL};
static const struct test other = {.id = "T0.3", .params = params, .strategies = own};
static const int strategies[] = {STRATEGY_ECMP, STRATEGY_WECMP_KERNEL, STRATEGY_FARE_SPRAY};

START_TEST(every_combination_once)
{
	struct cells cells;

	ck_assert_int_eq(cells_expand(&test, PROFILE_LAB, NULL, 0, strategies, 3, &cells), 0);
	ck_assert_uint_eq(cells.n, 18);
	for (unsigned i = 0; i < cells.n; i++)
		for (unsigned j = 0; j < i; j++)
			ck_assert(
				cells.cell[i].strategy != cells.cell[j].strategy ||
				strcmp(cells.cell[i].param[0].text, cells.cell[j].param[0].text) ||
				strcmp(cells.cell[i].param[1].text, cells.cell[j].param[1].text));
	cells_fini(&cells);
	ck_assert_int_eq(cells_expand(&alone, PROFILE_DRAFT, NULL, 0, strategies, 3, &cells), 0);
	ck_assert_uint_eq(cells.n, 3);
	ck_assert_double_eq(cells.cell[0].param[0].number, 4 << 20);
	cells_fini(&cells);
}
END_TEST

START_TEST(levels_from_the_command_line)
{
	struct cells_override override[] = {{"size", "1K,2K,3K"}, {"other", "1"}},
			      bad = {"size", "x"}, below = {"size", "-1"};
	struct cells cells;

	ck_assert_int_eq(cells_expand(&alone, PROFILE_QUICK, override, 2, NULL, 0, &cells), 0);
	ck_assert_uint_eq(cells.n, 9);
	ck_assert_double_eq(cells.cell[8].param[0].number, 3072);
	cells_fini(&cells);
	ck_assert_int_eq(cells_expand(&alone, PROFILE_QUICK, &bad, 1, NULL, 0, &cells), -EINVAL);
	ck_assert_int_eq(cells_expand(&alone, PROFILE_QUICK, &below, 1, NULL, 0, &cells), -EINVAL);
}
END_TEST

static bool ignores_size(const char *param)
{
	return strcmp(param, "size") == 0;
}

/* What has no effect is neither swept nor taken from the command line. */
START_TEST(a_parameter_without_effect)
{
	static const struct test without = {
		.id = "0.4", .params = params, .no_strategies = true, .ignores = ignores_size};
	struct cells_override size = {"size", "1K"}, mode = {"mode", "a"};
	struct cells cells;

	ck_assert_int_eq(cells_expand(&without, PROFILE_LAB, &mode, 1, NULL, 0, &cells), 0);
	ck_assert_uint_eq(cells.n, 1);
	ck_assert_uint_eq(cells.cell[0].n_params, 1);
	ck_assert_str_eq(cells.cell[0].param[0].name, "mode");
	cells_fini(&cells);
	ck_assert_int_eq(cells_expand(&without, PROFILE_LAB, &size, 1, NULL, 0, &cells), -EINVAL);
}
END_TEST

static bool fits_mode_a(const struct topo *topo, const char *param, const char *level)
{
	return !topo && (strcmp(param, "mode") != 0 || strcmp(level, "a") == 0);
}

/* What says nothing on the fabric is left out, but not what is named. */
START_TEST(levels_that_fit_the_fabric)
{
	static const struct test some = {
		.id = "0.5", .params = params, .no_strategies = true, .fits = fits_mode_a};
	struct cells_override mode = {"mode", "a,b"};
	struct cells cells;

	ck_assert_int_eq(cells_expand(&some, PROFILE_LAB, &mode, 1, NULL, 0, &cells), 0);
	cells_fit(&some, NULL, &mode, 1, &cells);
	ck_assert_uint_eq(cells.n, 4);
	cells_fit(&some, NULL, NULL, 0, &cells);
	ck_assert_uint_eq(cells.n, 2);
	for (unsigned i = 0; i < cells.n; i++)
		ck_assert_str_eq(cells.cell[i].param[1].text, "a");
	cells_fini(&cells);
}
END_TEST

static const struct param slow_params[] = {
	{"scenario", PARAM_SLOW_NAME, "", "", {"x,y", NULL, NULL}},
	{"size", PARAM_COUNT, "", "", {"1,2,3", NULL, NULL}},
	{"fault", PARAM_SLOW_NAME, "", "", {"p,q", "p", "r"}},
	{.name = NULL}};
static const struct test slow = {.id = "0.3", .params = slow_params};

/* Each block has one level of each slow parameter, and all of the others. */
START_TEST(slow_parameters_make_blocks)
{
	struct cells cells;
	uint64_t random = 1;
	unsigned order[36], all = 0;

	ck_assert_int_eq(cells_expand(&slow, PROFILE_QUICK, NULL, 0, strategies, 3, &cells), 0);
	ck_assert_uint_eq(cells.n, 36);
	ck_assert_uint_eq(cells.n_blocks, 4);
	for (unsigned block = 0; block < cells.n_blocks; block++) {
		unsigned n = cells_shuffle(&cells, block, &random, order);

		ck_assert_uint_eq(n, 9);
		for (unsigned i = 0; i < n; i++) {
			const struct cell *first = &cells.cell[order[0]],
					  *cell = &cells.cell[order[i]];

			ck_assert_str_eq(cell->param[0].text, first->param[0].text);
			ck_assert_str_eq(cell->param[2].text, first->param[2].text);
		}
		all += n;
	}
	ck_assert_uint_eq(all, 36);
	cells_fini(&cells);
}
END_TEST

/* A name must be one of some profile's. */
START_TEST(only_names_that_are_declared)
{
	struct cells_override draft = {"fault", "r,q"}, unknown = {"fault", "q,s"};
	struct cells cells;

	ck_assert_int_eq(cells_expand(&slow, PROFILE_LAB, &draft, 1, strategies, 1, &cells), 0);
	ck_assert_uint_eq(cells.n, 12);
	cells_fini(&cells);
	ck_assert_int_eq(cells_expand(&slow, PROFILE_LAB, &unknown, 1, strategies, 1, &cells),
			 -EINVAL);
}
END_TEST

/* Each cell once; those that need equal weights and those that need FRR's do not mix. */
START_TEST(orders_are_permutations_in_halves)
{
	struct cells cells;
	uint64_t random = 1;
	unsigned order[18], any_between = 0;

	ck_assert_int_eq(cells_expand(&test, PROFILE_QUICK, NULL, 0, strategies, 3, &cells), 0);
	for (int turn = 0; turn < 50; turn++) {
		unsigned seen = 0, changes = 0;
		int was = -1;

		ck_assert_uint_eq(cells_shuffle(&cells, 0, &random, order), 18);
		for (unsigned i = 0; i < cells.n; i++) {
			int strategy = cells.cell[order[i]].strategy;

			seen |= 1u << order[i];
			if (strategy == STRATEGY_FARE_SPRAY) {
				any_between += changes == 0 && was >= 0;
				continue;
			}
			changes += was >= 0 && strategy != was;
			was = strategy;
		}
		ck_assert_uint_eq(seen, (1u << 18) - 1);
		ck_assert_uint_eq(changes, 1);
	}
	ck_assert_uint_gt(any_between, 0);
	cells_fini(&cells);
}
END_TEST

/* A test's own strategies are not taken for libfare's: no order is forced on them. */
START_TEST(own_strategies)
{
	static const int both[] = {0, 1};
	unsigned order[12], mixed = 0;
	uint64_t random = 1;
	struct cells cells;

	ck_assert_str_eq(test_strategy_name(&other, 1), "mpi-b");
	ck_assert_str_eq(test_strategy_name(&test, STRATEGY_ECMP), "ecmp-stripe");
	ck_assert_int_eq(test_own_strategy(&other, "mpi-b"), 1);
	ck_assert_int_eq(test_own_strategy(&other, "ecmp-stripe"), -ENOENT);
	ck_assert_int_eq(test_own_strategy(&test, "mpi-b"), -ENOENT);
	ck_assert_int_eq(cells_expand(&other, PROFILE_QUICK, NULL, 0, both, 2, &cells), 0);
	ck_assert_uint_eq(cells.n, 12);
	for (int turn = 0; turn < 50; turn++) {
		unsigned changes = 0;

		cells_shuffle(&cells, 0, &random, order);
		for (unsigned i = 1; i < cells.n; i++)
			changes +=
				cells.cell[order[i]].strategy != cells.cell[order[i - 1]].strategy;
		mixed += changes > 1;
	}
	ck_assert_uint_gt(mixed, 40);
	cells_fini(&cells);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cells");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, every_combination_once);
	tcase_add_test(tc, levels_from_the_command_line);
	tcase_add_test(tc, a_parameter_without_effect);
	tcase_add_test(tc, levels_that_fit_the_fabric);
	tcase_add_test(tc, slow_parameters_make_blocks);
	tcase_add_test(tc, only_names_that_are_declared);
	tcase_add_test(tc, orders_are_permutations_in_halves);
	tcase_add_test(tc, own_strategies);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
