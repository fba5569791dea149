/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether an endpoint can be made. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "qp/provider.h"
#include "verbs_mock.h"

static struct qp_endpoint_attr sample(void)
{
	struct qp_endpoint_attr attr = {
		.n_planes = 1, .n_sub_ports = {1}, .path_mtu = 1024, .dev = {{"no-such-dev"}}};

	inet_pton(AF_INET6, "::ffff:127.0.0.1", &attr.address);
	return attr;
}

static int try_to_create(void)
{
	struct qp_endpoint_attr attr = sample();
	struct qp_endpoint *ep = (struct qp_endpoint *)&attr;
	int err = qp_verbs_provider.endpoint_create(&ep, &attr);

	ck_assert_ptr_null(ep);
	return err;
}

START_TEST(tells_a_kernel_without_rdma_from_a_missing_device)
{
	verbs_mock_list_error = ENOSYS;
	ck_assert_int_eq(try_to_create(), -ENOSYS);
	verbs_mock_list_error = 0;
	ck_assert_int_eq(try_to_create(), -ENODEV);
	ck_assert_ptr_nonnull(verbs_mock_add("mock0", "lo", "::ffff:127.0.0.1", NULL));
	ck_assert_int_eq(try_to_create(), -ENODEV); /* not on the sub-port's netdev */
}
END_TEST

START_TEST(tells_devices_that_cannot_be_opened_from_missing_ones)
{
	struct verbs_mock_device *d = verbs_mock_add("mock0", "lo", "::ffff:127.0.0.1", NULL);

	VERBS_MOCK(d->open_error = EACCES);
	ck_assert_int_eq(try_to_create(), -EACCES);
	VERBS_MOCK(d->open_error = EAGAIN); /* whatever the library says: it has no file here */
	ck_assert_int_eq(try_to_create(), -ENXIO);
}
END_TEST

START_TEST(refuses_nonsense_before_it_looks_at_devices)
{
	struct qp_endpoint_attr attr = sample();
	struct qp_endpoint *ep;

	attr.path_mtu = 1500;
	ck_assert_int_eq(qp_verbs_provider.endpoint_create(&ep, &attr), -EINVAL);
	attr = sample();
	attr.n_planes = 0;
	ck_assert_int_eq(qp_verbs_provider.endpoint_create(&ep, &attr), -EINVAL);
	attr = sample();
	attr.n_planes = FARE_MAX_PLANES + 1;
	ck_assert_int_eq(qp_verbs_provider.endpoint_create(&ep, &attr), -EINVAL);
	attr = sample();
	attr.n_sub_ports[0] = FARE_MAX_SUB_PORTS + 1;
	ck_assert_int_eq(qp_verbs_provider.endpoint_create(&ep, &attr), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_endpoint");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, tells_a_kernel_without_rdma_from_a_missing_device);
	tcase_add_test(t, tells_devices_that_cannot_be_opened_from_missing_ones);
	tcase_add_test(t, refuses_nonsense_before_it_looks_at_devices);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
