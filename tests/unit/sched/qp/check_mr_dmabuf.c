/* SPDX-License-Identifier: BSD-2-Clause */
/* Which way is taken, and what is refused. With a real dma-buf: tests/vm/dmabuf.c. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "qp/mr_dmabuf.h"

static int device_result;
static unsigned n_device, n_mapped, n_deregistered;
static uint64_t last_iova;

static int by_device(struct qp_endpoint *ep, int fd, uint64_t offset, size_t length, uint64_t iova,
		     unsigned access, struct qp_mr *out)
{
	(void)ep;
	(void)fd;
	(void)offset;
	(void)length;
	(void)access;
	n_device++;
	last_iova = iova;
	*out = (struct qp_mr){1, 2};
	return device_result;
}

static int by_address(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
		      struct qp_mr *out)
{
	(void)ep;
	(void)addr;
	(void)length;
	(void)access;
	(void)out;
	n_mapped++;
	return 0;
}

static int deregister(struct qp_endpoint *ep, const struct qp_mr *mr)
{
	(void)ep;
	ck_assert_uint_eq(mr->lkey, 1);
	n_deregistered++;
	return 0;
}

static const struct qp_provider able = {
	.mr_register = by_address, .mr_register_dmabuf = by_device, .mr_deregister = deregister};
static const struct qp_provider unable = {.mr_register = by_address, .mr_deregister = deregister};

START_TEST(a_device_that_can_needs_no_mapping)
{
	struct mr_dmabuf m;

	ck_assert_int_eq(mr_dmabuf_register(&m, &able, NULL, 0, 0, 4096, 0x7000, 0), 0);
	ck_assert_uint_eq(n_device, 1);
	ck_assert_uint_eq(n_mapped, 0);
	ck_assert_uint_eq(last_iova, 0x7000);
	ck_assert_uint_eq(m.addr, 0x7000);
	ck_assert_ptr_null(m.map);
	ck_assert_int_eq(mr_dmabuf_sync(&m), 0);
	mr_dmabuf_deregister(&m, &able, NULL);
	ck_assert_uint_eq(n_deregistered, 1);
}
END_TEST

START_TEST(an_error_of_the_device_is_no_reason_to_map)
{
	struct mr_dmabuf m;

	device_result = -ENOSPC;
	ck_assert_int_eq(mr_dmabuf_register(&m, &able, NULL, 0, 0, 4096, 0, 0), -ENOSPC);
	ck_assert_uint_eq(n_mapped, 0);
}
END_TEST

START_TEST(what_is_no_dma_buf_is_refused)
{
	int fd = memfd_create("not a dma-buf", 0);
	struct mr_dmabuf m;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(mr_dmabuf_register(&m, &unable, NULL, fd, 0, 4096, 0, 0), -EINVAL);
	ck_assert_int_eq(mr_dmabuf_register(&m, &unable, NULL, fd, 0, 0, 0, 0), -EINVAL);
	ck_assert_int_eq(mr_dmabuf_register(&m, &unable, NULL, -1, 0, 4096, 0, 0), -EBADF);
	device_result = -EOPNOTSUPP;
	ck_assert_int_eq(mr_dmabuf_register(&m, &able, NULL, fd, 0, 4096, 0, 0), -EINVAL);
	ck_assert_uint_eq(n_mapped, 0);
	ck_assert_int_eq(m.fd, -1);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mr_dmabuf");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, a_device_that_can_needs_no_mapping);
	tcase_add_test(t, an_error_of_the_device_is_no_reason_to_map);
	tcase_add_test(t, what_is_no_dma_buf_is_refused);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
