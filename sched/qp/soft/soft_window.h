/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_window.h - how many bytes a sender may have unacknowledged: fewer after a loss or a
 * congestion mark, more with acknowledgements.
 *
 * Owns the window of one QP. In: acknowledgements, losses, marks; positions are PSNs, unwrapped.
 * Out: bytes. Pure: no clock; the endpoint's thread.
 *
 * Losses: RFC 5681. Otherwise a connection that fills a shared drop-tail queue could lock out the
 * others.
 *
 * Marks: a queue that fills sets CE (RFC 3168), and the receiver answers with a CNP (IBTA A17.9.3).
 * The window reacts once for each round trip: it shrinks by half the share of recent round trips
 * that had a mark. This is RFC 8257 with one bit for each round trip, because a CNP does not say
 * how many bytes were marked. So a queue that marks now and then costs little, and one that always
 * marks has the effect of losses.
 */
#ifndef SOFT_WINDOW_H
#define SOFT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct soft_window {
	uint32_t bytes; /* the window now: mtu_bytes to most_bytes */
	uint32_t mtu_bytes, most_bytes;
	uint32_t slow_start_bytes; /* below that it grows fast */
	uint64_t lost_until;	   /* a loss before this PSN was reacted to already */
	uint64_t marked_until;	   /* the same for marks */
	uint64_t round_end;	   /* packets from this PSN on belong to the next round trip */
	bool round_is_marked;
	/* share of recent round trips that had a mark, in parts of SOFT_WINDOW_ALWAYS */
	uint32_t congestion;
};

#define SOFT_WINDOW_ALWAYS 65536u

/* psn: of the first packet that will be sent. */
void soft_window_init(struct soft_window *w, uint32_t most_bytes, uint32_t mtu_bytes, uint64_t psn);
/* una: the oldest unacknowledged PSN; sent: beyond all PSNs ever sent. */
void soft_window_acked(struct soft_window *w, uint64_t bytes, uint64_t una, uint64_t sent);
/* silence: no answer arrived at all (time-out). */
void soft_window_lost(struct soft_window *w, bool silence, uint64_t una, uint64_t sent);
void soft_window_marked(struct soft_window *w, uint64_t una, uint64_t sent);

#endif
