/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pieces.h - messages that are gathered from, or scattered to, several pieces of local memory
 * (pure).
 *
 * A chunk lies within one piece, because a work request of a provider names one. Owns: the pieces
 * of a group's messages. There is room for FARE_PIECES_MAX of each message once one has pieces.
 */
#ifndef QP_PIECES_H
#define QP_PIECES_H

#include <stdint.h>

#include "fare.h"

struct message;
struct transfer;

int pieces_reserve(struct transfer *t); /* makes room for all messages. 0 or -ENOMEM */
/* Copies the write's pieces, which were checked. Returns the sum of their lengths. */
uint64_t pieces_keep(struct transfer *t, const struct message *m, const struct fare_write *write);
/* Bytes from offset to the end of the piece that offset lies in. */
uint64_t pieces_left(const struct transfer *t, const struct message *m, uint64_t offset);
/* Local address of the byte at offset of the message, and its region's key. */
uint8_t *pieces_at(const struct transfer *t, const struct message *m, uint64_t offset,
		   uint32_t *lkey);

#endif
