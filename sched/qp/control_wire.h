/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_wire.h - format of a group's control messages: encodes and decodes them (pure).
 *
 * They are sent as datagrams beside the QPs, over all usable planes in turn, so that the loss of a
 * plane does not end the handshake. Big-endian. A message names both ends' groups and incarnations.
 * An incarnation is a random number for each domain that a process opens. So a message of an
 * earlier incarnation is never mistaken for a current one.
 *
 *   request       answer
 *   ECHO          ECHO_REPLY         to which remote sub-port does this UDP source port lead?
 *   GROUP_OPEN    GROUP_CHALLENGE    the request does not name the receiver's incarnation, or has
 *                                    no nonce that it made for this group: the opener sends it
 *                                    again with those of the challenge (admission.h)
 *                 GROUP_ACCEPT | GROUP_REFUSE
 *   LANE_OPEN     LANE_ACCEPT | LANE_REFUSE; then the opener sends LANE_READY
 *                                    a lane's QPs, numbered by epoch
 *   LANE_RESET    LANE_RESET_ACK     the sender's QPs of that epoch are in error, and so must be
 *                                    the receiver's
 *   GROUP_CLOSE                      the sender has ended the group
 *   GROUP_ALIVE   GROUP_GONE, or no answer if the group exists: sent for a group from whose peer
 *                                    nothing else arrives
 *   GROUP_GONE                       the receiver of the last message has no such group
 *
 * control_auth.h authenticates them. What a recorded message does when it is sent again (with a
 * key in use):
 *   - of an earlier incarnation of either end, or for a group that has ended: nothing. An answer
 *     (GROUP_CHALLENGE, GROUP_REFUSE, GROUP_GONE) is sent to the process that sent the original,
 *     for which it changes nothing. GROUP_OPEN makes no group: its nonce is used up, or over.
 *   - for a group that exists: of an earlier epoch nothing; of the present one it repeats what is
 *     still true, and may be answered once more.
 *   - ECHO and ECHO_REPLY have a nonce of their own, which is new for each exchange.
 *   - Each shows that its sender was alive, so a peer that has gone may be given up later.
 */
#ifndef CONTROL_WIRE_H
#define CONTROL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare_limits.h"
#include "qp/baseline.h"
#include "qp/ring.h"

#define CONTROL_NONCE_BYTES 24

enum control_type {
	CONTROL_ECHO = 1,
	CONTROL_ECHO_REPLY,
	CONTROL_GROUP_OPEN,
	CONTROL_GROUP_ACCEPT,
	CONTROL_GROUP_REFUSE,
	CONTROL_GROUP_CLOSE,
	CONTROL_GROUP_GONE,
	CONTROL_LANE_OPEN,
	CONTROL_LANE_ACCEPT,
	CONTROL_LANE_READY,
	CONTROL_LANE_REFUSE,
	CONTROL_LANE_RESET,
	CONTROL_LANE_RESET_ACK,
	CONTROL_GROUP_CHALLENGE,
	CONTROL_GROUP_ALIVE,
	CONTROL_TYPE_END,
};

struct control_qp {
	uint32_t qpn; /* 24 bits */
	uint32_t psn; /* 24 bits */
	/* sub-port of the sender that the QP is made for; with verbs, it has its own device */
	uint8_t sub_port;
};

struct control_message {
	enum control_type type;
	uint64_t source, destination;		  /* incarnations; destination 0: not known yet */
	uint16_t source_port;			  /* UDP, where the sender receives; not 0 */
	uint32_t source_group, destination_group; /* 0: none */
	/* GROUP_CHALLENGE: the receiver's; GROUP_OPEN: the same, or zero. Opaque to the opener */
	uint8_t nonce[CONTROL_NONCE_BYTES];
	union {
		struct {
			uint64_t nonce;
			uint16_t candidate;
			uint16_t plane, sub_port; /* in the reply: where the echo arrived */
		} echo;
		struct { /* GROUP_OPEN, GROUP_ACCEPT */
			/* what both ends must have; private_data is within the datagram */
			struct fare_group_options options;
			struct fare_baseline baseline;
			uint8_t n_lanes;
			uint16_t qps_per_lane;
			bool follows_rate;
			uint32_t path_mtu; /* the largest that the sender takes */
			uint64_t ring_addr;
			uint32_t ring_rkey;
		} open;
		uint32_t error; /* GROUP_REFUSE: errno */
		struct {	/* LANE_*; qps only in LANE_OPEN and LANE_ACCEPT */
			uint16_t lane;
			uint16_t n_qps;
			uint32_t epoch;
			/*
			 * Records that the sender of this message has taken. In LANE_RESET and
			 * LANE_RESET_ACK it is final for QPs of that epoch: no completion of theirs
			 * is left to be read.
			 */
			struct ring_seen seen;
			struct control_qp qps[FARE_PLANE_QPS_MAX];
			/*
			 * number of sub-ports whose devices have their own addresses; 0: all use
			 * the GPU's address
			 */
			uint16_t n_addresses;
			uint8_t addresses[FARE_MAX_SUB_PORTS][16]; /* all zero: no address now */
		} lane;
	};
};

bool control_wire_is_lane(enum control_type type); /* m.lane is used */
/* Bytes written, or -EMSGSIZE, -EINVAL (a field out of range). */
int control_wire_encode(const struct control_message *message, void *buf, size_t size);
/* 0, or -EBADMSG with *reason (static) set; ranges of lanes, counts, QPNs and PSNs are checked. */
int control_wire_decode(struct control_message *out, const void *buf, size_t length,
			const char **reason);

#endif
