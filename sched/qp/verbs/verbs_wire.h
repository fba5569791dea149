/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_wire.h - datagrams of the verbs provider's control channel, bytes to struct and back
 * (pure).
 *
 * Owns nothing. In and out: bytes. Any thread. Big-endian:
 *
 *   magic 4, version 1, type 1, zero 2, then
 *   GROUP      the group's own message (control_wire.h), to the end
 *   KEY_QUERY  nonce 8, key 4, port 2             which rkeys has this region of yours? port: where
 *                                                 the control channel of who asks receives
 *   KEY_REPLY  nonce 8, key 4, n 1, n x { plane 1, sub-port 1, rkey 4 }
 *                                                 n = 0: there is no such region
 *   AUTHENTICATED
 *              an envelope (control_auth.h) around a whole KEY_QUERY or KEY_REPLY, to the end
 *
 * What a GROUP message carries has an envelope of its own. An endpoint that has a key takes KEY_*
 * from an AUTHENTICATED only.
 *
 * An rkey belongs to a device, and a peer whose planes are several devices has several for one
 * region. Applications pass on a single key, which names the region; this channel translates it
 * into the rkey of each device.
 */
#ifndef VERBS_WIRE_H
#define VERBS_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "fare_limits.h"

#define VERBS_WIRE_HEADER   8
#define VERBS_WIRE_MAX_KEYS (FARE_MAX_PLANES * FARE_MAX_SUB_PORTS)
#define VERBS_WIRE_MAX	    (VERBS_WIRE_HEADER + 1024) /* header and QP_CONTROL_MAX */

enum verbs_wire_type {
	VERBS_WIRE_GROUP = 1,
	VERBS_WIRE_KEY_QUERY,
	VERBS_WIRE_KEY_REPLY,
	VERBS_WIRE_AUTHENTICATED,
};

struct verbs_wire_key {
	uint8_t plane, sub_port;
	uint32_t rkey;
};

struct verbs_wire_message {
	enum verbs_wire_type type;
	const void *payload; /* GROUP, AUTHENTICATED: borrowed */
	size_t payload_bytes;
	uint64_t nonce;
	uint32_t key;
	uint16_t port; /* KEY_QUERY */
	uint8_t n_keys;
	struct verbs_wire_key keys[VERBS_WIRE_MAX_KEYS];
};

/* Bytes written, or -EMSGSIZE (no room, or too many keys), -EINVAL (unknown type). */
int verbs_wire_encode(const struct verbs_wire_message *m, void *buf, size_t size);
/* 0, or -EBADMSG with *reason (static) and *at, the offset that it was found at. payload points
 * into buf. */
int verbs_wire_decode(struct verbs_wire_message *out, const void *buf, size_t length,
		      const char **reason, size_t *at);

#endif
