/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <unistd.h>

#include "qp/soft/roce_wire.h"
#include "soft_pair.h"

/*
 * What is unacknowledged goes again the new way, and in order: the other end misses nothing, so it
 * complains of nothing.
 */
START_TEST(another_source_port_loses_nothing)
{
	struct qp_control c = {.remote = address("::ffff:127.0.0.3"), .plane = 1, .sub_port = 1};
	struct qp_attr taken = attr_of(16, 7, 0);
	struct qp_stats s;
	struct qp_work w;
	struct qp *q;
	uint16_t old;

	open_patient();
	old = P->qp_source_port(qa);
	taken.udp_source_port = 50500;
	ck_assert_int_eq(P->qp_create(a, &taken, &q), 0);
	w = write_of(1, 0, BYTES, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	ck_assert_int_eq(P->qp_move(qa, 1, 1000), -EINVAL);
	ck_assert_int_eq(P->qp_move(qa, 1, 50500), 0); /* shared with q */
	ck_assert_uint_eq(P->qp_source_port(qa), 50500);
	ck_assert_int_eq(P->qp_move(qa, 1, 50501), 0);
	ck_assert_uint_eq(P->qp_source_port(qa), 50501);
	c.udp_source_port = 50501; /* the QP's own socket */
	ck_assert_int_eq(P->control_send(a, &c), 0);
	RUN_UNTIL(n_wa == 1 && n_wb == 1 && n_heard == 1);
	ck_assert_uint_eq(heard.udp_source_port, 50501);
	ck_assert_int_eq(wa[0].status, 0);
	ck_assert_mem_eq(from, to, BYTES);
	s = *P->endpoint_info(a)->stats;
	ck_assert_uint_eq(s.naks_received, 0);
	s = *P->endpoint_info(b)->stats;
	ck_assert_uint_eq(s.icrc_errors, 0);
	taken.udp_source_port = old;
	ck_assert_int_eq(P->qp_create(a, &taken, &q), 0);
	close_pair();
}
END_TEST

static void open_order_free(uint32_t mtu, uint32_t window)
{
	struct qp_attr attr = attr_of(16, 7, window);

	both_order_free = attr.order_free = true;
	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", mtu, attr);
	both_order_free = false;
}

static const struct {
	uint32_t mtu, window;
	unsigned paths;
} free_shapes[] = {{4096, 0, 1}, {4096, 1 << 20, 5}, {1024, 0, 16}, {256, 8000, 3}};

START_TEST(a_megabyte_sprayed_over_ports_arrives)
{
	struct qp_path paths[QP_MAX_PATHS];
	struct qp_work w;
	struct qp_stats stats;

	open_order_free(free_shapes[_i].mtu, free_shapes[_i].window);
	for (unsigned i = 0; i < free_shapes[_i].paths; i++)
		paths[i] = (struct qp_path){1, (uint16_t)(50100 + i)};
	ck_assert_int_eq(P->qp_spread(qa, paths, free_shapes[_i].paths), 0);
	for (unsigned i = 0; i < 8; i++) {
		w = write_of(i, i * BYTES / 8, BYTES / 8 - 1, i % 2 ? QP_WR_IMM : 0);
		ck_assert_int_eq(P->post(qa, &w), 0);
	}
	RUN_UNTIL(n_wa == 8 && n_wb == 4);
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_int_eq(wa[i].status, QP_WC_SUCCESS);
		ck_assert_uint_eq(wa[i].wr_id, i);
		ck_assert_mem_eq(from + i * BYTES / 8, to + i * BYTES / 8, BYTES / 8 - 1);
	}
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(wb[i].imm, 2 * i + 1 + 100);
		ck_assert_uint_eq(wb[i].byte_len, BYTES / 8 - 1);
	}
	stats = *P->endpoint_info(b)->stats;
	ck_assert_uint_eq(stats.icrc_errors, 0);
	close_pair();
}
END_TEST

/* From each of its ports, not only from the one whose turn it is. */
START_TEST(control_leaves_by_any_way_of_an_order_free_qp)
{
	struct qp_path paths[] = {{1, 50600}, {1, 50601}, {1, 50602}};
	struct qp_control c = {.remote = address("::ffff:127.0.0.3"), .plane = 1, .sub_port = 1};

	open_order_free(4096, 0);
	ck_assert_int_eq(P->qp_spread(qa, paths, 3), 0);
	for (unsigned i = 0; i < 3; i++) {
		c.udp_source_port = paths[i].udp_source_port;
		ck_assert_int_eq(P->control_send(a, &c), 0);
		RUN_UNTIL(n_heard == i + 1);
		ck_assert_uint_eq(heard.udp_source_port, paths[i].udp_source_port);
	}
	close_pair();
}
END_TEST

START_TEST(paths_change_under_way)
{
	struct qp_path paths[] = {{1, 50200}, {1, 50201}, {1, 50202}};
	struct qp_path bad[] = {{1, 50300}, {1, 50300}, {2, 50301}, {1, 1000}, {0, 50302}};
	struct qp_work w;

	open_order_free(4096, 0);
	w = write_of(1, 0, BYTES, QP_WR_IMM);
	ck_assert_int_eq(P->qp_spread(qa, paths, 3), 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	ck_assert_int_eq(P->qp_spread(qa, paths + 1, 2), 0);
	ck_assert_int_eq(P->qp_spread(qa, bad, 2), -EINVAL);
	ck_assert_int_eq(P->qp_spread(qa, bad + 2, 1), -EINVAL);
	ck_assert_int_eq(P->qp_spread(qa, bad + 3, 1), -EINVAL);
	ck_assert_int_eq(P->qp_spread(qa, paths, 0), -EINVAL);
	ck_assert_int_eq(P->qp_spread(qa, (struct qp_path[]){{1, 50400}, {0, 50401}}, 2), -ENODEV);
	ck_assert_int_eq(P->qp_spread(qb, paths + 1, 1), 0); /* another address: another port */
	ck_assert_int_eq(P->qp_move(qa, 1, 0), -EOPNOTSUPP);
	P->qp_kick(qa);
	RUN_UNTIL(n_wa == 1 && n_wb == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(from, to, BYTES);
	/* nothing was left open */
	ck_assert_int_eq(P->qp_spread(qa, (struct qp_path[]){{1, 50400}}, 1), 0);
	close_pair();
}
END_TEST

START_TEST(order_free_is_for_both_or_neither)
{
	struct qp_attr attr = attr_of(16, 7, 0);
	struct qp_remote r = {.address = address("::ffff:127.0.0.3"), .qpn = 77};
	struct qp_work send = {.op = QP_OP_SEND};
	struct qp_work read = {.op = QP_OP_READ};
	struct qp *q;

	open_order_free(4096, 0);
	attr.order_free = true;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), 0);
	ck_assert_int_eq(P->qp_connect(q, &r), -EPROTONOSUPPORT);
	attr.order_free = false;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), 0);
	ck_assert_int_eq(P->qp_spread(q, (struct qp_path[]){{1, 50400}}, 1), -EOPNOTSUPP);
	r.order_free = true;
	ck_assert_int_eq(P->qp_connect(q, &r), -EPROTONOSUPPORT);
	attr.order_free = true;
	attr.receives = 1;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), -EINVAL);
	ck_assert_int_eq(P->post(qa, &send), -EOPNOTSUPP);
	ck_assert_int_eq(P->post(qa, &read), -EOPNOTSUPP);
	close_pair();
}
END_TEST

START_TEST(order_free_refusals_find_the_guilty)
{
	struct qp_work w;

	open_order_free(4096, 0);
	w = write_of(1, 0, 5000, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	w = write_of(2, 0, 5000, 0);
	w.rkey ^= 1;
	ck_assert_int_eq(P->post(qa, &w), 0);
	w = write_of(3, 0, 5000, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 3);
	ck_assert_int_eq(wa[1].status, QP_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(wa[2].status, QP_WC_FLUSH_ERR);
	ck_assert_int_eq(P->post(qb, &w), -ENOTCONN);
	close_pair();
}
END_TEST

START_TEST(order_free_silence_ends)
{
	struct qp_attr attr = attr_of(10, 1, 0);
	struct qp_work w;

	both_order_free = attr.order_free = true;
	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", 4096, attr);
	w = write_of(1, 0, 100000, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	P->qp_error(qb);
	RUN_UNTIL(n_wa == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_RETRY_EXC_ERR);
	for (unsigned i = 0; i < 100000; i++)
		ck_assert_uint_eq(to[i], 0);
	both_order_free = false;
	close_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_protocol");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	tcase_add_test(t, another_source_port_loses_nothing);
	tcase_add_loop_test(t, a_megabyte_sprayed_over_ports_arrives, 0,
			    (int)(sizeof(free_shapes) / sizeof(free_shapes[0])));
	tcase_add_test(t, control_leaves_by_any_way_of_an_order_free_qp);
	tcase_add_test(t, paths_change_under_way);
	tcase_add_test(t, order_free_is_for_both_or_neither);
	tcase_add_test(t, order_free_refusals_find_the_guilty);
	tcase_add_test(t, order_free_silence_ends);
	suite_add_tcase(s, t);
	return run_suite(s);
}
