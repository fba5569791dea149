/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "qp/soft/soft_cq.h"

static char qps[2]; /* only their addresses matter */
#define QP(i) ((struct qp *)(void *)&qps[i])

static void push(struct soft_cq *cq, unsigned qp, uint64_t id, bool receive)
{
	struct qp_wc wc = {.qp = QP(qp), .wr_id = id, .is_receive = receive};

	ck_assert_int_eq(soft_cq_claim(cq, receive), 0);
	soft_cq_push(cq, &wc);
}

START_TEST(first_in_first_out_across_growth_and_wrap)
{
	struct qp_wc wc[8];
	struct soft_cq cq = {0};

	soft_cq_allow(&cq, 2, 2);
	push(&cq, 0, 1, false);
	push(&cq, 0, 2, true);
	push(&cq, 0, 3, false);
	ck_assert_int_eq(soft_cq_poll(&cq, wc, 2), 2);
	ck_assert_uint_eq(wc[1].wr_id, 2);
	push(&cq, 0, 4, true);
	push(&cq, 0, 5, true); /* wraps */
	soft_cq_allow(&cq, 4, 4);
	push(&cq, 0, 6, false);
	ck_assert_int_eq(soft_cq_poll(&cq, wc, 8), 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(wc[i].wr_id, 3 + i);
	ck_assert_int_eq(soft_cq_poll(&cq, wc, 8), 0);
	soft_cq_fini(&cq);
}
END_TEST

START_TEST(room_is_claimed_and_given_back)
{
	struct qp_wc wc[8];
	struct soft_cq cq = {0};

	ck_assert_int_eq(soft_cq_claim(&cq, false), -ENOBUFS);
	ck_assert_int_eq(soft_cq_claim(&cq, true), -ENOBUFS);
	soft_cq_allow(&cq, 2, 1);
	push(&cq, 0, 1, false);
	push(&cq, 1, 2, false);
	ck_assert_int_eq(soft_cq_claim(&cq, false), -ENOBUFS);
	push(&cq, 1, 3, true);
	ck_assert_int_eq(soft_cq_claim(&cq, true), -ENOBUFS);
	soft_cq_purge(&cq, QP(1));
	ck_assert_int_eq(soft_cq_claim(&cq, true), 0);
	soft_cq_unclaim(&cq, true);
	ck_assert_int_eq(soft_cq_claim(&cq, false), 0);
	soft_cq_unclaim(&cq, false);
	ck_assert_int_eq(soft_cq_poll(&cq, wc, 8), 1);
	ck_assert_uint_eq(wc[0].wr_id, 1);
	soft_cq_fini(&cq);
}
END_TEST

/*
 * Four QPs of a receive each go, one of many receives comes: what either may claim has its place,
 * together.
 */
START_TEST(neither_kind_takes_the_others_room)
{
	struct soft_cq cq = {0};
	unsigned n = 0;

	soft_cq_allow(&cq, 4 * 256, 4);
	soft_cq_allow(&cq, 256, 1024);
	ck_assert_uint_eq(cq.wcs.room, 0); /* nothing is claimed */
	for (; n < 4 * 256; n++)
		push(&cq, 0, n, false);
	for (; n < 4 * 256 + 1024; n++)
		push(&cq, 0, n, true);
	ck_assert_int_eq(soft_cq_claim(&cq, false), -ENOBUFS);
	ck_assert_int_eq(soft_cq_claim(&cq, true), -ENOBUFS);
	for (unsigned i = 0; i < n; i++) {
		struct qp_wc wc;

		ck_assert_int_eq(soft_cq_poll(&cq, &wc, 1), 1);
		ck_assert_uint_eq(wc.wr_id, i);
	}
	soft_cq_fini(&cq);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_cq");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, first_in_first_out_across_growth_and_wrap);
	tcase_add_test(t, room_is_claimed_and_given_back);
	tcase_add_test(t, neither_kind_takes_the_others_room);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
