/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lanes over a fabric of the test's own making: the provider below answers echoes as a peer behind
 * a hashing leaf would, and time is what the test says.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp/baseline.h"
#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/lane.h"
#include "qp/port_path.h"
#include "shm_writer.h"

#define QPS  8
#define PORT 4791
#define MS   UINT64_C(1000000)
#define S    (1000 * MS)

static char dir[40];
static struct shm_writer *writer;
static struct fare *fare;
static struct fare_domain domain;
static struct fare_group_options options;
static struct run_item run;
static struct group_paths paths;
static struct peer_link link_to;
static struct port_peer *port_peer;
static bool is_opener, is_random;
static struct lanes *lanes;
static struct lane *lane; /* of the lanes: up, with QPs */
static uint32_t pair_id;

/* the fabric */
static unsigned salt, n_remotes, lose_port, n_echoes, n_moves, n_refused;
static bool refuse, silent;
static uint16_t replied_by;
static unsigned n_taken; /* first ports of the pool that another process has */
static uint64_t peers_incarnation;
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
	struct control_message m, reply = {.type = CONTROL_ECHO_REPLY, .source = peers_incarnation};
	const uint8_t *bytes;
	const char *reason;
	size_t length;

	(void)ep;
	ck_assert_int_eq(control_auth_verify(&domain.ep.auth, &domain.ep.attr.address, &c->remote,
					     c->data, c->length, &bytes, &length),
			 0);
	ck_assert_int_eq(control_wire_decode(&m, bytes, length, &reason), 0);
	if (m.type == CONTROL_LANE_RESET || m.type == CONTROL_GROUP_CLOSE)
		return 0;
	if (m.type == CONTROL_ECHO_REPLY) {
		replied_by = c->sub_port;
		return 0;
	}
	ck_assert_int_eq(m.type, CONTROL_ECHO);
	n_echoes++;
	if (c->udp_source_port && c->udp_source_port - FARE_SOURCE_PORT_FIRST < n_taken)
		return -EADDRINUSE;
	if (silent || c->udp_source_port == lose_port)
		return 0;
	reply.echo = m.echo;
	reply.echo.plane = c->plane;
	reply.echo.sub_port = leads_to(c->udp_source_port);
	port_cache_on_reply(&domain.ports, &(struct peer_address){c->remote, c->remote_port},
			    &reply);
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
	ck_assert_uint_ge(port, FARE_SOURCE_PORT_FIRST);
	ck_assert_uint_lt(port, FARE_SOURCE_PORT_FIRST + FARE_SOURCE_PORTS);
	n_moves++;
	return 0;
}

static int on_spread(struct qp *qp, const struct qp_path *set, unsigned n)
{
	(void)qp;
	(void)set;
	ck_assert_uint_eq(n, QPS);
	n_moves++;
	return 0;
}

static struct qp_provider provider = {.echoes_learn_ports = true,
				      .first_port = PORT,
				      .control_send = on_send,
				      .qp_move = on_move,
				      .qp_spread = on_spread};
static const struct qp_endpoint_info info = {.port = PORT};

static uint16_t port_of(unsigned i)
{
	return options.mode == FARE_MODE_PACKET ? lane->path_set[i].udp_source_port
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

/* Some port of the pool leads to each of the peer's sub-ports, from one in two there. */
static bool can_be_even(void)
{
	unsigned load[FARE_MAX_SUB_PORTS] = {0};

	for (unsigned p = 0; p < FARE_SOURCE_PORTS; p++)
		load[leads_to((uint16_t)(FARE_SOURCE_PORT_FIRST + p))]++;
	for (unsigned r = 0; r < n_remotes; r++)
		if (load[r] < QPS / 4)
			return false;
	return true;
}

/* The next salt under which the lane is uneven, and could be even. */
static void rehash(void)
{
	do
		salt++;
	while (spread() <= 1 || !can_be_even());
}

/* As long as that, a look every 10 ms. */
static void run_for(uint64_t ns)
{
	for (uint64_t end = domain.ep.now_ns + ns; domain.ep.now_ns < end;
	     domain.ep.now_ns += 10 * MS)
		port_cache_step(&domain.ports);
}

/* The lane has no QPs yet: what it is to learn is learned. */
static void learn(void)
{
	lane->state = LANE_LEARNING;
	lane->since_ns = domain.ep.now_ns;
	for (unsigned i = 0; i < 1000 && port_cache_ready(lane) > 0; i++)
		run_for(10 * MS);
	ck_assert_int_eq(port_cache_ready(lane), 0);
}

/* As lane_qps.c and lane_ports.c do. */
static void choose_ports(void)
{
	struct port_path *path = lane->ports;
	struct port_pick pick = {0};

	for (unsigned i = 0; i < QPS; i++) {
		uint16_t local = group_paths_sub_port(&paths, 0, i);
		struct port_slot *slot = port_path_pick(path, &pick, local, true);
		uint16_t port = port_path_port(path, slot);

		lane_ports_use(lane, local, port, 1);
		if (options.mode == FARE_MODE_PACKET) {
			lane->path_set[lane->n_paths++] = (struct qp_path){local, port};
			continue;
		}
		lane->qps[i] = (struct lane_qp){.qp = (struct qp *)(uintptr_t)(i + 1),
						.home = local,
						.sub_port = local,
						.source_port = port};
	}
	if (options.mode == FARE_MODE_PACKET)
		lane->qps[0].qp = (struct qp *)(uintptr_t)1;
}

static void make_lanes(struct lanes **out)
{
	bool is_packet = options.mode == FARE_MODE_PACKET;
	const struct lanes_attr attr = {.ep = &domain.ep,
					.paths = &paths,
					.link = &link_to,
					.peer = port_peer,
					.run = &run,
					.options = &options,
					.is_opener = is_opener,
					.learns_ports = !paths.is_routed && !is_random,
					.n_lanes = 1,
					.n_qps = is_packet ? 1 : QPS,
					.n_ports = QPS};

	ck_assert_int_eq(lanes_create(out, &attr), 0);
}

static void make(enum fare_mode mode)
{
	options.mode = mode;
	paths.is_routed = mode == FARE_MODE_KERNEL;
	make_lanes(&lanes);
	lane = &lanes->lane[0];
	if (lane->entry)
		port_cache_follow(lane);
}

/* A lane whose ports are even is up. */
static void begin(enum fare_mode mode)
{
	make(mode);
	learn();
	choose_ports();
	ck_assert_uint_le(spread(), 1);
	lane->state = LANE_UP;
	lane->up_since_ns = domain.ep.now_ns;
	port_cache_watch(lane);
	n_echoes = 0;
}

static void setup(void)
{
	struct shm_writer_gpu gpu = {
		.n_planes = 1, .n_sub_ports = {4}, .dev = {{"p0", "p1", "p2", "p3"}}};
	struct in6_addr own = address(0), peer = address(1);
	struct shm_path path = {1000000000, FARE_VERDICT_OK, 0, 0};

	snprintf(dir, sizeof(dir), "/tmp/fare-check-rehash-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memcpy(gpu.address[0], &own, sizeof(own));
	ck_assert_int_eq(shm_writer_open(&writer, dir, 0600, &gpu, 1, NULL), 0);
	for (uint32_t s = 0; s < 2; s++) /* the others are down here */
		shm_writer_sub_port(writer, 0, 0, s, true, 1000000000);
	pair_id = (uint32_t)shm_writer_pair(writer, 0, peer.s6_addr);
	shm_writer_publish(writer, pair_id, &path, 1);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	domain = (struct fare_domain){
		.fare = fare,
		.ep = {.provider = &provider,
		       .info = &info,
		       .attr = {.address = own, .n_planes = 1, .n_sub_ports = {4}},
		       .random = seeded,
		       .random_arg = &random_state,
		       .incarnation = 7,
		       .now_ns = 1000 * S}};
	ck_assert_int_eq(control_auth_load(&domain.ep.auth, NULL, 0), 0);
	port_cache_init(&domain.ports, &domain.ep, &domain.pace);
	options = (struct fare_group_options){.mode = FARE_MODE_SPRAY};
	run = (struct run_item){.is_queued = true}; /* it is stepped by hand */
	is_opener = is_random = false;
	paths = (struct group_paths){.ep = &domain.ep, .path_mtu = 1024};
	link_to = (struct peer_link){.ep = &domain.ep,
				     .paths = &paths,
				     .address = {peer, PORT},
				     .id = 1,
				     .peer_incarnation = 99};
	ck_assert_int_eq(fare_pair_open(&paths.pair, fare, 0, &peer), 0);
	ck_assert(group_paths_refresh(&paths));
	port_peer = port_cache_get_peer(&domain.ports, &link_to.address);
	peers_incarnation = 99;
	n_remotes = 4;
	lose_port = salt = n_echoes = n_moves = n_refused = 0;
	refuse = silent = false;
	n_taken = 0;
	provider.echoes_learn_ports = true;
	while (!can_be_even())
		salt++;
}

static void teardown(void)
{
	char command[64];

	for (unsigned i = 0; i < lane->n_qps; i++)
		lane->qps[i].qp = NULL;
	lanes_destroy(lanes);
	port_cache_put_peer(&domain.ports, port_peer);
	port_cache_fini(&domain.ports);
	fare_pair_close(paths.pair);
	fare_detach(fare);
	shm_writer_close(writer);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(an_even_lane_asks_ever_more_seldom)
{
	unsigned n;

	begin(FARE_MODE_SPRAY);
	run_for(1 * S);
	ck_assert_uint_eq(n_echoes, 0); /* it has just learned */
	run_for(30 * S);
	n = n_echoes / QPS;
	ck_assert_uint_eq(n_echoes % QPS, 0); /* from its own ports alone */
	ck_assert_uint_ge(n, 3);
	ck_assert_uint_le(n, 5);
	run_for(100 * S);
	n = n_echoes;
	run_for(320 * S);
	ck_assert_uint_ge(n_echoes - n, 9 * QPS);
	ck_assert_uint_le(n_echoes - n, 14 * QPS);
	ck_assert_uint_eq(n_moves, 0);
	for (unsigned i = 0; i < QPS; i++)
		ck_assert_int_eq(lane_ports_remote(lane, lane->qps[i].sub_port, port_of(i)),
				 leads_to(port_of(i)));
}
END_TEST

static const enum fare_mode modes[] = {FARE_MODE_FLOW, FARE_MODE_SPRAY, FARE_MODE_PACKET};

START_TEST(a_lane_follows_and_moves_few)
{
	begin(modes[_i]);
	run_for(60 * S);
	for (unsigned r = 0; r < 50; r++) {
		unsigned half;

		n_remotes = 4 - r % 3;
		rehash();
		half = spread();
		n_moves = 0;
		port_cache_hint(lane);
		run_for(S);
		ck_assert_uint_le(spread(), 1);
		ck_assert_uint_le(n_moves, QPS);
		if (n_remotes == 2)
			ck_assert_uint_eq(n_moves, half / 2);
	}
	/* and what nobody says is found, too */
	run_for(200 * S);
	n_remotes = 4;
	rehash();
	run_for(40 * S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

/* The carrier is back, the route is not: the leaf hashes anew some time after the hint. */
START_TEST(what_comes_after_the_hint_is_not_missed)
{
	begin(FARE_MODE_SPRAY);
	run_for(100 * S);
	port_cache_hint(lane);
	run_for((uint64_t)(_i + 1) * S);
	rehash();
	run_for((uint64_t)(_i + 2) * S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

START_TEST(a_lost_remote_does_not_count_and_a_returned_one_does)
{
	unsigned n;

	begin(FARE_MODE_SPRAY);
	run_for(60 * S);
	n_remotes = 1;
	port_cache_hint(lane);
	run_for(200 * S);
	ck_assert_uint_eq(n_moves, 0);
	n = n_echoes;
	run_for(320 * S);
	/* looked for in vain, and seldom */
	ck_assert_uint_le(n_echoes - n, 14 * 2 * FARE_SOURCE_PORTS);
	n_remotes = 4;
	port_cache_hint(lane);
	run_for(S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

START_TEST(half_the_answers_are_no_reason_to_move)
{
	begin(FARE_MODE_SPRAY);
	run_for(60 * S);
	rehash();
	lose_port = port_of(3);
	run_for(100 * S);
	ck_assert_uint_eq(n_moves, 0);
	lose_port = 0;
	run_for(40 * S);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

START_TEST(a_port_that_is_taken_is_not_insisted_on)
{
	begin(FARE_MODE_SPRAY);
	run_for(60 * S);
	n_remotes = 2; /* ports to spare */
	rehash();
	refuse = true;
	port_cache_hint(lane);
	run_for(S);
	ck_assert_uint_eq(n_refused, 3);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

/*
 * A sub-port goes while its answers are out: the paths that are drawn anew do not count what nobody
 * answered.
 */
START_TEST(paths_change_in_the_middle_of_a_round)
{
	unsigned before;

	n_remotes = 2; /* from one sub-port alone, all of them can be even */
	while (!can_be_even())
		salt++;
	begin(FARE_MODE_PACKET);
	run_for(60 * S);
	lose_port = port_of(1);
	before = n_echoes;
	port_cache_hint(lane);
	while (n_echoes == before)
		run_for(10 * MS);
	paths.now.path[0].live_sub_ports = 1;
	port_cache_follow(lane);
	ck_assert_int_eq(lane_ports_set_paths(lane), 0);
	port_cache_hint(lane);
	lose_port = 0;
	run_for(S);
	for (unsigned i = 0; i < QPS; i++)
		ck_assert_uint_eq(lane->path_set[i].sub_port, 0);
	ck_assert_uint_le(spread(), 1);
}
END_TEST

/* Why a lane leaves everything as it is: row by row. */
START_TEST(who_does_not_ask)
{
	provider.echoes_learn_ports = _i != 1;
	is_random = _i == 2;
	make(_i == 0 ? FARE_MODE_KERNEL : FARE_MODE_SPRAY);
	ck_assert_int_eq(!lane->entry, _i == 0 || _i == 2);
	if (_i == 3)
		lane->n_qps = lane->n_ports = 1;
	lane->state = LANE_UP;
	if (lane->entry)
		port_cache_watch(lane);
	run_for(100 * S);
	ck_assert_uint_eq(n_echoes, 0);
}
END_TEST

/* ---- learning ---- */

/* Some ports, and only as many as it takes; what one lane has learned, the others know. */
START_TEST(one_exchange_serves_all)
{
	struct lanes *others[64];
	unsigned n;

	make(FARE_MODE_SPRAY);
	learn();
	n = n_echoes;
	ck_assert_uint_ge(n, QPS);
	ck_assert_uint_le(n, 2 * FARE_SOURCE_PORTS);
	for (unsigned i = 0; i < 64; i++) {
		make_lanes(&others[i]);
		others[i]->lane[0].state = LANE_LEARNING;
		others[i]->lane[0].since_ns = domain.ep.now_ns;
		ck_assert_int_eq(port_cache_ready(&others[i]->lane[0]), 0);
	}
	ck_assert_uint_eq(n_echoes, n);
	for (unsigned i = 0; i < 64; i++)
		lanes_destroy(others[i]);
	/* an old proof proves nothing; what was learned stands */
	run_for(2 * S);
	n_echoes = 0;
	learn();
	ck_assert_uint_eq(n_echoes, 2); /* one from each live sub-port */
	/* nor does one from before its QPs died */
	port_cache_doubt(lane);
	n_echoes = 0;
	learn();
	ck_assert_uint_eq(n_echoes, 2);
}
END_TEST

/* Ports of a pair are shared only once each has a user. */
START_TEST(groups_use_all_ports_before_they_share)
{
	struct port_path *path;

	make(FARE_MODE_SPRAY);
	learn();
	path = lane->ports;
	for (unsigned i = 0; i < 2 * FARE_SOURCE_PORTS * FARE_SOURCE_PORTS; i++) {
		struct port_pick pick = {0};
		struct port_slot *slot = port_path_pick(path, &pick, i % 2, false);
		unsigned r = slot->remote;

		ck_assert(slot->is_known);
		for (unsigned p = 0; p < FARE_SOURCE_PORTS; p++) {
			const struct port_slot *other = &path->slots[i % 2 * FARE_SOURCE_PORTS + p];

			if (other->is_known && other->remote == r)
				ck_assert_uint_le(slot->n_users, other->n_users);
		}
		slot->n_users++;
	}
}
END_TEST

static void expect_silence_for(uint64_t ns)
{
	uint64_t begin = domain.ep.now_ns;

	lane->state = LANE_LEARNING;
	lane->since_ns = begin;
	while (port_cache_ready(lane) > 0) {
		if (ns == 1300 * MS)
			port_cache_on_message(&domain.ports,
					      &link_to.address); /* over another plane */
		run_for(10 * MS);
	}
	ck_assert_int_eq(port_cache_ready(lane), -EHOSTUNREACH);
	ck_assert_uint_ge(domain.ep.now_ns - begin, ns);
	ck_assert_uint_le(domain.ep.now_ns - begin, ns + S);
}

/* A peer that is silent altogether may only be slow: it is waited for longer. */
START_TEST(a_plane_that_does_not_answer_is_given_up)
{
	silent = true;
	is_opener = true;
	make(FARE_MODE_SPRAY);
	expect_silence_for(_i ? 1300 * MS : 10 * S);
	/* seldom, although it waits long */
	ck_assert_uint_le(n_echoes, 8 * 2 * 40);
	/* and the next try is a new one */
	silent = false;
	domain.ep.now_ns += MS;
	learn();
}
END_TEST

/* The opener has proven the plane: to give it up would cost it its QPs. */
START_TEST(an_acceptor_is_patient)
{
	silent = true;
	make(FARE_MODE_SPRAY);
	lane->state = LANE_LEARNING;
	lane->since_ns = domain.ep.now_ns;
	for (unsigned i = 0; i < 3000; i++) {
		port_cache_on_message(&domain.ports, &link_to.address);
		ck_assert_int_gt(port_cache_ready(lane), 0);
		run_for(10 * MS);
	}
	silent = false;
	run_for(S);
	ck_assert_int_eq(port_cache_ready(lane), 0);
}
END_TEST

START_TEST(lost_echoes_are_repeated)
{
	make(FARE_MODE_SPRAY);
	lose_port = FARE_SOURCE_PORT_FIRST;
	learn();
	ck_assert_int_eq(lane_ports_remote(lane, 0, FARE_SOURCE_PORT_FIRST), -1);
	choose_ports();
	ck_assert_uint_le(spread(), 1);
}
END_TEST

/*
 * What other processes have of the pool is passed over. If that is all of it, an echo from any port
 * proves the plane, and nothing is known of ports; the pool is tried again later.
 */
START_TEST(ports_of_another_process)
{
	begin(FARE_MODE_SPRAY);
	for (unsigned i = 0; i < QPS; i++)
		lane_ports_use(lane, lane->qps[i].sub_port, port_of(i), -1);
	lane->state = LANE_DOWN;
	port_cache_doubt(lane);
	port_path_forget(lane->ports);
	n_taken = FARE_SOURCE_PORTS / 2;
	learn();
	port_cache_doubt(lane);
	n_taken = FARE_SOURCE_PORTS;
	lane->since_ns = domain.ep.now_ns;
	lose_port = 1; /* none */
	learn();
	ck_assert_uint_eq(port_path_remotes(lane->ports), 0);
	port_cache_doubt(lane);
	n_taken = 0;
	learn();
	ck_assert_uint_ne(port_path_remotes(lane->ports), 0);
}
END_TEST

/* The peer asks; its echo came in by that sub-port. */
static void ask_by(uint16_t sub_port)
{
	struct control_message m = {
		.type = CONTROL_ECHO, .source = peers_incarnation, .source_port = PORT};
	struct in6_addr peer = address(1);
	uint8_t buf[QP_CONTROL_MAX];
	struct qp_control c = {.remote = peer, .sub_port = sub_port, .data = buf};
	int n = control_wire_encode(&m, buf + CONTROL_AUTH_BYTES, sizeof(buf) - CONTROL_AUTH_BYTES);

	control_auth_sign(&domain.ep.auth, &peer, &domain.ep.attr.address, buf, (size_t)n);
	c.length = CONTROL_AUTH_BYTES + (size_t)n;
	replied_by = UINT16_MAX;
	engine_on_control(&domain, &c);
}

/* A leaf that does not know yet sends what comes in by it: the answer would be lost. */
START_TEST(a_sub_port_that_is_down_answers_nothing)
{
	begin(FARE_MODE_SPRAY);
	ask_by(0);
	ck_assert_uint_eq(replied_by, 0);
	paths.now.path[0].live_sub_ports = 0x2;
	port_cache_follow(lane);
	ask_by(1);
	ck_assert_uint_eq(replied_by, 1);
	ask_by(0);
	ck_assert_uint_eq(replied_by, 1);
	ask_by(QP_ANY_PLANE); /* not known */
	ck_assert_uint_eq(replied_by, 1);
}
END_TEST

/* The address answers as another process: what the group had there is gone. */
START_TEST(a_peer_that_restarted_is_noticed)
{
	struct lanes_event event;

	begin(FARE_MODE_SPRAY);
	run_for(10 * S);
	ck_assert(!lanes_next_event(lanes, &event));
	peers_incarnation = 100;
	port_cache_hint(lane);
	run_for(S);
	ck_assert(lanes_next_event(lanes, &event));
	ck_assert_uint_eq(event.kinds, LANES_LOST);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("port_cache");
	TCase *tc = tcase_create("following");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_even_lane_asks_ever_more_seldom);
	tcase_add_loop_test(tc, a_lane_follows_and_moves_few, 0, 3);
	tcase_add_loop_test(tc, what_comes_after_the_hint_is_not_missed, 0, 6);
	tcase_add_test(tc, ports_of_another_process);
	tcase_add_test(tc, a_sub_port_that_is_down_answers_nothing);
	tcase_add_test(tc, a_lost_remote_does_not_count_and_a_returned_one_does);
	tcase_add_test(tc, half_the_answers_are_no_reason_to_move);
	tcase_add_test(tc, a_port_that_is_taken_is_not_insisted_on);
	tcase_add_test(tc, paths_change_in_the_middle_of_a_round);
	tcase_add_loop_test(tc, who_does_not_ask, 0, 4);
	tcase_add_test(tc, one_exchange_serves_all);
	tcase_add_test(tc, groups_use_all_ports_before_they_share);
	tcase_add_loop_test(tc, a_plane_that_does_not_answer_is_given_up, 0, 2);
	tcase_add_test(tc, an_acceptor_is_patient);
	tcase_add_test(tc, lost_echoes_are_repeated);
	tcase_add_test(tc, a_peer_that_restarted_is_noticed);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
