/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/octets.h"

#include <errno.h>
#include <string.h>

void octets_init(struct octets *o, const uint8_t *data, size_t length)
{
	o->p = data;
	o->left = length;
	o->offset = 0;
	o->failed = false;
}

int octets_take(struct octets *o, size_t length, struct octets *sub)
{
	const struct octets part = {o->p, length, o->offset, false};

	if (octets_skip(o, length))
		return -EBADMSG;
	*sub = part;
	return 0;
}

int octets_skip(struct octets *o, size_t length)
{
	o->failed |= length > o->left;
	if (o->failed)
		return -EBADMSG;
	if (length > 0) { /* p may be NULL when nothing is left */
		o->p += length;
		o->left -= length;
		o->offset += length;
	}
	return 0;
}

int octets_copy(struct octets *o, void *out, size_t length)
{
	const uint8_t *at = octets_borrow(o, length);

	if (at && length > 0)
		memcpy(out, at, length);
	return o->failed ? -EBADMSG : 0;
}

/* Big-endian integer of `width` bytes. */
static int octets_integer(struct octets *o, unsigned width, uint64_t *out)
{
	const uint8_t *at = octets_borrow(o, width);

	if (!at)
		return -EBADMSG;
	*out = octets_load(at, width);
	return 0;
}

int octets_u8(struct octets *o, uint8_t *out)
{
	return octets_copy(o, out, 1);
}

int octets_u16(struct octets *o, uint16_t *out)
{
	uint64_t v;

	if (octets_integer(o, 2, &v))
		return -EBADMSG;
	*out = (uint16_t)v;
	return 0;
}

int octets_u32(struct octets *o, uint32_t *out)
{
	uint64_t v;

	if (octets_integer(o, 4, &v))
		return -EBADMSG;
	*out = (uint32_t)v;
	return 0;
}

int octets_u64(struct octets *o, uint64_t *out)
{
	return octets_integer(o, 8, out);
}

uint64_t octets_get(struct octets *o, unsigned n)
{
	const uint8_t *at = octets_borrow(o, n);

	return at ? octets_load(at, n) : 0;
}

const uint8_t *octets_borrow(struct octets *o, size_t n)
{
	const uint8_t *at = o->p;

	return octets_skip(o, n) ? NULL : at;
}

void octets_put(struct octets_out *out, uint64_t v, unsigned n)
{
	out->failed |= n > out->left;
	if (out->failed)
		return;
	out->p = octets_store(out->p, v, n);
	out->left -= n;
}

void octets_put_bytes(struct octets_out *out, const void *from, size_t n)
{
	out->failed |= n > out->left;
	if (out->failed || !n)
		return;
	memcpy(out->p, from, n);
	out->p += n;
	out->left -= n;
}

int octets_fail(const struct octets *o, struct octets_error *error, const char *reason)
{
	if (error) {
		error->reason = reason;
		error->offset = o->offset;
	}
	return -EBADMSG;
}
