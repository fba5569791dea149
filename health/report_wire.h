/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_wire.h - what a server reports to a peer in each probe and reply: what it has sent to that
 * peer and received from it over each plane between the two.
 *
 * Solely owns: the bytes of that element (notice_wire.h carries it; releases that do not know it
 * skip it). In: bytes from the network. Out: a checked struct, or a reason. Thread: any. Pure.
 *
 * The value, in big-endian: version (1), number of planes (1), flags (1), 0 (1), lateness and
 * interval in units of 100 us (2 each), incarnation (4), clock in us (4), the sender's cookie (8),
 * the receiver's cookie (8); then for each plane: packets sent (4), age in units of 100 us (2),
 * loss in units of 1/255 (1), flags (1).
 * Of a later version the planes may be longer, or more may follow: it is read as absent.
 *
 * The receiver's cookie says that the sender is the peer, or on the path: 64 random bits that the
 * receiver sends to that peer alone. A sender that does not know it yet sends 0.
 */
#ifndef REPORT_WIRE_H
#define REPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_WIRE_MAX_PLANES	16u
#define REPORT_WIRE_HEAD_BYTES	32u
#define REPORT_WIRE_PLANE_BYTES 8u
#define REPORT_WIRE_MAX_BYTES                                                                      \
	(REPORT_WIRE_HEAD_BYTES + REPORT_WIRE_MAX_PLANES * REPORT_WIRE_PLANE_BYTES)
#define REPORT_WIRE_UNIT_NS 100000u    /* of age, lateness and interval */
#define REPORT_WIRE_LONG    UINT16_MAX /* as long as that or longer, or never */

enum report_flag {
	REPORT_DEAD = 1,  /* the receiver's packets do not arrive over this plane */
	REPORT_LOSSY = 2, /* ... too few of them do */
	REPORT_GRAY = 4,  /* a sub-port that lost the sender's packets is just out of use */
};

struct report_wire_plane {
	uint32_t sent; /* packets that count, so far */
	uint16_t age;  /* since one of the receiver's came over it */
	uint8_t lost;  /* of the receiver's, lately; 255: all */
	uint8_t flags; /* enum report_flag; unknown ones are kept and mean nothing */
};

struct report_wire {
	uint32_t incarnation;
	uint32_t clock_us; /* the sender's, when it was sent; wraps */
	uint16_t late;	   /* the sender's longest delay of the last second */
	uint16_t interval; /* between probes of the sender */
	/* this packet is in no count, nor is the answer to it: it tries what is out of use */
	bool is_try;
	uint64_t cookie, receiver_cookie;
	uint8_t n_planes;
	struct report_wire_plane planes[REPORT_WIRE_MAX_PLANES];
};

uint16_t report_wire_units(uint64_t ns);
/* Whether some plane has a flag: such a report is authenticated where there is a key. */
bool report_wire_has_flags(const struct report_wire *r);
/* Appends the value; n_planes is REPORT_WIRE_MAX_PLANES at most. Returns its end. */
uint8_t *report_wire_encode(const struct report_wire *r, uint8_t *out);
/*
 * NULL, or why it is none. *known: it is of this version; otherwise *out is not filled in.
 */
const char *report_wire_decode(const uint8_t *bytes, size_t length, struct report_wire *out,
			       bool *known);

#endif
