/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "micro/fluid/fluid.h"
#include "simfab/clos.h"
#include "procedure/uplinks.h"

#define BPS   100e9
#define BYTES 1e6

static struct clos plain(unsigned ranks)
{
	return (struct clos){.ranks = ranks,
			     .leaf_ranks = 8,
			     .planes = 1,
			     .spines = 8,
			     .plane_bps = {BPS},
			     .uplinks = 1,
			     .spine_left = 1,
			     .hosts = CLOS_SPRAY,
			     .leaves = CLOS_SPRAY,
			     .qps = 1,
			     .seed = 1};
}

static struct clos_load *load_of(const struct clos *c)
{
	struct clos_load *load;

	ck_assert_int_eq(clos_load_create(&load, c), 0);
	return load;
}

static double incast_s(const struct clos *c)
{
	struct clos_load *load = load_of(c);
	double seconds;

	for (unsigned r = 1; r < c->ranks; r++)
		clos_load_add(load, r, 0, BYTES);
	seconds = clos_load_seconds(load);
	clos_load_destroy(load);
	return seconds;
}

static struct clos_load *all_to_all(const struct clos *c)
{
	struct clos_load *load = load_of(c);

	for (unsigned src = 0; src < c->ranks; src++)
		for (unsigned dst = 0; dst < c->ranks; dst++)
			if (src != dst)
				clos_load_add(load, src, dst, BYTES);
	return load;
}

START_TEST(one_receiver_is_the_bottleneck)
{
	struct clos c = plain(65);

	ck_assert_double_eq_tol(incast_s(&c), 64 * BYTES * 8 / BPS, 1e-9);
	c.planes = 2;
	c.plane_bps[1] = BPS / 2;
	ck_assert_double_eq_tol(incast_s(&c), 64 * BYTES * 8 / (1.5 * BPS), 1e-9);
}
END_TEST

/* Sprayed, a fabric that does not block is as fast as ports; with half the uplinks a cut through a
 * leaf's uplinks is what decides. */
START_TEST(sprayed_all_to_all_meets_its_cuts)
{
	struct clos c = plain(64);
	struct clos_load *load = all_to_all(&c);
	struct clos_uplinks up = clos_load_uplinks(load);

	ck_assert_double_eq_tol(clos_load_seconds(load), 63 * BYTES * 8 / BPS, 1e-9);
	ck_assert_double_eq_tol(up.jfi, 1, 1e-9);
	ck_assert_double_eq_tol(up.mmr, 1, 1e-9);
	clos_load_destroy(load);
	c.uplinks = 0.5;
	load = all_to_all(&c);
	ck_assert_double_eq_tol(clos_load_seconds(load), 8. * 56 * BYTES * 8 / (4 * BPS), 1e-9);
	clos_load_destroy(load);
}
END_TEST

/* By bandwidth a weak spine costs its bandwidth; by equal shares it decides for all. */
START_TEST(weights_follow_a_weak_spine)
{
	struct clos c = plain(64);
	struct clos_load *load;
	double weighted, equal;

	c.spine_left = 0.5;
	c.uplinks = 0.5;
	load = all_to_all(&c);
	ck_assert_double_eq_tol(clos_load_seconds(load), 8. * 56 * BYTES * 8 / (3.75 * BPS), 1e-9);
	clos_load_destroy(load);
	c.leaves = CLOS_WECMP;
	c.qps = 64; /* hashes of many are nearly their shares */
	load = all_to_all(&c);
	weighted = clos_load_seconds(load);
	clos_load_destroy(load);
	c.leaves = CLOS_ECMP;
	load = all_to_all(&c);
	equal = clos_load_seconds(load);
	clos_load_destroy(load);
	ck_assert_double_eq_tol(equal / (8. * 56 * BYTES * 8 / (2 * BPS)), 1, 0.1);
	ck_assert_double_lt(weighted, 0.65 * equal);
}
END_TEST

/* Q flows on L links by chance: JFI is about Q / (L + Q - 1), and a little more with few. */
START_TEST(hashed_flows_have_the_jfi_of_chance)
{
	struct clos c = plain(16); /* two leaves: rank r of the first sends to r of the second */
	double sum = 0, expected = 8. / (8 + 8 - 1);

	c.leaves = CLOS_ECMP;
	for (c.seed = 1; c.seed <= 2000; c.seed++) {
		struct clos_load *load = load_of(&c);

		for (unsigned r = 0; r < 8; r++)
			clos_load_add(load, r, 8 + r, BYTES);
		sum += clos_load_uplinks(load).jfi;
		clos_load_destroy(load);
	}
	ck_assert_double_eq_tol(sum / 2000, link_balance_hashed(1, 8, 8, 3).jfi, 0.01);
	ck_assert_double_eq_tol(sum / 2000, expected, 0.04);
}
END_TEST

/* ---- against the solver ---- */

static void to_fluid(void *arg, const struct clos_part *part)
{
	int links[4];

	for (unsigned i = 0; i < part->n_links; i++)
		links[i] = (int)part->link[i];
	ck_assert_int_ge(fluid_add_flow(arg, part->bytes, part->bytes, links, part->n_links), 0);
}

static double solved_s(const struct clos *c, struct clos_load *load)
{
	struct fluid *fluid;
	double seconds;

	ck_assert_int_eq(fluid_create(&fluid), 0);
	for (unsigned i = 0; i < clos_load_links(load); i++)
		ck_assert_int_ge(fluid_add_link(fluid, clos_load_bps(load, i)), 0);
	for (unsigned src = 0; src < c->ranks; src++)
		for (unsigned dst = 0; dst < c->ranks; dst++)
			if (src != dst && (src + dst) % 3)
				clos_load_parts(load, src, dst, BYTES, to_fluid, fluid);
	ck_assert_int_eq(fluid_run(fluid, &seconds), 0);
	fluid_destroy(fluid);
	return seconds;
}

START_TEST(the_busiest_link_is_when_max_min_ends)
{
	static const enum clos_balance by[] = {CLOS_ECMP, CLOS_WECMP, CLOS_SPRAY};

	for (unsigned i = 0; i < 9; i++) {
		struct clos c = plain(40);
		struct clos_load *load;
		double solved;

		c.planes = 3;
		c.plane_bps[1] = BPS;
		c.plane_bps[2] = BPS / 4;
		c.spine_left = 0.25;
		c.is_scattered = i & 1;
		c.hosts = by[i / 3];
		c.leaves = by[i % 3];
		load = load_of(&c);
		solved = solved_s(&c, load);
		ck_assert_double_eq_tol(clos_load_seconds(load) / solved, 1, 1e-6);
		clos_load_destroy(load);
	}
}
END_TEST

START_TEST(nonsense_is_refused_and_seeds_repeat)
{
	struct clos c = plain(64);
	struct clos_load *a, *b, *other;

	c.leaves = CLOS_ECMP;
	c.is_scattered = true;
	a = all_to_all(&c);
	b = all_to_all(&c);
	c.seed = 2;
	other = all_to_all(&c);
	ck_assert_double_eq(clos_load_uplinks(a).jfi, clos_load_uplinks(b).jfi);
	ck_assert_double_ne(clos_load_uplinks(a).jfi, clos_load_uplinks(other).jfi);
	clos_load_destroy(a);
	clos_load_destroy(b);
	clos_load_destroy(other);
	c.plane_bps[0] = 0;
	ck_assert_int_eq(clos_load_create(&a, &c), -ENETUNREACH);
	c.spines = 0;
	ck_assert_int_eq(clos_load_create(&a, &c), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clos");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(t, one_receiver_is_the_bottleneck);
	tcase_add_test(t, sprayed_all_to_all_meets_its_cuts);
	tcase_add_test(t, weights_follow_a_weak_spine);
	tcase_add_test(t, hashed_flows_have_the_jfi_of_chance);
	tcase_add_test(t, the_busiest_link_is_when_max_min_ends);
	tcase_add_test(t, nonsense_is_refused_and_seeds_repeat);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
