/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_pair.h - two verbs endpoints of one process, GPUs 0 and 1 of fabric.sh, and QPs between
 * them over plane 0.
 */
#ifndef VERBS_PAIR_H
#define VERBS_PAIR_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "qp/control_auth.h"
#include "qp/provider.h"

#define PAIR_MAX_QPS 16

struct pair {
	const struct qp_provider *v;
	struct control_auth key;
	struct qp_endpoint *ep[2];
	struct in6_addr address[2];
	unsigned n_qps;
	struct qp *qp[2][PAIR_MAX_QPS];
	unsigned n_done[2], n_failed[2], n_received[2]; /* completions */
};

__attribute__((format(printf, 1, 2), noreturn)) static void pair_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("FAILED: ");
	vprintf(format, args);
	printf("\n");
	exit(1);
}

#define pair_check(what)                                                                           \
	do {                                                                                       \
		int err_ = (what);                                                                 \
		if (err_)                                                                          \
			pair_fail("%s: %s", #what, strerrorname_np(-err_));                        \
	} while (0)

static inline void pair_turn(struct pair *p)
{
	struct qp_wc wc[32];
	int n;

	for (int e = 0; e < 2; e++) {
		if (!p->ep[e])
			continue;
		p->v->endpoint_progress(p->ep[e]);
		while ((n = p->v->poll(p->ep[e], wc, 32)) > 0) {
			for (int i = 0; i < n; i++) {
				p->n_failed[e] += wc[i].status != QP_WC_SUCCESS;
				if (wc[i].is_receive)
					p->n_received[e]++;
				else
					p->n_done[e]++;
			}
		}
	}
}

/* Turns until the condition holds, and fails after a limit. */
#define pair_until(p, condition)                                                                   \
	do {                                                                                       \
		uint64_t end_ = clock_now_ns() + UINT64_C(40000000000);                            \
		while (!(condition)) {                                                             \
			pair_turn(p);                                                              \
			if (clock_now_ns() > end_)                                                 \
				pair_fail("waited in vain: %s", #condition);                       \
		}                                                                                  \
	} while (0)

static inline int pair_status(struct pair *p)
{
	int worst = 0;

	for (int e = 0; e < 2; e++) {
		for (unsigned i = 0; i < p->n_qps; i++) {
			int s = p->v->qp_status(p->qp[e][i]);

			if (s < 0)
				return s;
			worst = s > worst ? s : worst;
		}
	}
	return worst;
}

static inline int pair_make_qp(struct pair *p, int e, unsigned i)
{
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6, .notifications = 256};

	return p->v->qp_create(p->ep[e], &attr, &p->qp[e][i]);
}

static inline void pair_connect(struct pair *p, unsigned n_qps)
{
	p->n_qps = n_qps;
	for (int e = 0; e < 2; e++)
		for (unsigned i = 0; i < n_qps; i++)
			pair_until(p, pair_make_qp(p, e, i) == 0); /* a lost device comes back */
	for (int e = 0; e < 2; e++) {
		for (unsigned i = 0; i < n_qps; i++) {
			struct qp_remote to = {.address = p->address[!e],
					       .qpn = p->v->qp_num(p->qp[!e][i]),
					       .psn = p->v->qp_psn(p->qp[!e][i])};

			pair_check(p->v->sub_port_address(p->ep[!e], 0, 0, &to.device));
			pair_check(p->v->qp_connect(p->qp[e][i], &to));
		}
	}
	pair_until(p, pair_status(p) == 0);
}

/* To error, until the devices are done with them; then they go. */
static inline void pair_end_qps(struct pair *p)
{
	for (int e = 0; e < 2; e++)
		for (unsigned i = 0; i < p->n_qps; i++)
			p->v->qp_error(p->qp[e][i]);
	pair_until(p, pair_status(p) == 0);
	for (int e = 0; e < 2; e++)
		for (unsigned i = 0; i < p->n_qps; i++)
			p->v->qp_destroy(p->qp[e][i]);
	p->n_qps = 0;
}

static inline void pair_open(struct pair *p)
{
	p->v = &qp_verbs_provider;
	pair_check(control_auth_load(&p->key, NULL, 4711));
	for (int e = 0; e < 2; e++) {
		struct qp_endpoint_attr attr = {.n_planes = 1,
						.n_sub_ports = {1},
						.path_mtu = 1024,
						.control_key = &p->key};

		inet_pton(AF_INET6, e ? "::ffff:198.19.0.2" : "::ffff:198.19.0.1", &p->address[e]);
		attr.address = p->address[e];
		snprintf(attr.dev[0][0], sizeof(attr.dev[0][0]), "h%cp0s0", '0' + e);
		pair_check(p->v->endpoint_create(&p->ep[e], &attr));
	}
}

static inline void pair_close(struct pair *p)
{
	for (int e = 0; e < 2; e++)
		p->v->endpoint_destroy(p->ep[e]);
}

/* From data of end 0 to the same place of end 1; waits for the key and for room. */
static inline void pair_write(struct pair *p, unsigned i, const uint8_t *data, uint32_t length,
			      uint32_t lkey, uint64_t remote_addr, uint32_t rkey, unsigned flags)
{
	struct qp_work w = {.data = (void *)(uintptr_t)data,
			    .lkey = lkey,
			    .length = length,
			    .remote_addr = remote_addr,
			    .rkey = rkey,
			    .flags = flags};
	int err;

	while ((err = p->v->post(p->qp[0][i], &w)) == -EAGAIN || err == -ENOBUFS)
		pair_turn(p);
	pair_check(err);
}

#endif
