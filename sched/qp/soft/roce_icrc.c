/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce_icrc.h"

#include <endian.h>
#include <string.h>

#include <isa-l/crc.h>

#include "roce_wire.h"

#define POLYNOMIAL    0xedb88320u /* reflected, as in zlib */
#define MASKED_PREFIX 8
#define IPV4_ID_LOW   (MASKED_PREFIX + 5) /* offset of the id's low byte in what is hashed */
#define PSEUDO_MAX    (MASKED_PREFIX + 40 + 8)

static size_t put_ipv4(uint8_t *at, const struct roce_flow *flow, uint16_t ip_id, size_t udp_bytes)
{
	size_t total = 20 + udp_bytes;

	at[0] = 0x45;
	at[1] = 0xff;
	at[2] = (uint8_t)(total >> 8);
	at[3] = (uint8_t)total;
	at[4] = (uint8_t)(ip_id >> 8);
	at[5] = (uint8_t)ip_id;
	at[6] = 0x40; /* do not fragment */
	at[7] = 0;
	at[8] = 0xff;
	at[9] = IPPROTO_UDP;
	at[10] = 0xff;
	at[11] = 0xff;
	memcpy(at + 12, flow->source.s6_addr + 12, 4);
	memcpy(at + 16, flow->destination.s6_addr + 12, 4);
	return 20;
}

static size_t put_ipv6(uint8_t *at, const struct roce_flow *flow, size_t udp_bytes)
{
	at[0] = 0x6f;
	memset(at + 1, 0xff, 3);
	at[4] = (uint8_t)(udp_bytes >> 8);
	at[5] = (uint8_t)udp_bytes;
	at[6] = IPPROTO_UDP;
	at[7] = 0xff;
	memcpy(at + 8, &flow->source, 16);
	memcpy(at + 24, &flow->destination, 16);
	return 40;
}

/* Ones, IP and UDP headers as they are hashed; at has PSEUDO_MAX bytes of room. */
static size_t put_pseudo(uint8_t *at, const struct roce_flow *flow, uint16_t ip_id, size_t bytes)
{
	uint8_t *start = at;
	size_t udp_bytes = 8 + bytes;

	memset(at, 0xff, MASKED_PREFIX);
	at += MASKED_PREFIX;
	at += IN6_IS_ADDR_V4MAPPED(&flow->source) ? put_ipv4(at, flow, ip_id, udp_bytes)
						  : put_ipv6(at, flow, udp_bytes);
	at[0] = (uint8_t)(flow->source_port >> 8);
	at[1] = (uint8_t)flow->source_port;
	at[2] = (uint8_t)(flow->destination_port >> 8);
	at[3] = (uint8_t)flow->destination_port;
	at[4] = (uint8_t)(udp_bytes >> 8);
	at[5] = (uint8_t)udp_bytes;
	at[6] = 0xff;
	at[7] = 0xff;
	return (size_t)(at + 8 - start);
}

uint32_t roce_icrc_compute(const struct roce_flow *flow, uint16_t ip_id, const uint8_t *header,
			   size_t header_bytes, const uint8_t *payload, size_t payload_bytes,
			   size_t pad_bytes)
{
	static const uint8_t pad[4];
	size_t bytes = header_bytes + payload_bytes + pad_bytes + ROCE_ICRC_BYTES, n;
	uint8_t head[PSEUDO_MAX + ROCE_HEADER_MAX];
	uint32_t crc;

	n = put_pseudo(head, flow, ip_id, bytes);
	memcpy(head + n, header, header_bytes);
	head[n + 4] = 0xff;
	crc = crc32_gzip_refl(0, head, n + header_bytes);
	if (payload_bytes)
		crc = crc32_gzip_refl(crc, payload, payload_bytes);
	if (pad_bytes)
		crc = crc32_gzip_refl(crc, pad, pad_bytes);
	return crc;
}

/* a x b modulo the polynomial; bit 31 is the power 0 */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
		if (a & bit)
			product ^= b;
		b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
	}
	return product;
}

/* x to the power n */
static uint32_t power(uint32_t n)
{
	uint32_t result = 1u << 31, square = 1u << 30; /* x^0, x^1 */

	for (; n; n >>= 1) {
		if (n & 1)
			result = multiply(result, square);
		square = multiply(square, square);
	}
	return result;
}

/* What each of the id's low six bits does to a CRC when bytes follow the id. */
static void ids_learn(struct roce_icrc_ids *ids, size_t bytes)
{
	uint32_t shift = power((uint32_t)bytes * 8);

	for (unsigned bit = 0; bit < 6; bit++) {
		uint32_t crc = 1u << bit;

		for (unsigned i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		ids->basis[bit] = multiply(shift, crc);
	}
	/* the powers of x repeat after 2^32 - 1 */
	ids->back_to_id = power(UINT32_MAX - (uint32_t)bytes * 8);
	ids->bytes = bytes;
}

/*
 * The same for any id: undoes what the bytes behind the id did to the difference, then the id's own
 * 16 bits.
 */
static bool ids_solve(const struct roce_icrc_ids *ids, uint32_t difference, uint16_t *ip_id)
{
	uint32_t r = multiply(difference, ids->back_to_id);

	for (unsigned i = 0; i < 16; i++)
		r = r >> 31 ? (r ^ POLYNOMIAL) << 1 | 1 : r << 1;
	if (r >> 16)
		return false;
	*ip_id ^= (uint16_t)(r << 8 | r >> 8); /* the first byte is the high one */
	return true;
}

/* Finds the id whose CRC differs by difference from that of *ip_id. */
static bool ids_find(struct roce_icrc_ids *ids, size_t bytes, uint32_t difference, uint16_t *ip_id)
{
	uint32_t flips = 0, sum = 0;

	if (ids->bytes != bytes)
		ids_learn(ids, bytes);
	if (ids->any)
		return ids_solve(ids, difference, ip_id);
	/* Gray code: each step flips the one bit that is lowest in the count */
	for (unsigned count = 1; count < ROCE_ICRC_IDS; count++) {
		unsigned bit = (unsigned)__builtin_ctz(count);

		flips ^= 1u << bit;
		sum ^= ids->basis[bit];
		if (sum == difference) {
			*ip_id ^= (uint16_t)flips;
			return true;
		}
	}
	return false;
}

bool roce_icrc_verify(const struct roce_flow *flow, struct roce_icrc_ids *ids, uint16_t *ip_id,
		      const uint8_t *data, size_t bytes)
{
	uint8_t head[PSEUDO_MAX + ROCE_BTH_BYTES];
	uint32_t stored, crc;
	size_t n, rest;

	if (bytes < ROCE_BTH_BYTES + ROCE_ICRC_BYTES || bytes > 65507)
		return false;
	memcpy(&stored, data + bytes - ROCE_ICRC_BYTES, sizeof(stored));
	stored = le32toh(stored);
	rest = bytes - ROCE_BTH_BYTES - ROCE_ICRC_BYTES;

	n = put_pseudo(head, flow, *ip_id, bytes);
	memcpy(head + n, data, ROCE_BTH_BYTES);
	head[n + 4] = 0xff;
	crc = crc32_gzip_refl(0, head, n + ROCE_BTH_BYTES);
	crc = crc32_gzip_refl(crc, data + ROCE_BTH_BYTES, rest);
	if (crc == stored)
		return true;
	if (!ids || !IN6_IS_ADDR_V4MAPPED(&flow->source))
		return false;
	return ids_find(ids, n + ROCE_BTH_BYTES + rest - IPV4_ID_LOW - 1, crc ^ stored, ip_id);
}
