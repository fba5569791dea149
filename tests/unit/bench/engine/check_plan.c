/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/plan.h"

START_TEST(streams_share_no_memory)
{
	static struct plan plan;
	struct traffic_load load = {.name = "a"};
	unsigned at = plan_load(&plan, &load);

	ck_assert_uint_eq(plan_stream(&plan, at, 0, 1, 4, 100), 0);
	ck_assert_uint_eq(plan_stream(&plan, at, 0, 2, 2, 64), 1);
	ck_assert_uint_eq(plan_stream(&plan, at, 3, 2, 1, 1), 2);
	/* slots are whole cache lines */
	ck_assert_uint_eq(plan.stream[1].tx_offset, 4 * 128);
	ck_assert_uint_eq(plan.stream[1].rx_offset, 0);
	ck_assert_uint_eq(plan.stream[2].rx_offset, 2 * 64);
	ck_assert_uint_eq(plan_arena_bytes(&plan), 4 * 128 + 2 * 64);
	ck_assert_int_eq(plan.err, 0);
	plan_fini(&plan);
	ck_assert_uint_eq(plan.n_streams, 0);
}
END_TEST

START_TEST(too_many_loads_are_an_error)
{
	static struct plan plan;
	struct traffic_load load = {.name = "a"};

	for (int i = 0; i < PLAN_MAX_LOADS; i++)
		plan_load(&plan, &load);
	ck_assert_int_eq(plan.err, 0);
	plan_load(&plan, &load);
	ck_assert_int_eq(plan.err, -E2BIG);
	plan_fini(&plan);
}
END_TEST

START_TEST(all_to_all_leaves_out_what_stays_inside)
{
	static struct topo_gpu gpus[4] = {
		{.server = 0}, {.server = 0}, {.server = 1}, {.server = 1}};
	struct topo topo = {.n_gpus = 4, .gpus = gpus};
	static struct plan plan;
	struct traffic_load load = {.name = "a"};

	plan_all_to_all(&plan, &topo, plan_load(&plan, &load), 0, 4, 1, 64);
	ck_assert_uint_eq(plan.n_streams, 8);
	for (unsigned i = 0; i < plan.n_streams; i++)
		ck_assert_uint_ne(gpus[plan.stream[i].src].server, gpus[plan.stream[i].dst].server);
	plan_fini(&plan);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plan");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, streams_share_no_memory);
	tcase_add_test(tc, too_many_loads_are_an_error);
	tcase_add_test(tc, all_to_all_leaves_out_what_stays_inside);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
