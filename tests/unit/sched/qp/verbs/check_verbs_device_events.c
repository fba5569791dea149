/* SPDX-License-Identifier: BSD-2-Clause */
/* check_verbs_device_events.c - what devices of the mock report, and what follows from it. */
#include "verbs_pair.h"

#define SPEED_CHANGE 20 /* IBV_EVENT_DEVICE_SPEED_CHANGE, of later headers */

static void stays(int turns)
{
	for (int i = 0; i < turns; i++) {
		turn();
		poll(NULL, 0, 1); /* workers go on */
	}
}

static void stays_well(void)
{
	for (int i = 0; i < 30; i++)
		turn();
	ck_assert_int_eq(v->qp_status(qp[0]), 0);
	ck_assert_int_eq(v->qp_status(qp[1]), 0);
}

START_TEST(a_port_that_goes_down_ends_its_qps_until_it_is_back)
{
	struct qp_attr attr = {.timeout = 14};
	struct qp *none;

	verbs_mock_port(device, false);
	until(v->qp_status(qp[0]) == -ENETDOWN && v->qp_status(qp[1]) == -ENETDOWN);
	ck_assert_int_eq(v->qp_create(ep[0], &attr, &none), -ENETDOWN);
	verbs_mock_port(device, true);
	replace_qps();
	check_write(1);
}
END_TEST

START_TEST(a_qp_that_the_device_gives_up_has_failed)
{
	static const unsigned types[] = {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
					 IBV_EVENT_QP_ACCESS_ERR};

	verbs_mock_qp_error(device, v->qp_num(qp[0]), types[_i]);
	until(v->qp_status(qp[0]) < 0);
	ck_assert_int_eq(v->qp_status(qp[1]), 0);
	replace_qps();
	check_write(1);
}
END_TEST

/* An event that nobody has taken when its QP ends is of no QP. */
START_TEST(an_event_of_a_qp_that_ends_is_dropped)
{
	for (int i = 0; i < 80; i++) { /* more than are kept back */
		verbs_mock_qp_error(device, v->qp_num(qp[0]), IBV_EVENT_QP_FATAL);
		v->qp_error(qp[0]);
		until(v->qp_status(qp[0]) == 0);
		verbs_mock_qp_error(device, v->qp_num(qp[0]), IBV_EVENT_QP_FATAL);
		v->qp_destroy(qp[0]);
		ck_assert_int_eq(make_qp(0), 0);
	}
}
END_TEST

/* What a device reports of a QP that it would not end is of no QP. */
START_TEST(an_event_of_a_qp_that_the_device_keeps_is_dropped)
{
	uint32_t kept = v->qp_num(qp[0]);

	VERBS_MOCK(device->refuse_destroy = true);
	v->qp_destroy(qp[0]); /* at once: it was not stopped */
	stays(20);
	VERBS_MOCK(device->refuse_destroy = false);
	verbs_mock_qp_error(device, kept, IBV_EVENT_QP_FATAL);
	verbs_mock_cq_error(device, kept, true);
	stays(20);
	ck_assert_int_eq(make_qp(0), 0);
	ck_assert_int_eq(v->qp_status(qp[0]), 0);
}
END_TEST

START_TEST(what_is_of_no_consequence_ends_nothing)
{
	static const unsigned types[] = {SPEED_CHANGE,
					 0x7fff,
					 IBV_EVENT_SM_CHANGE,
					 IBV_EVENT_LID_CHANGE,
					 IBV_EVENT_CLIENT_REREGISTER,
					 IBV_EVENT_PKEY_CHANGE,
					 IBV_EVENT_GID_CHANGE,
					 IBV_EVENT_PORT_ACTIVE};
	static const uint8_t speeds[] = {0, 1, 32, 255};

	VERBS_MOCK(device->active_speed = device->active_width = speeds[_i % 4]);
	verbs_mock_event(device, types[_i], -1);
	stays_well();
	check_write(1);
}
END_TEST

/* A query that fails says nothing of what is there. It is repeated. */
START_TEST(a_query_that_fails_ends_nothing)
{
	VERBS_MOCK(device->query_port_error = EIO);
	verbs_mock_event(device, IBV_EVENT_PORT_ACTIVE, -1);
	verbs_mock_event(device, IBV_EVENT_GID_CHANGE, -1);
	stays_well();
	check_write(1);
	VERBS_MOCK(device->n_gids = 0); /* nobody says so */
	stays_well();
	VERBS_MOCK(device->query_port_error = 0);
	until(v->qp_status(qp[0]) == -EADDRNOTAVAIL && v->qp_status(qp[1]) == -EADDRNOTAVAIL);
}
END_TEST

START_TEST(an_address_that_moves_ends_the_qps_that_used_it)
{
	const union ibv_gid first = device->gids[0];
	struct verbs_mock_qp seen;

	check_write(1);
	VERBS_MOCK(device->gids[0] = device->gids[1]; device->gids[1] = first);
	verbs_mock_event(device, IBV_EVENT_GID_CHANGE, -1);
	until(v->qp_status(qp[0]) == -EADDRNOTAVAIL && v->qp_status(qp[1]) == -EADDRNOTAVAIL);
	replace_qps();
	check_write(2);
	ck_assert_uint_eq(verbs_mock_qp(device, v->qp_num(qp[0]), &seen), 1);
	ck_assert_uint_eq(seen.av.grh.sgid_index, 1);
}
END_TEST

static void work_under_way(void)
{
	check_write(1);
	VERBS_MOCK(device->held = true);
	ck_assert_int_eq(post(1), 0);
}

START_TEST(a_device_that_goes_and_comes_again_and_again_is_used_again)
{
	for (int i = 0; i < 3; i++) {
		work_under_way();
		verbs_mock_remove(device);
		VERBS_MOCK(device->held = false);
		until(v->qp_status(qp[0]) == -ENODEV && v->qp_status(qp[1]) == -ENODEV);
		for (int end = 0; end < 2; end++)
			v->qp_error(qp[end]);
		until(v->qp_status(qp[0]) == 0 && v->qp_status(qp[1]) == 0);
		verbs_mock_restore(device);
		replace_qps();
	}
	check_write(2);
	until(device->n_opened - device->n_closed == 2);
}
END_TEST

/* They are taken a few at a time, and the table is read once for several. */
START_TEST(events_without_end_hold_up_nothing)
{
	unsigned before, after;

	for (int i = 0; i < 10; i++) {
		VERBS_MOCK(before = device->n_gid_reads);
		for (int k = 0; k < 50; k++)
			verbs_mock_event(device, IBV_EVENT_GID_CHANGE, -1);
		turn();
		VERBS_MOCK(after = device->n_gid_reads);
		ck_assert_uint_le(after - before, 2); /* one for each end */
	}
	check_write(1);
}
END_TEST

static TCase *cases(void)
{
	TCase *t = tcase_create("core");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_port_that_goes_down_ends_its_qps_until_it_is_back);
	tcase_add_loop_test(t, a_qp_that_the_device_gives_up_has_failed, 0, 3);
	tcase_add_test(t, an_event_of_a_qp_that_ends_is_dropped);
	tcase_add_test(t, an_event_of_a_qp_that_the_device_keeps_is_dropped);
	tcase_add_loop_test(t, what_is_of_no_consequence_ends_nothing, 0, 8);
	tcase_add_test(t, a_query_that_fails_ends_nothing);
	tcase_add_test(t, an_address_that_moves_ends_the_qps_that_used_it);
	tcase_add_test(t, a_device_that_goes_and_comes_again_and_again_is_used_again);
	tcase_add_test(t, events_without_end_hold_up_nothing);
	return t;
}

int main(void)
{
	Suite *s = suite_create("verbs_device_events");
	SRunner *r;
	int failed;

	suite_add_tcase(s, cases());
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
