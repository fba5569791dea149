/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_verbs_worker_threads.c - the data thread and the workers, which connect, stop, reset and
 * end QPs and open devices meanwhile. For a race detector; every byte is checked as well.
 */
#include "verbs_pair.h"

#define ROUNDS 40

static void lose_device(void)
{
	verbs_mock_remove(device);
	until(v->qp_status(qp[0]) < 0 && v->qp_status(qp[1]) < 0);
	for (int end = 0; end < 2; end++)
		v->qp_error(qp[end]);
	verbs_mock_restore(device);
}

/* Of work that is under way, of a QP that connects, with events; each in its turn. */
static void disturb(int round)
{
	struct qp_remote remote = {.address = attr_of(1).address, .qpn = 1};
	struct qp_attr attr = {.timeout = 14};
	struct qp *q;

	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q), 0);
	ck_assert_int_eq(v->qp_connect(q, &remote), 0);
	if (round % 2)
		v->qp_error(q);
	v->qp_destroy(q); /* while a worker has it */
	if (round % 3 == 0)
		verbs_mock_qp_error(device, v->qp_num(qp[0]), IBV_EVENT_QP_FATAL);
	if (round % 5 == 0)
		verbs_mock_cq_error(device, v->qp_num(qp[1]), true);
	if (round % 8 == 7)
		lose_device();
}

START_TEST(qps_end_while_workers_have_them)
{
	VERBS_MOCK(device->modify_ms = 1);
	for (int round = 0; round < ROUNDS; round++) {
		check_write((uint8_t)(round + 1));
		until(post(1) == 0);
		disturb(round);
		replace_qps();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_worker_threads");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, qps_end_while_workers_have_them);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
