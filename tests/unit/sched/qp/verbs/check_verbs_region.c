/* SPDX-License-Identifier: BSD-2-Clause */
/* check_verbs_region.c - memory on devices of the mock, of which one may not take it. */
#include "own_net.h"
#include "verbs_pair.h"

static struct verbs_mock_device *nics[2];
static uint8_t more[BYTES];

/* An endpoint with two planes, each a device of its own. */
static void set_up_two(void)
{
	struct qp_endpoint_attr attr = attr_of(0);

	attr.n_planes = 2;
	attr.n_sub_ports[1] = 1;
	strcpy(attr.dev[1][0], "fare0");
	nics[0] = verbs_mock_add("mock0", "lo", own_address(2), NULL);
	nics[1] = verbs_mock_add("mock1", "fare0", own_address(4), NULL);
	ck_assert(nics[0] && nics[1]);
	ck_assert_int_eq(v->endpoint_create(&ep[0], &attr), 0);
}

static void tear_down_two(void)
{
	v->endpoint_destroy(ep[0]);
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(nics[i]->n_opened, nics[i]->n_closed);
}

static unsigned n_on(int i)
{
	struct verbs_mock_mr seen;

	return verbs_mock_mr(nics[i], (uintptr_t)more, &seen);
}

START_TEST(a_region_is_on_all_devices_or_on_none)
{
	struct qp_mr out;

	VERBS_MOCK(nics[1]->register_error = ENOMEM); /* as of a limit of locked memory */
	ck_assert_int_eq(v->mr_register(ep[0], more, BYTES, QP_ACCESS_REMOTE_WRITE, &out), -ENOMEM);
	ck_assert_uint_eq(n_on(0), 0);
	VERBS_MOCK(nics[1]->register_error = 0);
	ck_assert_int_eq(v->mr_register(ep[0], more, BYTES, QP_ACCESS_REMOTE_WRITE, &out), 0);
	ck_assert(n_on(0) == 1 && n_on(1) == 1);
	ck_assert_int_eq(v->mr_deregister(ep[0], &out), 0);
	ck_assert(n_on(0) == 0 && n_on(1) == 0);
	ck_assert_int_eq(v->mr_deregister(ep[0], &out), -ENOENT);
}
END_TEST

START_TEST(a_device_that_comes_back_without_room_is_used_for_the_rest)
{
	static uint8_t other[BYTES];
	struct qp_mr out, second;
	struct verbs_mock_mr seen;
	struct qp_attr attr = {.plane = 1, .timeout = 14};
	struct qp *q;

	ck_assert_int_eq(v->mr_register(ep[0], more, BYTES, QP_ACCESS_REMOTE_WRITE, &out), 0);
	verbs_mock_remove(nics[1]);
	until(v->qp_create(ep[0], &attr, &q) == -ENODEV);
	VERBS_MOCK(nics[1]->register_error = ENOMEM);
	verbs_mock_restore(nics[1]);
	until(v->qp_create(ep[0], &attr, &q) == 0);
	ck_assert(n_on(0) == 1 && n_on(1) == 0);
	VERBS_MOCK(nics[1]->register_error = 0);
	ck_assert_int_eq(v->mr_register(ep[0], other, BYTES, QP_ACCESS_REMOTE_WRITE, &second), 0);
	ck_assert_uint_eq(verbs_mock_mr(nics[1], (uintptr_t)other, &seen), 1);
}
END_TEST

START_TEST(keys_come_back_late)
{
	struct qp_mr out[2];

	ck_assert_int_eq(v->mr_register(ep[0], more, BYTES, 0, &out[0]), 0);
	ck_assert_int_eq(v->mr_deregister(ep[0], &out[0]), 0);
	for (int i = 0; i < 10000; i++) {
		ck_assert_int_eq(v->mr_register(ep[0], more, BYTES, 0, &out[1]), 0);
		ck_assert_uint_ne(out[0].rkey, out[1].rkey);
		ck_assert_int_eq(v->mr_deregister(ep[0], &out[1]), 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_region");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	if (own_net())
		return 77;
	if (system("ip link add fare0 type veth peer name fare1"))
		return 1;
	tcase_add_checked_fixture(t, set_up_two, tear_down_two);
	tcase_add_test(t, a_region_is_on_all_devices_or_on_none);
	tcase_add_test(t, a_device_that_comes_back_without_room_is_used_for_the_rest);
	tcase_add_test(t, keys_come_back_late);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
