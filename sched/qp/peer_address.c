/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/peer_address.h"

#include <errno.h>

#include "base/octets.h"

#define VERSION 1

_Static_assert(FARE_ADDRESS_BYTES == 32, "layout");

void peer_address_encode(const struct peer_address *address, uint64_t incarnation,
			 struct fare_address *out)
{
	memset(out, 0, sizeof(*out));
	out->bytes[0] = VERSION;
	octets_store(out->bytes + 2, address->port, 2);
	octets_store(out->bytes + 4, incarnation, 8);
	memcpy(out->bytes + 12, &address->address, sizeof(address->address));
}

int peer_address_decode(const struct fare_address *in, struct peer_address *out,
			uint64_t *incarnation)
{
	static const uint8_t none[4];

	if (in->bytes[0] != VERSION || in->bytes[1] || memcmp(in->bytes + 28, none, sizeof(none)))
		return -EINVAL;
	memcpy(&out->address, in->bytes + 12, sizeof(out->address));
	out->port = (uint16_t)octets_load(in->bytes + 2, 2);
	*incarnation = octets_load(in->bytes + 4, 8);
	return 0;
}
