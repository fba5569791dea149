/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/handshake.h"

#define FIRST_NS UINT64_C(100000000) /* before a round trip was measured */
#define LEAST_NS UINT64_C(5000000)   /* a tick of the domain (2 ms), and time in queues */
#define MOST_NS	 UINT64_C(500000000)
/*
 * The limit at first. With 4 planes a group has about 30 datagrams under way, and the receive
 * buffer of a process without privileges holds some hundred. Each handshake that ends raises the
 * limit by one. So it doubles with each round trip as long as nothing is lost.
 */
#define ACTIVE_MIN 16
#define ACTIVE_MAX 256
#define CUT_NS	   UINT64_C(50000000)

void handshake_rtt_sample(struct handshake_rtt *rtt, uint64_t ns)
{
	uint64_t off = ns > rtt->smooth_ns ? ns - rtt->smooth_ns : rtt->smooth_ns - ns;

	ns += ns == 0;
	if (!rtt->smooth_ns) {
		*rtt = (struct handshake_rtt){ns, ns / 2};
		return;
	}
	rtt->variation_ns = (3 * rtt->variation_ns + off) / 4;
	rtt->smooth_ns = (7 * rtt->smooth_ns + ns) / 8;
	rtt->smooth_ns += rtt->smooth_ns == 0;
}

uint64_t handshake_resend_ns(const struct handshake_rtt *rtt, unsigned n)
{
	uint64_t ns = rtt->smooth_ns ? rtt->smooth_ns + 4 * rtt->variation_ns : FIRST_NS;

	ns = ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
	ns <<= n < 8 ? n : 8;
	return ns < MOST_NS ? ns : MOST_NS;
}

/* ---- turns ---- */

static void handshake_leave(struct handshake_pace *pace, struct handshake *handshake)
{
	if (handshake->state == HANDSHAKE_WAITING)
		DL_DELETE(pace->waiting, handshake);
	pace->n_active -= handshake->state == HANDSHAKE_ACTIVE;
}

static void handshake_let_in(struct handshake_pace *pace)
{
	struct handshake *first;

	if (pace->limit < ACTIVE_MIN)
		pace->limit = ACTIVE_MIN;
	while (pace->n_active < pace->limit && (first = pace->waiting)) {
		DL_DELETE(pace->waiting, first);
		first->state = HANDSHAKE_ACTIVE;
		pace->n_active++;
		run_queue_add(first->run);
	}
}

bool handshake_begin(struct handshake_pace *pace, struct handshake *handshake)
{
	if (handshake->state == HANDSHAKE_NONE) {
		handshake->state = HANDSHAKE_WAITING;
		DL_APPEND(pace->waiting, handshake);
		handshake_let_in(pace);
	}
	return handshake->state != HANDSHAKE_WAITING;
}

void handshake_congested(struct handshake_pace *pace, uint64_t now_ns)
{
	/* losses within CUT_NS count as one */
	if (now_ns < pace->cut_ns + CUT_NS)
		return;
	pace->cut_ns = now_ns;
	pace->limit /= 2;
}

void handshake_yield(struct handshake_pace *pace, struct handshake *handshake)
{
	if (handshake->state != HANDSHAKE_ACTIVE)
		return;
	handshake_leave(pace, handshake);
	handshake->state = HANDSHAKE_YIELDED;
	handshake_let_in(pace);
}

void handshake_end(struct handshake_pace *pace, struct handshake *handshake)
{
	pace->limit += handshake->state == HANDSHAKE_ACTIVE && pace->limit < ACTIVE_MAX;
	handshake_leave(pace, handshake);
	handshake->state = HANDSHAKE_NONE;
	handshake_let_in(pace);
}
