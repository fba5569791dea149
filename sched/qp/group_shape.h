/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_shape.h - how large everything of a group is: options with their defaults, QPs a lane,
 * windows, chunks (pure).
 *
 * Solely owns: those sizes. In: what the application or the peer asks for, the endpoint's planes,
 * the paths' rates. Out: sizes, which group.c hands to lanes.h and transfer.h. The domain's thread.
 */
#ifndef QP_GROUP_SHAPE_H
#define QP_GROUP_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/baseline.h"

struct control_message;
struct endpoint;
struct group_paths;

/*
 * options.window_bytes belongs to a sub-port. All QPs of the sub-port share it. If it were divided
 * among many QPs, each would have less than a batch. A lane may have posted the windows of its
 * sub-ports, or less if it is slow. A QP may have posted its part of that, so that one path that
 * stalls does not stop the others. Beyond that, one chunk more for each sub-port of the lane, and
 * one more for the QP, keeps the sender from waiting for the next chunk.
 */
struct group_shape {
	unsigned n_lanes, n_qps; /* of a lane */
	unsigned n_ports;	 /* that a lane uses */
	unsigned n_sharing;	 /* sub-ports of a lane, which its QPs share */
	uint32_t path_mtu;	 /* of the endpoint */
	uint32_t chunk_bytes;	 /* the options' */
	uint32_t qp_window_bytes;
	uint32_t unit_bytes;			/* size of a chunk now; not above the options' */
	uint32_t read_unit_bytes;		/* size of a chunk that is read */
	uint64_t window_bytes[FARE_MAX_PLANES]; /* of a lane */
	bool follows_rate;
	bool is_routed;	   /* the kernel routes the packets of QPs (group_paths.h) */
	bool learns_ports; /* source ports are chosen by where they lead (port_cache.h) */
	struct fare_baseline baseline; /* options.baseline points here */
	const struct qp_dcqcn *dcqcn;  /* the baseline's */
};

/* Fills in *out. offer: the peer's GROUP_OPEN, or NULL. 0, -EINVAL, -EOPNOTSUPP. */
int group_shape_options(struct group_shape *shape, struct fare_group_options *out,
			const struct fare_group_options *in, const struct endpoint *ep,
			bool is_own_server, const struct control_message *offer);
/* What a GROUP_OPEN or GROUP_ACCEPT carries of them. */
void group_shape_fill_open(const struct group_shape *shape,
			   const struct fare_group_options *options,
			   struct control_message *message);
/* 0, -EINVAL, -EPROTO (the peer's planes are not ours). options.chunk_bytes may become less. */
int group_shape_lanes(struct group_shape *shape, struct fare_group_options *options,
		      const struct endpoint *ep, const struct control_message *offer);
/* The paths changed: on slow links windows and chunks are smaller. */
void group_shape_follow_rate(struct group_shape *shape, const struct group_paths *paths);
/* What a lane may have posted, and each of its QPs. */
uint64_t group_shape_room(const struct group_shape *shape, unsigned lane);
uint64_t group_shape_qp_room(const struct group_shape *shape, unsigned lane);

#endif
