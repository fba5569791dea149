/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer_link.h - the peer of a group, and how control messages reach it.
 *
 * Solely owns: who the peer is, and the turn of planes. In: messages of the group and its lanes.
 * Out: the same over the endpoint. The domain's thread.
 */
#ifndef QP_PEER_LINK_H
#define QP_PEER_LINK_H

#include <stdint.h>

#include "qp/control_wire.h"
#include "qp/endpoint.h"
#include "qp/group_paths.h"
#include "qp/ring.h"

struct peer_link {
	const struct endpoint *ep;
	const struct group_paths *paths;
	const struct ring *ring; /* messages of lanes say which records were taken from it */
	struct peer_address address;
	uint32_t id, peer_id;	   /* of this group at either end */
	uint64_t peer_incarnation; /* 0: not known */
	unsigned turn;		   /* chooses plane and sub-port of the next message */
};

/*
 * Sends over the usable planes in turn; if none is, over any that has a live sub-port: the peer may
 * know better.
 */
void peer_link_send(struct peer_link *link, struct control_message *message);

#endif
