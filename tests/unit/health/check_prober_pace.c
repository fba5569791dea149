/* SPDX-License-Identifier: BSD-2-Clause */
/* How often a path is probed: the real rules, under a clock of the test's own. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "prober_internal.h"

#define MS	 HEALTH_MS_NS
#define INTERVAL (10 * MS)
#define START	 (100000 * MS) /* long after anything that is zero */

static struct sub_ports ports;
static struct notice_keys keys;

/* One end of a path. */
struct end {
	struct prober *prober;
	struct prober_peer *peer;
};

static struct prober_path *path(const struct end *e)
{
	return &e->peer->paths[0];
}

static void make(struct end *e, uint64_t seed)
{
	memset(e, 0, sizeof(*e));
	e->prober = calloc(1, sizeof(*e->prober));
	e->peer = calloc(1, sizeof(*e->peer) + sizeof(struct prober_path));
	ck_assert_ptr_nonnull(e->prober);
	ck_assert_ptr_nonnull(e->peer);
	e->prober->options.times.interval_ns = e->prober->times.interval_ns = INTERVAL;
	e->prober->options.slow_interval_ns = 100 * INTERVAL;
	e->prober->options.max_probes_per_s = 1000000;
	e->prober->times.detect_multiplier = 3;
	e->prober->tick_ns = INTERVAL / 4;
	e->prober->ports = &ports;
	e->prober->keys = &keys;
	e->prober->random = seed;
	e->peer->n_planes = 1;
	path(e)->wanted = true;
	path(e)->fsm.state = PROBE_UP;
	e->prober->perhaps_ns = INTERVAL;
	path(e)->sent_ns = path(e)->next_ns = START;
}

static void drop(struct end *e)
{
	free(e->prober);
	free(e->peer);
}

/*
 * Whatever showed that the path works, a reply or data: a probe goes out within an interval after
 * it.
 */
START_TEST(a_skipped_probe_is_late_by_no_interval)
{
	struct end a;

	make(&a, 1);
	path(&a)->acked_ns = START - INTERVAL + 1;
	ck_assert(prober_pace_skips(a.prober, a.peer, 0, START));
	ck_assert_uint_eq(prober_pace_skipped_ns(a.prober, path(&a)), START + 1);
	ck_assert(!prober_pace_skips(a.prober, a.peer, 0, START + 1));
	drop(&a);
}
END_TEST

/* Ten paths at 10 ms are 1,000 probes a second; each of n more perhaps has traffic. */
static uint64_t perhaps_of(uint32_t budget, uint32_t n)
{
	struct prober *p = calloc(1, sizeof(*p));
	uint64_t result;

	ck_assert_ptr_nonnull(p);
	p->options.times.interval_ns = p->times.interval_ns = INTERVAL;
	p->options.slow_interval_ns = 100 * INTERVAL;
	p->options.max_probes_per_s = budget;
	p->ports = &ports;
	p->n_peers = 10 + n;
	for (uint32_t i = 0; i < p->n_peers; i++) {
		struct prober_peer *peer = calloc(1, sizeof(*peer) + sizeof(struct prober_path));

		ck_assert_ptr_nonnull(peer);
		p->peers[i] = peer;
		peer->n_planes = 1;
		peer->paths[0].wanted = true;
		peer->paths[0].fsm.state = PROBE_UP;
		peer->active_until_ns = i < 10 ? START + 1 : 0;
	}
	prober_pace_share(p, START);
	ck_assert_uint_eq(p->times.interval_ns, INTERVAL); /* of those that have it for certain */
	result = p->perhaps_ns;
	for (uint32_t i = 0; i < p->n_peers; i++)
		free(p->peers[i]);
	free(p);
	return result;
}

START_TEST(peers_that_perhaps_have_traffic_share_what_is_left)
{
	ck_assert_uint_eq(perhaps_of(10000, 10), INTERVAL);
	ck_assert_uint_eq(perhaps_of(10000, 90), INTERVAL);
	ck_assert_uint_eq(perhaps_of(10000, 180), 2 * INTERVAL);
	ck_assert_uint_eq(perhaps_of(1000, 1), 100 * INTERVAL); /* nothing is left */
	ck_assert_uint_eq(perhaps_of(1001, 900), 100 * INTERVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("health/prober_pace");
	TCase *tc = tcase_create("pace");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, a_skipped_probe_is_late_by_no_interval);
	tcase_add_test(tc, peers_that_perhaps_have_traffic_share_what_is_left);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
