/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sender alone, and both halves of an order-free connection across a channel that loses,
 * doubles and shuffles packets as a seed says.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/of_sender.h"

#include "own_regions.h"

#define MTU	256u
#define FIRST	0xfffff0u
#define TIMEOUT 40000000u
#define MAX	2048

static struct of_sender s;
static struct qp_stats stats;
static uint8_t source[1 << 21];
static struct {
	uint64_t wr_id[MAX];
	enum qp_wc_status status[MAX];
	unsigned n;
} done;

static void on_complete(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes)
{
	(void)arg;
	(void)bytes;
	done.wr_id[done.n] = wr_id;
	done.status[done.n++] = status;
}

static void start(uint32_t window, uint32_t batch, unsigned retries)
{
	struct rc_requester_config config = {
		.path_mtu = MTU,
		.window_bytes = window,
		.batch_bytes = batch,
		.timeout_ns = TIMEOUT,
		.retry_cnt = retries,
		.first_psn = FIRST,
		.remote_qpn = 9,
		.regions = &own_regions,
		.stats = &stats,
		.on_complete = on_complete,
	};

	memset(&done, 0, sizeof(done));
	memset(&stats, 0, sizeof(stats));
	own_regions_start(source, sizeof(source));
	ck_assert_int_eq(of_sender_init(&s, &config), 0);
}

/* What is to be sent now, of memory that is there. */
static unsigned burst(struct roce_packet *out, unsigned max)
{
	unsigned n;

	ck_assert_int_eq(of_sender_burst(&s, out, max, &n), QP_WC_SUCCESS);
	return n;
}

static void post(uint64_t id, uint32_t bytes, unsigned flags)
{
	struct qp_work w = {.wr_id = id,
			    .data = source,
			    .lkey = own_mr.lkey,
			    .length = bytes,
			    .remote_addr = 1000,
			    .rkey = 5,
			    .flags = flags,
			    .imm = (uint32_t)id};

	ck_assert_int_eq(of_sender_post(&s, &w), 0);
}

static unsigned send_all(uint64_t now)
{
	struct roce_packet p[RC_BURST_PACKETS];
	unsigned n, total = 0;

	while ((n = burst(p, RC_BURST_PACKETS))) {
		of_sender_sent(&s, n, now);
		total += n;
	}
	return total;
}

/* last: the last packet before the first missing; placed: bits of those behind that. */
static enum qp_wc_status answer(int last, uint32_t placed, uint64_t now)
{
	uint8_t bitmap[4] = {(uint8_t)placed, (uint8_t)(placed >> 8), (uint8_t)(placed >> 16),
			     (uint8_t)(placed >> 24)};
	struct roce_packet p = {.opcode = placed ? ROCE_SELECTIVE_ACK : ROCE_ACK,
				.psn = (FIRST + (uint32_t)last) & ROCE_PSN_MASK,
				.syndrome = ROCE_SYNDROME_ACK,
				.payload = bitmap,
				.payload_bytes = 4};

	return of_sender_on_ack(&s, &p, now);
}

START_TEST(every_packet_says_where_it_belongs)
{
	struct roce_packet p[RC_BURST_PACKETS];

	start(64 * MTU, 64 * MTU, 1);
	post(1, 2 * MTU + 1, QP_WR_IMM);
	post(2, 0, 0);
	post(3, 2 * MTU, 0);
	ck_assert_uint_eq(burst(p, RC_BURST_PACKETS), 6);
	for (unsigned i = 0; i < 6; i++) {
		ck_assert_uint_eq(p[i].psn, (FIRST + i) & ROCE_PSN_MASK);
		ck_assert_uint_eq(p[i].opcode, i == 2 ? ROCE_PLACE_LAST_IMM : ROCE_PLACE);
		ck_assert_uint_eq(p[i].rkey, 5);
		ck_assert(p[i].ack_req == (i == 5));
	}
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(p[i].remote_addr, 1000 + i * MTU);
		ck_assert_uint_eq(p[i].dma_bytes, 2 * MTU + 1); /* of the message */
		ck_assert_ptr_eq(p[i].payload, source + i * MTU);
	}
	ck_assert_uint_eq(p[2].payload_bytes, 1);
	ck_assert_uint_eq(p[3].payload_bytes, 0);
	of_sender_fini(&s);
}
END_TEST

START_TEST(only_writes_need_no_order)
{
	struct qp_work w = {.op = QP_OP_SEND};

	start(64 * MTU, 64 * MTU, 1);
	ck_assert_int_eq(of_sender_post(&s, &w), -EOPNOTSUPP);
	w.op = QP_OP_READ;
	ck_assert_int_eq(of_sender_post(&s, &w), -EOPNOTSUPP);
	w.op = QP_OP_WRITE;
	for (unsigned i = 0; i < RC_QUEUE_DEPTH; i++)
		ck_assert_int_eq(of_sender_post(&s, &w), 0);
	ck_assert_int_eq(of_sender_post(&s, &w), -ENOBUFS);
	of_sender_fini(&s);
}
END_TEST

/* A region that goes while work names it, before or after the work was sent the first time. */
START_TEST(memory_that_is_gone_is_not_read)
{
	struct roce_packet p[RC_BURST_PACKETS];
	unsigned n;

	start(64 * MTU, 64 * MTU, 1);
	post(1, 4 * MTU, 0);
	if (_i) {
		of_sender_sent(&s, burst(p, RC_BURST_PACKETS), 1);
		of_sender_kick(&s, 2);
	}
	ck_assert_int_eq(mr_table_remove(&own_regions, &own_mr), 0);
	ck_assert_int_eq(of_sender_burst(&s, p, RC_BURST_PACKETS, &n), QP_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(n, 0);
	of_sender_fail(&s, QP_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(done.n, 1);
	ck_assert_int_eq(done.status[0], QP_WC_LOC_PROT_ERR);
	of_sender_fini(&s);
}
END_TEST

START_TEST(overtaking_is_no_loss)
{
	start(64 * MTU, 4 * MTU, 1);
	post(1, 4 * MTU, 0);
	post(2, 4 * MTU, 0);
	ck_assert_uint_eq(send_all(1000), 8);
	answer(0, 0x3e, 2000); /* 0 and 3..7 (bit 0 is packet 2): 1 and 2 are on their way */
	ck_assert_uint_eq(s.n_lost, 0);
	ck_assert_uint_eq(s.n_out, 2);
	ck_assert_uint_eq(done.n, 0); /* in their order, although the second one is there */
	answer(7, 0, 2100);
	ck_assert_uint_eq(done.n, 2);
	ck_assert_uint_eq(done.wr_id[0], 1);
	ck_assert_uint_eq(stats.retransmitted_packets, 0);
	ck_assert_uint_eq(s.deadline_ns, 0);
	of_sender_fini(&s);
}
END_TEST

START_TEST(what_a_later_round_overtook_is_lost_and_sent_alone)
{
	struct roce_packet p[RC_BURST_PACKETS];

	start(16 * MTU, MTU, 1);
	post(1, 1000 * MTU, 0);
	ck_assert_uint_eq(send_all(1000), 16);
	answer(0, 0, 2000); /* so a round trip takes 1,000, give or take */
	ck_assert_uint_eq(send_all(2000), 1);
	answer(0, 0x3fff, 2500); /* all but 1 and 16: sent together with those that came */
	ck_assert_uint_eq(s.n_lost, 0);
	ck_assert_uint_gt(send_all(20000), 0);
	answer(0, 0x7fffffff, 21000); /* some that were sent much later have come */
	ck_assert_uint_eq(s.n_lost, 1);
	ck_assert_uint_lt(s.window.bytes, 16 * MTU);
	ck_assert_uint_ge(burst(p, RC_BURST_PACKETS), 1);
	ck_assert_uint_eq(p[0].psn, (FIRST + 1) & ROCE_PSN_MASK);
	of_sender_sent(&s, 1, 21000);
	ck_assert_uint_eq(stats.retransmitted_packets, 1);
	of_sender_fini(&s);
}
END_TEST

START_TEST(a_straggler_that_was_overtaken_is_given_up_in_time)
{
	start(64 * MTU, MTU, 1);
	post(1, 3 * MTU, 0);
	send_all(1000);
	answer(0, 0, 2000);
	post(2, MTU, 0);
	send_all(2100);
	answer(0, 2, 3000); /* 3 has come; 1 and 2 were sent not long before it */
	ck_assert_uint_eq(s.n_lost, 0);
	ck_assert_uint_ne(s.overdue_ns, 0);
	ck_assert_uint_eq(s.deadline_ns, s.overdue_ns);
	ck_assert_int_eq(of_sender_on_timer(&s, s.deadline_ns), 0);
	ck_assert_uint_eq(s.n_lost, 2);
	ck_assert_uint_eq(stats.timeouts, 0);
	of_sender_fini(&s);
}
END_TEST

START_TEST(the_newest_is_sent_again_when_nothing_more_is_heard)
{
	struct roce_packet p[4];
	uint64_t now;

	start(64 * MTU, 64 * MTU, 1);
	post(1, MTU, 0);
	send_all(1000);
	answer(0, 0, 2000);
	post(2, 3 * MTU, 0);
	send_all(3000);
	now = s.deadline_ns;
	ck_assert_uint_lt(now, 3000 + TIMEOUT);
	ck_assert_int_eq(of_sender_on_timer(&s, now), 0);
	ck_assert_uint_eq(burst(p, 4), 1);
	ck_assert_uint_eq(p[0].psn, (FIRST + 3) & ROCE_PSN_MASK);
	ck_assert(p[0].ack_req);
	of_sender_sent(&s, 1, now);
	answer(0, 2, now + 1000); /* it came, the two before it did not */
	ck_assert_uint_eq(s.n_lost, 2);
	of_sender_fini(&s);
}
END_TEST

START_TEST(silence_ends_after_the_retries)
{
	start(64 * MTU, 64 * MTU, 7);
	post(1, 3 * MTU, 0);
	ck_assert_uint_eq(send_all(1), 3);
	for (unsigned i = 0; i < 7; i++) {
		uint64_t now = s.deadline_ns;

		ck_assert_uint_eq(now, 1 + (i + 1) * (uint64_t)TIMEOUT);
		ck_assert_int_eq(of_sender_on_timer(&s, now), 0);
		ck_assert_uint_eq(s.n_lost, 3);
		ck_assert_uint_eq(s.window.bytes, MTU);
		ck_assert_uint_eq(send_all(now), 1);
	}
	ck_assert_uint_eq(s.deadline_ns, 1 + 8 * (uint64_t)TIMEOUT);
	ck_assert_int_eq(of_sender_on_timer(&s, s.deadline_ns - 1), 0);
	ck_assert_int_eq(of_sender_on_timer(&s, s.deadline_ns), QP_WC_RETRY_EXC_ERR);
	of_sender_fail(&s, QP_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(done.n, 1);
	ck_assert_int_eq(done.status[0], QP_WC_RETRY_EXC_ERR);
	of_sender_fini(&s);
}
END_TEST

/* The timer was too early: the answer tells of packets that were not sent again. */
START_TEST(packets_that_were_only_late_are_not_sent_again)
{
	uint64_t now;

	start(16 * MTU, 4 * MTU, 7);
	post(1, 20 * MTU, 0);
	ck_assert_uint_eq(send_all(1), 16);
	now = s.deadline_ns;
	ck_assert_int_eq(of_sender_on_timer(&s, now), 0);
	ck_assert_uint_eq(send_all(now), 1);
	answer(3, 0, now + 1000);
	ck_assert_uint_eq(s.n_lost, 0);
	ck_assert_uint_eq(s.window.bytes, 16 * MTU);
	ck_assert_uint_eq(s.rtt.srtt_ns, now + 999);
	ck_assert_uint_eq(send_all(now + 1000), 4);
	ck_assert_uint_eq(stats.retransmitted_packets, 1);
	of_sender_fini(&s);
}
END_TEST

START_TEST(naks_find_the_guilty_and_a_peer_that_wants_order_is_told_apart)
{
	struct roce_packet nak = {.opcode = ROCE_ACK,
				  .psn = (FIRST + 1) & ROCE_PSN_MASK,
				  .syndrome = ROCE_SYNDROME_NAK_REMOTE_ACCESS};

	start(64 * MTU, 64 * MTU, 2);
	for (unsigned i = 0; i < 3; i++)
		post(i, MTU, 0);
	send_all(1);
	nak.psn = FIRST - 1;
	ck_assert_int_eq(of_sender_on_ack(&s, &nak, 2), 0); /* of nothing that is on its way */
	nak.psn = (FIRST + 1) & ROCE_PSN_MASK;
	ck_assert_int_eq(of_sender_on_ack(&s, &nak, 2), QP_WC_REM_ACCESS_ERR);
	nak.syndrome = ROCE_SYNDROME_NAK_SEQUENCE;
	ck_assert_int_eq(of_sender_on_ack(&s, &nak, 2), QP_WC_BAD_RESP_ERR);
	of_sender_fail(&s, QP_WC_BAD_RESP_ERR);
	ck_assert_uint_eq(done.n, 3);
	ck_assert_int_eq(done.status[0], QP_WC_FLUSH_ERR);
	ck_assert_int_eq(done.status[1], QP_WC_BAD_RESP_ERR);
	of_sender_fini(&s);
}
END_TEST

START_TEST(answers_outside_the_window_change_nothing)
{
	start(64 * MTU, 64 * MTU, 2);
	post(1, 3 * MTU, 0);
	send_all(1);
	answer(3, 0, 2);
	answer(-2, 0, 2);
	answer(1000000, 0xffffffff, 2);
	ck_assert_uint_eq(s.n_out, 3);
	answer(-1, 0xfffffffe, 2); /* bits beyond what was sent: only bit 1 is a packet */
	ck_assert_uint_eq(s.n_out, 2);
	of_sender_fini(&s);
}
END_TEST

/* ---- both halves over a bad channel ---- */

#define CHANNEL 2048
#define ITEMS	300
#define STEP_NS 100000u

struct in_flight {
	struct roce_packet packet;
	uint8_t bitmap[OF_BITMAP_BYTES];
	uint64_t due;
	bool live;
};

struct item {
	uint32_t length, offset;
	bool imm;
};

struct world {
	struct of_receiver rx;
	struct mr_table regions;
	struct qp_mr mr;
	struct in_flight forth[CHANNEL], back[CHANNEL];
	struct item items[ITEMS];
	uint8_t *target;
	unsigned posted, told;
	uint32_t spread; /* how far packets are shuffled */
};

static uint32_t seed;

static uint32_t draw(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

static void channel_put(struct world *w, struct in_flight *channel, const struct roce_packet *p,
			uint64_t step)
{
	unsigned copies = draw(20) == 0 ? 0 : draw(20) == 0 ? 2 : 1;

	for (unsigned i = 0; i < CHANNEL && copies; i++) {
		struct in_flight *f = &channel[i];

		if (f->live)
			continue;
		*f = (struct in_flight){
			.packet = *p, .due = step + 1 + draw(w->spread), .live = true};
		if (p->opcode == ROCE_SELECTIVE_ACK) {
			memcpy(f->bitmap, p->payload, p->payload_bytes);
			f->packet.payload = f->bitmap;
		}
		copies--;
	}
}

static struct in_flight *channel_get(struct in_flight *channel, uint64_t step)
{
	for (unsigned i = 0, at = draw(CHANNEL); i < CHANNEL; i++, at = (at + 1) % CHANNEL) {
		if (!channel[at].live || channel[at].due > step)
			continue;
		channel[at].live = false;
		return &channel[at];
	}
	return NULL;
}

static void take_notices(struct world *w)
{
	struct rc_notice notice;

	while (of_receiver_take_notice(&w->rx, &notice)) {
		const struct item *it;

		while (!w->items[w->told].imm)
			w->told++;
		it = &w->items[w->told];
		ck_assert_uint_eq(notice.imm, w->told);
		ck_assert_uint_eq(notice.bytes, it->length);
		if (it->length)
			ck_assert_mem_eq(w->target + it->offset, source + it->offset, it->length);
		w->told++;
	}
}

static void deliver(struct world *w, uint64_t step)
{
	uint8_t bitmap[OF_BITMAP_BYTES];
	struct roce_packet reply;
	struct in_flight *f;

	while ((f = channel_get(w->forth, step))) {
		ck_assert_int_ne(
			of_receiver_on_request(&w->rx, &w->regions, &f->packet, draw(10) != 0),
			RC_RESPONDER_REFUSED);
		if (draw(4))
			take_notices(w);
		if (draw(5) == 0 && of_receiver_take_answer(&w->rx, bitmap, &reply))
			channel_put(w, w->back, &reply, step);
	}
	if (of_receiver_take_answer(&w->rx, bitmap, &reply))
		channel_put(w, w->back, &reply, step);
	while ((f = channel_get(w->back, step)))
		ck_assert_int_eq(of_sender_on_ack(&s, &f->packet, step * STEP_NS), 0);
}

static uint32_t plan(struct world *w)
{
	uint32_t total = 0;

	for (unsigned i = 0; i < ITEMS; i++) {
		w->items[i] = (struct item){.length = draw(5) == 0 ? 0 : draw(7000),
					    .offset = total,
					    .imm = draw(3) == 0};
		total += w->items[i].length;
	}
	ck_assert_uint_lt(total, sizeof(source));
	for (uint32_t i = 0; i < total; i++)
		source[i] = (uint8_t)draw(256);
	w->target = calloc(1, total + 1);
	ck_assert_int_eq(mr_table_add(&w->regions, w->target, total + 1, QP_ACCESS_REMOTE_WRITE,
				      draw(UINT32_MAX), &w->mr),
			 0);
	return total;
}

static void post_more(struct world *w)
{
	while (w->posted < ITEMS && draw(6)) {
		const struct item *it = &w->items[w->posted];
		struct qp_work work = {.wr_id = w->posted,
				       .data = source + it->offset,
				       .lkey = own_mr.lkey,
				       .length = it->length,
				       .remote_addr = (uintptr_t)w->target + it->offset,
				       .rkey = w->mr.rkey,
				       .flags = it->imm ? QP_WR_IMM : 0,
				       .imm = w->posted};

		if (of_sender_post(&s, &work))
			break;
		w->posted++;
	}
}

START_TEST(nothing_is_lost_over_a_bad_channel)
{
	struct world *w = calloc(1, sizeof(*w));
	struct roce_packet p[RC_BURST_PACKETS];
	uint64_t step = 1;
	uint32_t total;

	seed = (uint32_t)_i * 2654435761u + 1;
	w->spread = 1 + draw(12);
	total = plan(w);
	start(MTU * (1 + draw(300)), MTU * (1 + draw(16)), 1000);
	of_receiver_init(&w->rx, MTU, FIRST, &stats);
	for (; done.n < ITEMS && step < 100000; step++) {
		unsigned n;

		post_more(w);
		while ((n = burst(p, 1 + draw(RC_BURST_PACKETS)))) {
			n -= draw(8) == 0 ? draw(n) : 0;
			for (unsigned i = 0; i < n; i++)
				channel_put(w, w->forth, &p[i], step);
			of_sender_sent(&s, n, step * STEP_NS);
			ck_assert_uint_le(s.next - s.una, OF_WINDOW);
		}
		deliver(w, step);
		ck_assert_int_eq(of_sender_on_timer(&s, step * STEP_NS), 0);
		if (draw(300) == 0)
			of_sender_kick(&s, step * STEP_NS);
	}
	take_notices(w);
	ck_assert_uint_eq(done.n, ITEMS);
	for (unsigned i = 0; i < ITEMS; i++) {
		ck_assert_uint_eq(done.wr_id[i], i);
		ck_assert_int_eq(done.status[i], QP_WC_SUCCESS);
		ck_assert(i < w->told || !w->items[i].imm);
	}
	ck_assert_mem_eq(w->target, source, total);
	ck_assert_uint_eq(w->target[total], 0);
	ck_assert_uint_gt(stats.retransmitted_packets, 0);
	ck_assert_uint_eq(s.n_out + s.n_lost, 0);
	of_sender_fini(&s);
	of_receiver_fini(&w->rx);
	mr_table_fini(&w->regions);
	free(w->target);
	free(w);
}
END_TEST

/* Two paths, one slower by half a round trip, nothing lost: nothing is sent twice. */
START_TEST(spraying_over_uneven_paths_repeats_nothing)
{
	struct world *w = calloc(1, sizeof(*w));
	struct roce_packet p[RC_BURST_PACKETS], reply;
	uint8_t bitmap[OF_BITMAP_BYTES];
	unsigned turn = 0;

	w->target = calloc(1, 1000 * MTU);
	ck_assert_int_eq(mr_table_add(&w->regions, w->target, 1000 * MTU, QP_ACCESS_REMOTE_WRITE,
				      77, &w->mr),
			 0);
	start(64 * MTU, 8 * MTU, 3);
	of_receiver_init(&w->rx, MTU, FIRST, &stats);
	for (unsigned i = 0; i < 100; i++) {
		struct qp_work work = {.wr_id = i,
				       .data = source,
				       .lkey = own_mr.lkey,
				       .length = 10 * MTU,
				       .rkey = w->mr.rkey,
				       .remote_addr = (uintptr_t)w->target + i * 10 * MTU};

		ck_assert_int_eq(of_sender_post(&s, &work), 0);
	}
	for (uint64_t step = 1; done.n < 100 && step < 10000; step++) {
		struct in_flight *f;
		unsigned n = burst(p, 8);

		for (unsigned i = 0; i < n; i++)
			for (unsigned k = 0; k < CHANNEL; k++) {
				if (w->forth[k].live)
					continue;
				w->forth[k] = (struct in_flight){.packet = p[i],
								 .due = step + 4 + turn % 2 * 4,
								 .live = true};
				break;
			}
		turn++;
		of_sender_sent(&s, n, step * STEP_NS);
		while ((f = channel_get(w->forth, step)))
			of_receiver_on_request(&w->rx, &w->regions, &f->packet, true);
		if (of_receiver_take_answer(&w->rx, bitmap, &reply))
			ck_assert_int_eq(of_sender_on_ack(&s, &reply, step * STEP_NS), 0);
		ck_assert_int_eq(of_sender_on_timer(&s, step * STEP_NS), 0);
	}
	ck_assert_uint_eq(done.n, 100);
	ck_assert_uint_eq(stats.retransmitted_packets, 0);
	of_sender_fini(&s);
	of_receiver_fini(&w->rx);
	mr_table_fini(&w->regions);
	free(w->target);
	free(w);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("of_sender");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(suite);
	int failed;

	tcase_add_test(t, every_packet_says_where_it_belongs);
	tcase_add_test(t, only_writes_need_no_order);
	tcase_add_loop_test(t, memory_that_is_gone_is_not_read, 0, 2);
	tcase_add_test(t, overtaking_is_no_loss);
	tcase_add_test(t, what_a_later_round_overtook_is_lost_and_sent_alone);
	tcase_add_test(t, a_straggler_that_was_overtaken_is_given_up_in_time);
	tcase_add_test(t, the_newest_is_sent_again_when_nothing_more_is_heard);
	tcase_add_test(t, silence_ends_after_the_retries);
	tcase_add_test(t, packets_that_were_only_late_are_not_sent_again);
	tcase_add_test(t, naks_find_the_guilty_and_a_peer_that_wants_order_is_told_apart);
	tcase_add_test(t, answers_outside_the_window_change_nothing);
	tcase_add_loop_test(t, nothing_is_lost_over_a_bad_channel, 1, 61);
	tcase_add_test(t, spraying_over_uneven_paths_repeats_nothing);
	suite_add_tcase(suite, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
