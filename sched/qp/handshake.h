/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handshake.h - when a handshake message is sent again, and how many groups of a domain have a
 * handshake under way at a time (pure).
 *
 * Solely owns: a peer's round trip as measured; the queue of groups that wait for their turn. In:
 * round trips, groups that begin and end their handshake. Out: intervals; groups that are woken
 * because their turn has come.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/run_queue.h"

/*
 * A peer from which nothing has come for this time is given up. It is also how long a group waits
 * for the answer to its GROUP_OPEN. A peer that is silent for less may only be slow, because its
 * process waits for a core.
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

enum handshake_state {
	HANDSHAKE_NONE,
	HANDSHAKE_WAITING,
	HANDSHAKE_ACTIVE,
	HANDSHAKE_YIELDED, /* goes on, but does not count against the limit */
};

/* Of one group. */
struct handshake {
	enum handshake_state state;
	struct handshake *prev, *next; /* that wait */
	struct run_item *run;	       /* the group's */
};

struct handshake_pace {
	unsigned n_active, limit;
	uint64_t cut_ns; /* when limit was last halved */
	struct handshake *waiting;
};

/*
 * True: an opener may begin or go on. False: it waits, and is woken when it may begin. Without a
 * limit, groups of one domain that open at the same time would overflow the peers' sockets, and
 * their messages would time out.
 */
bool handshake_begin(struct handshake_pace *pace, struct handshake *handshake);
/*
 * An answer did not come in time: it or the request was lost in a full queue, or the peer is busy.
 * The limit is halved. Each handshake that ends raises it by one.
 */
void handshake_congested(struct handshake_pace *pace, uint64_t now_ns);
/* The group's peer is silent: the group does not count against the limit any more. */
void handshake_yield(struct handshake_pace *pace, struct handshake *handshake);
/* The group is connected, or has ended. Without effect if no handshake is under way. */
void handshake_end(struct handshake_pace *pace, struct handshake *handshake);

#endif
