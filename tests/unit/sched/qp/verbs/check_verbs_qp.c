/* SPDX-License-Identifier: BSD-2-Clause */
/* check_verbs_qp.c - the life of a QP on a device of the mock, and devices that fail its work. */
#include "verbs_pair.h"

static uint64_t ids[512]; /* of completions at end 0, in their order */
static enum qp_wc_status statuses[512];
static unsigned n_ids;
static struct qp_wc arrivals[512]; /* at end 1 */
static unsigned n_arrivals;

/* As turn(), and keeps what completes. */
static void look(void)
{
	struct qp_wc wc[16];

	for (int end = 0; end < 2; end++) {
		int n;

		v->endpoint_progress(ep[end]);
		while ((n = v->poll(ep[end], wc, 16)) > 0) {
			for (int i = 0; i < n; i++) {
				if (end) {
					arrivals[n_arrivals++ % 512] = wc[i];
				} else {
					statuses[n_ids % 512] = wc[i].status;
					ids[n_ids++ % 512] = wc[i].wr_id;
				}
			}
		}
	}
}

#define look_until(condition)                                                                      \
	do {                                                                                       \
		int ms_ = 0;                                                                       \
		for (; !(condition) && ms_ < LIMIT_MS; ms_++) {                                    \
			look();                                                                    \
			poll(NULL, 0, 1);                                                          \
		}                                                                                  \
		ck_assert_msg(ms_ < LIMIT_MS, "in vain: %s", #condition);                          \
	} while (0)

static struct qp_work write_of(uint64_t wr_id, uint32_t at, uint32_t length)
{
	return (struct qp_work){.wr_id = wr_id,
				.data = memory[0] + at,
				.lkey = mr[0].lkey,
				.length = length,
				.remote_addr = (uintptr_t)memory[1] + at,
				.rkey = mr[1].rkey};
}

static void know_key(void)
{
	struct qp_work w = write_of(0, 0, 1);

	look_until(v->post(qp[0], &w) == 0);
	look_until(n_ids == 1);
	n_ids = n_arrivals = 0;
}

/* ---- life ---- */

START_TEST(a_qp_takes_work_only_between_connect_and_error)
{
	struct qp_work w = write_of(1, 0, 8);
	struct verbs_mock_qp seen;
	struct qp *fresh = NULL;
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6};

	ck_assert_int_eq(v->qp_create(ep[0], &attr, &fresh), 0);
	ck_assert_uint_eq(verbs_mock_qp(device, v->qp_num(fresh), &seen), 1);
	ck_assert_int_eq(seen.state, IBV_QPS_INIT);
	ck_assert_int_eq(v->post(fresh, &w), -ENOTCONN);
	v->qp_error(fresh);
	ck_assert_int_eq(v->qp_status(fresh), 0); /* at once: no peer was named to the device */
	know_key();
	ck_assert_int_eq(v->post(qp[0], &w), 0);
	v->qp_error(qp[0]);
	ck_assert_int_eq(v->post(qp[0], &w), -ENOTCONN);
	look_until(v->qp_status(qp[0]) == 0);
	ck_assert_uint_eq(verbs_mock_qp(device, v->qp_num(qp[0]), &seen), 1);
	ck_assert_int_eq(seen.state, IBV_QPS_ERR);
	ck_assert_uint_eq(seen.n_receives, 0);
}
END_TEST

START_TEST(work_completes_in_the_order_in_which_it_was_posted)
{
	static uint8_t back[64];
	struct qp_work r = {.op = QP_OP_READ, .wr_id = 3, .data = back, .length = sizeof(back)};
	struct qp_work w[2] = {write_of(1, 0, 64), write_of(2, 64, 64)};
	struct qp_mr own;

	ck_assert_int_eq(v->mr_register(ep[0], back, sizeof(back), 0, &own), 0);
	for (unsigned i = 0; i < 128; i++)
		memory[0][i] = (uint8_t)(i * 7 + 1);
	know_key();
	w[1].flags = QP_WR_IMM;
	w[1].imm = 0x12345678;
	r.lkey = own.lkey;
	r.remote_addr = (uintptr_t)memory[1] + 64;
	r.rkey = mr[1].rkey;
	ck_assert_int_eq(v->post(qp[0], &w[0]), 0);
	ck_assert_int_eq(v->post(qp[0], &w[1]), 0);
	ck_assert_int_eq(v->post(qp[0], &r), 0);
	look_until(n_ids == 3 && n_arrivals == 1);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(ids[i], i + 1);
		ck_assert_int_eq(statuses[i], QP_WC_SUCCESS);
	}
	ck_assert(arrivals[0].has_imm && arrivals[0].imm == 0x12345678);
	ck_assert_uint_eq(arrivals[0].byte_len, 64);
	ck_assert_mem_eq(memory[1], memory[0], 128);
	ck_assert_mem_eq(back, memory[0] + 64, 64);
}
END_TEST

START_TEST(a_send_ends_in_the_oldest_receive)
{
	static uint8_t at[2][32];
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6, .receives = 2};
	struct qp_work s = {
		.op = QP_OP_SEND, .wr_id = 5, .data = memory[0], .lkey = mr[0].lkey, .length = 32};
	struct qp_mr own;

	for (int end = 0; end < 2; end++)
		v->qp_destroy(qp[end]);
	for (int end = 0; end < 2; end++)
		ck_assert_int_eq(v->qp_create(ep[end], &attr, &qp[end]), 0);
	ck_assert_int_eq(v->mr_register(ep[1], at, sizeof(at), 0, &own), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct qp_recv r = {
			.wr_id = 70 + i, .data = at[i], .lkey = own.lkey, .length = sizeof(at[i])};

		ck_assert_int_eq(v->post_recv(qp[1], &r), 0);
		if (i)
			ck_assert_int_eq(v->post_recv(qp[1], &r), -ENOBUFS);
	}
	connect_qps();
	memset(memory[0], 0x5a, 32);
	ck_assert_int_eq(v->post(qp[0], &s), 0);
	look_until(n_ids == 1 && n_arrivals == 1);
	ck_assert_uint_eq(arrivals[0].wr_id, 70);
	ck_assert_uint_eq(arrivals[0].byte_len, 32);
	ck_assert_mem_eq(at[0], memory[0], 32);
	v->qp_error(qp[1]);
	look_until(v->qp_status(qp[1]) == 0);
	ck_assert_uint_eq(arrivals[1].wr_id, 71); /* given back */
	ck_assert_int_eq(arrivals[1].status, QP_WC_FLUSH_ERR);
}
END_TEST

/* More immediates than there are receives: they wait, and none is lost. */
START_TEST(receives_are_posted_again)
{
	struct verbs_mock_qp seen;

	know_key();
	for (uint32_t i = 0; i < 100; i++) {
		struct qp_work w = write_of(i, 0, 0);

		w.flags = QP_WR_IMM;
		w.imm = i;
		ck_assert_int_eq(v->post(qp[0], &w), 0);
	}
	ck_assert_uint_eq(verbs_mock_qp(device, v->qp_num(qp[1]), &seen), 1);
	ck_assert_uint_eq(seen.n_receives, 0); /* all 16 are used up */
	look_until(n_arrivals == 100 && n_ids == 100);
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_uint_eq(arrivals[i].imm, i);
}
END_TEST

START_TEST(a_full_queue_is_said_to_be_full)
{
	unsigned n = 0;
	int err = 0;

	know_key();
	VERBS_MOCK(device->held = true);
	for (; !err; n += !err) {
		struct qp_work w = write_of(n, 0, 8);

		err = v->post(qp[0], &w);
	}
	ck_assert_int_eq(err, -ENOBUFS);
	VERBS_MOCK(device->held = false);
	look_until(n_ids == n);
}
END_TEST

START_TEST(a_completion_makes_the_descriptor_readable)
{
	struct pollfd p = {.fd = v->endpoint_info(ep[1])->fd, .events = POLLIN};
	struct qp_work w = write_of(1, 0, 8);

	know_key();
	for (int i = 0; i < 50; i++)
		look();
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	w.flags = QP_WR_IMM;
	ck_assert_int_eq(v->post(qp[0], &w), 0);
	ck_assert_int_eq(poll(&p, 1, LIMIT_MS), 1);
	look_until(n_arrivals == 1);
	for (int i = 0; i < 50; i++)
		look();
	ck_assert_int_eq(poll(&p, 1, 0), 0);
}
END_TEST

/* ---- numbers ---- */

START_TEST(a_number_is_not_used_again_soon)
{
	struct verbs_mock_qp seen;
	uint32_t first = v->qp_num(qp[0]);

	replace_qps();
	ck_assert_uint_ne(v->qp_num(qp[0]), first);
	ck_assert_uint_eq(verbs_mock_qp(device, first, &seen), 1); /* it still is the device's */
	ck_assert_int_eq(seen.state, IBV_QPS_ERR);
	for (int i = 0; i < 70; i++) { /* more than are kept */
		v->qp_error(qp[0]);
		until(v->qp_status(qp[0]) == 0);
		v->qp_destroy(qp[0]);
		ck_assert_int_eq(make_qp(0), 0);
	}
	until(verbs_mock_qp(device, first, &seen) == 0);
}
END_TEST

/* ---- work that fails ---- */

static void fail_one(unsigned status)
{
	struct qp_work w[3] = {write_of(1, 0, 8), write_of(2, 0, 8), write_of(3, 0, 8)};

	know_key();
	VERBS_MOCK(device->held = true);
	verbs_mock_fail(device, 2, 1, status);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(v->post(qp[0], &w[i]), 0);
	VERBS_MOCK(device->held = false);
	look_until(n_ids == 3);
	ck_assert_int_eq(statuses[0], QP_WC_SUCCESS);
	ck_assert_uint_eq(statuses[1], status);
	ck_assert_int_eq(statuses[2], QP_WC_FLUSH_ERR);
	ck_assert_int_lt(v->qp_status(qp[0]), 0);
	ck_assert_int_eq(v->qp_status(qp[1]), 0); /* nobody has said so to the peer */
	ck_assert_int_eq(v->post(qp[0], &w[0]), -ENOTCONN);
	replace_qps();
	check_write(9);
}

START_TEST(work_that_fails_ends_its_qp)
{
	static const unsigned list[] = {QP_WC_LOC_PROT_ERR, QP_WC_REM_OP_ERR, QP_WC_RETRY_EXC_ERR,
					23 /* above all that are defined */, 0xdead};

	fail_one(list[_i]);
}
END_TEST

START_TEST(what_the_peer_refuses_ends_both)
{
	struct qp_work w = write_of(1, BYTES - 8, 16); /* beyond the end of both regions */
	static uint8_t more[16];
	struct qp_mr own;

	know_key();
	ck_assert_int_eq(v->mr_register(ep[0], more, sizeof(more), 0, &own), 0);
	w.data = more;
	w.lkey = own.lkey;
	ck_assert_int_eq(v->post(qp[0], &w), 0);
	look_until(n_ids == 1 && v->qp_status(qp[0]) < 0 && v->qp_status(qp[1]) < 0);
	ck_assert_int_eq(statuses[0], QP_WC_REM_ACCESS_ERR);
	ck_assert_uint_eq(n_arrivals, 0);
	replace_qps();
	check_write(9);
}
END_TEST

/* ---- completions that do not come ---- */

/* done: the bytes are placed and nobody says so; else the device does nothing at all. */
static void stop_without_completions(bool done)
{
	struct qp_work w = write_of(4, 0, BYTES);

	know_key();
	memset(memory[0], 1, BYTES);
	if (done)
		verbs_mock_mute(device, 1);
	else
		VERBS_MOCK(device->held = device->no_flush = true);
	ck_assert_int_eq(v->post(qp[0], &w), 0);
	for (int i = 0; i < 50; i++)
		look();
	ck_assert_uint_eq(n_ids, 0);
	v->qp_error(qp[0]);
	look_until(v->qp_status(qp[0]) == 0);
	ck_assert_uint_eq(n_ids, 1);
	ck_assert_uint_eq(ids[0], 4);
	ck_assert_int_eq(statuses[0], QP_WC_FLUSH_ERR);
	memset(memory[1], 7, BYTES);
	VERBS_MOCK(device->held = device->no_flush = false);
	verbs_mock_mute(device, 0);
	for (int i = 0; i < 50; i++)
		look();
	ck_assert_int_eq(memory[1][0], 7); /* it is quiet */
	replace_qps();
	check_write(9);
}

START_TEST(a_device_that_keeps_completions_is_reset)
{
	stop_without_completions(true);
}
END_TEST

START_TEST(a_device_that_does_nothing_is_reset)
{
	stop_without_completions(false);
}
END_TEST

/*
 * A QP that holds neither work nor receives shows by nothing that its device has stopped: one
 * receive is posted for that, and where it cannot be, or is not flushed, the QP is reset.
 */
START_TEST(a_qp_without_receives_is_not_taken_for_stopped)
{
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6, .receives = 2};
	struct verbs_mock_qp seen;

	for (int end = 0; end < 2; end++)
		v->qp_destroy(qp[end]);
	for (int end = 0; end < 2; end++)
		ck_assert_int_eq(v->qp_create(ep[end], &attr, &qp[end]), 0);
	connect_qps();
	VERBS_MOCK(device->refuse_receive = _i == 1; device->no_flush = _i == 2);
	v->qp_error(qp[0]);
	look_until(v->qp_status(qp[0]) == 0);
	ck_assert_uint_eq(verbs_mock_qp(device, v->qp_num(qp[0]), &seen), 1);
	ck_assert_int_eq(seen.state, _i ? IBV_QPS_RESET : IBV_QPS_ERR);
	ck_assert_uint_eq(n_ids, 0); /* and nobody is told of it */
	VERBS_MOCK(device->refuse_receive = device->no_flush = false);
}
END_TEST

START_TEST(a_queue_that_cannot_be_polled_ends_its_qp)
{
	struct qp_work w = write_of(4, 0, 8);

	know_key();
	VERBS_MOCK(device->held = true);
	ck_assert_int_eq(v->post(qp[0], &w), 0);
	verbs_mock_cq_error(device, v->qp_num(qp[0]), false);
	look_until(v->qp_status(qp[0]) == -EIO);
	v->qp_error(qp[0]);
	look_until(v->qp_status(qp[0]) == 0);
	ck_assert_uint_eq(n_ids, 1);
	ck_assert_int_eq(statuses[0], QP_WC_FLUSH_ERR);
	VERBS_MOCK(device->held = false);
	replace_qps();
	check_write(9);
}
END_TEST

/* ---- calls that take long, or fail ---- */

START_TEST(a_slow_device_holds_up_no_caller)
{
	struct timespec a, b;

	VERBS_MOCK(device->block_modify = true);
	clock_gettime(CLOCK_MONOTONIC, &a);
	v->qp_error(qp[0]);
	for (int i = 0; i < 20; i++)
		look();
	clock_gettime(CLOCK_MONOTONIC, &b);
	ck_assert_int_gt(v->qp_status(qp[0]), 0);
	ck_assert_int_lt(b.tv_sec - a.tv_sec, 5);
	VERBS_MOCK(device->block_modify = false; device->modify_ms = 20);
	look_until(v->qp_status(qp[0]) == 0);
	replace_qps();
	check_write(9);
}
END_TEST

START_TEST(a_connect_that_fails_is_the_qps_error)
{
	struct qp_remote remote = {.address = attr_of(1).address, .qpn = 1};
	struct qp_attr attr = {.timeout = 14};
	struct qp *q;

	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q), 0);
	VERBS_MOCK(device->refuse_modify = true);
	ck_assert_int_eq(v->qp_connect(q, &remote), 0);
	look_until(v->qp_status(q) == -EINVAL);
	ck_assert_int_eq(v->qp_status(qp[0]), 0);
	VERBS_MOCK(device->refuse_modify = false);
	v->qp_error(q);
	look_until(v->qp_status(q) == 0);
}
END_TEST

static TCase *cases(void)
{
	TCase *t = tcase_create("core");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_qp_takes_work_only_between_connect_and_error);
	tcase_add_test(t, work_completes_in_the_order_in_which_it_was_posted);
	tcase_add_test(t, a_send_ends_in_the_oldest_receive);
	tcase_add_test(t, receives_are_posted_again);
	tcase_add_test(t, a_full_queue_is_said_to_be_full);
	tcase_add_test(t, a_completion_makes_the_descriptor_readable);
	tcase_add_test(t, a_number_is_not_used_again_soon);
	tcase_add_loop_test(t, work_that_fails_ends_its_qp, 0, 5);
	tcase_add_test(t, what_the_peer_refuses_ends_both);
	tcase_add_test(t, a_device_that_keeps_completions_is_reset);
	tcase_add_test(t, a_device_that_does_nothing_is_reset);
	tcase_add_loop_test(t, a_qp_without_receives_is_not_taken_for_stopped, 0, 3);
	tcase_add_test(t, a_queue_that_cannot_be_polled_ends_its_qp);
	tcase_add_test(t, a_slow_device_holds_up_no_caller);
	tcase_add_test(t, a_connect_that_fails_is_the_qps_error);
	return t;
}

int main(void)
{
	Suite *s = suite_create("verbs_qp");
	SRunner *r;
	int failed;

	suite_add_tcase(s, cases());
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
