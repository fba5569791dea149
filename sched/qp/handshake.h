/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handshake.h - when a handshake message is sent again, and how many groups may shake hands at a
 * time (pure).
 *
 * Solely owns: a peer's round trip as measured; the queue of groups that wait for their turn. In:
 * round trips, groups that begin and end their handshake. Out: intervals; groups that are woken
 * because their turn has come.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

struct fare_domain;
struct fare_group;

/*
 * A peer that was silent for so long does not answer: as long as a group waits for the answer to
 * its GROUP_OPEN. Before that it may only be slow: its process waits for a core.
 */
#define HANDSHAKE_SILENT_NS UINT64_C(10000000000)

struct handshake_rtt {
	uint64_t smooth_ns, variation_ns; /* smooth_ns 0: never measured */
};

void handshake_rtt_sample(struct handshake_rtt *rtt, uint64_t ns);
/*
 * From the n-th sending (0: the first) to the next: the time-out of RFC 6298 (smooth + 4 x
 * variation), doubled n times, at most 500 ms.
 */
uint64_t handshake_resend_ns(const struct handshake_rtt *rtt, unsigned n);

enum handshake_turn {
	HANDSHAKE_NONE,
	HANDSHAKE_WAITING,
	HANDSHAKE_ACTIVE,
	HANDSHAKE_YIELDED, /* goes on, but others need not wait for it */
};

/*
 * Whether an opener may begin or go on. false: it waits, and is woken when its turn has come.
 * Groups of one domain that open at the same time would otherwise flood the peers' sockets, and
 * each other's time-outs.
 */
bool handshake_begin(struct fare_group *group);
/*
 * An answer did not come in time: it or the question was lost where too much arrived at once, or
 * others keep the peer busy. Fewer shake hands at a time from now on; with each that is done, more.
 */
void handshake_congested(struct fare_domain *domain);
/* Its peer is silent: others need not wait for that. */
void handshake_yield(struct fare_group *group);
/* It is connected, or over. Harmless if it is not under way. */
void handshake_end(struct fare_group *group);

#endif
