/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * octets.h - a bounded reader of network-order bytes, on which every parser of this directory
 * stands.
 *
 * Owns nothing: a reader borrows the bytes it walks over. In: a buffer and its length. Out: values,
 * sub-readers, or -EBADMSG. It never reads past its end and never moves when it fails. `offset`
 * counts from the first byte of the outermost message, so that an error names a place that an
 * operator can find in a capture. Any thread.
 */
#ifndef OCTETS_H
#define OCTETS_H

#include <stddef.h>
#include <stdint.h>

struct octets {
	const uint8_t *p;
	size_t left;   /* bytes not yet read */
	size_t offset; /* of p, from the start of the outermost message */
};

/* Why and where a message is malformed. reason is a string literal. */
struct octets_error {
	const char *reason;
	size_t offset;
};

void octets_init(struct octets *o, const uint8_t *data, size_t length);

/* Each takes from the front: 0, or -EBADMSG with nothing taken. */
int octets_u8(struct octets *o, uint8_t *out);
int octets_u16(struct octets *o, uint16_t *out);
int octets_u32(struct octets *o, uint32_t *out);
int octets_u64(struct octets *o, uint64_t *out);
int octets_copy(struct octets *o, void *out, size_t length);
int octets_skip(struct octets *o, size_t length);
int octets_take(struct octets *o, size_t length,
		struct octets *sub); /* sub borrows the same bytes */

/* Fills error (may be NULL) with reason and where o stands; always -EBADMSG, for `return
 * octets_fail(...)`. */
int octets_fail(const struct octets *o, struct octets_error *error, const char *reason);

#endif
