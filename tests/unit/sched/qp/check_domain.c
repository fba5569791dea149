/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may connect to whom, and what a group does over real sockets. */
#include "domain_pair.h"

START_TEST(nobody_connects_unless_asked_to_trust)
{
	ck_assert_int_eq(open_domain(0, NULL, false, 0), -ENOKEY);
	ck_assert_ptr_null(domain[0]);
	/* a key that was asked for, and is not */
	ck_assert_int_eq(open_domain(0, "/nonexistent/key", true, 0), -ENOENT);
	write_key(0, "short");
	ck_assert_int_eq(open_domain(0, key[0], false, 0), -EKEYREJECTED);
}
END_TEST

START_TEST(the_same_key_connects)
{
	write_key(0, "a key of more than 16 bytes");
	write_key(1, "a key of more than 16 bytes\n");
	ck_assert_int_eq(open_domain(0, key[0], false, 0), 0);
	ck_assert_int_eq(open_domain(1, key[1], false, 0), 0);
	open_group();
	for (time_t end = time(NULL) + PATIENCE_S; !n_connected || !n_accepted;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	ck_assert_uint_eq(rejected(), 0);
	/* and the peer's end is told of the end */
	fare_group_close(group);
	for (time_t end = time(NULL) + PATIENCE_S; !n_closed;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	ck_assert_int_eq(closed_status, -ECANCELED);
}
END_TEST

/*
 * A notification that is placed and acknowledged, and the word that its QP is to go, may be heard
 * in one breath. It must not go with the QP: nobody would send it again.
 */
START_TEST(a_reset_takes_no_notification_with_it)
{
	struct fare_write w = {.tag = 5, .flags = FARE_WRITE_NOTIFY};

	connect_trusted();
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	for (time_t end = time(NULL) + PATIENCE_S; !n_completed;) {
		ck_assert(time(NULL) < end);
		look(0);
		ck_assert_int_ge(engine_receive(domain[1]), 0);
	}
	lane_kill(group->lanes->lane, "the test");
	for (time_t end = time(NULL) + PATIENCE_S;
	     domain[1]->groups->lanes->lane[0].state == LANE_UP;) {
		ck_assert(time(NULL) < end);
		look(0);
		ck_assert_int_ge(engine_receive(domain[1]), 0);
	}
	ck_assert_uint_eq(n_received, 0);
	for (time_t end = time(NULL) + PATIENCE_S;
	     !n_received || group->lanes->lane[0].state != LANE_UP;) {
		ck_assert_msg(time(NULL) < end, "the notification is lost");
		turn();
	}
	for (int i = 0; i < 10; i++)
		turn();
	ck_assert_uint_eq(n_received, 1);
}
END_TEST

/*
 * Fast while anything is under way, slow soon after; and not set anew with every message of request
 * and reply.
 */
START_TEST(the_tick_follows_the_work)
{
	unsigned n_changes = 0, n_busy = 0;
	uint64_t began, tick;

	connect_trusted();
	for (time_t end = time(NULL) + PATIENCE_S; domain[0]->tick_ns != 100000000;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	tick = domain[0]->tick_ns;
	began = domain[0]->ep.now_ns;
	for (unsigned i = 1; i <= 2000; i++) {
		struct fare_write w = {.tag = i, .flags = FARE_WRITE_NOTIFY};

		ck_assert_int_eq(fare_group_write(group, &w), 0);
		while (n_completed < i) {
			look(0);
			look(1);
			n_changes += domain[0]->tick_ns != tick;
			tick = domain[0]->tick_ns;
			n_busy += tick == 2000000;
		}
	}
	ck_assert_uint_gt(n_busy, 0);
	ck_assert_uint_le(n_changes, 2 + 2 * (domain[0]->ep.now_ns - began) / 2000000);
	for (time_t end = time(NULL) + PATIENCE_S; domain[0]->tick_ns != 100000000;) {
		ck_assert(time(NULL) < end);
		turn();
	}
}
END_TEST

/*
 * Before the poll returns; of a caller that promised to come again, when it does: and its
 * descriptor asks it to.
 */
START_TEST(what_arrived_is_acknowledged)
{
	struct fare_write w = {.tag = 5, .flags = FARE_WRITE_NOTIFY};
	struct pollfd p = {.events = POLLIN};

	busy_poll = _i == 1;
	connect_trusted();
	for (unsigned i = 1; i <= 20; i++) {
		for (unsigned k = 0; k < 100; k++) { /* both find nothing, mostly */
			look(0);
			look(1);
		}
		ck_assert_int_eq(fare_group_write(group, &w), 0);
		while (n_received < i)
			look(1);
		if (busy_poll) {
			look(0);
			ck_assert_uint_eq(n_completed, i - 1);
			p.fd = fare_domain_fd(domain[1]);
			ck_assert_int_eq(poll(&p, 1, 0), 1);
		}
		for (time_t end = time(NULL) + PATIENCE_S; n_completed < i;) {
			ck_assert(time(NULL) < end);
			look(0);
			if (busy_poll)
				look(1);
		}
	}
}
END_TEST

/* Also by an end that closes before it has replied: the message was delivered. */
START_TEST(what_arrived_is_acknowledged_before_the_end)
{
	struct fare_write w = {.tag = 5, .flags = FARE_WRITE_NOTIFY};

	busy_poll = true;
	connect_trusted();
	for (unsigned k = 0; k < 100; k++) { /* both find nothing, mostly */
		look(0);
		look(1);
	}
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	while (!n_received)
		look(1);
	ck_assert_uint_eq(n_completed, 0);
	fare_domain_close(domain[1]);
	domain[1] = NULL;
	for (time_t end = time(NULL) + PATIENCE_S; !n_completed;) {
		ck_assert(time(NULL) < end);
		look(0);
	}
	ck_assert_int_eq(completed.status, 0);
}
END_TEST

/* Many QPs of one sub-port: its window is theirs together, and each still sends whole batches. */
START_TEST(many_qps_share_a_window)
{
	enum { MESSAGES = 16, BYTES = 512 << 10, QPS = 16 };
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY, .qps_per_sub_port = QPS};
	static uint8_t source[BYTES], target[BYTES];
	struct in6_addr peer = address(1);
	struct fare_mr *from, *to;
	struct fare_write w = {.data = source, .length = BYTES, .remote_addr = (uintptr_t)target};
	const struct lane *lane;
	uint32_t chunk;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_mr_register(&from, domain[0], source, BYTES, false), 0);
	ck_assert_int_eq(fare_mr_register(&to, domain[1], target, BYTES, true), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	for (time_t end = time(NULL) + PATIENCE_S; !n_connected || !n_accepted;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	lane = &group->lanes->lane[0];
	chunk = group->options.chunk_bytes;
	ck_assert_uint_eq(lane->n_qps, QPS);
	ck_assert_uint_gt(chunk, group->options.window_bytes / QPS);
	w.mr = from;
	w.rkey = fare_mr_rkey(to);
	for (unsigned i = 0; i < MESSAGES; i++)
		ck_assert_int_eq(fare_group_write(group, &w), 0);
	for (time_t end = time(NULL) + PATIENCE_S; n_completed < MESSAGES;) {
		uint64_t posted_bytes = 0;

		ck_assert(time(NULL) < end);
		for (unsigned i = 0; i < QPS; i++) {
			ck_assert_uint_lt(lane->qps[i].posted_bytes, lane->qp_room_bytes + chunk);
			posted_bytes += lane->qps[i].posted_bytes;
		}
		ck_assert_uint_eq(lane->posted_bytes, posted_bytes);
		/*
		 * the window, a chunk for the wire never to run dry, and the rest of the last one
		 */
		ck_assert_uint_lt(posted_bytes, group->options.window_bytes + 2 * chunk);
		ck_assert_uint_gt(posted_bytes, 0);
		turn();
	}
	ck_assert_uint_eq(lane->posted_bytes, 0);
	ck_assert_uint_eq(group->transfer->stats.chunks_posted,
			  MESSAGES * ((BYTES + chunk - 1) / chunk));
}
END_TEST

/* The first chunk by a key that nobody has used goes alone, unless the application vouches. */
static const unsigned vouches[] = {0, FARE_KEY_IS_GOOD};

START_TEST(a_key_is_tried_unless_it_is_good)
{
	enum { CHUNKS = 8, CHUNK = 8 << 10, BYTES = CHUNKS * CHUNK };
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY, .chunk_bytes = CHUNK};
	static uint8_t source[BYTES], target[BYTES];
	struct in6_addr peer = address(1);
	struct fare_mr *from, *to;
	struct fare_write w = {.data = source,
			       .length = BYTES,
			       .remote_addr = (uintptr_t)target,
			       .flags = vouches[_i]};

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_mr_register(&from, domain[0], source, BYTES, false), 0);
	ck_assert_int_eq(fare_mr_register(&to, domain[1], target, BYTES, true), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	TURN_UNTIL(n_connected && n_accepted);
	memset(source, 7, BYTES);
	w.mr = from;
	w.rkey = fare_mr_rkey(to);
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	if (vouches[_i])
		ck_assert_uint_gt(group->transfer->stats.chunks_posted, 1);
	else
		ck_assert_uint_eq(group->transfer->stats.chunks_posted, 1);
	TURN_UNTIL(n_completed == 1);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_mem_eq(source, target, BYTES);
	ck_assert_uint_eq(group->transfer->stats.chunks_posted, CHUNKS);
}
END_TEST

/*
 * A chunk that is read is longer than one that is written, unless the application says how long a
 * chunk is; the schedule counts either as a unit.
 */
static const uint32_t chunk_options[] = {0, 8 << 10};

START_TEST(chunks_that_are_read_are_longer_and_still_even)
{
	enum { MESSAGES = 16, BYTES = 1 << 20 };
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
					     .chunk_bytes = chunk_options[_i],
					     .baseline =
						     &(struct fare_baseline){.random_ports = true}};
	static uint8_t here[BYTES], there[BYTES];
	struct in6_addr peer = address(1);
	struct fare_mr *to, *from;
	struct fare_read r = {.data = here, .length = BYTES, .remote_addr = (uintptr_t)there};
	uint32_t chunk;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_mr_register(&to, domain[0], here, BYTES, false), 0);
	ck_assert_int_eq(fare_mr_register(&from, domain[1], there, BYTES, FARE_REMOTE_READ), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	for (time_t end = time(NULL) + PATIENCE_S;
	     !n_connected || !n_accepted || group->transfer->weights.sum != 4;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	chunk = group->shape.read_unit_bytes;
	if (_i)
		ck_assert_uint_eq(chunk, group->shape.unit_bytes);
	else
		ck_assert_uint_gt(chunk, 2 * group->shape.unit_bytes);
	r.mr = to;
	r.rkey = fare_mr_rkey(from);
	memset(there, 0x5a, BYTES);
	for (unsigned i = 0; i < MESSAGES; i++)
		ck_assert_int_eq(fare_group_read(group, &r), 0);
	for (time_t end = time(NULL) + PATIENCE_S; n_completed < MESSAGES;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	ck_assert_mem_eq(here, there, BYTES);
	ck_assert_uint_eq(group->transfer->stats.chunks_posted,
			  MESSAGES * ((BYTES + chunk - 1) / chunk));
	for (unsigned l = 0; l < 4; l++) {
		ck_assert_uint_gt(group->transfer->stats.plane_bytes[l] + 2 * chunk,
				  MESSAGES * BYTES / 4);
		ck_assert_uint_lt(group->transfer->stats.plane_bytes[l],
				  MESSAGES * BYTES / 4 + 2 * chunk);
	}
}
END_TEST

/*
 * Applications send a word and then a block, a word and then a block: what is in proportion are
 * bytes, over the planes and over each plane's QPs, or whoever got the words would idle.
 */
static const enum fare_mode modes[] = {FARE_MODE_SPRAY, FARE_MODE_PACKET, FARE_MODE_FLOW};

START_TEST(sizes_in_turn_do_not_bend_shares)
{
	enum { MESSAGES = 400, BLOCK = 12 << 10, WORD = 8, QPS = 2 };
	struct fare_group_options options = {.mode = modes[_i],
					     .qps_per_sub_port = QPS,
					     .baseline =
						     &(struct fare_baseline){.random_ports = true}};
	static uint8_t source[BLOCK], target[BLOCK];
	struct in6_addr peer = address(1);
	struct fare_mr *from, *to;
	struct fare_write w = {.data = source, .remote_addr = (uintptr_t)target};
	uint64_t total = (uint64_t)MESSAGES / 2 * (BLOCK + WORD);
	unsigned posted = 0;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_mr_register(&from, domain[0], source, BLOCK, false), 0);
	ck_assert_int_eq(fare_mr_register(&to, domain[1], target, BLOCK, true), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	for (time_t end = time(NULL) + PATIENCE_S;
	     !n_connected || !n_accepted || group->transfer->weights.sum != 4;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	w.mr = from;
	w.rkey = fare_mr_rkey(to);
	ck_assert_uint_ge(group->options.chunk_bytes, BLOCK); /* a block is one chunk */
	for (time_t end = time(NULL) + PATIENCE_S; n_completed < MESSAGES;) {
		ck_assert(time(NULL) < end);
		for (; posted < MESSAGES; posted++) {
			w.length = posted % 2 ? BLOCK : WORD;
			if (fare_group_write(group, &w))
				break;
		}
		turn();
	}
	for (unsigned l = 0; l < 4; l++) {
		uint64_t bytes = group->transfer->stats.plane_bytes[l],
			 chunk = group->options.chunk_bytes;

		/* a unit for the pair's phase, one on the way */
		ck_assert_msg(bytes > total / 4 - 2 * chunk && bytes < total / 4 + 2 * chunk,
			      "plane %u: %llu of %llu bytes", l, (unsigned long long)bytes,
			      (unsigned long long)total);
	}
}
END_TEST

/* Lanes come up one by one; what counts is where the schedule of all four begins. */
START_TEST(a_spray_begins_at_its_pair_s_phase)
{
	struct fare_group_options options = {
		.mode = FARE_MODE_SPRAY, .baseline = &(struct fare_baseline){.random_ports = true}};
	static const uint64_t bps[4] = {1000000000, 1000000000, 1000000000, 1000000000};
	struct in6_addr peer = address(1);
	struct spray_fly want;
	unsigned steps;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	for (time_t end = time(NULL) + PATIENCE_S;
	     !n_connected || group->transfer->weights.sum != 4;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	steps = (unsigned)(attach_pair_phase(group->paths.pair) * 1024);
	ck_assert_uint_ne(steps % 4, 0); /* or it would be where everybody begins */
	spray_fly_init(&want, bps, 4, NULL);
	while (steps--)
		spray_fly_next(&want);
	for (unsigned l = 0; l < 4; l++)
		ck_assert_double_eq_tol(spray_fly_arrears(&group->transfer->placement.spray, l),
					spray_fly_arrears(&want, l), 1e-9);
}
END_TEST

/*
 * A receiver that takes few events at a time: what its peers are acknowledged for it has, or will
 * have. By row: groups, messages outstanding (0: the default), events a poll, and whether it
 * promises to come again.
 */
static const struct {
	unsigned n_groups, max_messages;
	int max_events;
	bool busy_poll;
} slow_receivers[] = {{8, 0, 16, false}, {8, 0, 64, false}, {1, 128, 16, true}, {8, 128, 1, false}};

START_TEST(a_slow_receiver_misses_nothing)
{
	enum { MESSAGES = 6000, GROUPS = 8 };
	struct fare_group_options options = {.mode = modes[_i % 3],
					     .max_messages = slow_receivers[_i / 3].max_messages,
					     .baseline =
						     &(struct fare_baseline){.random_ports = true}};
	unsigned n_groups = slow_receivers[_i / 3].n_groups, n = 0, posted[GROUPS] = {0};
	static unsigned char got[GROUPS][MESSAGES];
	struct in6_addr peer = address(1);
	struct fare_group *groups[GROUPS];
	struct fare_event e[64];

	memset(got, 0, sizeof(got));
	busy_poll = slow_receivers[_i / 3].busy_poll;
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	for (unsigned g = 0; g < n_groups; g++)
		ck_assert_int_eq(fare_group_open(&groups[g], domain[0], &peer, &options), 0);
	for (time_t end = time(NULL) + PATIENCE_S;
	     n_connected < n_groups || n_accepted < n_groups;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	for (time_t end = time(NULL) + PATIENCE_S; n < n_groups * MESSAGES;) {
		int taken;

		ck_assert_msg(time(NULL) < end, "%u of %u arrived", n, n_groups * MESSAGES);
		for (unsigned g = 0; g < n_groups; g++) {
			struct fare_write w = {.flags = FARE_WRITE_NOTIFY,
					       .tag = g << 24 | posted[g]};

			for (; posted[g] < MESSAGES && !fare_group_write(groups[g], &w); w.tag++)
				posted[g]++;
		}
		ck_assert_int_ge(fare_domain_poll(domain[0], e, 64), 0);
		taken = fare_domain_poll(domain[1], e, slow_receivers[_i / 3].max_events);
		for (int i = 0; i < taken; i++) {
			if (e[i].kind != FARE_EVENT_RECEIVED)
				continue;
			ck_assert_uint_eq(got[e[i].tag >> 24][e[i].tag & 0xffffff]++, 0);
			n++;
			end = time(NULL) + PATIENCE_S;
		}
	}
	for (const struct fare_group *g = domain[1]->groups; g; g = g->next)
		ck_assert_uint_eq(lanes_n_deaths(g->lanes), 0);
}
END_TEST

/* How the other end differs: row by row. */
static const struct {
	const char *content;
	bool trusted;
	uint64_t secret;
} strangers[] = {
	{"another key, as long as it is", false, 0},
	{NULL, true, 0},
	{"a key of more than 16 bytes", false, 1},
};

START_TEST(strangers_do_not_connect)
{
	struct in6_addr own = address(0);
	struct fare_group *back;

	write_key(0, "a key of more than 16 bytes");
	if (strangers[_i].content)
		write_key(1, strangers[_i].content);
	ck_assert_int_eq(open_domain(0, key[0], false, 0), 0);
	ck_assert_int_eq(open_domain(1, strangers[_i].content ? key[1] : NULL,
				     strangers[_i].trusted, strangers[_i].secret),
			 0);
	open_group();
	ck_assert_int_eq(fare_group_open(&back, domain[1], &own, NULL), 0);
	/* ours are refused there, and theirs here */
	for (time_t end = time(NULL) + PATIENCE_S; rejected() < 5;) {
		ck_assert(time(NULL) < end);
		turn();
	}
	ck_assert_uint_eq(n_connected + n_accepted + n_closed, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("domain");
	TCase *tc = tcase_create("who may connect");
	SRunner *sr = srunner_create(s);
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nobody_connects_unless_asked_to_trust);
	tcase_add_test(tc, the_same_key_connects);
	tcase_add_test(tc, a_reset_takes_no_notification_with_it);
	tcase_add_test(tc, the_tick_follows_the_work);
	tcase_add_loop_test(tc, what_arrived_is_acknowledged, 0, 2);
	tcase_add_test(tc, what_arrived_is_acknowledged_before_the_end);
	tcase_add_test(tc, many_qps_share_a_window);
	tcase_add_loop_test(tc, a_key_is_tried_unless_it_is_good, 0, 2);
	tcase_add_loop_test(tc, strangers_do_not_connect, 0,
			    (int)(sizeof(strangers) / sizeof(strangers[0])));
	suite_add_tcase(s, tc);
	tc = tcase_create("four planes");
	tcase_add_checked_fixture(tc, setup_four_planes, teardown);
	tcase_add_test(tc, a_spray_begins_at_its_pair_s_phase);
	tcase_add_loop_test(tc, a_slow_receiver_misses_nothing, 0,
			    3 * (int)(sizeof(slow_receivers) / sizeof(slow_receivers[0])));
	tcase_add_loop_test(tc, chunks_that_are_read_are_longer_and_still_even, 0,
			    (int)(sizeof(chunk_options) / sizeof(chunk_options[0])));
	tcase_add_loop_test(tc, sizes_in_turn_do_not_bend_shares, 0,
			    (int)(sizeof(modes) / sizeof(modes[0])));
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
