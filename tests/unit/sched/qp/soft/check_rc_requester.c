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

#define MTU	   256u
#define TIMEOUT_NS 1000000u
#define MAX_DONE   1024

static struct qp_stats stats;
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
		.stats = &stats,
		.on_complete = on_complete,
	};

	memset(&done, 0, sizeof(done));
	memset(&stats, 0, sizeof(stats));
	ck_assert_int_eq(rc_requester_init(r, &config), 0);
}

static uint8_t source[1 << 20];

static void post(struct rc_requester *r, uint64_t id, uint32_t bytes, unsigned flags)
{
	struct qp_write w = {
		.wr_id = id, .data = source, .length = bytes, .flags = flags, .imm = (uint32_t)id};

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
				       ROCE_WRITE_ONLY,	 ROCE_WRITE_FIRST,   ROCE_WRITE_MIDDLE,
				       ROCE_WRITE_LAST,	 ROCE_WRITE_ONLY_IMM};
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1 << 16, 2 * MTU, 1);
	post(&r, 1, 2 * MTU + 1, QP_WR_IMM);
	post(&r, 2, MTU, 0);
	post(&r, 3, 3 * MTU, 0);	/* more than a batch: a message in pieces */
	r.config.batch_bytes = 1 << 16; /* one burst shows all */
	post(&r, 4, 0, QP_WR_IMM);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), sizeof(want));
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

START_TEST(a_batch_that_notifies_nobody_is_a_row)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct qp_write w = {.data = source, .length = 2 * MTU + 1, .remote_addr = 1000, .rkey = 5};
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 1);
	ck_assert_int_eq(rc_requester_post(&r, &w), 0);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 3);
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
	for (n = 0; rc_requester_burst(&r, p, RC_BURST_PACKETS); n++)
		rc_requester_sent(&r, 1, 1);
	ck_assert_uint_eq(n, 16);
	answer(&r, psn, ROCE_SYNDROME_NAK_SEQUENCE, 2);
	ck_assert_uint_eq(r.window_bytes, 8 * MTU);
	answer(&r, psn, ROCE_SYNDROME_NAK_SEQUENCE, 2); /* the same loss */
	ck_assert_uint_eq(r.window_bytes, 8 * MTU);
	ck_assert_int_eq(rc_requester_on_timer(&r, r.deadline_ns), 0);
	ck_assert_uint_eq(r.window_bytes, MTU);
	for (; r.window_bytes < 16 * MTU; rounds++) {
		ck_assert_uint_lt(rounds, 1000);
		while (rc_requester_burst(&r, p, RC_BURST_PACKETS))
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
		ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), want);
		rc_requester_sent(&r, want, 1);
	}
	/* two packets would fit, but a small batch costs as much as a whole one */
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 0);
	answer(&r, 0xfffffd + 1, ROCE_SYNDROME_ACK, 2);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 4);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(a_small_window_and_the_tail_do_not_wait)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1, 4 * MTU, 1); /* raised to one packet */
	post(&r, 1, 3 * MTU, 0);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
	rc_requester_sent(&r, 1, 1);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 0);
	answer(&r, 0xfffffd, ROCE_SYNDROME_ACK, 2);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
	rc_requester_fini(&r);
	start(&r, 8 * MTU, 4 * MTU, 1);
	post(&r, 1, 5 * MTU, 0);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 4);
	rc_requester_sent(&r, 4, 1);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
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
	rc_requester_sent(&r, rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
	ck_assert_int_eq(answer(&r, 0xfffffd + 2, ROCE_SYNDROME_NAK_SEQUENCE, 2), 0);
	ck_assert_uint_eq(done.n, 1);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 2);
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
	rc_requester_sent(&r, rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
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

START_TEST(silence_ends_after_the_retries)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;
	uint64_t now = 5;

	start(&r, 1 << 16, 1 << 16, 2);
	post(&r, 1, MTU, 0);
	post(&r, 2, MTU, 0);
	rc_requester_sent(&r, rc_requester_burst(&r, p, RC_BURST_PACKETS), now);
	ck_assert_uint_eq(r.deadline_ns, now + TIMEOUT_NS);
	ck_assert_int_eq(rc_requester_on_timer(&r, now + TIMEOUT_NS - 1), 0);
	ck_assert(!rc_requester_has_unsent(&r));
	for (unsigned i = 0; i < 2; i++) {
		now = r.deadline_ns;
		ck_assert_int_eq(rc_requester_on_timer(&r, now), 0);
		ck_assert(rc_requester_has_unsent(&r));
		rc_requester_sent(&r, rc_requester_burst(&r, p, RC_BURST_PACKETS), now);
	}
	ck_assert_int_eq(rc_requester_on_timer(&r, r.deadline_ns), QP_WC_RETRY_EXC_ERR);
	rc_requester_fail(&r, QP_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(done.n, 2);
	ck_assert_int_eq(done.status[0], QP_WC_RETRY_EXC_ERR);
	ck_assert_int_eq(done.status[1], QP_WC_FLUSH_ERR);
	ck_assert_uint_eq(stats.timeouts, 3);
	ck_assert_uint_eq(r.deadline_ns, 0);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(progress_restarts_timer_and_retries)
{
	struct roce_packet p[RC_BURST_PACKETS];
	struct rc_requester r;

	start(&r, 1 << 16, 1 << 16, 1);
	post(&r, 1, 4 * MTU, 0);
	rc_requester_sent(&r, rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t now = r.deadline_ns;

		ck_assert_int_eq(rc_requester_on_timer(&r, now), 0);
		rc_requester_sent(&r, rc_requester_burst(&r, p, RC_BURST_PACKETS), now);
		answer(&r, 0xfffffd + i, ROCE_SYNDROME_ACK, now + 7);
		ck_assert_uint_eq(r.deadline_ns, now + 7 + TIMEOUT_NS);
	}
	answer(&r, 0xfffffd + 3, ROCE_SYNDROME_ACK, 9);
	ck_assert_uint_eq(r.deadline_ns, 0);
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
	rc_requester_sent(&r, rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
	rc_requester_kick(&r, 2);
	answer(&r, 0xfffffd + 2, ROCE_SYNDROME_ACK, 3); /* beyond next, which went back */
	ck_assert_uint_eq(done.n, 1);
	ck_assert_uint_eq(rc_requester_burst(&r, p, RC_BURST_PACKETS), 1);
	ck_assert_uint_eq(p[0].opcode, ROCE_WRITE_LAST_IMM);
	rc_requester_fini(&r);
}
END_TEST

START_TEST(the_queue_is_bounded)
{
	struct qp_write w = {.length = 0};
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
#define WRITES	120

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

struct world {
	struct rc_requester tx;
	struct rc_responder rx;
	struct mr_table regions;
	struct qp_mr mr;
	struct in_flight forth[CHANNEL], back[CHANNEL];
	uint8_t *target;
	uint32_t length[WRITES], imms[WRITES];
	uint64_t offset[WRITES];
	unsigned posted, notified;
	bool imm[WRITES];
};

static void plan(struct world *w, uint64_t *total)
{
	*total = 0;
	for (unsigned i = 0; i < WRITES; i++) {
		w->length[i] = draw(5) == 0 ? 0 : draw(4) == 0 ? MTU * (1 + draw(5)) : draw(3000);
		w->imm[i] = draw(3) == 0;
		w->offset[i] = *total;
		*total += w->length[i];
	}
	for (uint64_t i = 0; i < *total; i++)
		source[i] = (uint8_t)draw(256);
	w->target = calloc(1, *total + 1);
	ck_assert_int_eq(mr_table_add(&w->regions, w->target, *total + 1, QP_ACCESS_REMOTE_WRITE,
				      draw(UINT32_MAX), &w->mr),
			 0);
}

static void post_more(struct world *w)
{
	while (w->posted < WRITES && draw(4)) {
		unsigned i = w->posted++;
		struct qp_write write = {
			.wr_id = i,
			.data = source + w->offset[i],
			.length = w->length[i],
			.remote_addr = (uintptr_t)w->target + w->offset[i],
			.rkey = w->mr.rkey,
			.flags = w->imm[i] ? QP_WR_IMM : 0,
			.imm = i,
		};

		ck_assert_int_eq(rc_requester_post(&w->tx, &write), 0);
	}
}

static void deliver(struct world *w, uint64_t step)
{
	struct roce_packet *p, reply;
	uint32_t bytes;

	while ((p = channel_get(w->forth, step))) {
		/* now and then a notification finds no room */
		switch (rc_responder_on_request(&w->rx, &w->regions, p, draw(10) != 0, &bytes)) {
		case RC_RESPONDER_NOTIFIED:
			ck_assert_uint_eq(bytes, w->length[p->imm]);
			/* placed as a whole when it is told */
			ck_assert_mem_eq(w->target + w->offset[p->imm], source + w->offset[p->imm],
					 bytes);
			w->imms[w->notified++] = p->imm;
			break;
		case RC_RESPONDER_REFUSED:
			ck_abort_msg("a good request was refused");
		default:
			break;
		}
		if (draw(3) == 0 && rc_responder_take_answer(&w->rx, &reply))
			channel_put(w->back, &reply, step);
	}
	if (rc_responder_take_answer(&w->rx, &reply))
		channel_put(w->back, &reply, step);
	while ((p = channel_get(w->back, step)))
		ck_assert_int_eq(rc_requester_on_ack(&w->tx, p, step), 0);
}

static void check_outcome(const struct world *w, uint64_t total)
{
	unsigned n = 0;

	ck_assert_uint_eq(done.n, WRITES);
	for (unsigned i = 0; i < WRITES; i++) {
		ck_assert_uint_eq(done.wr_id[i], i);
		ck_assert_int_eq(done.status[i], QP_WC_SUCCESS);
		if (w->imm[i])
			ck_assert_uint_eq(w->imms[n++], i);
	}
	ck_assert_uint_eq(w->notified, n);
	if (total)
		ck_assert_mem_eq(w->target, source, total);
	ck_assert_uint_eq(w->target[total], 0);
	ck_assert_uint_gt(stats.retransmitted_packets,
			  0);		      /* the channel was bad enough to matter */
	ck_assert_uint_ge(w->rx.msn, WRITES); /* a row counts each of its packets */
}

START_TEST(nothing_is_lost_over_a_bad_channel)
{
	struct world *w = calloc(1, sizeof(*w));
	struct roce_packet p[RC_BURST_PACKETS];
	uint64_t total, step = 1;

	seed = (uint32_t)_i * 2654435761u + 1;
	plan(w, &total);
	start(&w->tx, MTU * (1 + draw(40)), MTU * (1 + draw(16)), 7);
	w->tx.config.timeout_ns = 40; /* steps */
	w->tx.config.retry_cnt = 1000;
	rc_responder_init(&w->rx, MTU, 0xfffffd, &stats);
	for (; done.n < WRITES && step < 1000000; step++) {
		unsigned n;

		post_more(w);
		while ((n = rc_requester_burst(&w->tx, p, 1 + draw(RC_BURST_PACKETS)))) {
			/* the network took only some of it */
			n -= draw(8) == 0 ? draw(n) : 0;
			for (unsigned i = 0; i < n; i++)
				channel_put(w->forth, &p[i], step);
			rc_requester_sent(&w->tx, n, step);
		}
		deliver(w, step);
		ck_assert_int_eq(rc_requester_on_timer(&w->tx, step), 0);
		if (draw(200) == 0)
			rc_requester_kick(&w->tx, step);
	}
	check_outcome(w, total);
	rc_requester_fini(&w->tx);
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
	tcase_add_test(t, a_batch_that_notifies_nobody_is_a_row);
	tcase_add_test(t, loss_shrinks_the_window_and_progress_grows_it);
	tcase_add_test(t, the_window_holds_and_batches_stay_whole);
	tcase_add_test(t, a_small_window_and_the_tail_do_not_wait);
	tcase_add_test(t, a_gap_is_sent_again_from_its_start);
	tcase_add_test(t, answers_outside_the_window_change_nothing);
	tcase_add_test(t, silence_ends_after_the_retries);
	tcase_add_test(t, progress_restarts_timer_and_retries);
	tcase_add_test(t, a_late_answer_after_going_back_skips_what_arrived);
	tcase_add_test(t, the_queue_is_bounded);
	tcase_add_loop_test(t, nothing_is_lost_over_a_bad_channel, 1, 61);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
