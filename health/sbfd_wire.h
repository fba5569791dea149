/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sbfd_wire.h - the S-BFD control packet (RFC 5880 section 4.1, as RFC 7880 and 7881 use it).
 *
 * Solely owns: the 24 octets of the mandatory section. In: bytes from the network. Out: a checked
 * struct, or -EBADMSG with a reason and the offset where it stopped making sense. Thread: any.
 * Pure.
 *
 * What follows the 24 octets in the same datagram is none of BFD's business (RFC 5880 bounds a
 * packet by its own length field); notice_wire.h puts its elements there.
 */
#ifndef SBFD_WIRE_H
#define SBFD_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBFD_WIRE_PORT	  7784 /* RFC 7881 section 3 */
#define SBFD_WIRE_BYTES	  24u
#define SBFD_WIRE_TTL	  255 /* what both ends send, RFC 7881 section 5 */
#define SBFD_WIRE_TTL_MIN 254 /* with one router between two GPUs, the leaf */

enum sbfd_state {
	SBFD_ADMIN_DOWN = 0,
	SBFD_DOWN = 1,
	SBFD_INIT = 2,
	SBFD_UP = 3,
};

struct sbfd_packet {
	uint8_t diagnostic; /* 0..31 */
	enum sbfd_state state;
	bool poll, final, demand;
	uint8_t detect_multiplier; /* never 0 */
	uint32_t my_discriminator; /* never 0 */
	uint32_t your_discriminator;
	uint32_t desired_min_tx_us;
	uint32_t required_min_rx_us;
};

struct sbfd_wire_error {
	const char *reason; /* static */
	size_t offset;
};

/*
 * Checks the mandatory section as RFC 5880 6.8.6 orders: version, length, multiplier, no
 * multipoint, a discriminator. Authentication is refused: nobody configured it. A reply has D
 * clear, a probe has it set (RFC 7880 7.2.1, 7.3.2): the caller knows which it wants. 0 or
 * -EBADMSG.
 */
int sbfd_wire_decode(const uint8_t *bytes, size_t length, struct sbfd_packet *out,
		     struct sbfd_wire_error *error);
void sbfd_wire_encode(const struct sbfd_packet *p, uint8_t out[SBFD_WIRE_BYTES]);

/* The reflector's answer (RFC 7880 7.2.2): discriminators swapped, F for P, nothing asked for. */
struct sbfd_packet sbfd_wire_reflection(const struct sbfd_packet *probe,
					uint32_t required_min_rx_us);

/*
 * The discriminator that an address reflects under: an IPv4 address itself, the last 32 bits of an
 * IPv6 one. Both ends derive it, so nothing has to advertise it.
 */
uint32_t sbfd_wire_discriminator(const struct in6_addr *address);

#endif
