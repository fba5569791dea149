/* SPDX-License-Identifier: BSD-2-Clause */
/* A QP that refuses what its peer asks. */
#include <arpa/inet.h>
#include <errno.h>

#include "base/clock.h"
#include "qp/soft/soft_endpoint.h"
#include "soft_pair.h"

static struct qp_mr back; /* memory of a */

static void open_refusing(struct qp_attr attr, bool order_free)
{
	both_order_free = attr.order_free = order_free;
	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", 4096, attr);
	ck_assert_int_eq(P->mr_register(a, from, BYTES, QP_ACCESS_REMOTE_WRITE, &back), 0);
}

/* With a key that the peer does not know. */
static void post_bad(struct qp *qp, uint64_t id)
{
	struct qp_work w = write_of(id, 0, 64, 0);

	if (qp == qb)
		w = (struct qp_work){.wr_id = id,
				     .data = to,
				     .lkey = mb.lkey,
				     .length = 64,
				     .remote_addr = (uintptr_t)from,
				     .rkey = back.rkey};
	w.rkey ^= 1;
	ck_assert_int_eq(P->post(qp, &w), 0);
}

/* As if the network had lost all that is under way to ep. */
static void lose_packets(struct qp_endpoint *ep)
{
	uint8_t bytes[SOFT_RX_BYTES];

	while (recv(ep->rx_fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* The NAKs cross: each QP has refused before it hears that it is refused. */
START_TEST(two_that_refuse_each_other_both_hear_of_it)
{
	open_refusing(attr_of(16, 7, 0), _i == 1);
	post_bad(qa, 1);
	post_bad(qb, 2);
	RUN_UNTIL(n_wa == 1 && n_wb == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_REM_ACCESS_ERR);
	ck_assert_uint_eq(wa[0].wr_id, 1);
	ck_assert_int_eq(wb[0].status, QP_WC_REM_ACCESS_ERR);
	ck_assert_uint_eq(wb[0].wr_id, 2);
	close_pair();
}
END_TEST

START_TEST(a_lost_refusal_is_repeated)
{
	struct qp_stats stats;

	open_refusing(attr_of(16, 7, 0), _i == 1);
	post_bad(qa, 1);
	do {
		run_once();
		stats = *P->endpoint_info(b)->stats;
	} while (!stats.naks_sent);
	lose_packets(a);
	RUN_UNTIL(n_wa == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_REM_ACCESS_ERR);
	stats = *P->endpoint_info(b)->stats;
	ck_assert_uint_ge(stats.naks_sent, 2);
	close_pair();
}
END_TEST

/* Nothing new is posted on it; what was waits for the peer's answer until the owner ends it. */
START_TEST(one_that_refuses_takes_no_more_posts)
{
	struct qp_work w = {.wr_id = 2, .length = 64};
	struct qp_stats stats;

	open_refusing(attr_of(16, 7, 0), _i == 1);
	w.data = to;
	w.lkey = mb.lkey;
	w.remote_addr = (uintptr_t)from + 4096;
	w.rkey = back.rkey;
	post_bad(qa, 1);
	ck_assert_int_eq(P->post(qb, &w), 0);
	do {
		ck_assert_int_ge(P->endpoint_progress(b), 0);
		stats = *P->endpoint_info(b)->stats;
	} while (!stats.naks_sent);
	ck_assert_int_eq(P->post(qb, &w), -ENOTCONN);
	ck_assert_int_eq(P->poll(b, wb, 1), 0);
	ck_assert_int_eq(P->qp_status(qb), 0);
	P->qp_error(qb);
	ck_assert_int_eq(P->poll(b, wb, 2), 1);
	ck_assert_uint_eq(wb[0].wr_id, 2);
	ck_assert_int_eq(wb[0].status, QP_WC_FLUSH_ERR);
	close_pair();
}
END_TEST

/* Its owner learns of it, after (retries + 1) x 17 ms. */
START_TEST(a_refusal_is_told_to_the_owner_at_last)
{
	open_refusing(attr_of(12, 3, 0), _i == 1);
	post_bad(qa, 1);
	RUN_UNTIL(n_wa == 1);
	RUN_UNTIL(P->qp_status(qb) == -EIO);
	ck_assert_uint_ge(clock_now_ns() - qb->failed_ns, 4 * (UINT64_C(4096) << 12));
	P->qp_error(qb);
	ck_assert_int_eq(P->qp_status(qb), 0);
	ck_assert_int_eq(qb->state, SOFT_QP_ERR);
	close_pair();
}
END_TEST

/* It waits for room in a socket that no other QP uses, and gets other paths: that socket ends. */
START_TEST(one_that_waits_goes_on_over_other_paths)
{
	static const struct qp_path paths[] = {{0, 50200}, {0, 50201}};

	struct qp_endpoint_attr attr = {
		.n_planes = 1, .n_sub_ports = {1}, .dev = {{"lo"}}, .path_mtu = 4096};
	const struct qp_attr qp_attr = {.order_free = true, .timeout = 14, .retry_cnt = 7};
	struct qp_remote remote = {.qpn = 77, .psn = 1, .order_free = true};
	struct qp_endpoint *ep;
	struct qp *qp;

	inet_pton(AF_INET6, "::ffff:127.0.0.9", &attr.address);
	inet_pton(AF_INET6, "::ffff:127.0.0.10", &remote.address);
	ck_assert_int_eq(P->endpoint_create(&ep, &attr), 0);
	ck_assert_int_eq(P->qp_create(ep, &qp_attr, &qp), 0);
	ck_assert_int_eq(P->qp_connect(qp, &remote), 0);
	ck_assert_int_eq(P->qp_spread(qp, &paths[0], 1), 0);
	soft_sockets_set_full(&ep->sockets, qp->socket);
	soft_link_append(&qp->socket->waiting, &qp->waiting);
	ck_assert_int_eq(P->qp_spread(qp, &paths[1], 1), 0);
	ck_assert(soft_link_is_alone(&qp->waiting));
	ck_assert(!soft_link_is_alone(&qp->runnable));
	ck_assert(ep->alarm.is_awake);
	P->endpoint_destroy(ep);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_qp");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	tcase_add_loop_test(t, two_that_refuse_each_other_both_hear_of_it, 0, 2);
	tcase_add_loop_test(t, a_lost_refusal_is_repeated, 0, 2);
	tcase_add_loop_test(t, one_that_refuses_takes_no_more_posts, 0, 2);
	tcase_add_loop_test(t, a_refusal_is_told_to_the_owner_at_last, 0, 2);
	tcase_add_test(t, one_that_waits_goes_on_over_other_paths);
	suite_add_tcase(s, t);
	return run_suite(s);
}
