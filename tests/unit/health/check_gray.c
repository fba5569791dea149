/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom losses are blamed on: one sub-port, or nobody in particular. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "gray.h"
#include "health_limits.h"

#define MS    UINT64_C(1000000)
#define LIMIT 20000u

static struct loss_rtt l;
static struct gray g;
static enum gray_side side;
static uint32_t sub_port, seed, turn;
static uint64_t now;
static bool queues; /* may drop probes */

static void setup(void)
{
	queues = false;
	loss_rtt_init(&l);
	memset(&g, 0, sizeof(g));
	now = 1000 * MS;
	seed = 3;
	turn = 0;
}

static unsigned chance(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 16 & 0x7fffu ? (seed >> 16) % n : 0;
}

/* n probes over m x m sub-ports; is_lost() says which are. */
static void probe(unsigned n, unsigned m, bool (*is_lost)(const struct loss_rtt_probe *p))
{
	for (unsigned i = 0; i < n; i++, turn++, now += 3 * MS) {
		struct loss_rtt_probe p = {.nonce = turn + 1,
					   .local_sub_port = (uint8_t)(turn % m),
					   .remote = (int8_t)(turn / m % m),
					   .back = (int8_t)chance(m)},
				      was;
		uint32_t sequence = loss_rtt_sent(&l, now, &p);

		if (!is_lost(&p))
			ck_assert(loss_rtt_answered(&l, now + MS, sequence, turn + 1, 0, &was));
	}
	loss_rtt_settle(&l, now + MS);
}

static bool none(const struct loss_rtt_probe *p)
{
	(void)p;
	return false;
}

static bool local_1(const struct loss_rtt_probe *p)
{
	return p->local_sub_port == 1;
}

static bool local_1_both_ways(const struct loss_rtt_probe *p)
{
	return p->local_sub_port == 1 || p->back == 1;
}

static bool remote_0(const struct loss_rtt_probe *p)
{
	return p->remote == 0;
}

static bool remote_1(const struct loss_rtt_probe *p)
{
	return p->remote == 1;
}

static bool a_tenth_of_remote_3(const struct loss_rtt_probe *p)
{
	return p->remote == 3 && chance(10) < 2;
}

static bool a_tenth(const struct loss_rtt_probe *p)
{
	(void)p;
	return chance(10) == 0;
}

static bool all(const struct loss_rtt_probe *p)
{
	(void)p;
	return true;
}

static bool blame(void)
{
	return gray_find(&g, &l, LIMIT, queues, now, &side, &sub_port) == GRAY_FOUND;
}

START_TEST(names_the_sub_port)
{
	static const struct {
		bool (*is_lost)(const struct loss_rtt_probe *p);
		unsigned n, m;
		enum gray_side side;
		uint32_t sub_port;
	} cases[] = {
		{local_1, 40, 2, GRAY_LOCAL, 1},
		{local_1_both_ways, 40, 2, GRAY_LOCAL, 1},
		{remote_0, 40, 2, GRAY_REMOTE, 0},
		{remote_0, 80, 8, GRAY_REMOTE, 0},
		{a_tenth_of_remote_3, 256, 4, GRAY_REMOTE, 3},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup();
		probe(200, cases[i].m, none);
		probe(cases[i].n, cases[i].m, cases[i].is_lost);
		ck_assert(blame());
		ck_assert_int_eq(side, cases[i].side);
		ck_assert_uint_eq(sub_port, cases[i].sub_port);
		ck_assert_uint_eq(g.mask[side], 1u << sub_port);
		loss_rtt_forget(&l);
		ck_assert(!blame());
	}
}
END_TEST

START_TEST(blames_nobody_for_what_all_share)
{
	probe(200, 2, none);
	probe(100, 2, a_tenth);
	ck_assert(!blame());
	setup();
	probe(200, 2, none);
	probe(60, 2, all);
	ck_assert(!blame());
	setup();
	probe(250, 1, remote_0); /* the only one there is: that is the plane */
	ck_assert(!blame());
}
END_TEST

static bool a_twentieth(const struct loss_rtt_probe *p)
{
	(void)p;
	return chance(20) == 0;
}

/*
 * A fabric that loses 5%, looked at after each of 100,000 probes. Sooner or later chance would make
 * any rule err.
 */
START_TEST(chance_is_hardly_ever_blamed)
{
	unsigned n_wrong = 0, n_suspicions = 0;

	probe(250, 2, none);
	for (unsigned i = 0; i < 100000; i++) {
		enum gray_finding finding;

		probe(1, 2, a_twentieth);
		finding = gray_find(&g, &l, LIMIT, queues, now, &side, &sub_port);
		n_suspicions += finding == GRAY_SUSPICION;
		if (finding == GRAY_FOUND) {
			n_wrong++;
			memset(&g, 0, sizeof(g));
			loss_rtt_forget(&l);
		}
	}
	ck_assert_msg(n_wrong <= 3, "%u", n_wrong);
	ck_assert_uint_gt(n_suspicions, 100);
	ck_assert_uint_lt(n_suspicions, 5000); /* as long as there is one the path is not judged */
}
END_TEST

/* In a sub-port that lets nothing through there is no chance: a dozen losses do. */
START_TEST(a_dead_sub_port_is_found_at_once)
{
	probe(200, 2, none);
	for (unsigned n = 1; !blame(); n++) {
		ck_assert_uint_le(n, 30);
		probe(1, 2, remote_1);
	}
	ck_assert(side == GRAY_REMOTE && sub_port == 1);
	ck_assert_uint_ge(l.n_lost, HEALTH_LOST_MIN);
}
END_TEST

START_TEST(what_is_not_known_is_not_blamed)
{
	/* those of the first moments, all answered, led nobody knows where */
	for (uint32_t i = 0; i < 16; i++, now += 3 * MS) {
		struct loss_rtt_probe p = {.nonce = i, .remote = -1, .back = -1}, was;
		uint32_t sequence = loss_rtt_sent(&l, now, &p);

		ck_assert(loss_rtt_answered(&l, now, sequence, i, 0, &was));
	}
	probe(60, 1, all);
	ck_assert(!blame());
}
END_TEST

/*
 * A peer that dies when all ports lead to one of its sub-ports: that the other one answered before
 * says nothing.
 */
START_TEST(what_was_well_before_is_no_evidence)
{
	probe(200, 2, none);
	for (uint32_t i = 0; i < 60; i++, now += 3 * MS) {
		struct loss_rtt_probe p = {
			.nonce = i, .local_sub_port = i % 2, .remote = 0, .back = 0};

		loss_rtt_sent(&l, now, &p);
	}
	loss_rtt_settle(&l, now);
	ck_assert(!blame());
}
END_TEST

/* ... and nor does it if a few of its probes go there, too, before, meanwhile and after. */
START_TEST(an_outage_of_all_is_no_evidence)
{
	for (uint32_t i = 0; i < 250; i++, now += 3 * MS) {
		bool away = i >= 60 && i < 160;
		struct loss_rtt_probe p = {.nonce = i,
					   .local_sub_port = i % 2,
					   .remote = i % 20 == 7,
					   .back = 0},
				      was;
		uint32_t sequence = loss_rtt_sent(&l, now, &p);

		if (!away)
			ck_assert(loss_rtt_answered(&l, now + MS, sequence, i, 0, &was));
	}
	loss_rtt_settle(&l, now);
	ck_assert(!blame());
}
END_TEST

/*
 * Queues are full, and the one of remote sub-port 1 drops most of what comes: no fault, unless
 * nothing gets through.
 */
START_TEST(full_queues_are_not_blamed)
{
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < 200; i++, now += 3 * MS) {
			struct loss_rtt_probe p = {.nonce = i,
						   .local_sub_port = i % 2,
						   .remote = i / 2 % 2,
						   .back = 0},
					      was;
			uint32_t sequence = loss_rtt_sent(&l, now, &p);

			if (i < 20)
				loss_rtt_answered(&l, now + MS / 10, sequence, i, 0, &was);
			else if (!p.remote || (!k && i % 20 == 2))
				loss_rtt_answered(&l, now + 50 * MS, sequence, i, 0, &was);
		}
		loss_rtt_settle(&l, now);
		ck_assert_uint_gt(l.n_lost, 50);
		queues = true;
		ck_assert_int_eq(blame(), k == 1);
	}
	ck_assert_int_eq(side, GRAY_REMOTE);
	ck_assert_uint_eq(sub_port, 1);
}
END_TEST

/* With one gray already, what the other loses is the plane's. */
START_TEST(the_last_in_use_is_not_blamed)
{
	probe(100, 2, remote_0);
	ck_assert(blame());
	ck_assert_uint_eq(g.mask[GRAY_REMOTE], 1);
	probe(250, 2, remote_1);
	ck_assert(!blame());
}
END_TEST

static unsigned tries_until_clear(void)
{
	enum gray_side s;
	uint32_t p;

	for (unsigned n = 1; n < 5000; n++) {
		while (!gray_is_due(&g, now, &s, &p))
			now += MS;
		gray_tried(&g, s, p, n, now);
		if (gray_answered(&g, n, now, &s, &p))
			return n;
	}
	return 0;
}

START_TEST(comes_back_after_tries_and_ever_more_of_them)
{
	probe(100, 2, remote_0);
	ck_assert(blame());
	ck_assert(gray_is_over(&g, 1, 0, 1));
	ck_assert(!gray_is_over(&g, 0, 1, 0));
	ck_assert(!gray_is_over(&g, 0, -1, -1));
	ck_assert_uint_eq(tries_until_clear(), 16);
	ck_assert_uint_eq(g.mask[GRAY_REMOTE], 0);
	ck_assert(blame()); /* the window still says so */
	ck_assert_uint_eq(tries_until_clear(), 32);
	now += 70000 * MS;
	ck_assert(blame());
	ck_assert_uint_eq(tries_until_clear(), 16);
}
END_TEST

START_TEST(a_try_in_vain_starts_the_count_anew)
{
	probe(100, 2, local_1);
	ck_assert(blame());
	for (uint32_t n = 1; n < 16; n++) {
		gray_tried(&g, GRAY_LOCAL, 1, n, now);
		ck_assert(!gray_answered(&g, n, now, &side, &sub_port));
	}
	gray_tried(&g, GRAY_LOCAL, 1, 16, now);
	gray_tried(&g, GRAY_LOCAL, 1, 17, now);
	ck_assert(!gray_answered(&g, 17, now, &side, &sub_port));
	ck_assert(!gray_answered(&g, 16, now, &side, &sub_port));
	ck_assert_uint_eq(g.mask[GRAY_LOCAL], 2);
	ck_assert(gray_forget(&g, GRAY_LOCAL, 1));
	ck_assert(!gray_forget(&g, GRAY_LOCAL, 1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gray");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, names_the_sub_port);
	tcase_add_test(tc, blames_nobody_for_what_all_share);
	tcase_add_test(tc, chance_is_hardly_ever_blamed);
	tcase_add_test(tc, a_dead_sub_port_is_found_at_once);
	tcase_add_test(tc, what_is_not_known_is_not_blamed);
	tcase_add_test(tc, what_was_well_before_is_no_evidence);
	tcase_add_test(tc, an_outage_of_all_is_no_evidence);
	tcase_add_test(tc, full_queues_are_not_blamed);
	tcase_add_test(tc, the_last_in_use_is_not_blamed);
	tcase_add_test(tc, comes_back_after_tries_and_ever_more_of_them);
	tcase_add_test(tc, a_try_in_vain_starts_the_count_anew);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
