/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "micro/fluid/fluid.h"

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
	enum { MANY_LINKS = 40, MANY_FLOWS = 500 };
	double load[MANY_LINKS] = {0};
	int at[MANY_FLOWS][2], flow[MANY_FLOWS];
	struct fluid *fluid;
	unsigned seed = 1;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	for (int i = 0; i < MANY_LINKS; i++)
		ck_assert_int_eq(fluid_add_link(fluid, 1000 + 37 * i), i);
	for (int i = 0; i < MANY_FLOWS; i++) {
		seed = seed * 1103515245 + 12345;
		at[i][0] = (int)(seed >> 16) % MANY_LINKS;
		at[i][1] = (at[i][0] + 1 + (int)(seed >> 24) % (MANY_LINKS - 1)) % MANY_LINKS;
		flow[i] = fluid_add_flow(fluid, 1 + i % 3, 10, at[i], 2);
	}
	fluid_solve(fluid);
	for (int i = 0; i < MANY_FLOWS; i++)
		for (int j = 0; j < 2; j++)
			load[at[i][j]] += fluid_rate_bps(fluid, flow[i]);
	for (int i = 0; i < MANY_LINKS; i++)
		ck_assert_double_le(load[i], (1000 + 37 * i) * (1 + 1e-6));
	/* max-min: every flow crosses a link that is full */
	for (int i = 0; i < MANY_FLOWS; i++)
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

/* A fabric at random, and its flows' times by the most plain of methods: from nothing at every end.
 */
enum { LINKS = 12, FLOWS = 60, MOST = 3 };

struct net {
	double capacity[LINKS], weight[FLOWS], left[FLOWS], rate[FLOWS], finish[FLOWS];
	int at[FLOWS][MOST], n[FLOWS];
};

static unsigned any(unsigned *seed, unsigned below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void net_draw(struct net *net, unsigned seed)
{
	for (int i = 0; i < LINKS; i++)
		net->capacity[i] = 100 + any(&seed, 900);
	for (int i = 0; i < FLOWS; i++) {
		/* two halves that share nothing */
		unsigned half = any(&seed, 2) * LINKS / 2, first = any(&seed, LINKS / 2);

		net->weight[i] = 1 + any(&seed, 4);
		net->left[i] = seed % 3 ? 1 + any(&seed, 100000) : 5000;
		net->finish[i] = -1;
		net->n[i] = 1 + (int)any(&seed, MOST);
		for (int j = 0; j < net->n[i]; j++)
			net->at[i][j] = (int)(half + (first + (unsigned)j) % (LINKS / 2));
	}
}

static double net_left(const struct net *net, const bool *frozen, int link, double *weight)
{
	double left = net->capacity[link];

	*weight = 0;
	for (int i = 0; i < FLOWS; i++)
		for (int j = 0; j < net->n[i] && net->finish[i] < 0; j++)
			if (net->at[i][j] == link && frozen[i])
				left -= net->rate[i];
			else if (net->at[i][j] == link)
				*weight += net->weight[i];
	return left;
}

static void net_solve(struct net *net)
{
	bool frozen[FLOWS] = {false};

	for (;;) {
		double lowest = INFINITY, weight;
		int link = -1;

		for (int i = 0; i < LINKS; i++) {
			double left = net_left(net, frozen, i, &weight);

			if (weight > 0 && left / weight < lowest) {
				lowest = left / weight;
				link = i;
			}
		}
		if (link < 0)
			return;
		for (int i = 0; i < FLOWS; i++)
			for (int j = 0; j < net->n[i]; j++)
				if (net->at[i][j] == link && !frozen[i] && net->finish[i] < 0) {
					net->rate[i] = lowest * net->weight[i];
					frozen[i] = true;
				}
	}
}

static void net_run(struct net *net)
{
	double now = 0, step;

	do {
		net_solve(net);
		step = INFINITY;
		for (int i = 0; i < FLOWS; i++)
			if (net->finish[i] < 0)
				step = fmin(step, net->left[i] * 8 / net->rate[i]);
		now += step;
		for (int i = 0; i < FLOWS && !isinf(step); i++) {
			if (net->finish[i] >= 0)
				continue;
			net->left[i] -= net->rate[i] * step / 8;
			if (net->left[i] < 1e-7)
				net->finish[i] = now;
		}
	} while (!isinf(step));
}

static struct fluid *net_fluid(const struct net *net)
{
	struct fluid *fluid;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	for (int i = 0; i < LINKS; i++)
		ck_assert_int_eq(fluid_add_link(fluid, net->capacity[i]), i);
	for (int i = 0; i < FLOWS; i++)
		ck_assert_int_eq(fluid_add_flow(fluid, net->weight[i], net->left[i], net->at[i],
						(size_t)net->n[i]),
				 i);
	return fluid;
}

START_TEST(every_flow_ends_when_the_plain_method_says)
{
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct fluid *fluid;
		struct net net;
		double finish;

		net_draw(&net, seed);
		fluid = net_fluid(&net);
		ck_assert_int_eq(fluid_run(fluid, &finish), 0);
		net_run(&net);
		for (int i = 0; i < FLOWS; i++) {
			ck_assert_double_ge(net.finish[i], 0);
			ck_assert_double_eq_tol(fluid_finish_s(fluid, i) / net.finish[i], 1, 1e-7);
			ck_assert_double_le(net.finish[i], finish * (1 + 1e-7));
		}
		fluid_destroy(fluid);
	}
}
END_TEST

START_TEST(merging_is_late_never_early_and_saves_events)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct fluid *exact, *merged;
		double at, late;
		struct net net;

		net_draw(&net, seed);
		exact = net_fluid(&net);
		merged = net_fluid(&net);
		ck_assert_int_eq(fluid_merge_ppm(merged, 50000), 0);
		ck_assert_int_eq(fluid_run(exact, &at), 0);
		ck_assert_int_eq(fluid_run(merged, &late), 0);
		ck_assert_double_ge(late, at * (1 - 1e-9));
		ck_assert_double_le(late, at * 1.25);
		ck_assert_uint_lt(fluid_events(merged), fluid_events(exact));
		fluid_destroy(exact);
		fluid_destroy(merged);
	}
}
END_TEST

START_TEST(merging_has_a_range)
{
	struct fluid *fluid;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	ck_assert_int_eq(fluid_merge_ppm(fluid, -1), -EINVAL);
	ck_assert_int_eq(fluid_merge_ppm(fluid, NAN), -EINVAL);
	ck_assert_int_eq(fluid_merge_ppm(fluid, 1e6 + 1), -EINVAL);
	ck_assert_int_eq(fluid_merge_ppm(fluid, 1e6), 0);
	fluid_destroy(fluid);
}
END_TEST

/* Rates may be asked for, more added, and asked for again. */
START_TEST(what_is_added_later_counts)
{
	struct fluid *fluid;
	double finish;
	int link, first, second;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	link = fluid_add_link(fluid, 800);
	first = fluid_add_flow(fluid, 1, 100, &link, 1);
	ck_assert_int_eq(fluid_solve(fluid), 0);
	ck_assert_double_eq_tol(fluid_rate_bps(fluid, first), 800, 1e-9);
	second = fluid_add_flow(fluid, 3, 300, &link, 1);
	ck_assert_int_eq(fluid_solve(fluid), 0);
	ck_assert_double_eq_tol(fluid_rate_bps(fluid, first), 200, 1e-9);
	ck_assert_int_eq(fluid_run(fluid, &finish), 0);
	ck_assert_double_eq_tol(finish, 4, 1e-9);
	ck_assert_double_eq_tol(fluid_finish_s(fluid, second), 4, 1e-9);
	ck_assert_uint_eq(fluid_events(fluid), 1);
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
	tcase_add_test(tcase, every_flow_ends_when_the_plain_method_says);
	tcase_add_test(tcase, merging_is_late_never_early_and_saves_events);
	tcase_add_test(tcase, merging_has_a_range);
	tcase_add_test(tcase, what_is_added_later_counts);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
