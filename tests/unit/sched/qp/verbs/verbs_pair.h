/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_pair.h - two verbs endpoints over one device of the mock (verbs_mock.h), with a region and
 * a QP each, connected.
 */
#ifndef VERBS_PAIR_H
#define VERBS_PAIR_H

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qp/control_auth.h"
#include "qp/provider.h"
#include "verbs_mock.h"

#define BYTES	     4096
#define CONTROL_DSCP 34
#define LIMIT_MS     20000

static const struct qp_provider *const v = &qp_verbs_provider;
static struct verbs_mock_device *device;
static struct qp_endpoint *ep[3]; /* the third only where a test says so */
static struct qp *qp[2];
static uint8_t memory[3][BYTES];
static struct qp_mr mr[3];
static struct control_auth key = {.secret = "0123456789abcdef", .length = 16};
static struct qp_wc last[3];
static unsigned n_wc[3];

/* Address k (2 and 3 are the device's GIDs), of this process alone: tests run beside each other. */
static inline const char *own_address(unsigned k)
{
	static _Thread_local char text[16][64];

	snprintf(text[k], sizeof(text[k]), "::ffff:127.%u.%u.%u", (unsigned)getpid() >> 8 & 127,
		 (unsigned)getpid() & 255, k);
	return text[k];
}

static inline struct qp_endpoint_attr attr_of(int end)
{
	struct qp_endpoint_attr attr = {.n_planes = 1,
					.n_sub_ports = {1},
					.path_mtu = 1024,
					.dev = {{"lo"}},
					.control_key = &key,
					.control_dscp = CONTROL_DSCP};

	inet_pton(AF_INET6, own_address(2 + (unsigned)end), &attr.address);
	return attr;
}

static inline void turn(void)
{
	struct qp_wc wc[16];

	for (int end = 0; end < 3; end++) {
		int n;

		if (!ep[end])
			continue;
		v->endpoint_progress(ep[end]);
		while ((n = v->poll(ep[end], wc, 16)) > 0) {
			last[end] = wc[n - 1];
			n_wc[end] += (unsigned)n;
		}
	}
}

/* Turns until the condition holds. */
#define until(condition)                                                                           \
	do {                                                                                       \
		int ms_ = 0;                                                                       \
		for (; !(condition) && ms_ < LIMIT_MS; ms_++) {                                    \
			turn();                                                                    \
			poll(NULL, 0, 1);                                                          \
		}                                                                                  \
		ck_assert_msg(ms_ < LIMIT_MS, "in vain: %s", #condition);                          \
	} while (0)

static inline int make_qp(int end)
{
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6, .notifications = 16};

	return v->qp_create(ep[end], &attr, &qp[end]);
}

static inline void connect_qps(void)
{
	for (int end = 0; end < 2; end++) {
		struct qp_endpoint_attr other = attr_of(!end);
		struct qp_remote remote = {.address = other.address,
					   .qpn = v->qp_num(qp[!end]),
					   .psn = v->qp_psn(qp[!end])};

		ck_assert_int_eq(v->qp_connect(qp[end], &remote), 0);
	}
	until(v->qp_status(qp[0]) == 0 && v->qp_status(qp[1]) == 0);
}

static inline void set_up(void)
{
	device = verbs_mock_add("mock0", "lo", own_address(2), own_address(3));
	ck_assert_ptr_nonnull(device);
	for (int end = 0; end < 2; end++) {
		struct qp_endpoint_attr attr = attr_of(end);

		ck_assert_int_eq(v->endpoint_create(&ep[end], &attr), 0);
		ck_assert_int_eq(v->mr_register(ep[end], memory[end], BYTES,
						QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ,
						&mr[end]),
				 0);
		ck_assert_int_eq(make_qp(end), 0);
	}
	connect_qps();
}

static inline void tear_down(void)
{
	VERBS_MOCK(device->block_modify = device->refuse_modify = device->refuse_destroy = false);
	for (int end = 0; end < 3; end++)
		v->endpoint_destroy(ep[end]);
	ck_assert_uint_eq(device->n_opened, device->n_closed);
}

/* Memory of end 0 to that of end 1. */
static inline int post(uint64_t wr_id)
{
	struct qp_work w = {.wr_id = wr_id,
			    .data = memory[0],
			    .lkey = mr[0].lkey,
			    .length = BYTES,
			    .remote_addr = (uintptr_t)memory[1],
			    .rkey = mr[1].rkey};

	return v->post(qp[0], &w);
}

static inline void check_write(uint8_t pattern)
{
	unsigned before = n_wc[0];

	memset(memory[0], pattern, BYTES);
	until(post(7) == 0);
	until(n_wc[0] > before);
	ck_assert_int_eq(last[0].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(memory[0], memory[1], BYTES);
}

/* Both QPs end, and others take their place. */
static inline void replace_qps(void)
{
	for (int end = 0; end < 2; end++)
		v->qp_error(qp[end]);
	until(v->qp_status(qp[0]) == 0 && v->qp_status(qp[1]) == 0);
	for (int end = 0; end < 2; end++)
		v->qp_destroy(qp[end]);
	until(make_qp(0) == 0);
	until(make_qp(1) == 0);
	connect_qps();
}

#endif
