/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_message.h"

int bgp_message_take(struct octets *in, uint8_t *type, struct octets *body,
		     struct octets_error *error)
{
	struct octets o = *in;
	uint16_t length;
	uint8_t marker;

	for (unsigned i = 0; i < 16; i++) {
		if (octets_u8(&o, &marker))
			return octets_fail(&o, error, "BGP header is cut short");
		if (marker != 0xff)
			return octets_fail(&o, error, "BGP marker is not all ones");
	}
	if (octets_u16(&o, &length) || octets_u8(&o, type))
		return octets_fail(&o, error, "BGP header is cut short");
	if (length < BGP_MESSAGE_HEADER_BYTES)
		return octets_fail(&o, error, "BGP length is smaller than its header");
	if (octets_take(&o, length - BGP_MESSAGE_HEADER_BYTES, body))
		return octets_fail(&o, error, "BGP length exceeds what holds it");
	*in = o;
	return 0;
}

bool bgp_message_family(uint16_t afi, uint8_t safi, enum bgp_family *out)
{
	if (safi != 1 || (afi != 1 && afi != 2))
		return false;
	*out = afi == 1 ? BGP_FAMILY_IPV4 : BGP_FAMILY_IPV6;
	return true;
}
