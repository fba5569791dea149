/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_handle.h - the bytes that NCCL carries from listen() of one process to connect() of another
 * (pure).
 *
 *   "FARNCCL3" (8) | listener (8) | struct fare_address (32) | ticket (8), big-endian; 0 to the end
 *
 * The bytes come from another process. Neither number is one that somebody else could guess:
 * listener is what lets a peer connect, and ticket, which is 0 on the network, is how connect()
 * finds at its next call what the call before has begun.
 */
#ifndef NCCL_HANDLE_H
#define NCCL_HANDLE_H

#include <stdint.h>

#include "fare.h"
#include "nccl/nccl_net.h"

struct handle {
	uint64_t listener;
	struct fare_address address;
	uint64_t ticket;
};

void handle_encode(const struct handle *h, uint8_t out[NCCL_NET_HANDLE_MAXSIZE]);
/* 0, or -EBADMSG: not what handle_encode() makes. The address is for libfare to check. */
int handle_decode(const uint8_t in[NCCL_NET_HANDLE_MAXSIZE], struct handle *out);

#endif
