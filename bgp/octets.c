/* SPDX-License-Identifier: BSD-2-Clause */
#include "octets.h"

#include <errno.h>
#include <string.h>

void octets_init(struct octets *o, const uint8_t *data, size_t length)
{
	o->p = data;
	o->left = length;
	o->offset = 0;
}

int octets_take(struct octets *o, size_t length, struct octets *sub)
{
	if (length > o->left)
		return -EBADMSG;
	sub->p = o->p;
	sub->left = length;
	sub->offset = o->offset;
	return octets_skip(o, length);
}

int octets_skip(struct octets *o, size_t length)
{
	if (length > o->left)
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
	if (length > o->left)
		return -EBADMSG;
	if (length > 0)
		memcpy(out, o->p, length);
	return octets_skip(o, length);
}

/* Big-endian integer of `width` bytes. */
static int octets_integer(struct octets *o, unsigned width, uint64_t *out)
{
	uint64_t v = 0;

	if (width > o->left)
		return -EBADMSG;
	for (unsigned i = 0; i < width; i++)
		v = v << 8 | o->p[i];
	*out = v;
	return octets_skip(o, width);
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

int octets_fail(const struct octets *o, struct octets_error *error, const char *reason)
{
	if (error) {
		error->reason = reason;
		error->offset = o->offset;
	}
	return -EBADMSG;
}
