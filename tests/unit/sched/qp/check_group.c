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
	group->peer_incarnation = 1;
	transfer_step(group);
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
	engine_wake(domain[1]->groups);
	TURN_UNTIL(n_closed);
	ck_assert_int_eq(closed_status, -ECANCELED);
}
END_TEST

/* A copy of what an earlier incarnation sent arrives late: the present one's groups stay. */
START_TEST(a_late_group_open_closes_nothing)
{
	struct control_message late = {.type = CONTROL_GROUP_OPEN, .source_group = 77};
	uint64_t was, is;

	connect_both();
	was = domain[0]->incarnation;
	restart_opener();
	TURN_UNTIL(n_connected && n_accepted && n_closed);
	is = domain[0]->incarnation;
	group_fill_open(group, &late);
	late.destination = domain[1]->incarnation;
	domain[0]->incarnation = was;
	engine_send(domain[0], &group->peer, &late, 0, 0, 0);
	domain[0]->incarnation = is;
	TURN_UNTIL(domain[1]->n_groups == 3); /* it is accepted, and not heard of again */
	write_one(0);
	TURN_UNTIL(n_received);
	ck_assert_uint_eq(n_closed, 1);
	ck_assert_int_eq(group->state, GROUP_OPEN);
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
	tcase_add_test(tc, more_groups_than_the_segment_has_rows_for);
	tcase_add_test(tc, a_restarted_openers_old_groups_are_closed);
	tcase_add_test(tc, an_idle_end_asks_whether_its_peer_is_there);
	tcase_add_test(tc, a_late_group_open_closes_nothing);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
