/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester alone, and both halves of a connection across a simulated channel that loses,
 * doubles and reorders packets as a seed says.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/rc_requester.h"
#include "qp/soft/rc_responder.h"

#include "own_regions.h"

#define MTU	   256u
#define TIMEOUT_NS 1000000u
#define MAX_DONE   1024

static struct qp_stats stats;
static uint8_t source[1 << 20];
static struct {
	uint64_t wr_id[MAX_DONE];
	enum qp_wc_status status[MAX_DONE];
	unsigned n;
} done;

static void on_complete(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes)
{
	(void)arg;
	(void)bytes;
	ck_assert_uint_lt(done.n, MAX_DONE);
	done.wr_id[done.n] = wr_id;
	done.status[done.n++] = status;
}

static void start(struct rc_requester *r, uint32_t window, uint32_t batch, unsigned retries)
{
	struct rc_requester_config config = {
		.path_mtu = MTU,
		.window_bytes = window,
		.batch_bytes = batch,
		.timeout_ns = TIMEOUT_NS,
		.retry_cnt = retries,
		.first_psn = 0xfffffd,
		.remote_qpn = 9,
		.regions = &own_regions,
		.stats = &stats,
		.on_complete = on_complete,
	};

	memset(&done, 0, sizeof(done));
	memset(&stats, 0, sizeof(stats));
	own_regions_start(source, sizeof(source));
	ck_assert_int_eq(rc_requester_init(r, &config), 0);
}

/* What is to be sent now, of memory that is there. */
static unsigned burst(struct rc_requester *r, struct roce_packet *out, unsigned max)
{
	unsigned n;

	ck_assert_int_eq(rc_requester_burst(r, out, max, &n), QP_WC_SUCCESS);
	return n;
}

static void post(struct rc_requester *r, uint64_t id, uint32_t bytes, unsigned flags)
{
	struct qp_work w = {.wr_id = id,
			    .data = source,
			    .lkey = own_mr.lkey,
			    .length = bytes,
			    .flags = flags,
			    .imm = (uint32_t)id};

	ck_assert_int_eq(rc_requester_post(r, &w), 0);
}

static enum qp_wc_status answer(struct rc_requester *r, uint32_t psn, uint8_t syndrome,
				uint64_t now)
{
	struct roce_packet p = {
		.opcode = ROCE_ACK, .psn = psn & ROCE_PSN_MASK, .syndrome = syndrome};

	return rc_requester_on_ack(r, &p, now);
}

START_TEST(messages_are_cut_as_the_opcodes_say)
{
	static const uint8_t want[] = {ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE,  ROCE_WRITE_LAST_IMM,
				       ROCE_WRITE_ONLY,	 ROCE_WRITE_ONLY,    ROCE_WRITE_ONLY,
				       ROCE_WRITE_ONLY,	 ROCE_WRITE_ONLY_IMM};
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1 << 16, 2 * MTU, 1);
	post(&r, 1, 2 * MTU + 1, QP_WR_IMM);
	post(&r, 2, MTU, 0);
	post(&r, 3, 3 * MTU, 0);	/* a row, although more than a batch */
	r.config.batch_bytes = 1 << 16; /* one burst shows all */
	post(&r, 4, 0, QP_WR_IMM);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), sizeof(want));
	for (unsigned i = 0; i < sizeof(want); i++) {
		ck_assert_uint_eq(p[i].opcode, want[i]);
		ck_assert_uint_eq(p[i].psn, (0xfffffd + i) & 0xffffff);
		ck_assert(p[i].ack_req == (i + 1 == sizeof(want)));
	}
	ck_assert_uint_eq(p[0].dma_bytes, 2 * MTU + 1);
	ck_assert_uint_eq(p[2].payload_bytes, 1);
	ck_assert_ptr_eq(p[2].payload, source + 2 * MTU);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(answers_are_asked_for_now_and_then)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 18 * MTU, 2 * MTU, 1);
	post(&r, 1, 40 * MTU, 0);
	/*
	 * a quarter of the window is four packets and a half: every third burst asks, and the last
	 * that fits
	 */
	for (unsigned i = 1; i <= 9; i++) {
		ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 2);
		ck_assert(!p[0].ack_req);
		ck_assert(p[1].ack_req == (i % 3 == 0));
		rc_requester_sent(&r, 2, 1);
	}
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 0);
	/*
	 * the window shrank, and all that was asked for has come: what waits must not wait for ever
	 */
	ck_assert_int_eq(answer(&r, 0xfffffd + 17, ROCE_SYNDROME_ACK, 2), 0);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 2);
	rc_requester_sent(&r, 2, 3);
	r.window.bytes = 2 * MTU;
	ck_assert_uint_gt(burst(&r, p, RC_BURST_PACKETS), 0);
	ck_assert(p[0].ack_req);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(a_batch_that_notifies_nobody_is_a_row)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct qp_work w = {.data = source, .length = 2 * MTU + 1, .remote_addr = 1000, .rkey = 5};
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 1);
	w.lkey = own_mr.lkey;
	ck_assert_int_eq(rc_requester_post(&r, &w), 0);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(p[i].opcode, ROCE_WRITE_ONLY);
		ck_assert_uint_eq(p[i].remote_addr, 1000 + i * MTU);
		ck_assert_uint_eq(p[i].dma_bytes, i < 2 ? MTU : 1);
		ck_assert_uint_eq(p[i].payload_bytes, p[i].dma_bytes);
		ck_assert_uint_eq(p[i].rkey, 5);
	}
	rc_requester_sent(&r, 3, 1);
	answer(&r, 0xfffffd + 1, ROCE_SYNDROME_ACK, 2);
	ck_assert_uint_eq(done.n, 0); /* one write to whoever posted it */
	answer(&r, 0xfffffd + 2, ROCE_SYNDROME_ACK, 2);
	ck_assert_uint_eq(done.n, 1);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(loss_shrinks_the_window_and_progress_grows_it)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	uint32_t psn = 0xfffffd;
	unsigned n, rounds = 0;

	start(&r, 16 * MTU, MTU, 7);
	post(&r, 1, 1000 * MTU, 0);
	for (n = 0; burst(&r, p, RC_BURST_PACKETS); n++)
		rc_requester_sent(&r, 1, 1);
	ck_assert_uint_eq(n, 16);
	answer(&r, psn, ROCE_SYNDROME_NAK_SEQUENCE, 2);
	ck_assert_uint_eq(r.window.bytes, 8 * MTU);
	answer(&r, psn, ROCE_SYNDROME_NAK_SEQUENCE, 2); /* the same loss */
	ck_assert_uint_eq(r.window.bytes, 8 * MTU);
	ck_assert_int_eq(rc_requester_on_timer(&r, r.deadline_ns), 0);
	ck_assert_uint_eq(r.window.bytes, MTU);
	for (; r.window.bytes < 16 * MTU; rounds++) {
		ck_assert_uint_lt(rounds, 1000);
		while (burst(&r, p, RC_BURST_PACKETS))
			rc_requester_sent(&r, 1, 3);
		answer(&r, (uint32_t)r.next - 1, ROCE_SYNDROME_ACK, 4);
	}
	ck_assert_uint_gt(rounds,
			  8); /* fast up to half of what was lost at, then a packet a round */
	rc_requester_fini(&r);
}
END_TEST

START_TEST(the_window_holds_and_batches_stay_whole)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 10 * MTU, 4 * MTU, 1);
	post(&r, 1, 100 * MTU, 0);
	for (unsigned want = 4, round = 0; round < 2; round++) {
		ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), want);
		rc_requester_sent(&r, want, 1);
	}
	/* two packets would fit, but a small batch costs as much as a whole one */
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 0);
	answer(&r, 0xfffffd + 1, ROCE_SYNDROME_ACK, 2);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 4);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(a_small_window_and_the_tail_do_not_wait)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1, 4 * MTU, 1); /* raised to one packet */
	post(&r, 1, 3 * MTU, 0);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 1);
	rc_requester_sent(&r, 1, 1);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 0);
	answer(&r, 0xfffffd, ROCE_SYNDROME_ACK, 2);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 1);
	rc_requester_fini(&r);
	start(&r, 8 * MTU, 4 * MTU, 1);
	post(&r, 1, 5 * MTU, 0);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 4);
	rc_requester_sent(&r, 4, 1);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 1);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(a_gap_is_sent_again_from_its_start)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 1);
	post(&r, 1, MTU, 0);
	post(&r, 2, 3 * MTU, QP_WR_IMM);
	rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), 1);
	ck_assert_int_eq(answer(&r, 0xfffffd + 2, ROCE_SYNDROME_NAK_SEQUENCE, 2), 0);
	ck_assert_uint_eq(done.n, 1);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 2);
	ck_assert_uint_eq(p[0].psn, 0xffffff);
	ck_assert_uint_eq(p[0].opcode, ROCE_WRITE_MIDDLE);
	rc_requester_sent(&r, 2, 3);
	ck_assert_uint_eq(stats.retransmitted_packets, 2);
	ck_assert_uint_eq(stats.naks_received, 1);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(answers_outside_the_window_change_nothing)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 1);
	ck_assert_int_eq(answer(&r, 0xfffffd, ROCE_SYNDROME_ACK, 1), 0);
	post(&r, 1, 2 * MTU, 0);
	ck_assert_int_eq(answer(&r, 0xfffffd, ROCE_SYNDROME_ACK, 1), 0); /* posted, not sent */
	rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), 1);
	ck_assert_int_eq(answer(&r, 0xfffffc, ROCE_SYNDROME_ACK, 1), 0);
	ck_assert_int_eq(answer(&r, 0xfffffc, ROCE_SYNDROME_NAK_REMOTE_ACCESS, 1), 0);
	ck_assert_int_eq(answer(&r, 0xffffff, ROCE_SYNDROME_ACK, 1), 0);
	ck_assert_int_eq(answer(&r, 0xfffffd, 0x20, 1), 0); /* receiver not ready */
	ck_assert_int_eq(answer(&r, 0xfffffd, 0x7f, 1), 0); /* a NAK of nobody's */
	ck_assert_uint_eq(done.n, 0);
	ck_assert_int_eq(answer(&r, 0xfffffe, ROCE_SYNDROME_ACK, 1), 0);
	ck_assert_uint_eq(done.n, 1);
	rc_requester_fini(&r);
}
END_TEST

/* Nothing was ever measured: the time-out is what was said, retry_cnt times. */
START_TEST(silence_ends_after_the_retries)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	uint64_t now = 5;

	start(&r, 1 << 16, 1 << 16, 7);
	post(&r, 1, MTU, 0);
	post(&r, 2, MTU, 0);
	rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), now);
	ck_assert_uint_eq(r.deadline_ns, now + TIMEOUT_NS);
	ck_assert_int_eq(rc_requester_on_timer(&r, now + TIMEOUT_NS - 1), 0);
	ck_assert(!rc_requester_has_unsent(&r));
	for (unsigned i = 0; i < 7; i++) {
		now = r.deadline_ns;
		ck_assert_uint_eq(now, 5 + (i + 1) * TIMEOUT_NS);
		ck_assert_int_eq(rc_requester_on_timer(&r, now), 0);
		ck_assert(rc_requester_has_unsent(&r));
		rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), now);
	}
	ck_assert_uint_eq(r.deadline_ns, 5 + 8 * TIMEOUT_NS);
	ck_assert_int_eq(rc_requester_on_timer(&r, r.deadline_ns), QP_WC_RETRY_EXC_ERR);
	rc_requester_fail(&r, QP_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(done.n, 2);
	ck_assert_int_eq(done.status[0], QP_WC_RETRY_EXC_ERR);
	ck_assert_int_eq(done.status[1], QP_WC_FLUSH_ERR);
	ck_assert_uint_eq(stats.timeouts, 8);
	ck_assert_uint_eq(r.deadline_ns, 0);
	rc_requester_fini(&r);
}
END_TEST

/* ... of what was sent again nothing is measured, so the time-out stays as long as it was. */
START_TEST(progress_restarts_the_timer)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 7);
	post(&r, 1, 4 * MTU, 0);
	rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), 1);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t now = r.deadline_ns;

		ck_assert_int_eq(rc_requester_on_timer(&r, now), 0);
		rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), now);
		answer(&r, 0xfffffd + i, ROCE_SYNDROME_ACK, now + 7);
		ck_assert_uint_eq(r.deadline_ns, now + 7 + (i ? 4 : 2) * TIMEOUT_NS);
	}
	ck_assert_uint_eq(r.rtt.srtt_ns, 0);
	answer(&r, 0xfffffd + 3, ROCE_SYNDROME_ACK, r.progress_ns + 9);
	ck_assert_uint_eq(r.deadline_ns, 0);
	rc_requester_fini(&r);
}
END_TEST

/* The timer was too early: the answer tells of more than what was sent again. */
START_TEST(packets_that_were_only_late_are_not_sent_again)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	uint64_t now = 10;

	start(&r, 16 * MTU, 4 * MTU, 7);
	post(&r, 1, 16 * MTU, 0);
	post(&r, 2, 16 * MTU, 0);
	for (unsigned i = 0; i < 4; i++)
		rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), now);
	ck_assert_uint_eq(r.next - r.una, 16);
	for (unsigned i = 0; i < 2; i++) {
		now = r.deadline_ns;
		ck_assert_int_eq(rc_requester_on_timer(&r, now), 0);
		ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 1);
		rc_requester_sent(&r, 1, now);
	}
	now += TIMEOUT_NS;
	answer(&r, 0xfffffd + 3, ROCE_SYNDROME_ACK, now);
	ck_assert_uint_eq(r.window.bytes, 16 * MTU);
	ck_assert_uint_eq(r.rtt.srtt_ns, now - 10); /* the last of the first burst was timed */
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 4);
	ck_assert_uint_eq(p[0].psn, (0xfffffd + 16) & ROCE_PSN_MASK); /* what comes next */
	rc_requester_sent(&r, 4, now);
	ck_assert_uint_eq(stats.retransmitted_packets, 2);
	ck_assert_uint_eq(r.deadline_ns, now + soft_rtt_timeout_ns(&r.rtt));
	answer(&r, 0xfffffd + 15, ROCE_SYNDROME_ACK, now + 1);
	ck_assert_uint_eq(done.n, 1);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(a_late_answer_after_going_back_skips_what_arrived)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 3);
	post(&r, 1, 2 * MTU, 0);
	post(&r, 2, 2 * MTU, QP_WR_IMM);
	rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), 1);
	rc_requester_kick(&r, 2);
	answer(&r, 0xfffffd + 2, ROCE_SYNDROME_ACK, 3); /* beyond next, which went back */
	ck_assert_uint_eq(done.n, 1);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 1);
	ck_assert_uint_eq(p[0].opcode, ROCE_WRITE_LAST_IMM);
	rc_requester_fini(&r);
}
END_TEST

static void post_read(struct rc_requester *r, uint64_t id, uint32_t bytes)
{
	struct qp_work w = {.op = QP_OP_READ,
			    .wr_id = id,
			    .data = source,
			    .lkey = own_mr.lkey,
			    .length = bytes,
			    .remote_addr = 1000,
			    .rkey = 5};

	ck_assert_int_eq(rc_requester_post(r, &w), 0);
}

START_TEST(a_read_is_asked_for_in_pieces_that_fit_the_window)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	uint32_t psn = 0xfffffd;

	start(&r, 8 * MTU, 64 * MTU, 7); /* so two packets a piece */
	post_read(&r, 1, 11 * MTU + 3);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 4); /* all of the window */
	rc_requester_sent(&r, 4, 1);
	ck_assert_uint_eq(burst(&r, p + 4, RC_BURST_PACKETS), 0);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(p[i].opcode, ROCE_READ_REQUEST);
		ck_assert_uint_eq(p[i].psn, (psn + 2 * i) & ROCE_PSN_MASK);
		ck_assert_uint_eq(p[i].remote_addr, 1000 + 2 * i * MTU);
		ck_assert_uint_eq(p[i].dma_bytes, 2 * MTU);
		ck_assert_uint_eq(p[i].payload_bytes, 0);
	}
	/* a piece is asked for again from where it broke off to its own end, not beyond */
	ck_assert_int_eq(
		rc_requester_on_ack(&r,
				    &(struct roce_packet){.psn = (psn + 3) & ROCE_PSN_MASK,
							  .syndrome = ROCE_SYNDROME_NAK_SEQUENCE},
				    2),
		0);
	ck_assert_uint_eq(r.una, psn); /* no acknowledgement stands for a read response */
	ck_assert_uint_eq(r.next, psn);
	ck_assert_uint_eq(stats.tx_bytes, 0);
	rc_requester_fini(&r);
}
END_TEST

/* Whole super-packets between the three packets around the border of two requests. */
START_TEST(a_piece_of_a_read_makes_whole_super_packets)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 128 * MTU, 8 * MTU, 7);
	post_read(&r, 1, 1000 * MTU);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(p[i].dma_bytes, (4 * 8 + 3) * MTU);
	rc_requester_fini(&r);
}
END_TEST

/* What a READ is long in a small window: whole super-packets if three quarters of it hold them. */
static const struct {
	uint32_t window, batch, read;
} small_windows[] = {
	{46, 15, 33}, /* 192 KiB of 4096 bytes */
	{32, 15, 18}, {23, 15, 18}, {22, 15, 5}, {16, 15, 4}, {3, 15, 1}, {1, 1, 1},
};

START_TEST(a_piece_of_a_read_leaves_room_for_the_next)
{
	uint32_t window = small_windows[_i].window, read = small_windows[_i].read;
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	unsigned n;

	start(&r, window * MTU, small_windows[_i].batch * MTU, 7);
	post_read(&r, 1, 1000 * MTU);
	n = burst(&r, p, RC_BURST_PACKETS);
	ck_assert_uint_eq(n, window / read < QP_MAX_READS ? window / read : QP_MAX_READS);
	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_eq(p[i].dma_bytes, read * MTU);
	rc_requester_fini(&r);
}
END_TEST

static struct roce_packet response(uint32_t psn, uint8_t opcode, const void *payload,
				   uint32_t bytes)
{
	return (struct roce_packet){.opcode = opcode,
				    .psn = psn & ROCE_PSN_MASK,
				    .syndrome = ROCE_SYNDROME_ACK,
				    .payload = payload,
				    .payload_bytes = bytes};
}

START_TEST(responses_land_in_order_and_a_missing_one_is_asked_for_again)
{
	static uint8_t to[4 * MTU], from[MTU];
	struct roce_packet p[RC_BURST_PACKETS], a;
	struct qp_mr mr;
	struct rc_requester r;
	uint32_t psn = 0xfffffd;
	struct qp_work w = {.op = QP_OP_READ, .wr_id = 7, .data = to, .length = 3 * MTU + 1};

	memset(from, 0x33, sizeof(from));
	start(&r, 64 * MTU, 64 * MTU, 7);
	ck_assert_int_eq(mr_table_add(&own_regions, to, sizeof(to), 0, 3, &mr), 0);
	w.lkey = mr.lkey;
	post(&r, 1, 4, 0);
	ck_assert_int_eq(rc_requester_post(&r, &w), 0);
	post(&r, 2, 4, 0);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 3);
	ck_assert_uint_eq(p[2].psn, (psn + 5) & ROCE_PSN_MASK);
	rc_requester_sent(&r, 3, 1);
	a = response(psn + 1, ROCE_READ_RESPONSE_FIRST, from, MTU);
	/* says that the write before it is placed */
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 2), 0);
	ck_assert_uint_eq(done.n, 1);
	ck_assert_uint_eq(to[MTU - 1], 0x33);
	a = response(psn + 3, ROCE_READ_RESPONSE_MIDDLE, from, MTU);
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 3), 0);
	ck_assert_uint_eq(to[2 * MTU], 0);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 2);
	ck_assert_uint_eq(p[0].psn, (psn + 2) & ROCE_PSN_MASK);
	ck_assert_uint_eq(p[0].dma_bytes, 2 * MTU + 1);
	rc_requester_sent(&r, 2, 4);
	/* another of those behind the gap */
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 5), 0);
	ck_assert_int_eq(answer(&r, psn + 5, ROCE_SYNDROME_ACK, 5), 0);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 0); /* once is enough */
	a = response(psn + 2, ROCE_READ_RESPONSE_FIRST, from, MTU);
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 6), 0);
	a = response(psn + 3, ROCE_READ_RESPONSE_MIDDLE, from, MTU);
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 6), 0);
	a = response(psn + 4, ROCE_READ_RESPONSE_LAST, from, 1);
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 6), 0);
	ck_assert_uint_eq(done.n, 2);
	ck_assert_uint_eq(done.wr_id[1], 7);
	ck_assert_uint_eq(to[3 * MTU], 0x33);
	ck_assert_uint_eq(to[3 * MTU + 1], 0);
	memset(to, 0, sizeof(to)); /* the reader's again: no late answer may land */
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 7), 0);
	ck_assert_uint_eq(to[3 * MTU], 0);
	ck_assert_int_eq(answer(&r, psn + 5, ROCE_SYNDROME_ACK, 7), 0);
	ck_assert_uint_eq(done.n, 3);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(a_response_of_the_wrong_length_or_without_memory_is_fatal)
{
	static uint8_t from[2 * MTU];
	struct rc_requester r;
	struct roce_packet p[4], a = response(0xfffffd, ROCE_READ_RESPONSE_ONLY, from, 5);

	start(&r, 64 * MTU, 64 * MTU, 7);
	post_read(&r, 1, 4);
	post_read(&r, 2, 4);
	rc_requester_sent(&r, burst(&r, p, 4), 1);
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 2), QP_WC_BAD_RESP_ERR);
	a.payload_bytes = 4;
	ck_assert_int_eq(mr_table_remove(&own_regions, &own_mr), 0);
	ck_assert_int_eq(rc_requester_on_response(&r, &a, 2), QP_WC_LOC_PROT_ERR);
	rc_requester_fail(&r, QP_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(done.n, 2);
	ck_assert_int_eq(done.status[0], QP_WC_LOC_PROT_ERR);
	ck_assert_int_eq(done.status[1], QP_WC_FLUSH_ERR);
	rc_requester_fini(&r);
}
END_TEST

enum { FIRST_TIME, AGAIN, BEHIND_OTHERS };

/* A region that goes while work names it, before or after the work was sent the first time. */
START_TEST(memory_that_is_gone_is_not_read)
{
	static uint8_t other[4 * MTU];
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	struct qp_work w = {.wr_id = 2, .data = other, .length = sizeof(other)};
	struct qp_mr mr, again;
	unsigned n;

	start(&r, 64 * MTU, 64 * MTU, 7);
	ck_assert_int_eq(mr_table_add(&own_regions, other, sizeof(other), 0, 3, &mr), 0);
	w.lkey = mr.lkey;
	w.op = _i / 3 ? QP_OP_READ : QP_OP_WRITE;
	if (_i % 3 == BEHIND_OTHERS)
		post(&r, 1, 2 * MTU, 0);
	ck_assert_int_eq(rc_requester_post(&r, &w), 0);
	if (_i % 3 == AGAIN) {
		rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), 1);
		rc_requester_kick(&r, 2);
	}
	ck_assert_int_eq(mr_table_remove(&own_regions, &mr), 0);
	/* the same memory once more is another region */
	ck_assert_int_eq(mr_table_add(&own_regions, other, sizeof(other), 0, 3, &again), 0);
	if (_i % 3 == BEHIND_OTHERS) {
		ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 2);
		rc_requester_sent(&r, 2, 1);
	}
	ck_assert_int_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS, &n), QP_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(n, 0);
	rc_requester_fail(&r, QP_WC_LOC_PROT_ERR);
	ck_assert_int_eq(done.status[done.n - 1], QP_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(done.n, _i % 3 == BEHIND_OTHERS ? 2 : 1);
	if (done.n == 2)
		ck_assert_int_eq(done.status[0], QP_WC_FLUSH_ERR);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(only_so_many_reads_are_under_way)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 64 * MTU, 64 * MTU, 7);
	for (unsigned i = 0; i < QP_MAX_READS + 1; i++)
		post_read(&r, i, 1);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), QP_MAX_READS);
	rc_requester_sent(&r, QP_MAX_READS, 1);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 0);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(not_ready_is_waited_out_and_counted)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	uint32_t psn = 0xfffffd;
	uint64_t now = 5;

	start(&r, 64 * MTU, 64 * MTU, 1);
	r.config.rnr_limit = 3;
	for (unsigned i = 0; i < 2; i++)
		post(&r, i, 4, QP_WR_IMM);
	rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), 1);
	ck_assert_int_eq(answer(&r, psn + 1, ROCE_SYNDROME_RNR | 12, now), 0);
	ck_assert_uint_eq(done.n, 1); /* the first was taken */
	ck_assert_uint_eq(r.deadline_ns, now + 640000);
	/* the same */
	ck_assert_int_eq(answer(&r, psn + 1, ROCE_SYNDROME_RNR | 12, now), 0);
	/* of no use now */
	ck_assert_int_eq(answer(&r, psn + 1, ROCE_SYNDROME_NAK_SEQUENCE, now), 0);
	rc_requester_kick(&r, now);
	ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 0);
	ck_assert_uint_eq(r.window.bytes, 64 * MTU); /* nothing was lost */
	for (unsigned seen = 1; seen < 3; seen++) {
		now = r.deadline_ns;
		ck_assert_int_eq(rc_requester_on_timer(&r, now), 0);
		ck_assert_uint_eq(stats.timeouts, 0);
		ck_assert_uint_eq(burst(&r, p, RC_BURST_PACKETS), 1);
		rc_requester_sent(&r, 1, now);
		ck_assert_int_eq(answer(&r, psn + 1, ROCE_SYNDROME_RNR | 12, now),
				 seen < 2 ? 0 : QP_WC_RNR_RETRY_EXC_ERR);
	}
	rc_requester_fail(&r, QP_WC_RNR_RETRY_EXC_ERR);
	ck_assert_int_eq(done.status[1], QP_WC_RNR_RETRY_EXC_ERR);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(the_guilty_work_gets_the_status)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	uint32_t psn = 0xfffffd;

	start(&r, 64 * MTU, 64 * MTU, 1);
	post_read(&r, 1, 4);
	post(&r, 2, 4, 0);
	post(&r, 3, 4, 0);
	rc_requester_sent(&r, burst(&r, p, RC_BURST_PACKETS), 1);
	/* the answer to the read was lost; the write behind it has a bad key */
	ck_assert_int_eq(answer(&r, psn + 1, ROCE_SYNDROME_NAK_REMOTE_ACCESS, 2),
			 QP_WC_REM_ACCESS_ERR);
	rc_requester_fail(&r, QP_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(done.status[0], QP_WC_FLUSH_ERR);
	ck_assert_int_eq(done.status[1], QP_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(done.status[2], QP_WC_FLUSH_ERR);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(the_queue_is_bounded)
{
	struct qp_work w = {.length = 0};
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 1);
	for (unsigned i = 0; i < RC_QUEUE_DEPTH; i++)
		ck_assert_int_eq(rc_requester_post(&r, &w), 0);
	ck_assert_int_eq(rc_requester_post(&r, &w), -ENOBUFS);
	rc_requester_fail(&r, QP_WC_FLUSH_ERR);
	ck_assert_uint_eq(done.n, RC_QUEUE_DEPTH);
	ck_assert_int_eq(done.status[0], QP_WC_FLUSH_ERR);
	ck_assert_int_eq(rc_requester_post(&r, &w), 0);
	rc_requester_fini(&r);
}
END_TEST

/* ---- both halves over a bad channel ---- */

#define CHANNEL 512
#define ITEMS	120

struct in_flight {
	struct roce_packet packet;
	uint64_t due;
	bool live;
};

static uint32_t seed;

static uint32_t draw(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

/* Loses one in 12, doubles one in 12, delays by 1..9 steps: reordered as the delays fall. */
static void channel_put(struct in_flight *channel, const struct roce_packet *p, uint64_t step)
{
	unsigned copies = draw(12) == 0 ? 0 : draw(12) == 0 ? 2 : 1;

	for (unsigned i = 0; i < CHANNEL && copies; i++) {
		if (channel[i].live)
			continue;
		channel[i] = (struct in_flight){
			.packet = *p, .due = step + 1 + (draw(6) ? 0 : draw(9)), .live = true};
		copies--;
	}
}

static struct roce_packet *channel_get(struct in_flight *channel, uint64_t step)
{
	struct in_flight *best = NULL;

	for (unsigned i = 0; i < CHANNEL; i++)
		if (channel[i].live && channel[i].due <= step &&
		    (!best || channel[i].due < best->due))
			best = &channel[i];
	if (!best)
		return NULL;
	best->live = false;
	return &best->packet;
}

#define STEP_NS 100000u

/* What is posted: number i of it works on bytes [offset, offset + length) of source and target. */
struct item {
	enum qp_op op;
	uint64_t offset;
	uint32_t length;
	bool imm;
};

struct world {
	struct rc_requester tx;
	struct rc_responder rx;
	struct rc_receives receives;
	struct mr_table regions;
	struct qp_mr source_mr, target_mr;
	struct in_flight forth[CHANNEL], back[CHANNEL];
	uint8_t *target;
	struct item items[ITEMS];
	unsigned posted, notified, received; /* received: up to which item receives were posted */
	bool has_receives;
};

static bool takes_receive(const struct item *it)
{
	return it->op == QP_OP_SEND || it->imm;
}

static void plan(struct world *w, uint64_t *total)
{
	*total = 0;
	for (unsigned i = 0; i < ITEMS; i++) {
		struct item *it = &w->items[i];

		it->op = (enum qp_op)draw(3);
		it->length = draw(5) == 0 ? 0 : draw(4) == 0 ? MTU * (1 + draw(5)) : draw(3000);
		if (it->op == QP_OP_SEND && !w->has_receives)
			it->length = 0;
		it->imm = it->op != QP_OP_READ && draw(3) == 0;
		it->offset = *total;
		*total += it->length;
	}
	for (uint64_t i = 0; i < *total; i++)
		source[i] = (uint8_t)draw(256);
	w->target = calloc(1, *total + 1);
	/* the same table serves both ends: keys and rights keep them apart */
	ck_assert_int_eq(mr_table_add(&w->regions, w->target, *total + 1, QP_ACCESS_REMOTE_WRITE,
				      draw(UINT32_MAX), &w->target_mr),
			 0);
	ck_assert_int_eq(mr_table_add(&w->regions, source, sizeof(source), QP_ACCESS_REMOTE_READ,
				      draw(UINT32_MAX), &w->source_mr),
			 0);
	ck_assert_int_eq(rc_receives_init(&w->receives, w->has_receives ? 8 : 0), 0);
}

static void post_more(struct world *w)
{
	while (w->posted < ITEMS && draw(4)) {
		const struct item *it = &w->items[w->posted];
		uint8_t *from = source + it->offset, *to = w->target + it->offset;
		bool is_read = it->op == QP_OP_READ;
		struct qp_work work = {
			.op = it->op,
			.wr_id = w->posted,
			.data = is_read ? to : from,
			.lkey = is_read ? w->target_mr.lkey : w->source_mr.lkey,
			.length = it->length,
			.remote_addr = (uintptr_t)(is_read ? from : to),
			.rkey = is_read ? w->source_mr.rkey : w->target_mr.rkey,
			.flags = it->imm ? QP_WR_IMM : 0,
			.imm = w->posted++,
		};

		ck_assert_int_eq(rc_requester_post(&w->tx, &work), 0);
	}
	/* now and then there is no receive */
	while (w->has_receives && w->received < ITEMS && draw(12)) {
		const struct item *it = &w->items[w->received];
		struct qp_recv recv = {.wr_id = w->received,
				       .data = w->target + it->offset,
				       .lkey = w->target_mr.lkey,
				       .length = it->length};

		if (takes_receive(it) && rc_receives_post(&w->receives, &recv))
			break;
		w->received++;
	}
}

/* Notifications come in the order of posting, when all of the message is placed. */
static void on_notice(struct world *w, const struct rc_notice *notice)
{
	const struct item *it;

	while (!takes_receive(&w->items[w->notified]))
		w->notified++;
	it = &w->items[w->notified];
	ck_assert_int_eq(notice->status, QP_WC_SUCCESS);
	ck_assert_uint_eq(notice->bytes, it->length);
	ck_assert_uint_eq(notice->wr_id, w->has_receives ? w->notified : 0);
	ck_assert(notice->has_imm == it->imm);
	if (it->imm)
		ck_assert_uint_eq(notice->imm, w->notified);
	if (it->length)
		ck_assert_mem_eq(w->target + it->offset, source + it->offset, it->length);
	w->notified++;
}

static void answer_some(struct world *w, uint64_t step)
{
	struct roce_packet p[8];
	unsigned n = rc_responder_read_burst(&w->rx, &w->regions, p, 1 + draw(8));

	n -= n && draw(8) == 0 ? draw(n) : 0;
	for (unsigned i = 0; i < n; i++)
		channel_put(w->back, &p[i], step);
	rc_responder_reads_sent(&w->rx, n);
	if (rc_responder_take_answer(&w->rx, p))
		channel_put(w->back, p, step);
}

static void deliver(struct world *w, uint64_t step)
{
	struct rc_notice notice;
	struct roce_packet *p;

	while ((p = channel_get(w->forth, step))) {
		/* now and then a notification finds no room */
		switch (rc_responder_on_request(&w->rx, &w->regions, p, draw(10) != 0, &notice)) {
		case RC_RESPONDER_NOTIFIED:
			on_notice(w, &notice);
			break;
		case RC_RESPONDER_REFUSED:
			ck_abort_msg("a good request was refused");
		default:
			break;
		}
		if (draw(3) == 0)
			answer_some(w, step);
	}
	answer_some(w, step);
	while ((p = channel_get(w->back, step)))
		ck_assert_int_eq(p->opcode == ROCE_ACK
					 ? rc_requester_on_ack(&w->tx, p, step * STEP_NS)
					 : rc_requester_on_response(&w->tx, p, step * STEP_NS),
				 0);
}

static void check_outcome(const struct world *w, uint64_t total)
{
	ck_assert_uint_eq(done.n, ITEMS);
	for (unsigned i = 0; i < ITEMS; i++) {
		ck_assert_uint_eq(done.wr_id[i], i);
		ck_assert_int_eq(done.status[i], QP_WC_SUCCESS);
		ck_assert(i < w->notified || !takes_receive(&w->items[i]));
	}
	if (total)
		ck_assert_mem_eq(w->target, source, total);
	ck_assert_uint_eq(w->target[total], 0);
	ck_assert_uint_gt(stats.retransmitted_packets,
			  0);		     /* the channel was bad enough to matter */
	ck_assert_uint_ge(w->rx.msn, ITEMS); /* a row counts each of its packets */
	ck_assert_uint_eq(w->tx.n_reads, 0);
}

START_TEST(nothing_is_lost_over_a_bad_channel)
{
	struct world *w = calloc(1, sizeof(*w));
	struct roce_packet p[RC_BURST_PACKETS];
	uint64_t total, step = 1;

	seed = (uint32_t)_i * 2654435761u + 1;
	w->has_receives = _i % 2;
	plan(w, &total);
	start(&w->tx, MTU * (1 + draw(40)), MTU * (1 + draw(16)), 7);
	w->tx.config.timeout_ns = 40 * STEP_NS;
	w->tx.config.retry_cnt = 1000;
	soft_rtt_init(&w->tx.rtt, 40 * STEP_NS, 1000);
	w->tx.config.regions = &w->regions;
	rc_responder_init(&w->rx, MTU, 0xfffffd, w->has_receives ? &w->receives : NULL, &stats);
	for (; done.n < ITEMS && step < 1000000; step++) {
		unsigned n;

		post_more(w);
		while ((n = burst(&w->tx, p, 1 + draw(RC_BURST_PACKETS)))) {
			/* the network took only some of it */
			n -= draw(8) == 0 ? draw(n) : 0;
			for (unsigned i = 0; i < n; i++)
				channel_put(w->forth, &p[i], step);
			rc_requester_sent(&w->tx, n, step * STEP_NS);
		}
		deliver(w, step);
		ck_assert_int_eq(rc_requester_on_timer(&w->tx, step * STEP_NS), 0);
		if (draw(200) == 0)
			rc_requester_kick(&w->tx, step * STEP_NS);
	}
	check_outcome(w, total);
	rc_requester_fini(&w->tx);
	rc_receives_fini(&w->receives);
	mr_table_fini(&w->regions);
	free(w->target);
	free(w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rc_requester");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, messages_are_cut_as_the_opcodes_say);
	tcase_add_test(t, answers_are_asked_for_now_and_then);
	tcase_add_test(t, a_batch_that_notifies_nobody_is_a_row);
	tcase_add_test(t, loss_shrinks_the_window_and_progress_grows_it);
	tcase_add_test(t, the_window_holds_and_batches_stay_whole);
	tcase_add_test(t, a_small_window_and_the_tail_do_not_wait);
	tcase_add_test(t, a_gap_is_sent_again_from_its_start);
	tcase_add_test(t, answers_outside_the_window_change_nothing);
	tcase_add_test(t, silence_ends_after_the_retries);
	tcase_add_test(t, progress_restarts_the_timer);
	tcase_add_test(t, packets_that_were_only_late_are_not_sent_again);
	tcase_add_test(t, a_late_answer_after_going_back_skips_what_arrived);
	tcase_add_test(t, a_piece_of_a_read_makes_whole_super_packets);
	tcase_add_loop_test(t, a_piece_of_a_read_leaves_room_for_the_next, 0,
			    (int)(sizeof(small_windows) / sizeof(small_windows[0])));
	tcase_add_test(t, a_read_is_asked_for_in_pieces_that_fit_the_window);
	tcase_add_test(t, responses_land_in_order_and_a_missing_one_is_asked_for_again);
	tcase_add_test(t, a_response_of_the_wrong_length_or_without_memory_is_fatal);
	tcase_add_loop_test(t, memory_that_is_gone_is_not_read, 0, 6);
	tcase_add_test(t, only_so_many_reads_are_under_way);
	tcase_add_test(t, not_ready_is_waited_out_and_counted);
	tcase_add_test(t, the_guilty_work_gets_the_status);
	tcase_add_test(t, the_queue_is_bounded);
	tcase_add_loop_test(t, nothing_is_lost_over_a_bad_channel, 1, 61);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
