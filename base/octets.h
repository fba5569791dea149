/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * octets.h - bytes in network order, read and written within bounds: what every wire format stands
 * on.
 *
 * Owns nothing: a reader borrows the bytes it walks over, a writer those it fills. In: a buffer and
 * its length. Out: values, sub-readers, or that there were too few bytes. Neither goes past its end
 * nor moves when it fails. `offset` counts from the first byte of the outermost message, so that an
 * error names a place that an operator can find in a capture. Any thread.
 */
#ifndef OCTETS_H
#define OCTETS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct octets {
	const uint8_t *p;
	size_t left;   /* bytes not yet read */
	size_t offset; /* of p, from the start of the outermost message */
	bool failed;   /* something did not fit: nor does all that is asked for after it */
};

struct octets_out {
	uint8_t *p; /* where the next byte goes */
	size_t left;
	bool failed; /* something did not fit: nothing was written from there on */
};

/* Why and where a message is malformed. reason is a string literal. */
struct octets_error {
	const char *reason;
	size_t offset;
};

void octets_init(struct octets *o, const uint8_t *data, size_t length);

/* Each takes from the front: 0, or -EBADMSG with nothing taken, then and after. */
int octets_u8(struct octets *o, uint8_t *out);
int octets_u16(struct octets *o, uint16_t *out);
int octets_u32(struct octets *o, uint32_t *out);
int octets_u64(struct octets *o, uint64_t *out);
int octets_copy(struct octets *o, void *out, size_t length);
int octets_skip(struct octets *o, size_t length);
int octets_take(struct octets *o, size_t length,
		struct octets *sub); /* sub borrows the same bytes */

/*
 * For a format that is checked once, by `failed` at its end: big-endian, of 1 to 8 bytes; or n
 * bytes as they are. 0 or NULL: fewer are left.
 */
uint64_t octets_get(struct octets *o, unsigned n);
const uint8_t *octets_borrow(struct octets *o, size_t n);

void octets_put(struct octets_out *out, uint64_t v, unsigned n);
void octets_put_bytes(struct octets_out *out, const void *from, size_t n);

/*
 * Of a format whose length has been checked; n is 1 to 8. Store returns what follows. Where n is a
 * constant each is one or two instructions.
 */
static inline uint64_t octets_load(const uint8_t *at, unsigned n)
{
	uint64_t v = 0;

	memcpy(&v, at, n);
	return be64toh(v) >> (64 - 8 * n);
}

static inline uint8_t *octets_store(uint8_t *at, uint64_t v, unsigned n)
{
	v = htobe64(v << (64 - 8 * n));
	memcpy(at, &v, n);
	return at + n;
}

/* Fills error (may be NULL) with reason and where o stands; always -EBADMSG, for `return
 * octets_fail(...)`. */
int octets_fail(const struct octets *o, struct octets_error *error, const char *reason);

#endif
