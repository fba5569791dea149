/* SPDX-License-Identifier: BSD-2-Clause */
/* Port maps against a simulated leaf: a hash that only asking reveals, and that changes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "port_map.h"

#define MS UINT64_C(1000000)

static struct port_map map;
static struct port_map_entry list[PORT_MAP_SLOTS];
static uint64_t now, state;
static uint32_t n;
static bool rehashed;

/* The leaf: which remote sub-port a source port leads to. alive: bit r. */
static uint32_t seed, alive;

static uint64_t chance(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return state ^ state >> 29;
}

static uint8_t leaf(uint16_t port, unsigned n_remote)
{
	uint32_t h = (port ^ seed) * 2654435761u;
	uint8_t r = (uint8_t)((h >> 16) % n_remote);

	while (!(alive >> r & 1))
		r = (uint8_t)((r + 1) % n_remote);
	return r;
}

static void setup(void)
{
	port_map_init(&map);
	now = 1000 * MS;
	state = 7;
	seed = 1;
	alive = 0xff;
	n = 0;
}

static bool is_of_pool(uint16_t port)
{
	return port >= FARE_SOURCE_PORT_FIRST && port < FARE_SOURCE_PORT_FIRST + FARE_SOURCE_PORTS;
}

/* Runs for so long; a lossy network drops one in `drop` (0: none). True once there was news. */
static bool run(uint64_t span, uint32_t live, unsigned n_remote, unsigned drop, unsigned *n_sent)
{
	uint64_t end = now + span;
	bool news = false, why;

	rehashed = false;
	for (; now < end; now += MS) {
		struct port_map_probe probe;
		uint64_t nonce = chance();

		if (!port_map_next(&map, now, live, nonce, &probe))
			continue;
		ck_assert(live >> probe.local & 1);
		ck_assert(is_of_pool(probe.port) || probe.port >= FARE_LEARNED_PORT_FIRST);
		if (n_sent)
			++*n_sent;
		if (drop && chance() % drop == 0)
			continue;
		ck_assert(
			!port_map_arrived(&map, now, probe.slot, nonce + 1, 0, (uint8_t)n_remote));
		ck_assert(port_map_arrived(&map, now, probe.slot, nonce, leaf(probe.port, n_remote),
					   (uint8_t)n_remote));
		ck_assert(!port_map_arrived(&map, now, probe.slot, nonce, 0, (uint8_t)n_remote));
		if (port_map_news(&map, list, &n, &why)) {
			news = true;
			rehashed |= why;
		}
	}
	return news;
}

static unsigned count(uint8_t local, uint8_t remote)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < n; i++)
		found += list[i].local == local && list[i].remote == remote;
	return found;
}

START_TEST(covers_every_pair_evenly)
{
	ck_assert(run(2000 * MS, 3, 2, 0, NULL));
	ck_assert_uint_eq(n, PORT_MAP_SLOTS);
	ck_assert(!rehashed);
	for (uint8_t l = 0; l < 2; l++)
		for (uint8_t r = 0; r < 2; r++)
			ck_assert_uint_eq(count(l, r), 4);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(leaf(list[i].port, 2), list[i].remote);
}
END_TEST

/* Where the pool has enough ports for each pair, nothing else is in the list; and no port twice. */
START_TEST(ports_of_the_pool_come_first)
{
	for (seed = 1; seed <= 20; seed++) {
		unsigned other = 0;

		port_map_init(&map);
		run(2000 * MS, 3, 2, 0, NULL);
		ck_assert_uint_eq(n, PORT_MAP_SLOTS);
		for (uint32_t i = 0; i < n; i++) {
			other += !is_of_pool(list[i].port);
			for (uint32_t k = 0; k < i; k++)
				ck_assert(list[i].port != list[k].port ||
					  list[i].local != list[k].local);
		}
		/* of 16 ports at least 4 lead to each of two remote sub-ports, nearly always */
		ck_assert_uint_le(other, 2);
		/* lost probes are no reason to leave the pool */
		run(3000 * MS, 3, 2, 1, NULL);
		run(5000 * MS, 3, 2, 0, NULL);
		for (uint32_t i = 0; i < n; i++)
			other -= !is_of_pool(list[i].port);
		ck_assert_uint_eq(other, 0);
	}
}
END_TEST

START_TEST(covers_every_pair_in_spite_of_loss)
{
	ck_assert(run(5000 * MS, 15, 4, 10, NULL));
	for (uint8_t l = 0; l < 4; l++)
		for (uint8_t r = 0; r < 4; r++)
			ck_assert_uint_eq(count(l, r), 1);
}
END_TEST

START_TEST(once_learned_it_only_keeps_watch)
{
	unsigned sent = 0;

	run(2000 * MS, 3, 2, 0, NULL);
	ck_assert(port_map_is_settled(&map));
	ck_assert(!run(10000 * MS, 3, 2, 0, &sent));
	ck_assert_uint_le(sent, 90);
	ck_assert_uint_ge(sent, 60);
}
END_TEST

START_TEST(notices_that_the_leaf_hashes_anew)
{
	run(2000 * MS, 3, 2, 0, NULL);
	seed = 99;
	ck_assert(run(3000 * MS, 3, 2, 0, NULL));
	ck_assert(rehashed);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(leaf(list[i].port, 2), list[i].remote);
	ck_assert_uint_eq(count(0, 0), 4);
}
END_TEST

START_TEST(doubted_it_tries_all_again_at_once)
{
	run(5000 * MS, 3, 2, 0, NULL);
	ck_assert(port_map_is_settled(&map));
	seed = 99;
	port_map_doubt(&map, now);
	ck_assert(!port_map_is_settled(&map));
	ck_assert(run(400 * MS, 3, 2, 0, NULL)); /* on watch it needs two seconds */
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(leaf(list[i].port, 2), list[i].remote);
	port_map_doubt(&map, now);
	ck_assert_msg(port_map_is_settled(&map), "all that is noticed of one event is one doubt");
}
END_TEST

START_TEST(a_remote_sub_port_that_is_down_is_given_up)
{
	alive = 1;
	ck_assert(run(3000 * MS, 3, 2, 0, NULL));
	ck_assert(port_map_is_settled(&map));
	ck_assert_uint_eq(count(0, 0) + count(1, 0), PORT_MAP_SLOTS);
	alive = 3;
	ck_assert(run(4000 * MS, 3, 2, 0, NULL));
	ck_assert_uint_eq(count(0, 1), 4);
	ck_assert_uint_eq(count(1, 0), 4);
}
END_TEST

START_TEST(follows_local_sub_ports)
{
	run(2000 * MS, 3, 2, 0, NULL);
	ck_assert(run(2000 * MS, 2, 2, 0, NULL));
	ck_assert_uint_eq(count(1, 0), 8);
	ck_assert_uint_eq(count(1, 1), 8);
	ck_assert(run(2000 * MS, 3, 2, 0, NULL));
	ck_assert_uint_eq(count(0, 1), 4);
	ck_assert(!run(100 * MS, 0, 2, 0, NULL)); /* none is live: nothing to ask, nothing to say */
}
END_TEST

/* A NIC that swallows the port: soon one probe a second is all. */
START_TEST(silence_costs_little)
{
	unsigned sent = 0;

	run(5000 * MS, 3, 2, 1, NULL);
	ck_assert(!run(10000 * MS, 3, 2, 1, &sent));
	ck_assert_uint_le(sent, 10);
	ck_assert_uint_ge(sent, 8);
	ck_assert(run(5000 * MS, 3, 2, 0, NULL)); /* and it comes back by itself */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("port_map");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, covers_every_pair_evenly);
	tcase_add_test(tc, ports_of_the_pool_come_first);
	tcase_add_test(tc, covers_every_pair_in_spite_of_loss);
	tcase_add_test(tc, once_learned_it_only_keeps_watch);
	tcase_add_test(tc, notices_that_the_leaf_hashes_anew);
	tcase_add_test(tc, doubted_it_tries_all_again_at_once);
	tcase_add_test(tc, a_remote_sub_port_that_is_down_is_given_up);
	tcase_add_test(tc, follows_local_sub_ports);
	tcase_add_test(tc, silence_costs_little);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
