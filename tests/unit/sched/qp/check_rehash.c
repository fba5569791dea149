/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lane over a fabric of the test's own making: the provider below answers echoes as a peer behind
 * a hashing leaf would, and time is what the test says.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp/internal.h"
#include "shm_writer.h"

#define QPS 8
#define MS  UINT64_C(1000000)
#define S   (1000 * MS)

static char dir[40];
static struct shm_writer *writer;
static struct fare *fare;
static struct fare_domain domain;
static struct fare_group group;
static struct lane *lane;
static uint32_t pair_id;

/* the fabric */
static unsigned salt, n_remotes, lose_port, n_echoes, n_moves, n_refused;
static bool refuse;
static uint64_t random_state = 2411;

static struct in6_addr address(int host)
{
	struct in6_addr a;

	inet_pton(AF_INET6, host ? "::ffff:127.0.0.3" : "::ffff:127.0.0.2", &a);
	return a;
}

static uint64_t seeded(void *state)
{
	uint64_t *x = state;

	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return *x >> 16 | 1;
}

static uint16_t leads_to(uint16_t port)
{
	uint32_t x = (port ^ salt << 16) * 2654435761u;

	/* so that another salt is another hash, not the same one shifted */
	x = (x ^ x >> 15) * 2246822519u;
	return (uint16_t)((x >> 16) % n_remotes);
}

static int on_send(struct qp_endpoint *ep, const struct qp_control *c)
{
	struct control_message m, reply = {.type = CONTROL_ECHO_REPLY};
	const uint8_t *bytes;
	const char *reason;
	size_t length;

	(void)ep;
	ck_assert_int_eq(control_seal_open(&domain.seal, &domain.attr.address, &c->remote, c->data,
					   c->length, &bytes, &length),
			 0);
	ck_assert_int_eq(control_wire_decode(&m, bytes, length, &reason), 0);
	ck_assert_int_eq(m.type, CONTROL_ECHO);
	n_echoes++;
	if (c->udp_source_port == lose_port)
		return 0;
	reply.echo = m.echo;
	reply.echo.plane = c->plane;
	reply.echo.sub_port = leads_to(c->udp_source_port);
	ports_on_reply(&group, &reply);
	return 0;
}

static int on_move(struct qp *qp, uint16_t sub_port, uint16_t port)
{
	(void)qp;
	ck_assert_uint_lt(sub_port, 2);
	if (refuse && n_refused < 3) {
		n_refused++;
		return -EADDRINUSE;
	}
	ck_assert_uint_ge(port, 49152);
	n_moves++;
	return 0;
}

static int on_spread(struct qp *qp, const struct qp_path *paths, unsigned n)
{
	(void)qp;
	(void)paths;
	ck_assert_uint_eq(n, QPS);
	n_moves++;
	return 0;
}

static struct qp_provider provider = {.echoes_tell_ports = true,
				      .control_send = on_send,
				      .qp_move = on_move,
				      .qp_spread = on_spread};

static uint16_t port_of(unsigned i)
{
	return group.options.mode == FARE_MODE_PACKET ? lane->ways[i].udp_source_port
						      : lane->qps[i].source_port;
}

/* Which QP of them all gets most, and which least: their difference. */
static unsigned spread(void)
{
	unsigned load[FARE_MAX_SUB_PORTS] = {0}, least = QPS, most = 0;

	for (unsigned i = 0; i < QPS; i++)
		load[leads_to(port_of(i))]++;
	for (unsigned r = 0; r < n_remotes; r++) {
		least = load[r] < least ? load[r] : least;
		most = load[r] > most ? load[r] : most;
	}
	return most - least;
}

/* The next salt under which the lane is uneven. */
static void rehash(void)
{
	do
		salt++;
	while (spread() <= 1);
}

/* As long as that, a look every 10 ms. */
static void run(uint64_t ns)
{
	for (uint64_t end = domain.now_ns + ns; domain.now_ns < end; domain.now_ns += 10 * MS)
		rehash_step(&group, 0);
}

static void begin(enum fare_mode mode)
{
	group.options.mode = mode;
	if (mode == FARE_MODE_PACKET)
		lane->n_qps = 1;
	lane->state = LANE_UP;
	rehash_start(&group, 0);
}

static void setup(void)
{
	struct shm_writer_gpu gpu = {
		.n_planes = 1, .n_sub_ports = {4}, .dev = {{"p0", "p1", "p2", "p3"}}};
	struct in6_addr own = address(0), peer = address(1);
	struct shm_path path = {1000000000, FARE_VERDICT_OK, 0};

	snprintf(dir, sizeof(dir), "/tmp/fare-check-rehash-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memcpy(gpu.address[0], &own, sizeof(own));
	ck_assert_int_eq(shm_writer_open(&writer, dir, 0600, &gpu, 1, NULL), 0);
	for (uint32_t s = 0; s < 2; s++) /* the others are down here */
		shm_writer_sub_port(writer, 0, 0, s, true, 1000000000);
	pair_id = (uint32_t)shm_writer_pair(writer, 0, peer.s6_addr);
	shm_writer_publish(writer, pair_id, &path, 1);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	domain = (struct fare_domain){.fare = fare,
				      .provider = &provider,
				      .attr.address = own,
				      .groups = &group,
				      .random = seeded,
				      .random_arg = &random_state,
				      .incarnation = 7,
				      .now_ns = 1000 * S};
	ck_assert_int_eq(control_seal_load(&domain.seal, NULL, 0), 0);
	group = (struct fare_group){
		.domain = &domain, .n_lanes = 1, .id = 1, .peer = peer, .state = GROUP_OPEN};
	ck_assert_int_eq(fare_pair_open(&group.pair, fare, 0, &peer), 0);
	ck_assert_int_eq(fare_pair_paths(group.pair, &group.paths), 0);
	lane = &group.lanes[0];
	lane->n_qps = lane->n_ports = lane->n_ways = QPS;
	lane->qps = calloc(QPS, sizeof(*lane->qps));
	n_remotes = 4;
	lose_port = salt = n_echoes = n_moves = n_refused = 0;
	refuse = false;
	provider.echoes_tell_ports = true;
	for (unsigned i = 0; i < QPS; i++) { /* even as they are */
		uint16_t port = (uint16_t)(50000 + 100 * i);

		while (leads_to(port) != i / 2 % 4)
			port++;
		lane->qps[i] = (struct lane_qp){.qp = (struct qp *)(uintptr_t)(i + 1),
						.home = i % 2,
						.sub_port = i % 2,
						.source_port = port};
		lane->ways[i] = (struct qp_path){i % 2, port};
	}
}

static void teardown(void)
{
	char command[64];

	free(lane->qps);
	fare_pair_close(group.pair);
	fare_detach(fare);
	shm_writer_close(writer);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(an_even_lane_asks_ever_more_seldom)
{
	unsigned n;

	begin(FARE_MODE_SPRAY);
	rehash_step(&group, 0);
	ck_assert_uint_eq(n_echoes, QPS); /* at once, and from its own ports alone */
	run(10 * S);
	n = n_echoes / QPS;
	ck_assert_uint_ge(n, 4);
	ck_assert_uint_le(n, 8);
	run(100 * S);
	n = n_echoes;
	run(320 * S);
	ck_assert_uint_ge(n_echoes - n, 9 * QPS);
	ck_assert_uint_le(n_echoes - n, 14 * QPS);
	ck_assert_uint_eq(n_moves, 0);
	for (unsigned i = 0; i < QPS; i++)
		ck_assert_int_eq(lane->qps[i].remote_sub_port, leads_to(port_of(i)));
}
END_TEST

static const enum fare_mode modes[] = {FARE_MODE_FLOW, FARE_MODE_SPRAY, FARE_MODE_PACKET};

START_TEST(a_lane_follows_and_moves_few)
{
	begin(modes[_i]);
	run(60 * S);
	for (unsigned r = 0; r < 50; r++) {
		unsigned half;

		rehash();
		n_remotes = 4 - r % 3;
		half = spread();
		n_moves = 0;
		rehash_hint(&group, 0);
		run(S);
		ck_assert_uint_le(spread(), 1);
		ck_assert_uint_le(n_moves, QPS);
		if (n_remotes == 2)
			ck_assert_uint_eq(n_moves, half / 2);
	}
	/* and what nobody says is found, too */
	run(200 * S);
	n_remotes = 4;
	rehash();
	run(40 * S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

/* The carrier is back, the route is not: the leaf hashes anew some time after the hint. */
START_TEST(what_comes_after_the_hint_is_not_missed)
{
	begin(FARE_MODE_SPRAY);
	run(100 * S);
	rehash_hint(&group, 0);
	run((uint64_t)(_i + 1) * S);
	rehash();
	run((uint64_t)(_i + 2) * S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

START_TEST(a_lost_remote_does_not_count_and_a_returned_one_does)
{
	unsigned n;

	begin(FARE_MODE_SPRAY);
	run(60 * S);
	n_remotes = 1;
	rehash_hint(&group, 0);
	run(200 * S);
	ck_assert_uint_eq(n_moves, 0);
	n = n_echoes;
	run(320 * S);
	/* looked for in vain, and seldom */
	ck_assert_uint_le(n_echoes - n, 14 * (2 * QPS + MAX_CANDIDATES));
	n_remotes = 4;
	rehash_hint(&group, 0);
	run(S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

START_TEST(half_the_answers_are_no_reason_to_move)
{
	begin(FARE_MODE_SPRAY);
	run(60 * S);
	rehash();
	lose_port = port_of(3);
	run(100 * S);
	ck_assert_uint_eq(n_moves, 0);
	lose_port = 0;
	run(40 * S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

START_TEST(the_daemons_news_is_a_hint)
{
	const uint32_t list[] = {51000 | 0u << 16 | 0u << 24, 51001 | 0u << 16 | 1u << 24};

	begin(FARE_MODE_SPRAY);
	run(200 * S);
	rehash();
	ck_assert_int_ge(shm_writer_ports(writer, pair_id, 0, list, 2), 0);
	run(S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

START_TEST(a_port_that_is_taken_is_not_insisted_on)
{
	begin(FARE_MODE_SPRAY);
	run(60 * S);
	rehash();
	refuse = true;
	rehash_hint(&group, 0);
	run(S);
	ck_assert_uint_eq(n_refused, 3);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

/*
 * A sub-port goes while its answers are out: the ways that are drawn anew do not count what nobody
 * answered.
 */
START_TEST(ways_change_in_the_middle_of_a_round)
{
	begin(FARE_MODE_PACKET);
	run(60 * S);
	lose_port = port_of(1);
	rehash_hint(&group, 0);
	/* at once, unless the last round has only just begun */
	while (lane->rehash.state == REHASH_REST)
		run(10 * MS);
	ck_assert_int_eq(lane->rehash.state, REHASH_OWN);
	group.paths.path[0].live_sub_ports = 1;
	ck_assert_int_eq(ways_set(&group, 0), 0);
	rehash_hint(&group, 0);
	run(S);
	for (unsigned i = 0; i < QPS; i++)
		ck_assert_uint_eq(lane->ways[i].sub_port, 0);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

/* Why a lane leaves everything as it is: row by row. */
START_TEST(who_does_not_ask)
{
	begin(_i == 0 ? FARE_MODE_KERNEL : FARE_MODE_SPRAY);
	provider.echoes_tell_ports = _i != 1;
	group.options.random_ports = _i == 2;
	if (_i == 3)
		lane->n_qps = 1;
	run(100 * S);
	ck_assert_uint_eq(n_echoes, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rehash");
	TCase *tc = tcase_create("following");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_even_lane_asks_ever_more_seldom);
	tcase_add_loop_test(tc, a_lane_follows_and_moves_few, 0, 3);
	tcase_add_loop_test(tc, what_comes_after_the_hint_is_not_missed, 0, 6);
	tcase_add_test(tc, a_lost_remote_does_not_count_and_a_returned_one_does);
	tcase_add_test(tc, half_the_answers_are_no_reason_to_move);
	tcase_add_test(tc, the_daemons_news_is_a_hint);
	tcase_add_test(tc, a_port_that_is_taken_is_not_insisted_on);
	tcase_add_test(tc, ways_change_in_the_middle_of_a_round);
	tcase_add_loop_test(tc, who_does_not_ask, 0, 4);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
