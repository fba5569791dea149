/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_icrc.h - the invariant CRC of RoCEv2 packets (IBTA 7.8.1, annex A17.3.2).
 *
 * Owns the rules which bytes count and which are masked. In: the flow's addresses and ports, the
 * bytes of a packet. Out: the CRC, or whether it is right. Pure; any thread, one struct
 * roce_icrc_ids per thread.
 *
 * Hashed: eight bytes of ones for the missing LRH and GRH fields; the IP header with ones in TOS,
 * TTL and checksum (IPv6: traffic class, flow label, hop limit); the UDP header with ones in its
 * checksum; BTH with ones in byte 4; all that follows, pad included. The CRC is that of zlib, sent
 * little-endian.
 *
 * IPv4's identification (id) is hashed, although a UDP socket never sees it. A socket that is not
 * connected and forbids fragmentation sends id 0, and id i for segment i of a segmentation batch. A
 * receiver knows the place of a segment in the batch that it received. But a batch may have been
 * cut by the network, so its first id is not known.
 *
 * CRC is linear: a wrong bit of the id changes the CRC by a constant that depends only on the
 * number of bytes behind it. With six such constants the ids 0..63 are distinguished in one pass
 * over the bytes. RDMA devices choose other ids. With `any` set, every id is tried, by running the
 * difference of the CRC backwards to the place of the id. A damaged packet then passes with
 * probability 2^-16 instead of 2^-26, so `any` is only for peers that are known to be devices.
 */
#ifndef ROCE_ICRC_H
#define ROCE_ICRC_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_ICRC_IDS 64 /* ids that a receiver distinguishes: the most segments of a batch */

/* Addresses as they stand in the IP header; IPv4 as ::ffff:a.b.c.d, and then both must be. Ports in
 * host order. */
struct roce_flow {
	struct in6_addr source;
	struct in6_addr destination;
	uint16_t source_port;
	uint16_t destination_port;
};

/* Change of the CRC by each bit of the id, for the last length. Zero at first; one thread. */
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
 * ROCE_ICRC_IDS, unless ids->any) and becomes the one that fits. ids NULL: no other will do. False
 * for payloads too short to hold BTH and ICRC, or over 65,507 bytes. To find the id of a packet of
 * another length than the last one takes microseconds.
 */
bool roce_icrc_verify(const struct roce_flow *flow, struct roce_icrc_ids *ids, uint16_t *ip_id,
		      const uint8_t *data, size_t bytes);

#endif
