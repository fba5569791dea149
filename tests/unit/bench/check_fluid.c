#include <check.h>
#include <errno.h>
#include <math.h>

#include "fluid.h"

START_TEST(a_shared_link_is_shared_by_weight)
{
	struct fluid *fluid;
	int link, one, two;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	link = fluid_add_link(fluid, 900);
	one = fluid_add_flow(fluid, 1, 100, &link, 1);
	two = fluid_add_flow(fluid, 2, 100, &link, 1);
	fluid_solve(fluid);
	ck_assert_double_eq_tol(fluid_rate_bps(fluid, one), 300, 1e-6);
	ck_assert_double_eq_tol(fluid_rate_bps(fluid, two), 600, 1e-6);
	fluid_destroy(fluid);
}
END_TEST

/* The textbook case: a flow over both of two links, and one alone on each; the second link is
 * wider. */
START_TEST(max_min_gives_what_others_cannot_use)
{
	struct fluid *fluid;
	int links[2], both, first, second;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	links[0] = fluid_add_link(fluid, 100);
	links[1] = fluid_add_link(fluid, 300);
	both = fluid_add_flow(fluid, 1, 1, links, 2);
	first = fluid_add_flow(fluid, 1, 1, &links[0], 1);
	second = fluid_add_flow(fluid, 1, 1, &links[1], 1);
	fluid_solve(fluid);
	ck_assert_double_eq_tol(fluid_rate_bps(fluid, both), 50, 1e-6);
	ck_assert_double_eq_tol(fluid_rate_bps(fluid, first), 50, 1e-6);
	ck_assert_double_eq_tol(fluid_rate_bps(fluid, second), 250, 1e-6);
	fluid_destroy(fluid);
}
END_TEST

/* 100 B and 300 B on 800 bit/s: 2 s together (100 B each), then 200 B alone in 2 s. */
START_TEST(a_finished_flow_leaves_its_share)
{
	struct fluid *fluid;
	double finish;
	int link, small, large;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	link = fluid_add_link(fluid, 800);
	small = fluid_add_flow(fluid, 1, 100, &link, 1);
	large = fluid_add_flow(fluid, 1, 300, &link, 1);
	ck_assert_int_eq(fluid_run(fluid, &finish), 0);
	ck_assert_double_eq_tol(fluid_finish_s(fluid, small), 2, 1e-9);
	ck_assert_double_eq_tol(fluid_finish_s(fluid, large), 4, 1e-9);
	ck_assert_double_eq_tol(finish, 4, 1e-9);
	fluid_destroy(fluid);
}
END_TEST

START_TEST(many_flows_keep_within_every_link)
{
	enum { LINKS = 40, FLOWS = 500 };
	double load[LINKS] = {0};
	int at[FLOWS][2], flow[FLOWS];
	struct fluid *fluid;
	unsigned seed = 1;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	for (int i = 0; i < LINKS; i++)
		ck_assert_int_eq(fluid_add_link(fluid, 1000 + 37 * i), i);
	for (int i = 0; i < FLOWS; i++) {
		seed = seed * 1103515245 + 12345;
		at[i][0] = (int)(seed >> 16) % LINKS;
		at[i][1] = (at[i][0] + 1 + (int)(seed >> 24) % (LINKS - 1)) % LINKS;
		flow[i] = fluid_add_flow(fluid, 1 + i % 3, 10, at[i], 2);
	}
	fluid_solve(fluid);
	for (int i = 0; i < FLOWS; i++)
		for (int j = 0; j < 2; j++)
			load[at[i][j]] += fluid_rate_bps(fluid, flow[i]);
	for (int i = 0; i < LINKS; i++)
		ck_assert_double_le(load[i], (1000 + 37 * i) * (1 + 1e-6));
	/* max-min: every flow crosses a link that is full */
	for (int i = 0; i < FLOWS; i++)
		ck_assert(load[at[i][0]] > (1000 + 37 * at[i][0]) * (1 - 1e-6) ||
			  load[at[i][1]] > (1000 + 37 * at[i][1]) * (1 - 1e-6));
	fluid_destroy(fluid);
}
END_TEST

START_TEST(a_dead_link_is_told)
{
	struct fluid *fluid;
	double finish;
	int dead, live;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	dead = fluid_add_link(fluid, 0);
	live = fluid_add_link(fluid, 100);
	ck_assert_int_ge(fluid_add_flow(fluid, 1, 100, &live, 1), 0);
	ck_assert_int_ge(fluid_add_flow(fluid, 1, 100, &dead, 1), 0);
	ck_assert_int_eq(fluid_run(fluid, &finish), -ENETUNREACH);
	fluid_destroy(fluid);
}
END_TEST

START_TEST(nonsense_is_refused)
{
	struct fluid *fluid;
	int link, unknown = 7;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	ck_assert_int_eq(fluid_add_link(fluid, -1), -EINVAL);
	ck_assert_int_eq(fluid_add_link(fluid, NAN), -EINVAL);
	link = fluid_add_link(fluid, 1);
	ck_assert_int_eq(fluid_add_flow(fluid, 0, 1, &link, 1), -EINVAL);
	ck_assert_int_eq(fluid_add_flow(fluid, 1, -1, &link, 1), -EINVAL);
	ck_assert_int_eq(fluid_add_flow(fluid, 1, 1, &unknown, 1), -EINVAL);
	ck_assert_int_eq(fluid_add_flow(fluid, 1, 1, &link, 0), -EINVAL);
	fluid_destroy(fluid);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fluid");
	TCase *tcase = tcase_create("fluid");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_shared_link_is_shared_by_weight);
	tcase_add_test(tcase, max_min_gives_what_others_cannot_use);
	tcase_add_test(tcase, a_finished_flow_leaves_its_share);
	tcase_add_test(tcase, many_flows_keep_within_every_link);
	tcase_add_test(tcase, a_dead_link_is_told);
	tcase_add_test(tcase, nonsense_is_refused);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
