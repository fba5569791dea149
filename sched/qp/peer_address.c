/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/peer_address.h"

#include <endian.h>
#include <errno.h>

#define VERSION 1

_Static_assert(FARE_ADDRESS_BYTES == 32, "layout");

void peer_address_encode(const struct peer_address *address, uint64_t incarnation,
			 struct fare_address *out)
{
	const uint16_t port = htobe16(address->port);
	const uint64_t name = htobe64(incarnation);

	memset(out, 0, sizeof(*out));
	out->bytes[0] = VERSION;
	memcpy(out->bytes + 2, &port, sizeof(port));
	memcpy(out->bytes + 4, &name, sizeof(name));
	memcpy(out->bytes + 12, &address->address, sizeof(address->address));
}

int peer_address_decode(const struct fare_address *in, struct peer_address *out,
			uint64_t *incarnation)
{
	static const uint8_t none[4];
	uint16_t port;
	uint64_t name;

	if (in->bytes[0] != VERSION || in->bytes[1] || memcmp(in->bytes + 28, none, sizeof(none)))
		return -EINVAL;
	memcpy(&port, in->bytes + 2, sizeof(port));
	memcpy(&name, in->bytes + 4, sizeof(name));
	memcpy(&out->address, in->bytes + 12, sizeof(out->address));
	out->port = be16toh(port);
	*incarnation = be64toh(name);
	return 0;
}
