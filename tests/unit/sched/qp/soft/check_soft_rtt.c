/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers of RFC 6298; and both protocols in virtual time, over queues that grow. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/of_sender.h"
#include "qp/soft/rc_requester.h"

#include "own_regions.h"

#define MS	 UINT64_C(1000000)
#define FIRST_NS (536 * MS)
#define MTU	 1024u
#define WINDOW	 (64 * MTU)

START_TEST(the_timeout_follows_round_trips)
{
	struct soft_rtt rtt;

	soft_rtt_init(&rtt, FIRST_NS, 7);
	ck_assert_uint_eq(soft_rtt_timeout_ns(&rtt), FIRST_NS);
	soft_rtt_measured(&rtt, 40 * MS);
	ck_assert_uint_eq(soft_rtt_timeout_ns(&rtt), 120 * MS); /* R + 4 R/2 */
	soft_rtt_measured(&rtt, 72 * MS);
	/* 3/4 5 + 1/4 8 = 5.75; 7/8 10 + 1/8 18 = 11 */
	ck_assert_uint_eq(soft_rtt_timeout_ns(&rtt), 136 * MS);
	soft_rtt_back_off(&rtt);
	ck_assert_uint_eq(soft_rtt_timeout_ns(&rtt), 2 * 136 * MS);
	soft_rtt_back_off(&rtt);
	ck_assert_uint_eq(soft_rtt_timeout_ns(&rtt), FIRST_NS);
	soft_rtt_answered(&rtt); /* whatever that was an answer to */
	ck_assert_uint_eq(soft_rtt_timeout_ns(&rtt), 2 * 136 * MS);
	for (unsigned i = 0; i < 100; i++) {
		soft_rtt_back_off(&rtt);
		soft_rtt_answered(&rtt);
	}
	ck_assert_uint_lt(soft_rtt_timeout_ns(&rtt), 8 * FIRST_NS);
	ck_assert_uint_gt(soft_rtt_timeout_ns(&rtt), 3 * FIRST_NS);
	for (unsigned i = 0; i < 1000; i++)
		soft_rtt_measured(&rtt, 20000);
	ck_assert_uint_eq(soft_rtt_timeout_ns(&rtt), SOFT_RTT_MIN_NS);
}
END_TEST

/* Neither a path whose queues are full is given up, nor one of a process that did not run. */
START_TEST(attempts_count_as_well_as_time)
{
	struct soft_rtt rtt;
	uint64_t now = 1;

	soft_rtt_init(&rtt, FIRST_NS, 7);
	for (unsigned i = 0; i < 100; i++)
		soft_rtt_measured(&rtt, _i ? 600 * MS : 20000);
	now += 5000 * MS;
	for (unsigned i = 0; i < 7; i++) {
		ck_assert(!soft_rtt_gives_up(&rtt, 1, now));
		ck_assert_uint_eq(soft_rtt_deadline_ns(&rtt, 1, now),
				  now + soft_rtt_timeout_ns(&rtt));
		now = soft_rtt_deadline_ns(&rtt, 1, now);
		soft_rtt_back_off(&rtt);
	}
	ck_assert(soft_rtt_gives_up(&rtt, 1, now));
	soft_rtt_answered(&rtt);
	ck_assert(!soft_rtt_gives_up(&rtt, now, now + 8 * FIRST_NS));
}
END_TEST

static struct rc_requester rc;
static struct of_sender of;
static struct qp_stats stats;
static uint8_t source[1 << 20];
static unsigned completed;

static void on_complete(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes)
{
	(void)arg;
	(void)wr_id;
	(void)bytes;
	ck_assert_int_eq(status, QP_WC_SUCCESS);
	completed++;
}

static void start(void)
{
	struct rc_requester_config config = {.path_mtu = MTU,
					     .window_bytes = WINDOW,
					     .batch_bytes = 8 * MTU,
					     .timeout_ns = FIRST_NS,
					     .retry_cnt = 7,
					     .regions = &own_regions,
					     .stats = &stats,
					     .on_complete = on_complete};

	memset(&stats, 0, sizeof(stats));
	completed = 0;
	own_regions_start(source, sizeof(source));
	ck_assert_int_eq(rc_requester_init(&rc, &config), 0);
	ck_assert_int_eq(of_sender_init(&of, &config), 0);
}

static unsigned take_burst(bool order_free, struct roce_packet *p, uint64_t now)
{
	unsigned n;

	ck_assert_int_eq(order_free ? of_sender_burst(&of, p, RC_BURST_PACKETS, &n)
				    : rc_requester_burst(&rc, p, RC_BURST_PACKETS, &n),
			 QP_WC_SUCCESS);
	if (order_free)
		of_sender_sent(&of, n, now);
	else
		rc_requester_sent(&rc, n, now);
	return n;
}

/*
 * A link of a packet each delay_ns behind a queue that other traffic keeps full for longer and
 * longer. Nothing is ever lost; so next to nothing may be sent again, and nobody may give up.
 */
START_TEST(a_queue_that_grows_is_no_loss)
{
	enum { N = 4096 };
	static struct {
		uint64_t at;
		uint32_t psn;
		bool ack;
	} link[N];
	unsigned head = 0, tail = 0, posted = 0;
	uint64_t queue = _i / 2 ? 500 * MS : 2 * MS; /* how long it holds a packet now */
	uint32_t expected = 0;
	bool order_free = _i % 2;

	start();
	for (uint64_t now = 1; now < 20000 * MS; now += MS / 4) {
		struct qp_work w = {.data = source, .lkey = own_mr.lkey, .length = 16 * MTU};
		struct roce_packet p[RC_BURST_PACKETS];
		unsigned n;

		while (posted - completed < 8 && ++posted)
			ck_assert_int_eq(order_free ? of_sender_post(&of, &w)
						    : rc_requester_post(&rc, &w),
					 0);
		queue += queue < 900 * MS ? MS / 16 : 0;
		while ((n = take_burst(order_free, p, now)))
			for (unsigned i = 0; i < n; i++) {
				link[tail % N].at = now + queue;
				link[tail % N].psn = p[i].psn;
				link[tail++ % N].ack = p[i].ack_req;
				ck_assert_uint_lt(tail - head, N);
			}
		for (; head != tail && link[head % N].at <= now; head++) {
			struct roce_packet ack = {.opcode = ROCE_ACK,
						  .syndrome = ROCE_SYNDROME_ACK};

			expected += link[head % N].psn == expected;
			ack.psn = (expected - 1) & ROCE_PSN_MASK;
			if (link[head % N].ack || link[head % N].psn + 1 < expected)
				ck_assert_int_eq(order_free ? of_sender_on_ack(&of, &ack, now)
							    : rc_requester_on_ack(&rc, &ack, now),
						 0);
		}
		ck_assert_int_eq(order_free ? of_sender_on_timer(&of, now)
					    : rc_requester_on_timer(&rc, now),
				 0);
	}
	ck_assert_uint_gt(completed, 80);
	ck_assert_msg(stats.retransmitted_packets * 20 <= stats.tx_packets,
		      "%lu of %lu packets again, %lu time-outs", stats.retransmitted_packets,
		      stats.tx_packets, stats.timeouts);
	rc_requester_fini(&rc);
	of_sender_fini(&of);
}
END_TEST

/* A path that dies is given up after as long as ever, however short its round trips were. */
START_TEST(a_dead_path_is_given_up_in_time)
{
	struct qp_work w = {.data = source, .length = MTU};
	struct roce_packet p[RC_BURST_PACKETS],
		ack = {.opcode = ROCE_ACK, .syndrome = ROCE_SYNDROME_ACK};
	bool order_free = _i == 1;
	enum qp_wc_status status = 0;
	uint64_t now = MS, died;

	start();
	w.lkey = own_mr.lkey;
	for (uint32_t i = 0; i < 50; i++) {
		ck_assert_int_eq(order_free ? of_sender_post(&of, &w) : rc_requester_post(&rc, &w),
				 0);
		ck_assert_uint_eq(take_burst(order_free, p, now), 1);
		if (i == 49)
			break;
		ack.psn = i;
		now += 20000;
		ck_assert_int_eq(order_free ? of_sender_on_ack(&of, &ack, now)
					    : rc_requester_on_ack(&rc, &ack, now),
				 0);
	}
	died = now;
	while (!status) {
		now = order_free ? of.deadline_ns : rc.deadline_ns;
		ck_assert_uint_le(now, died + 8 * FIRST_NS);
		status =
			order_free ? of_sender_on_timer(&of, now) : rc_requester_on_timer(&rc, now);
		while (!status && take_burst(order_free, p, now))
			;
	}
	ck_assert_int_eq(status, QP_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(now, died + 8 * FIRST_NS);
	/* 100, 200, 400, ... ms: tried early, and all the time */
	ck_assert_uint_ge(stats.timeouts, 7);
	rc_requester_fini(&rc);
	of_sender_fini(&of);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_rtt");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, the_timeout_follows_round_trips);
	tcase_add_loop_test(t, attempts_count_as_well_as_time, 0, 2);
	tcase_add_loop_test(t, a_queue_that_grows_is_no_loss, 0, 4);
	tcase_add_loop_test(t, a_dead_path_is_given_up_in_time, 0, 2);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
