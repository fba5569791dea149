/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer_address.h - which process of which GPU: an address and the UDP port at which its endpoint
 * receives (pure).
 *
 * Several processes may serve one GPU's address, each at a port of its own. Applications exchange
 * struct fare_address, which also names the incarnation. Reason: memory keys that came with it are
 * valid in that process only, and another process may have its port later. With incarnation 0 it is
 * the process that has the port when a group opens, whichever that is.
 *
 *   version (1) | 0 (1) | port (2) | incarnation (8) | address (16) | 0 (4), big-endian
 */
#ifndef QP_PEER_ADDRESS_H
#define QP_PEER_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fare.h"

struct peer_address {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;		 /* host order; 0: none is named */
};
/* bytes that a hash is made of: without the padding at the end */
#define PEER_ADDRESS_KEY_BYTES (offsetof(struct peer_address, port) + sizeof(uint16_t))

static inline bool peer_address_equal(const struct peer_address *a, const struct peer_address *b)
{
	return a->port == b->port && !memcmp(&a->address, &b->address, sizeof(a->address));
}

void peer_address_encode(const struct peer_address *address, uint64_t incarnation,
			 struct fare_address *out);
/* 0, or -EINVAL: peer_address_encode() makes no such bytes. */
int peer_address_decode(const struct fare_address *in, struct peer_address *out,
			uint64_t *incarnation);

#endif
