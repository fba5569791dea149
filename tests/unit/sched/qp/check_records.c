/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of fare_group_send(): whole, once, in order where that was asked for. */
#include "domain_pair.h"
#include "qp/records.h"

static void connect_for_messages(uint32_t message_bytes, bool in_order)
{
	struct in6_addr peer = address(1);
	struct fare_group_options options = {
		.message_bytes = message_bytes, .in_order = in_order, .max_messages = 16};

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	TURN_UNTIL(n_connected && n_accepted);
}

static int send_bytes(struct fare_group *from, uint32_t length, uint32_t tag)
{
	uint8_t data[FARE_MESSAGE_MAX + 1];
	struct fare_send s = {.data = data, .length = length, .tag = tag, .context = tag};
	int err;

	memset(data, (int)tag, sizeof(data));
	err = fare_group_send(from, &s);
	memset(data, 0xee, sizeof(data)); /* it was copied */
	return err;
}

START_TEST(messages_arrive_whole)
{
	static const uint32_t lengths[] = {0, 1, 7, 8, 64, 1000, FARE_MESSAGE_MAX};
	size_t at = 0;

	connect_for_messages(FARE_MESSAGE_MAX, true);
	for (uint32_t i = 0; i < 7; i++)
		ck_assert_int_eq(send_bytes(group, lengths[i], i + 1), 0);
	TURN_UNTIL(n_messages == 7 && n_completed == 7);
	for (uint32_t i = 0; i < 7; i++) {
		ck_assert_uint_eq(arrived_tags[i], i + 1);
		ck_assert_uint_eq(arrived_sequences[i], i);
		for (uint32_t k = 0; k < lengths[i]; k++)
			ck_assert_uint_eq(arrived[at++], i + 1);
	}
	ck_assert_uint_eq(at, n_arrived);
}
END_TEST

START_TEST(both_ends_send)
{
	connect_for_messages(100, false);
	ck_assert_int_eq(send_bytes(domain[1]->groups, 100, 1), 0);
	ck_assert_int_eq(send_bytes(group, 50, 2), 0);
	TURN_UNTIL(n_messages == 2 && n_completed == 2);
	ck_assert_uint_eq(n_arrived, 150);
}
END_TEST

START_TEST(too_long_is_refused)
{
	connect_for_messages(64, false);
	ck_assert_int_eq(send_bytes(group, 65, 1), -EMSGSIZE);
	ck_assert_int_eq(send_bytes(group, 64, 1), 0);
	TURN_UNTIL(n_messages == 1 && n_completed == 1);
}
END_TEST

START_TEST(without_room_none_are_sent)
{
	connect_for_messages(0, false);
	ck_assert_int_eq(send_bytes(group, 0, 1), -EMSGSIZE);
}
END_TEST

START_TEST(more_than_may_be_outstanding)
{
	uint32_t tag = 0;

	connect_for_messages(64, true);
	while (send_bytes(group, 64, tag) == 0)
		tag++;
	ck_assert_uint_eq(tag, 16);
	for (time_t end = time(NULL) + PATIENCE_S; n_messages < 400;) {
		ck_assert(time(NULL) < end);
		turn();
		n_arrived = 0;
		if (tag < 400 && send_bytes(group, 64, tag) == 0)
			tag++;
		for (unsigned i = n_messages > 200 ? n_messages - 200 : 0; i < n_messages; i++)
			ck_assert_uint_eq(arrived_tags[i % 256], i);
	}
}
END_TEST

/* As if an immediate had arrived. */
static void deliver(struct fare_group *to, uint32_t imm)
{
	group_on_completion(to, &to->lanes->lane[0].qps[0].at,
			    &(struct qp_wc){.is_receive = true, .has_imm = true, .imm = imm});
}

/* A record before its turn is kept; a void one takes its turn, and makes no event. */
START_TEST(early_ones_wait_for_their_turn)
{
	struct ring_record r = {.is_message = true, .bytes = 3};
	struct fare_group *to;

	connect_for_messages(8, true);
	to = domain[1]->groups;
	for (uint64_t seq = 5; seq-- > 0;) {
		uint8_t *slot = to->transfer->records.ring.records +
				seq * to->transfer->records.ring.record_bytes;

		r.seq = r.tag = (uint32_t)seq;
		r.is_void = seq == 2;
		ring_fill(slot, &r);
		memset(slot + RING_RECORD_BYTES, (int)seq, 8);
		look(1);
		ck_assert_uint_eq(n_messages, 0);
		deliver(to, (uint32_t)seq);
	}
	look(1);
	ck_assert_uint_eq(n_messages, 4);
	ck_assert_mem_eq(arrived, "\0\0\0\1\1\1\3\3\3\4\4\4", 12);
}
END_TEST

/* What the peer writes there is not to be trusted. */
START_TEST(a_length_that_cannot_be)
{
	struct ring_record r = {.is_message = true, .bytes = 1 << 20};
	struct fare_group *to;

	connect_for_messages(8, false);
	to = domain[1]->groups;
	ring_fill(to->transfer->records.ring.records, &r);
	deliver(to, 0);
	TURN_UNTIL(n_closed == 2);
	ck_assert_uint_eq(n_messages, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("records");
	TCase *tc = tcase_create("messages");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, messages_arrive_whole);
	tcase_add_test(tc, both_ends_send);
	tcase_add_test(tc, too_long_is_refused);
	tcase_add_test(tc, without_room_none_are_sent);
	tcase_add_test(tc, more_than_may_be_outstanding);
	tcase_add_test(tc, early_ones_wait_for_their_turn);
	tcase_add_test(tc, a_length_that_cannot_be);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
