/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_wire.h - what two plugins send each other, byte for byte (pure): over a group, and in the
 * handle that NCCL carries from listen() of one process to connect() of another.
 *
 * A group carries the communicators of its opener, each with a number that the opener chose. The
 * opener says HELLO (this communicator is for that listener), the other end CREDIT (a receive: a
 * buffer's place, key and size), each of them BYE (I closed it). Data is a write into a credit's
 * buffer, whose notification names communicator and credit.
 *
 *   kind (2) | communicator (2) | credit's id (2) | 0 (2) | listener or address (8) | size (8) |
 *   rkey (4) | NCCL's tag (4), big-endian
 */
#ifndef NCCL_WIRE_H
#define NCCL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare.h"
#include "nccl/nccl_net.h"

#define WIRE_BYTES 32
/* private data of both ends of a group: another number if any of the above changes */
#define WIRE_GREETING "libnccl-net-fare 2"

enum wire_kind { WIRE_HELLO = 1, WIRE_CREDIT = 2, WIRE_BYE = 3 };

/* A receive that waits for data. */
struct credit {
	uint64_t address, size;
	uint32_t rkey;
	int32_t tag; /* NCCL's: the send has the same */
	uint16_t id; /* counts a communicator's receives */
};

struct wire_message {
	enum wire_kind kind;
	uint16_t comm;
	uint64_t listener;    /* HELLO */
	struct credit credit; /* CREDIT */
};

/* Private data of the other end: it is this plugin, of this version. */
bool wire_is_greeting(const void *data, size_t bytes);
void wire_encode(const struct wire_message *m, uint8_t out[WIRE_BYTES]);
/* 0, or -EBADMSG: not what wire_encode() makes. */
int wire_decode(const void *data, size_t bytes, struct wire_message *out);

/* The tag of data's notification. */
static inline uint32_t wire_data_tag(uint16_t comm, uint16_t credit_id)
{
	return (uint32_t)comm << 16 | credit_id;
}

/*
 *   "FARNCCL3" (8) | listener (8) | struct fare_address (32) | ticket (8), big-endian; 0 to the end
 *
 * The bytes come from another process. Neither number can be guessed by a third process:
 * listener is what lets a peer connect, and ticket, which is 0 on the network, is how connect()
 * finds at its next call what the call before has begun.
 */
struct handle {
	uint64_t listener;
	struct fare_address address;
	uint64_t ticket;
};

void handle_encode(const struct handle *h, uint8_t out[NCCL_NET_HANDLE_MAXSIZE]);
/* 0, or -EBADMSG: not what handle_encode() makes. The address is for libfare to check. */
int handle_decode(const uint8_t in[NCCL_NET_HANDLE_MAXSIZE], struct handle *out);

#endif
