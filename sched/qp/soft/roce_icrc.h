/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_icrc.h - the invariant CRC of RoCEv2 packets (IBTA 7.8.1, annex A17.3.2).
 *
 * Owns the rules of what is hashed and what is masked. In: the flow's addresses and ports, the
 * bytes of a packet. Out: the CRC, or whether it is right. Pure; any thread, one struct
 * roce_icrc_ids per thread.
 *
 * Hashed: eight bytes of ones for the missing LRH and GRH fields; the IP header with ones in TOS,
 * TTL and checksum (IPv6: traffic class, flow label, hop limit); the UDP header with ones in its
 * checksum; BTH with ones in byte 4; all that follows, pad included. The CRC is that of zlib, sent
 * little-endian.
 *
 * IPv4's identification is hashed although a UDP socket never sees it. A sender whose socket is
 * unconnected and forbids fragmentation sends 0, and i for segment i of a segmentation batch. A
 * receiver knows a segment's place in the batch that it was handed; but a batch may have been cut
 * on the way, so the first id may be any. CRC is linear: one wrong bit of the id changes the CRC by
 * a constant that depends only on how many bytes follow it. Six such constants tell the ids 0..63
 * apart with one pass over the bytes. RDMA devices number their packets as they like: with `any`
 * set, every id is looked for, by running the CRC's difference backwards to where the id stands. A
 * damaged packet then passes with probability 2^-16 instead of 2^-26, so that is for peers known to
 * be devices.
 */
#ifndef ROCE_ICRC_H
#define ROCE_ICRC_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_ICRC_IDS 64 /* ids that a receiver tells apart: the most segments of a batch */

/* Addresses as they stand in the IP header; IPv4 as ::ffff:a.b.c.d, and then both must be. Ports in
 * host order. */
struct roce_flow {
	struct in6_addr source;
	struct in6_addr destination;
	uint16_t source_port;
	uint16_t destination_port;
};

/* What id bits do to the CRC at the last seen length. Zero-initialise; belongs to one thread. */
struct roce_icrc_ids {
	size_t bytes;
	uint32_t basis[6];
	bool any; /* accept all ids, not only the first ROCE_ICRC_IDS */
	/* any: multiplies a CRC's difference back over the bytes behind the id */
	uint32_t back_to_id;
};

/*
 * The CRC of a packet in pieces: header (BTH and extensions), payload, pad zero bytes. ip_id counts
 * for IPv4 only. To be stored little-endian.
 */
uint32_t roce_icrc_compute(const struct roce_flow *flow, uint16_t ip_id, const uint8_t *header,
			   size_t header_bytes, const uint8_t *payload, size_t payload_bytes,
			   size_t pad_bytes);

/*
 * Whether the last four bytes of a UDP payload are its ICRC. On IPv4 *ip_id is the expected id (<
 * ROCE_ICRC_IDS, unless ids->any) and becomes the one that fits. False for payloads too short to
 * hold BTH and ICRC, or over 65,507 bytes.
 */
bool roce_icrc_verify(const struct roce_flow *flow, struct roce_icrc_ids *ids, uint16_t *ip_id,
		      const uint8_t *data, size_t bytes);

#endif
