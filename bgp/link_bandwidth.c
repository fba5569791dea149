/* SPDX-License-Identifier: BSD-2-Clause */
#include "link_bandwidth.h"

#include <math.h>
#include <string.h>

enum { TYPE_TRANSITIVE = 0x00, TYPE_NON_TRANSITIVE = 0x40, SUB_TYPE_LINK_BANDWIDTH = 0x04 };
enum { TYPE_AS4 = 0x02, SUB_TYPE_EXTENDED_LINK_BANDWIDTH = 0x06, EXTENDED_BYTES = 20 };

#define LINK_BANDWIDTH_MEGABIT_BYTES 125000.0
#define LINK_BANDWIDTH_2_32	     4294967296.0
#define LINK_BANDWIDTH_WRAPS	     64 /* planes x sub-ports that one leaf might have summed */

/* Distance to the nearest whole megabit, in bytes/s. */
static double link_bandwidth_off_megabit(double bytes_per_s)
{
	return fabs(remainder(bytes_per_s, LINK_BANDWIDTH_MEGABIT_BYTES));
}

bool link_bandwidth_maybe_truncated(double bytes_per_s)
{
	double grain =
		ldexp(bytes_per_s, -24); /* half a unit in the last place of a float32, at most */

	if (bytes_per_s >= LINK_BANDWIDTH_2_32 - 256 && bytes_per_s <= LINK_BANDWIDTH_2_32)
		return true;
	if (bytes_per_s <= 0 || bytes_per_s > LINK_BANDWIDTH_2_32 ||
	    link_bandwidth_off_megabit(bytes_per_s) <= grain)
		return false;
	for (int k = 1; k <= LINK_BANDWIDTH_WRAPS; k++)
		if (link_bandwidth_off_megabit(bytes_per_s + k * LINK_BANDWIDTH_2_32) <= grain)
			return true;
	return false;
}

static double link_bandwidth_float32(const uint8_t *p)
{
	uint32_t bits = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	float value;

	_Static_assert(sizeof(value) == sizeof(bits), "float is IEEE 754 binary32");
	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

/* The lowest counts. */
static void link_bandwidth_take(struct link_bandwidth *out, double bytes_per_s)
{
	if (out->kind != BGP_BANDWIDTH_VALUE || bytes_per_s < out->bytes_per_s)
		out->bytes_per_s = bytes_per_s;
	out->kind = BGP_BANDWIDTH_VALUE;
}

void link_bandwidth_read_extended(const uint8_t *communities, size_t length,
				  struct link_bandwidth *out)
{
	*out = (struct link_bandwidth){.kind = BGP_BANDWIDTH_ABSENT};
	for (size_t i = 0; i + EXTENDED_BYTES <= length; i += EXTENDED_BYTES) {
		const uint8_t *c = communities + i;
		uint64_t bytes_per_s = 0;

		if ((c[0] | TYPE_NON_TRANSITIVE) != (TYPE_AS4 | TYPE_NON_TRANSITIVE) ||
		    c[1] != SUB_TYPE_EXTENDED_LINK_BANDWIDTH)
			continue;
		for (unsigned b = 4; b < 12; b++)
			bytes_per_s = bytes_per_s << 8 | c[b];
		link_bandwidth_take(out, (double)bytes_per_s);
	}
}

void link_bandwidth_read(const uint8_t *communities, size_t length, struct link_bandwidth *out)
{
	double value;

	*out = (struct link_bandwidth){.kind = BGP_BANDWIDTH_ABSENT};
	for (size_t i = 0; i + 8 <= length; i += 8) {
		const uint8_t *c = communities + i;

		if ((c[0] != TYPE_TRANSITIVE && c[0] != TYPE_NON_TRANSITIVE) ||
		    c[1] != SUB_TYPE_LINK_BANDWIDTH)
			continue;
		value = link_bandwidth_float32(c + 4);
		if (!isfinite(value) || value < 0) {
			if (out->kind == BGP_BANDWIDTH_ABSENT)
				out->kind = BGP_BANDWIDTH_INVALID;
			continue;
		}
		link_bandwidth_take(out, fabs(value)); /* minus zero is zero */
	}
	if (out->kind == BGP_BANDWIDTH_VALUE)
		out->maybe_truncated = link_bandwidth_maybe_truncated(out->bytes_per_s);
}
