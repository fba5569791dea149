/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link_bandwidth.h - the Link Bandwidth extended community (RFC 10005;
 * draft-ietf-idr-link-bandwidth before it), and FRR's extended form of it.
 *
 * Owns nothing; pure. In: the value of an EXTENDED COMMUNITIES attribute, or of an IPv6 ADDRESS
 * SPECIFIC EXTENDED COMMUNITIES attribute. Out: one bandwidth. Any thread.
 *
 * Transitive (type 0x00) and non-transitive (0x40) count alike, and so does every AS: whether the
 * AS is the leaf's or the GPU's depends on whether the leaf summed, so it identifies nothing.
 */
#ifndef LINK_BANDWIDTH_H
#define LINK_BANDWIDTH_H

#include "bgp_source.h"

struct link_bandwidth {
	enum bgp_bandwidth_kind kind;
	double bytes_per_s;   /* if kind is BGP_BANDWIDTH_VALUE: finite, >= 0 */
	bool maybe_truncated; /* has the mark of a sum cut to 32 bits; see
				 link_bandwidth_maybe_truncated() */
};

/*
 * length: bytes, a multiple of 8 (a remainder is ignored). The lowest valid value counts, zero
 * included; INVALID only if there are Link Bandwidth communities and none is valid.
 */
void link_bandwidth_read(const uint8_t *communities, size_t length, struct link_bandwidth *out);

/*
 * The same of 20-byte communities (RFC 5701). FRR's "extended-link-bandwidth" (10.1 and later) puts
 * an AS4 community (0x02, or 0x42) of sub-type 0x06 there: bytes/s as an integer of 64 bits, which
 * neither rounds nor wraps. A remainder is ignored. Never INVALID.
 */
void link_bandwidth_read_extended(const uint8_t *communities, size_t length,
				  struct link_bandwidth *out);

/*
 * FRR sums whole megabits per second in 32 bits of bytes/s. A value that is no whole megabit, but
 * becomes one when 2^32 is added back some times, was most likely cut; so was one pinned at the top
 * of 32 bits.
 */
bool link_bandwidth_maybe_truncated(double bytes_per_s);

#endif
