/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_wire.h"

#include "base/octets.h"

#define VERSION	 1
#define FLAG_TRY 1

uint16_t report_wire_units(uint64_t ns)
{
	uint64_t units = ns / REPORT_WIRE_UNIT_NS;

	return units < REPORT_WIRE_LONG ? (uint16_t)units : REPORT_WIRE_LONG;
}

bool report_wire_has_flags(const struct report_wire *r)
{
	uint8_t flags = 0;

	for (uint32_t i = 0; i < r->n_planes; i++)
		flags |= r->planes[i].flags;
	return flags != 0;
}

uint8_t *report_wire_encode(const struct report_wire *r, uint8_t *p)
{
	p = octets_store(p, VERSION, 1);
	p = octets_store(p, r->n_planes, 1);
	p = octets_store(p, r->is_try ? FLAG_TRY : 0, 1);
	p = octets_store(p, 0, 1);
	p = octets_store(p, r->late, 2);
	p = octets_store(p, r->interval, 2);
	p = octets_store(p, r->incarnation, 4);
	p = octets_store(p, r->clock_us, 4);
	p = octets_store(p, r->cookie, 8);
	p = octets_store(p, r->receiver_cookie, 8);
	for (uint32_t i = 0; i < r->n_planes; i++) {
		const struct report_wire_plane *plane = &r->planes[i];

		p = octets_store(p, plane->sent, 4);
		p = octets_store(p, plane->age, 2);
		p = octets_store(p, plane->lost, 1);
		p = octets_store(p, plane->flags, 1);
	}
	return p;
}

static struct report_wire_plane plane_at(const uint8_t *b)
{
	return (struct report_wire_plane){(uint32_t)octets_load(b, 4),
					  (uint16_t)octets_load(b + 4, 2), b[6], b[7]};
}

const char *report_wire_decode(const uint8_t *b, size_t length, struct report_wire *out,
			       bool *known)
{
	*known = false;
	if (length && b[0] > VERSION) /* of a later release, whatever it holds */
		return NULL;
	if (length < REPORT_WIRE_HEAD_BYTES)
		return "a report that is too short";
	if (b[0] != VERSION)
		return "a report of version 0";
	if (!b[1] || b[1] > REPORT_WIRE_MAX_PLANES ||
	    length != REPORT_WIRE_HEAD_BYTES + b[1] * REPORT_WIRE_PLANE_BYTES)
		return "a report whose planes do not fit its length";
	if (b[2] & ~FLAG_TRY || b[3])
		return "a report with flags of no version";
	*known = true;
	*out = (struct report_wire){
		.n_planes = b[1],
		.is_try = b[2] & FLAG_TRY,
		.late = (uint16_t)octets_load(b + 4, 2),
		.interval = (uint16_t)octets_load(b + 6, 2),
		.incarnation = (uint32_t)octets_load(b + 8, 4),
		.clock_us = (uint32_t)octets_load(b + 12, 4),
		.cookie = octets_load(b + 16, 8),
		.receiver_cookie = octets_load(b + 24, 8),
	};
	for (uint32_t i = 0; i < out->n_planes; i++)
		out->planes[i] = plane_at(b + REPORT_WIRE_HEAD_BYTES + i * REPORT_WIRE_PLANE_BYTES);
	return NULL;
}
