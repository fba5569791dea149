/* SPDX-License-Identifier: BSD-2-Clause */
/* How a group ends, and what its writes are told. */
#include "domain_pair.h"

static void write_one(uint64_t deadline_ns)
{
	struct fare_write w = {
		.flags = FARE_WRITE_NOTIFY, .context = 7, .deadline_ns = deadline_ns};

	ck_assert_int_eq(fare_group_write(group, &w), 0);
}

static void connect_both(void)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
}

static void look_until(const unsigned *counter, unsigned n)
{
	struct pollfd p = {.fd = fare_domain_fd(domain[0]), .events = POLLIN};

	for (time_t end = time(NULL) + PATIENCE_S; *counter < n;) {
		ck_assert(time(NULL) < end);
		poll(&p, 1, 20);
		look(0);
	}
}

static void expect_end(int status)
{
	ck_assert_int_eq(closed_status, status);
	ck_assert_uint_eq(n_completed, 1);
	ck_assert_uint_eq(completed.context, 7);
	ck_assert_int_eq(completed.status, -ECANCELED);
	ck_assert_uint_eq(n_released, 0);
}

/* -ETIMEDOUT would mean that a deadline passed, and that RELEASED follows. */
START_TEST(nobody_answers)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	open_group();
	write_one(0);
	look(0);
	group->opening_ns -= HANDSHAKE_SILENT_NS; /* so long ago */
	look_until(&n_closed, 1);
	expect_end(-ETIMEDOUT);
}
END_TEST

START_TEST(the_peer_accepts_none)
{
	struct in6_addr peer = address(0);

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	/* domain 0 does not */
	ck_assert_int_eq(fare_group_open(&group, domain[1], &peer, NULL), 0);
	write_one(0);
	TURN_UNTIL(n_closed);
	expect_end(-ECONNREFUSED);
}
END_TEST

START_TEST(the_peer_closes)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	fare_group_close(domain[1]->groups);
	write_one(0);
	TURN_UNTIL(n_closed);
	expect_end(-ECANCELED);
}
END_TEST

/* What is outstanding comes back before CLOSED, and the peer learns of it. */
START_TEST(a_group_is_disconnected)
{
	connect_both();
	write_one(0);
	fare_group_disconnect(group);
	ck_assert_int_eq(fare_group_write(group, &(struct fare_write){0}), -ENOTCONN);
	TURN_UNTIL(n_closed == 2);
	ck_assert_uint_eq(n_completed, 1);
	ck_assert_int_eq(completed.status, -ECANCELED);
}
END_TEST

/* One that was late has completed already, and is owed its memory. */
START_TEST(a_late_write_is_released)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	open_group();
	write_one(1);
	group->state = GROUP_OPEN; /* as if it had opened, and no lane had come up yet */
	group->due_ns = UINT64_MAX;
	group->link.peer_incarnation = 1;
	look_until(&n_completed, 1);
	ck_assert_int_eq(completed.status, -ETIMEDOUT);
	ck_assert_uint_eq(completed.context, 7);
	group_end(group, -ECANCELED);
	look_until(&n_closed, 1);
	ck_assert_uint_eq(n_completed, 1);
	ck_assert_uint_eq(n_released, 1);
}
END_TEST

/* Nobody is there to open the group with: a deadline passes all the same, and memory is free. */
START_TEST(a_deadline_passes_while_the_group_opens)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	open_group();
	write_one((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + 50000000u);
	look_until(&n_released, 1);
	ck_assert_uint_eq(n_completed, 1);
	ck_assert_int_eq(completed.status, -ETIMEDOUT);
	ck_assert_uint_eq(n_closed, 0);
}
END_TEST

/* The turn that finds both says both: an application that stood still for long polls once. */
START_TEST(a_deadline_passes_in_the_turn_that_ends_the_group)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	open_group();
	write_one(1);
	group->state = GROUP_OPEN; /* as if no lane had come up in its time */
	group->due_ns = 1;
	group->link.peer_incarnation = 1;
	look(0);
	ck_assert_int_ne(group->state, GROUP_OPEN);
	ck_assert_uint_eq(n_completed, 1);
	ck_assert_int_eq(completed.status, -ETIMEDOUT);
}
END_TEST

/* The segment has 131,072 rows for flows, 504 of which a group takes by default. */
START_TEST(more_groups_than_the_segment_has_rows_for)
{
	enum { GROUPS = 300 };
	struct in6_addr peer = address(1);

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	for (unsigned i = 0; i < GROUPS; i++)
		ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, NULL), 0);
}
END_TEST

/* ---- the opener restarts ---- */

/* It ends without a word, and another process of its host begins. */
static void restart_opener(void)
{
	group->state = GROUP_CLOSED; /* so that closing it tells nobody */
	fare_domain_close(domain[0]);
	domain[0] = NULL;
	n_connected = n_accepted = n_closed = 0;
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	open_group();
}

START_TEST(a_restarted_openers_old_groups_are_closed)
{
	struct fare_group *old;

	connect_both();
	old = domain[1]->groups;
	restart_opener();
	TURN_UNTIL(n_connected && n_accepted && n_closed);
	ck_assert_uint_eq(n_closed, 1);
	ck_assert_int_eq(closed_status, -ECANCELED);
	ck_assert_int_eq(old->state, GROUP_CLOSED);
	ck_assert_int_eq(old->next->state, GROUP_OPEN);
	fare_group_close(old);
}
END_TEST

/* Nobody opens anything any more, and no QP would notice. */
START_TEST(an_idle_end_asks_whether_its_peer_is_there)
{
	connect_both();
	group->state = GROUP_CLOSED;
	fare_domain_close(domain[0]);
	domain[0] = NULL;
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	domain[1]->groups->alive_ns = 1; /* it is time */
	run_queue_add(&domain[1]->groups->run);
	TURN_UNTIL(n_closed);
	ck_assert_int_eq(closed_status, -ECANCELED);
}
END_TEST

/* A copy of what an earlier incarnation sent arrives late: the present one's groups stay. */
START_TEST(a_late_group_open_closes_nothing)
{
	struct control_message late = {.type = CONTROL_GROUP_OPEN, .source_group = 77};
	struct admission_opener opener = {.group = 77};
	uint64_t was, is;

	connect_both();
	was = domain[0]->ep.incarnation;
	restart_opener();
	TURN_UNTIL(n_connected && n_accepted && n_closed);
	is = domain[0]->ep.incarnation;
	group_fill_open(group, &late);
	late.destination = domain[1]->ep.incarnation;
	opener.address = (struct peer_address){address(0), domain[0]->ep.info->port};
	opener.incarnation = was;
	admission_challenge(&domain[1]->admission, &opener, domain[1]->ep.now_ns, late.nonce);
	domain[0]->ep.incarnation = was;
	endpoint_send(&domain[0]->ep, &group->link.address, &late, 0, 0, 0);
	domain[0]->ep.incarnation = is;
	TURN_UNTIL(domain[1]->n_groups == 3); /* it is accepted, and not heard of again */
	write_one(0);
	TURN_UNTIL(n_received);
	ck_assert_uint_eq(n_closed, 1);
	ck_assert_int_eq(group->state, GROUP_OPEN);
}
END_TEST

/* ---- what is sent again ---- */

#define TAPPED_MAX 64

/* Datagrams that either domain sent, as anybody on their path can record them. */
static struct {
	int from;
	size_t length;
	uint8_t data[QP_CONTROL_MAX];
	enum control_type type;
} tapped[TAPPED_MAX];
static unsigned n_tapped, n_requests;
static struct qp_provider tapping;
static bool drops_open; /* GROUP_OPENs that have a nonce are recorded and do not arrive */
static unsigned n_dropped;

static int tap(struct qp_endpoint *ep, const struct qp_control *c)
{
	int from = domain[1] && ep == domain[1]->ep.handle;
	struct control_message m;
	const char *reason;

	ck_assert_uint_lt(n_tapped, TAPPED_MAX);
	ck_assert_int_eq(control_wire_decode(&m, (const uint8_t *)c->data + CONTROL_AUTH_BYTES,
					     c->length - CONTROL_AUTH_BYTES, &reason),
			 0);
	tapped[n_tapped].from = from;
	tapped[n_tapped].length = c->length;
	tapped[n_tapped].type = m.type;
	memcpy(tapped[n_tapped++].data, c->data, c->length);
	if (drops_open && m.type == CONTROL_GROUP_OPEN && m.destination) {
		n_dropped++;
		return 0;
	}
	return qp_soft_provider.control_send(ep, c);
}

/* Without the key: the bytes as they were, from the address that they came from. */
static void replay(unsigned i)
{
	struct qp_control c = {.remote = address(tapped[i].from),
			       .udp_source_port = 49152,
			       .data = tapped[i].data,
			       .length = tapped[i].length};

	engine_on_control(domain[1 - tapped[i].from], &c);
}

/* Those that host sent, or all (-1). */
static void replay_all(int host)
{
	for (unsigned i = 0, n = n_tapped; i < n; i++)
		if (host < 0 || tapped[i].from == host)
			replay(i);
	n_tapped = 0;
}

static int count_request(void *arg, struct fare_request *request)
{
	(void)arg;
	(void)request;
	n_requests++;
	return 0;
}

static void open_tapped(int host)
{
	ck_assert_int_eq(open_domain(host, NULL, true, 0), 0);
	tapping = qp_soft_provider;
	tapping.control_send = tap;
	domain[host]->ep.provider = &tapping;
	domain[host]->options.on_request = count_request;
}

static void connect_tapped(void)
{
	n_tapped = n_requests = 0;
	drops_open = false;
	open_tapped(0);
	open_tapped(1);
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	ck_assert_uint_eq(n_requests, 1);
}

static void turn_for_a_while(void)
{
	for (unsigned i = 0; i < 10; i++)
		turn();
}

/* Everything of a whole life of a group, while it lives, and a write beside it. */
START_TEST(what_is_recorded_changes_nothing_while_the_group_lives)
{
	unsigned n;

	connect_tapped();
	n = n_tapped;
	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < n; i++)
			replay(i);
	n_tapped = 0;
	write_one(0);
	TURN_UNTIL(n_received && n_completed);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(n_requests, 1);
	ck_assert_uint_eq(n_closed, 0);
	ck_assert_uint_eq(domain[1]->n_groups, 1);
	ck_assert_uint_eq(lanes_n_deaths(group->lanes), 0);
	ck_assert_uint_eq(group->lanes->lane[0].epoch, 1);
}
END_TEST

START_TEST(a_recorded_group_open_opens_nothing)
{
	unsigned n;

	connect_tapped();
	fare_group_disconnect(group);
	TURN_UNTIL(n_closed == 2);
	fare_group_close(domain[1]->groups);
	fare_group_close(group);
	n = n_tapped;
	for (unsigned i = 0; i < n; i++)
		replay(i);
	turn_for_a_while();
	ck_assert_uint_eq(domain[1]->n_groups, 0);
	ck_assert_uint_eq(n_requests, 1);
	/* nor later, when the acceptor has forgotten it */
	domain[1]->ep.now_ns += 2 * ADMISSION_NS;
	for (unsigned i = 0; i < n; i++)
		replay(i);
	ck_assert_uint_eq(domain[1]->n_groups, 0);
	ck_assert_uint_eq(n_requests, 1);
}
END_TEST

/* It never arrived, and is no recent request any more. */
START_TEST(a_group_open_that_was_held_back_opens_nothing_later)
{
	n_tapped = n_requests = n_dropped = 0;
	drops_open = true;
	open_tapped(0);
	open_tapped(1);
	open_group();
	TURN_UNTIL(n_dropped);
	group->state = GROUP_CLOSED;
	fare_group_close(group);
	domain[1]->ep.now_ns += ADMISSION_NS;
	replay_all(0);
	ck_assert_uint_eq(domain[1]->n_groups, 0);
	ck_assert_uint_eq(n_requests, 0);
}
END_TEST

/* Either process is another one now. */
START_TEST(what_is_recorded_changes_nothing_after_a_restart)
{
	for (int host = 0; host < 2; host++) {
		unsigned n;

		connect_tapped();
		n = n_tapped;
		for (struct fare_group *g = domain[host]->groups; g; g = g->next)
			g->state = GROUP_CLOSED; /* so that closing it tells nobody */
		fare_domain_close(domain[host]);
		domain[host] = NULL;
		open_tapped(host);
		n_requests = n_closed = 0;
		for (unsigned i = 0; i < n; i++)
			if (tapped[i].from != host)
				replay(i);
		turn_for_a_while();
		ck_assert_uint_eq(domain[host]->n_groups, 0);
		ck_assert_uint_eq(n_requests, 0);
		fare_domain_close(domain[0]);
		fare_domain_close(domain[1]);
		domain[0] = domain[1] = NULL;
		n_connected = n_accepted = n_closed = 0;
	}
}
END_TEST

/* A refusal is repeated, and the application is asked once. */
static int refuse(void *arg, struct fare_request *request)
{
	(void)arg;
	(void)request;
	n_requests++;
	return -EDQUOT;
}

START_TEST(a_refusal_is_final)
{
	unsigned n;

	n_tapped = n_requests = 0;
	drops_open = false;
	open_tapped(0);
	open_tapped(1);
	domain[1]->options.on_request = refuse;
	open_group();
	TURN_UNTIL(n_closed);
	ck_assert_int_eq(closed_status, -EDQUOT);
	n = n_tapped;
	for (unsigned i = 0; i < n; i++)
		if (tapped[i].from == 0)
			replay(i);
	ck_assert_uint_eq(n_requests, 1);
}
END_TEST

/* The opener learns ports for the next epoch, and a LANE_RESET of the last one comes again. */
START_TEST(a_recorded_lane_reset_does_not_keep_a_lane_down)
{
	unsigned n, reset = 0;

	connect_tapped();
	lane_kill(domain[1]->groups->lanes->lane, "the test"); /* it sends LANE_RESET */
	TURN_UNTIL(group->lanes->lane[0].state == LANE_LEARNING ||
		   group->lanes->lane[0].epoch == 2);
	n = n_tapped;
	for (unsigned i = 0; i < n; i++)
		if (tapped[i].type == CONTROL_LANE_RESET && tapped[i].from == 1)
			reset = i + 1;
	ck_assert_uint_gt(reset, 0);
	TURN_UNTIL(group->lanes->lane[0].epoch == 2 && group->lanes->lane[0].state == LANE_UP);
	lane_kill(domain[1]->groups->lanes->lane, "the test");
	n_tapped = n;
	TURN_UNTIL(group->lanes->lane[0].state == LANE_DOWN);
	group->lanes->lane[0].state = LANE_LEARNING;
	for (unsigned i = n; i < n_tapped; i++)
		if (tapped[i].type == CONTROL_LANE_RESET && tapped[i].from == 1)
			reset = i + 1;
	ck_assert_uint_gt(reset, n);
	replay(reset - 1);
	ck_assert_int_eq(group->lanes->lane[0].state, LANE_LEARNING);
	TURN_UNTIL(group->lanes->lane[0].state == LANE_UP);
}
END_TEST

static void publish(int host, uint64_t bps)
{
	struct in6_addr peer = address(1 - host);
	struct shm_path path = {bps, bps ? FARE_VERDICT_OK : FARE_VERDICT_NO_ROUTE, 0, 0};

	shm_writer_publish(writer[host], (uint32_t)shm_writer_pair(writer[host], 0, peer.s6_addr),
			   &path, 1);
}

/* One way, the fabric passes less than devices carry: both ends use that. */
START_TEST(a_group_uses_what_the_fabric_carries)
{
	struct in6_addr peer = address(1);
	struct shm_path path = {1000000000, FARE_VERDICT_OK, 0, 512};

	ck_assert_int_eq(shm_writer_publish(writer[0],
					    (uint32_t)shm_writer_pair(writer[0], 0, peer.s6_addr),
					    &path, 1),
			 1);
	connect_trusted();
	ck_assert_uint_gt(domain[0]->ep.info->path_mtu, 512);
	ck_assert_uint_eq(group->paths.path_mtu, 512);
	ck_assert_uint_eq(domain[1]->groups->paths.path_mtu, 512);
	path.path_mtu = 1000; /* what somebody scribbles is none of the five */
	shm_writer_publish(writer[0], (uint32_t)shm_writer_pair(writer[0], 0, peer.s6_addr), &path,
			   1);
	ck_assert_uint_eq(attach_pair_path_mtu(group->paths.pair), 1000);
}
END_TEST

static int find_tapped(int from, enum control_type type)
{
	for (unsigned i = n_tapped; i--;)
		if (tapped[i].from == from && tapped[i].type == type)
			return (int)i;
	return -1;
}

/* The acceptor had no path for it. That epoch has ended, also when it has a path again. */
START_TEST(a_lane_that_was_refused_is_not_made_later)
{
	const struct lane *lane;

	connect_tapped();
	lane = &domain[1]->groups->lanes->lane[0];
	publish(1, 0);
	TURN_UNTIL(lane->state == LANE_DOWN);
	n_tapped = 0;
	TURN_UNTIL(find_tapped(1, CONTROL_LANE_REFUSE) >= 0);
	ck_assert_int_eq(lane->state, LANE_DOWN);
	publish(1, 1000000000);
	ck_assert(group_paths_refresh(&domain[1]->groups->paths));
	ck_assert(group_paths_usable(&domain[1]->groups->paths, 0));
	replay((unsigned)find_tapped(0, CONTROL_LANE_OPEN));
	ck_assert_int_eq(lane->state, LANE_DOWN);
	TURN_UNTIL(lane->state == LANE_UP);
}
END_TEST

/* ---- openers that do not go on ---- */

/* As from domain 0, whose answer to the challenge this is. */
static void open_and_vanish(struct control_message *open, uint32_t id)
{
	const struct admission_opener opener = {
		{address(0), domain[0]->ep.info->port}, domain[0]->ep.incarnation, id};
	struct qp_control c = {.remote = address(0), .plane = QP_ANY_PLANE};
	uint8_t data[QP_CONTROL_MAX];
	int n;

	admission_challenge(&domain[1]->admission, &opener, domain[1]->ep.now_ns, open->nonce);
	open->source_group = id;
	n = control_wire_encode(open, data + CONTROL_AUTH_BYTES, sizeof(data) - CONTROL_AUTH_BYTES);
	ck_assert_int_gt(n, 0);
	control_auth_sign(&domain[0]->ep.auth, &c.remote, &domain[1]->ep.attr.address, data,
			  (size_t)n);
	c.data = data;
	c.length = CONTROL_AUTH_BYTES + (size_t)n;
	engine_on_control(domain[1], &c);
}

START_TEST(openers_that_vanish_take_no_places)
{
	struct control_message open = {.type = CONTROL_GROUP_OPEN};
	struct fare_group *first;
	unsigned n;

	connect_both();
	group_fill_open(group, &open);
	open.source = domain[0]->ep.incarnation;
	open.source_port = domain[0]->ep.info->port;
	open.destination = domain[1]->ep.incarnation;
	first = domain[1]->groups;
	for (uint32_t i = 1; i <= 600; i++)
		open_and_vanish(&open, i << 12);
	n = domain[1]->n_groups;
	ck_assert_uint_lt(n, 600);
	ck_assert_uint_eq(first->prev->link.peer_id, (n - 1) << 12); /* the others wait */
	domain[1]->ep.now_ns += UINT64_C(2000000000);
	for (uint32_t i = 601; i <= 700; i++)
		open_and_vanish(&open, i << 12);
	ck_assert_uint_eq(domain[1]->n_groups, n);
	ck_assert_uint_eq(first->prev->link.peer_id, 700 << 12);
	ck_assert_ptr_eq(domain[1]->groups, first); /* it is in use */
	write_one(0);
	TURN_UNTIL(n_received);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("group");
	TCase *tc = tcase_create("ending");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nobody_answers);
	tcase_add_test(tc, the_peer_accepts_none);
	tcase_add_test(tc, the_peer_closes);
	tcase_add_test(tc, a_group_is_disconnected);
	tcase_add_test(tc, a_late_write_is_released);
	tcase_add_test(tc, a_deadline_passes_while_the_group_opens);
	tcase_add_test(tc, a_deadline_passes_in_the_turn_that_ends_the_group);
	tcase_add_test(tc, more_groups_than_the_segment_has_rows_for);
	tcase_add_test(tc, a_restarted_openers_old_groups_are_closed);
	tcase_add_test(tc, an_idle_end_asks_whether_its_peer_is_there);
	tcase_add_test(tc, a_late_group_open_closes_nothing);
	suite_add_tcase(s, tc);
	tc = tcase_create("replay");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_is_recorded_changes_nothing_while_the_group_lives);
	tcase_add_test(tc, a_recorded_group_open_opens_nothing);
	tcase_add_test(tc, a_group_open_that_was_held_back_opens_nothing_later);
	tcase_add_test(tc, what_is_recorded_changes_nothing_after_a_restart);
	tcase_add_test(tc, a_refusal_is_final);
	tcase_add_test(tc, a_recorded_lane_reset_does_not_keep_a_lane_down);
	tcase_add_test(tc, a_lane_that_was_refused_is_not_made_later);
	tcase_add_test(tc, a_group_uses_what_the_fabric_carries);
	tcase_add_test(tc, openers_that_vanish_take_no_places);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
