/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pieces.h - messages gathered from, or scattered to, several pieces of local memory (pure).
 *
 * A chunk lies within one piece, so that any provider can post it. Owns: the pieces of a group's
 * messages, FARE_PIECES_MAX for each, once a message has any.
 */
#ifndef QP_PIECES_H
#define QP_PIECES_H

#include <stdint.h>

#include "fare.h"

struct message;

struct kept_piece {
	uint8_t *data;
	uint64_t length;
	uint32_t lkey;
};

/* Each piece lies within its region, and their lengths together do not overflow. 0 or -EINVAL. */
int pieces_check(const struct fare_group *group, const struct fare_write *write);
int pieces_reserve(struct fare_group *group); /* room for those of any message. 0 or -ENOMEM */
/* The length of all of them together. */
uint64_t pieces_keep(struct fare_group *group, const struct message *m,
		     const struct fare_write *write);
/* Bytes from offset to the end of the piece that offset lies in. */
uint64_t pieces_left(const struct fare_group *group, const struct message *m, uint64_t offset);
uint8_t *pieces_at(const struct fare_group *group, const struct message *m, uint64_t offset,
		   uint32_t *lkey);

#endif
