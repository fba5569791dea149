/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_window.h - how much a sender may have on its way: less after a loss or a congestion mark,
 * more as it is acknowledged.
 *
 * Owns the window of one QP. In: what was acknowledged, lost, marked; positions are PSNs,
 * unwrapped. Out: bytes. Pure: no clock; the endpoint's thread.
 *
 * Losses: RFC 5681. Connections that share a full drop-tail queue would otherwise lock each other
 * out for good.
 *
 * Marks: a queue that fills up sets CE (RFC 3168), the receiver tells of it by a CNP (IBTA
 * A17.9.3), and there is one answer a round trip: the window shrinks by half the share of round
 * trips that had a mark lately (RFC 8257, with a bit for each round trip in place of a count of
 * marked bytes, which a CNP does not tell). So a queue that marks now and then costs little, and
 * one that marks all the time is given way to as if it lost packets.
 */
#ifndef SOFT_WINDOW_H
#define SOFT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct soft_window {
	uint32_t bytes; /* the window now: mtu_bytes to most_bytes */
	uint32_t mtu_bytes, most_bytes;
	uint32_t slow_start_bytes; /* below that it grows fast */
	uint64_t lost_until;	   /* losses before it belong to one already answered */
	uint64_t marked_until;	   /* the same of marks */
	uint64_t round_end;	   /* what was sent from there on belongs to the next round trip */
	bool round_is_marked;
	/* share of round trips that had a mark lately, of SOFT_WINDOW_ALWAYS */
	uint32_t congestion;
};

#define SOFT_WINDOW_ALWAYS 65536u

/* psn: the first that will be sent. */
void soft_window_init(struct soft_window *w, uint32_t most_bytes, uint32_t mtu_bytes, uint64_t psn);
/* una: the oldest that is not acknowledged now; sent: beyond all ever sent. */
void soft_window_acked(struct soft_window *w, uint64_t bytes, uint64_t una, uint64_t sent);
/* silence: nothing came back at all. */
void soft_window_lost(struct soft_window *w, bool silence, uint64_t una, uint64_t sent);
void soft_window_marked(struct soft_window *w, uint64_t una, uint64_t sent);

#endif
