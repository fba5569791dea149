/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bmp_seen.h - what the BMP stream has shown since it began, and that gave no path: what an
 * operator needs who misses one.
 *
 * Owns nothing. In: sessions and routes (bmp_station.c). Out: counts, each with its latest example.
 * Thread: the loop's. Pure.
 */
#ifndef BMP_SEEN_H
#define BMP_SEEN_H

#include "bgp_source.h"

enum bmp_seen_kind {
	BMP_SEEN_STRANGER,  /* of a session that is no configured neighbour's; example: its end */
	BMP_SEEN_OUTSIDE,   /* a host route outside bgp.peer_prefixes */
	BMP_SEEN_NET,	    /* a route to a net in which peers are, or would be: it names no peer */
	BMP_SEEN_TOO_LONG,  /* a peer's route with more AS hops than bgp.max_as_path */
	BMP_SEEN_NO_PATH,   /* a peer's route without AS path on an eBGP session */
	BMP_SEEN_MALFORMED, /* a peer's route, taken as withdrawn */
	BMP_SEEN_COUNT,
};

struct bmp_seen {
	struct {
		uint64_t n;
		struct bgp_prefix example;
		int neighbor; /* that sent it; -1: BMP_SEEN_STRANGER */
	} kinds[BMP_SEEN_COUNT];
};

enum bmp_session_state {
	BMP_SESSION_UNKNOWN, /* not mentioned: bgpd has no such neighbour, or BMP is away */
	BMP_SESSION_DOWN,
	BMP_SESSION_UP,
};

static inline void bmp_seen_note(struct bmp_seen *seen, enum bmp_seen_kind kind,
				 const struct bgp_prefix *example, int neighbor)
{
	seen->kinds[kind].n++;
	seen->kinds[kind].example = *example;
	seen->kinds[kind].neighbor = neighbor;
}

#endif
