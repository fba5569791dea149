/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/handshake.h"

#include <utlist.h>

#include "qp/internal.h"

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

static void leave(struct fare_group *group)
{
	struct handshake_pace *pace = &group->domain->pace;

	if (group->turn == HANDSHAKE_WAITING)
		DL_DELETE2(pace->waiting, group, turn_prev, turn_next);
	pace->n_active -= group->turn == HANDSHAKE_ACTIVE;
}

static void let_in(struct fare_domain *domain)
{
	struct handshake_pace *pace = &domain->pace;
	struct fare_group *group;

	if (pace->limit < ACTIVE_MIN)
		pace->limit = ACTIVE_MIN;
	while (pace->n_active < pace->limit && (group = pace->waiting)) {
		DL_DELETE2(pace->waiting, group, turn_prev, turn_next);
		group->turn = HANDSHAKE_ACTIVE;
		pace->n_active++;
		engine_wake(group);
	}
}

bool handshake_begin(struct fare_group *group)
{
	struct handshake_pace *pace = &group->domain->pace;

	if (group->turn == HANDSHAKE_NONE) {
		group->turn = HANDSHAKE_WAITING;
		DL_APPEND2(pace->waiting, group, turn_prev, turn_next);
		let_in(group->domain);
	}
	return group->turn != HANDSHAKE_WAITING;
}

void handshake_congested(struct fare_domain *domain)
{
	struct handshake_pace *pace = &domain->pace;

	/* losses within CUT_NS count as one */
	if (domain->now_ns < pace->cut_ns + CUT_NS)
		return;
	pace->cut_ns = domain->now_ns;
	pace->limit /= 2;
}

void handshake_yield(struct fare_group *group)
{
	if (group->turn != HANDSHAKE_ACTIVE)
		return;
	leave(group);
	group->turn = HANDSHAKE_YIELDED;
	let_in(group->domain);
}

void handshake_end(struct fare_group *group)
{
	struct handshake_pace *pace = &group->domain->pace;

	pace->limit += group->turn == HANDSHAKE_ACTIVE && pace->limit < ACTIVE_MAX;
	leave(group);
	group->turn = HANDSHAKE_NONE;
	let_in(group->domain);
}
