/* SPDX-License-Identifier: BSD-2-Clause */
/* What arrives and is not meant, or bears a mark. */
#include <endian.h>
#include <unistd.h>

#include "base/clock.h"
#include "qp/soft/roce_icrc.h"
#include "qp/soft/roce_wire.h"
#include "qp/soft/soft_endpoint.h"
#include "soft_pair.h"

/* A well-formed WRITE ONLY with a right ICRC, from an address that qb is not connected to (or is,
 * to prove the rest). */
static void forge_to(uint32_t qpn, uint8_t opcode, const char *source, bool good_icrc)
{
	struct roce_packet p = {.opcode = opcode,
				.ack_req = true,
				.dest_qpn = qpn,
				.psn = P->qp_psn(qa),
				.remote_addr = (uintptr_t)to,
				.rkey = mb.rkey,
				.dma_bytes = 4,
				.payload_bytes = 4};
	struct roce_flow flow = {address(source), address("::ffff:127.0.0.3"), 50505, 4791};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(50505)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), dont_fragment = 2;
	uint8_t bytes[64];
	size_t n = roce_wire_build(&p, bytes);
	uint32_t crc;

	memcpy(bytes + n, "evil", 4);
	crc = htole32(roce_icrc_compute(&flow, 0, bytes, n, bytes + n, 4, 0) ^ !good_icrc);
	memcpy(bytes + n + 4, &crc, 4);
	memcpy(&at.sin_addr, flow.source.s6_addr + 12, 4);
	ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, 10 /* IP_MTU_DISCOVER */, &dont_fragment, 4),
			 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	at.sin_port = htons(4791);
	memcpy(&at.sin_addr, flow.destination.s6_addr + 12, 4);
	ck_assert_int_eq(sendto(fd, bytes, n + 8, 0, (struct sockaddr *)&at, sizeof(at)),
			 (int)n + 8);
	close(fd);
}

static void forge(const char *source, bool good_icrc)
{
	forge_to(P->qp_num(qb), ROCE_WRITE_ONLY, source, good_icrc);
}

/*
 * To look for the id by which a wrong ICRC would be right takes long: only for packets that QPs
 * wait for.
 */
START_TEST(strangers_cost_no_icrc)
{
	const char *peer = "::ffff:127.0.0.2", *stranger = "::ffff:127.0.0.9";
	struct qp_stats s;

	open_default();
	forge(stranger, false);
	RUN_UNTIL((s = *P->endpoint_info(b)->stats, s.rx_dropped == 1));
	forge_to(P->qp_num(qb) ^ 0x800000, ROCE_WRITE_ONLY, peer, false);
	RUN_UNTIL((s = *P->endpoint_info(b)->stats, s.rx_dropped == 2));
	forge_to(P->qp_num(qb), ROCE_UD_SEND_ONLY, peer, false); /* no control channel there */
	RUN_UNTIL((s = *P->endpoint_info(b)->stats, s.rx_dropped == 3));
	forge_to(P->qp_num(qb), 0x1f, peer, false); /* no such opcode */
	RUN_UNTIL((s = *P->endpoint_info(b)->stats, s.rx_dropped == 4));
	P->qp_error(qb);
	forge(peer, false);
	RUN_UNTIL((s = *P->endpoint_info(b)->stats, s.rx_dropped == 5));
	ck_assert_uint_eq(s.icrc_errors, 0);
	close_pair();
}
END_TEST

START_TEST(strangers_write_nothing)
{
	struct qp_stats s;

	open_default();
	forge("::ffff:127.0.0.9", true);
	RUN_UNTIL((s = *P->endpoint_info(b)->stats, s.rx_dropped == 1));
	ck_assert_uint_eq(s.icrc_errors, 0);
	forge("::ffff:127.0.0.2", false);
	RUN_UNTIL((s = *P->endpoint_info(b)->stats, s.icrc_errors == 1));
	ck_assert_uint_eq(to[0], 0);
	/* the same packet from the right address lands: so the refusals above had the reasons they
	 * claim */
	forge("::ffff:127.0.0.2", true);
	RUN_UNTIL(to[0] == 'e');
	close_pair();
}
END_TEST

static const struct {
	const char *a, *b;
	bool order_free;
} pairs[] = {
	{"::ffff:127.0.0.2", "::ffff:127.0.0.3", false},
	{"2001:db8::2", "2001:db8::3", false},
	{"::ffff:127.0.0.2", "::ffff:127.0.0.3", true},
};

/* As if a queue on the way were full all the time: what qp sends carries CE from the start. */
static void mark(const struct qp *qp, int traffic_class)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(&qp->flow.source);

	ck_assert_int_eq(setsockopt(qp->socket->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6,
				    v4 ? IP_TOS : IPV6_TCLASS, &traffic_class,
				    sizeof(traffic_class)),
			 0);
}

static uint32_t window_of(const struct qp *qp)
{
	return qp->order_free ? qp->order_free->tx.window.bytes : qp->requester.window.bytes;
}

/*
 * The receiver says so, seldom enough, and the sender has less under way; and none of that costs a
 * packet.
 */
START_TEST(a_marked_packet_slows_its_sender_down)
{
	static const uint8_t ecn[] = {0, 1, 2, 3}; /* Not-ECT, ECT(1), ECT(0), CE */
	struct qp_attr attr = attr_of(16, 7, 0);
	uint32_t most;

	both_order_free = attr.order_free = pairs[_i].order_free;
	open_pair(pairs[_i].a, pairs[_i].b, 4096, attr);
	most = window_of(qa);
	for (int i = 0; i < 4; i++) {
		uint64_t begun_ns = clock_now_ns(), most_cnps;
		struct qp_work w = write_of((uint64_t)i, 0, BYTES, 0);
		struct qp_stats here, there;

		mark(qa, 26 << 2 | ecn[i]);
		ck_assert_int_eq(P->post(qa, &w), 0);
		RUN_UNTIL(n_wa == i + 1);
		ck_assert_int_eq(wa[i].status, QP_WC_SUCCESS);
		here = *P->endpoint_info(a)->stats;
		there = *P->endpoint_info(b)->stats;
		most_cnps = ecn[i] == 3 ? 1 + (clock_now_ns() - begun_ns) / 50000 : 0;
		ck_assert_uint_le(there.cnps_sent, most_cnps);
		ck_assert_uint_eq(here.cnps_received, there.cnps_sent);
		ck_assert_uint_eq(there.naks_sent, 0);
		/* which is what happens where this machine stalls */
		if (!here.timeouts && !qa->order_free)
			ck_assert_uint_eq(here.retransmitted_packets + there.rx_dropped, 0);
		if (ecn[i] == 3)
			ck_assert_uint_lt(window_of(qa), most);
		else
			ck_assert_uint_eq(window_of(qa), most);
	}
	both_order_free = false;
	close_pair();
}
END_TEST

/*
 * DCQCN: without marks the line's rate, not more; marks lower the rate, and not the window. Of a
 * device whose rate is not known: the window.
 */
START_TEST(a_marked_packet_lowers_the_rate)
{
	struct qp_attr attr = attr_of(16, 7, 0);
	const double line = 200e6;
	uint32_t most;

	attr.dcqcn.is_on = true;
	both_order_free = attr.order_free = pairs[_i].order_free;
	open_pair(pairs[_i].a, pairs[_i].b, 4096, attr);
	ck_assert_ptr_null(qa->pace);
	close_pair();
	lo_bps = (uint64_t)line;
	open_pair(pairs[_i].a, pairs[_i].b, 4096, attr);
	most = window_of(qa);
	for (int i = 0; i < 2; i++) {
		uint64_t begun_ns = clock_now_ns();
		struct qp_work w = write_of((uint64_t)i, 0, BYTES, 0);
		struct qp_stats here;

		mark(qa, 26 << 2 | (i ? 3 : 2));
		ck_assert_int_eq(P->post(qa, &w), 0);
		RUN_UNTIL(n_wa == i + 1);
		ck_assert_int_eq(wa[i].status, QP_WC_SUCCESS);
		here = *P->endpoint_info(a)->stats;
		/* all but two bursts wait */
		ck_assert_uint_ge(clock_now_ns() - begun_ns,
				  (uint64_t)((BYTES - 2 * qa->batch_bytes) * 8e9 / line));
		if (!here.timeouts)
			ck_assert_uint_eq(window_of(qa), most);
		if (i)
			ck_assert_double_lt(qa->pace->rate.rate_bps, line);
		else
			ck_assert_double_eq(qa->pace->rate.rate_bps, line);
	}
	lo_bps = 0;
	both_order_free = false;
	close_pair();
}
END_TEST

/* What waits at a low rate goes on as soon as the rate has risen. */
START_TEST(a_rate_that_rises_counts_for_what_waits)
{
	struct qp_attr attr = attr_of(16, 7, 0);
	struct qp_work w;
	struct qp_stats here;

	attr.dcqcn.is_on = true;
	lo_bps = 200000000;
	open_pair(pairs[0].a, pairs[0].b, 4096, attr);
	qa->pace->rate.rate_bps = 1000; /* a burst takes minutes */
	w = write_of(0, 0, BYTES, 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(qa->pace->next_ns);
	here = *P->endpoint_info(a)->stats;
	ck_assert_uint_gt(here.tx_packets, 0);
	qa->pace->rate.rate_bps = (double)lo_bps;
	RUN_UNTIL(n_wa == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_SUCCESS);
	lo_bps = 0;
	close_pair();
}
END_TEST

/* The answer to a READ slows down who asked: nobody else can. */
START_TEST(a_marked_answer_slows_the_reader_down)
{
	struct qp_work r = {.op = QP_OP_READ, .length = BYTES};
	struct qp_stats stats[2];
	struct qp_mr readable;
	uint32_t most;

	open_default();
	ck_assert_int_eq(P->mr_register(a, from, BYTES, QP_ACCESS_REMOTE_READ, &readable), 0);
	r.data = to;
	r.lkey = mb.lkey;
	r.remote_addr = (uintptr_t)from;
	r.rkey = readable.rkey;
	most = window_of(qb);
	mark(qa, 26 << 2 | 3);
	ck_assert_int_eq(P->post(qb, &r), 0);
	RUN_UNTIL(n_wb == 1);
	ck_assert_int_eq(wb[0].status, QP_WC_SUCCESS);
	ck_assert_uint_lt(window_of(qb), most);
	stats[0] = *P->endpoint_info(a)->stats;
	stats[1] = *P->endpoint_info(b)->stats;
	ck_assert_uint_eq(stats[0].cnps_sent + stats[1].cnps_sent, 0);
	close_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_rx");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	tcase_add_test(t, strangers_write_nothing);
	tcase_add_test(t, strangers_cost_no_icrc);
	tcase_add_loop_test(t, a_marked_packet_slows_its_sender_down, 0, 3);
	tcase_add_loop_test(t, a_marked_packet_lowers_the_rate, 0, 3);
	tcase_add_test(t, a_rate_that_rises_counts_for_what_waits);
	tcase_add_test(t, a_marked_answer_slows_the_reader_down);
	suite_add_tcase(s, t);
	return run_suite(s);
}
