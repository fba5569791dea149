/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_pair.h - two endpoints of the soft provider in one process, over real sockets on the
 * loopback device of a private network namespace. Progress is only made when an endpoint's
 * descriptor says so: a missing wake-up is a test that fails.
 */
#ifndef SOFT_PAIR_H
#define SOFT_PAIR_H

#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "own_net.h"
#include "patience.h"
#include "qp/provider.h"

#define P     (&qp_soft_provider)
#define BYTES (1u << 20)

static struct qp_endpoint *a, *b;
static struct qp *qa, *qb;
static struct qp_mr ma, mb;
static uint8_t *from, *to;
static struct qp_wc wa[2048], wb[2048];
static int n_wa, n_wb;
static struct qp_control heard;
static uint8_t heard_data[QP_CONTROL_MAX];
static unsigned n_heard;
static bool both_order_free, acknowledge_now;
static uint8_t control_dscp;
static uint64_t lo_bps;		    /* what is said of the device; 0: nothing */
static uint16_t remote_port;	    /* of both ends; 0: 4791 */
static uint32_t remote_path_mtu[2]; /* of a and b; 0: not told */

static inline struct in6_addr address(const char *text)
{
	struct in6_addr out;

	ck_assert_int_eq(inet_pton(AF_INET6, text, &out), 1);
	return out;
}

static inline void on_control(void *arg, const struct qp_control *c)
{
	(void)arg;
	heard = *c;
	memcpy(heard_data, c->data, c->length);
	n_heard++;
	/* being called from progress must not run progress again */
	ck_assert_int_eq(P->endpoint_progress(b), 0);
}

static inline struct qp_endpoint *endpoint(const char *at, uint32_t mtu)
{
	struct qp_endpoint_attr attr = {
		.address = address(at),
		.n_planes = 2,
		.n_sub_ports = {1, 2},
		.path_mtu = mtu,
		.bps[1][1] = lo_bps,
		.acknowledge_now = acknowledge_now,
		.control_dscp = control_dscp,
		.on_control = on_control,
	};
	struct qp_endpoint *ep;

	strcpy(attr.dev[0][0], "none0");
	strcpy(attr.dev[1][0], "none1");
	strcpy(attr.dev[1][1], "lo");
	ck_assert_int_eq(P->endpoint_create(&ep, &attr), 0);
	return ep;
}

static inline struct qp_attr attr_of(uint8_t timeout, uint8_t retry, uint32_t window)
{
	return (struct qp_attr){.plane = 1,
				.sub_port = 1,
				.timeout = timeout,
				.retry_cnt = retry,
				.window_bytes = window,
				.context = &n_wa};
}

static inline void join(struct qp *x, struct qp *y, const char *x_at, const char *y_at)
{
	struct qp_remote to_y = {.address = address(y_at),
				 .qpn = P->qp_num(y),
				 .psn = P->qp_psn(y),
				 .udp_port = remote_port,
				 .path_mtu = remote_path_mtu[1],
				 .order_free = both_order_free};
	struct qp_remote to_x = {.address = address(x_at),
				 .qpn = P->qp_num(x),
				 .psn = P->qp_psn(x),
				 .udp_port = remote_port,
				 .path_mtu = remote_path_mtu[0],
				 .order_free = both_order_free};

	ck_assert_int_eq(P->qp_connect(x, &to_y), 0);
	ck_assert_int_eq(P->qp_connect(y, &to_x), 0);
}

static inline void register_memory(void)
{
	from = malloc(BYTES);
	to = calloc(1, BYTES);
	for (unsigned i = 0; i < BYTES; i++)
		from[i] = (uint8_t)(i * 7919 >> 5);
	ck_assert_int_eq(P->mr_register(a, from, BYTES, 0, &ma), 0);
	ck_assert_int_eq(P->mr_register(b, to, BYTES, QP_ACCESS_REMOTE_WRITE, &mb), 0);
}

static inline void open_pair(const char *a_at, const char *b_at, uint32_t mtu, struct qp_attr attr)
{
	a = endpoint(a_at, mtu);
	b = endpoint(b_at, mtu);
	ck_assert_int_eq(P->qp_create(a, &attr, &qa), 0);
	ck_assert_int_eq(P->qp_create(b, &attr, &qb), 0);
	join(qa, qb, a_at, b_at);
	register_memory();
}

static inline void open_default(void)
{
	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", 4096, attr_of(16, 7, 0));
}

/*
 * Time-outs of 17 s: whoever asserts that nothing is sent twice must not meet one because this
 * process was off its core.
 */
static inline void open_patient(void)
{
	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", 4096, attr_of(22, 7, 0));
}

static inline void close_pair(void)
{
	P->endpoint_destroy(a);
	P->endpoint_destroy(b);
	free(from);
	free(to);
}

/* Lets both ends work whenever their descriptors ask for it, until condition; fails when patience
 * ends. */
#define RUN_UNTIL(condition)                                                                       \
	do {                                                                                       \
		time_t end = time(NULL) + PATIENCE_S;                                              \
		while (!(condition)) {                                                             \
			ck_assert_msg(time(NULL) < end, "never came true: " #condition);           \
			run_once();                                                                \
		}                                                                                  \
	} while (0)

static inline void run_once(void)
{
	struct pollfd fds[2] = {{P->endpoint_info(a)->fd, POLLIN, 0},
				{P->endpoint_info(b)->fd, POLLIN, 0}};

	ck_assert_int_ge(poll(fds, 2, 1000), 0);
	if (fds[0].revents)
		ck_assert_int_ge(P->endpoint_progress(a), 0);
	if (fds[1].revents)
		ck_assert_int_ge(P->endpoint_progress(b), 0);
	n_wa += P->poll(a, wa + n_wa, 2048 - n_wa);
	n_wb += P->poll(b, wb + n_wb, 2048 - n_wb);
}

static inline struct qp_work write_of(uint64_t id, uint32_t offset, uint32_t bytes, unsigned flags)
{
	return (struct qp_work){
		.wr_id = id,
		.data = from + offset,
		.lkey = ma.lkey,
		.length = bytes,
		.remote_addr = (uintptr_t)to + offset,
		.rkey = mb.rkey,
		.imm = (uint32_t)id + 100,
		.flags = flags,
	};
}

static inline int enter_namespace(void)
{
	int skip = own_net();

	if (skip)
		return skip;
	if (system("ip addr add 2001:db8::2/128 dev lo nodad && "
		   "ip addr add 2001:db8::3/128 dev lo nodad")) {
		printf("skipped: ip(8) cannot set up the loopback device\n");
		return 77;
	}
	return 0;
}

static inline int run_suite(Suite *s)
{
	SRunner *r = srunner_create(s);
	int failed;

	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
