/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.h - what takes the weights of paths: its functions.
 *
 * Owns nothing. publish.h calls them, on the loop's thread, and no sink knows of another. In one
 * turn of the loop: begin, then each pair of which anything changed, once and whole, in the order
 * of the path table, then commit. None of them waits.
 */
#ifndef SINK_H
#define SINK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm_layout.h"

/* Local GPU and peer. A peer that is gone has no usable path; then its pair is forgotten. */
struct sink_pair {
	uint32_t id; /* of the path table; after forget() another pair may have it */
	uint32_t gpu;
	struct in6_addr peer;
	uint32_t n_planes;
	/* by plane: usable bandwidth, verdict, and for live_sub_ports those that are not used */
	const struct shm_path *paths;
	/* for who cannot choose by source port what a leaf does with a packet: */
	bool answered; /* the peer answers probes over some plane */
	uint32_t
		lossy; /* bit p: beyond the leaf of plane p, a sub-port of the peer loses packets */
};

struct sink_link {
	uint32_t gpu, plane, sub_port;
	uint32_t ifindex; /* 0: there is no such device */
	bool is_up;
	uint64_t speed_bps; /* 0: not known, or not up */
};

struct sink {
	void *arg;
	/* A local sub-port's state, also outside of turns; may be NULL, as may begin. */
	void (*link)(void *arg, const struct sink_link *link);
	void (*begin)(void *arg, uint64_t now_ns);
	/* 0, or -errno: not taken; it is offered again when it changes, or when commit() says */
	int (*pair)(void *arg, const struct sink_pair *pair);
	void (*forget)(void *arg, uint32_t id); /* also of a pair that the sink never got */
	/* The turn is over. When to offer again what was refused; 0: nothing was. */
	uint64_t (*commit)(void *arg);
};

#endif
