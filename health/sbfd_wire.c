/* SPDX-License-Identifier: BSD-2-Clause */
#include "sbfd_wire.h"

#include <errno.h>

#include "base/octets.h"

#define VERSION		   1
#define FLAG_POLL	   0x20
#define FLAG_FINAL	   0x10
#define FLAG_AUTHENTICATED 0x04
#define FLAG_DEMAND	   0x02
#define FLAG_MULTIPOINT	   0x01

static int bad(struct sbfd_wire_error *error, const char *reason, size_t offset)
{
	*error = (struct sbfd_wire_error){reason, offset};
	return -EBADMSG;
}

int sbfd_wire_decode(const uint8_t *b, size_t length, struct sbfd_packet *out,
		     struct sbfd_wire_error *error)
{
	if (length < SBFD_WIRE_BYTES)
		return bad(error, "shorter than a BFD control packet", length);
	if (b[0] >> 5 != VERSION)
		return bad(error, "not BFD version 1", 0);
	if (b[3] < SBFD_WIRE_BYTES || b[3] > length)
		return bad(error, "the length field does not fit the datagram", 3);
	if (b[1] & FLAG_AUTHENTICATED)
		return bad(error, "authenticated, and no authentication is configured", 1);
	if (b[3] != SBFD_WIRE_BYTES)
		return bad(error, "longer than the mandatory section", 3);
	if (!b[2])
		return bad(error, "the detection multiplier is zero", 2);
	if (b[1] & FLAG_MULTIPOINT)
		return bad(error, "the multipoint bit is set", 1);
	if ((b[1] & FLAG_POLL) && (b[1] & FLAG_FINAL))
		return bad(error, "poll and final at once", 1);
	if (!(uint32_t)octets_load(b + 4, 4))
		return bad(error, "my discriminator is zero", 4);
	*out = (struct sbfd_packet){
		.diagnostic = b[0] & 0x1f,
		.state = (enum sbfd_state)(b[1] >> 6),
		.poll = b[1] & FLAG_POLL,
		.final = b[1] & FLAG_FINAL,
		.demand = b[1] & FLAG_DEMAND,
		.detect_multiplier = b[2],
		.my_discriminator = (uint32_t)octets_load(b + 4, 4),
		.your_discriminator = (uint32_t)octets_load(b + 8, 4),
		.desired_min_tx_us = (uint32_t)octets_load(b + 12, 4),
		.required_min_rx_us = (uint32_t)octets_load(b + 16, 4),
	};
	return 0;
}

void sbfd_wire_encode(const struct sbfd_packet *p, uint8_t out[SBFD_WIRE_BYTES])
{
	out[0] = (uint8_t)(VERSION << 5 | (p->diagnostic & 0x1f));
	out[1] = (uint8_t)(p->state << 6 | (p->poll ? FLAG_POLL : 0) | (p->final ? FLAG_FINAL : 0) |
			   (p->demand ? FLAG_DEMAND : 0));
	out[2] = p->detect_multiplier;
	out[3] = SBFD_WIRE_BYTES;
	octets_store(out + 4, p->my_discriminator, 4);
	octets_store(out + 8, p->your_discriminator, 4);
	octets_store(out + 12, p->desired_min_tx_us, 4);
	octets_store(out + 16, p->required_min_rx_us, 4);
	octets_store(out + 20, 0, 4); /* no echo function in S-BFD */
}

struct sbfd_packet sbfd_wire_reflection(const struct sbfd_packet *probe,
					uint32_t required_min_rx_us)
{
	return (struct sbfd_packet){
		.state = SBFD_UP,
		.final = probe->poll,
		.detect_multiplier = probe->detect_multiplier,
		.my_discriminator = probe->your_discriminator,
		.your_discriminator = probe->my_discriminator,
		.desired_min_tx_us = probe->desired_min_tx_us,
		.required_min_rx_us = required_min_rx_us,
	};
}

uint32_t sbfd_wire_discriminator(const struct in6_addr *address)
{
	uint32_t low = (uint32_t)octets_load(address->s6_addr + 12, 4);

	return low ? low : 1; /* zero is no discriminator */
}
