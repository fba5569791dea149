/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_open.h"

#include <errno.h>
#include <string.h>

enum {
	OPTION_CAPABILITIES = 2,
	OPTION_EXTENDED = 255, /* RFC 9072 */
	CAPABILITY_MULTIPROTOCOL = 1,
	CAPABILITY_GRACEFUL_RESTART = 64,
	CAPABILITY_FOUR_OCTET_AS = 65,
	CAPABILITY_ADD_PATH = 69,
};

static int bgp_open_multiprotocol(struct octets *o, struct bgp_open *out)
{
	enum bgp_family family;
	uint8_t reserved, safi;
	uint16_t afi;

	if (octets_u16(o, &afi) || octets_u8(o, &reserved) || octets_u8(o, &safi))
		return -1;
	if (bgp_message_family(afi, safi, &family))
		out->multiprotocol[family] = true;
	return 0;
}

static int bgp_open_graceful_restart(struct octets *o, struct bgp_open *out)
{
	enum bgp_family family;
	uint8_t safi, flags;
	uint16_t head, afi;

	if (octets_u16(o, &head))
		return -1;
	out->graceful_restart = true;
	out->restarting = head & 0x8000;
	out->notification = head & 0x4000;
	out->restart_time_s = head & 0x0fff;
	while (o->left > 0) {
		if (octets_u16(o, &afi) || octets_u8(o, &safi) || octets_u8(o, &flags))
			return -1;
		if (bgp_message_family(afi, safi, &family))
			out->forwarding[family] = flags & 0x80;
	}
	return 0;
}

static int bgp_open_add_path(struct octets *o, struct bgp_open *out)
{
	enum bgp_family family;
	uint8_t safi, direction;
	uint16_t afi;

	while (o->left > 0) {
		if (octets_u16(o, &afi) || octets_u8(o, &safi) || octets_u8(o, &direction))
			return -1;
		/* RFC 7911 4: a direction other than 1, 2 or 3 makes that family's entry void */
		if (direction >= 1 && direction <= 3 && bgp_message_family(afi, safi, &family))
			out->add_path[family] = direction;
	}
	return 0;
}

static int bgp_open_capability(uint8_t code, struct octets *o, struct bgp_open *out)
{
	switch (code) {
	case CAPABILITY_MULTIPROTOCOL:
		return bgp_open_multiprotocol(o, out);
	case CAPABILITY_GRACEFUL_RESTART:
		return bgp_open_graceful_restart(o, out);
	case CAPABILITY_FOUR_OCTET_AS:
		out->four_octet_as = true;
		return octets_u32(o, &out->as);
	case CAPABILITY_ADD_PATH:
		return bgp_open_add_path(o, out);
	default:
		return 0;
	}
}

static int bgp_open_capabilities(struct octets o, struct bgp_open *out, bool *any_family,
				 struct octets_error *error)
{
	struct octets value;
	uint8_t code, length;

	while (o.left > 0) {
		if (octets_u8(&o, &code) || octets_u8(&o, &length) ||
		    octets_take(&o, length, &value))
			return octets_fail(&o, error, "capability exceeds its parameter");
		if (bgp_open_capability(code, &value, out))
			return octets_fail(&value, error, "capability is cut short");
		*any_family |= code == CAPABILITY_MULTIPROTOCOL;
	}
	return 0;
}

/* The parameters' length field, in its plain or its extended form; *wide says how each parameter
 * counts. */
static int bgp_open_parameters(struct octets *o, struct octets *parameters, bool *wide)
{
	uint8_t length, type;
	uint16_t long_length;

	if (octets_u8(o, &length))
		return -1;
	*wide = length == 255 && o->left > 0 && o->p[0] == OPTION_EXTENDED;
	if (!*wide)
		return octets_take(o, length, parameters);
	if (octets_u8(o, &type) || octets_u16(o, &long_length))
		return -1;
	return octets_take(o, long_length, parameters);
}

int bgp_open_parse(struct octets o, struct bgp_open *out, struct octets_error *error)
{
	struct octets parameters, value;
	bool wide, any_family = false;
	uint8_t version, type, length;
	uint16_t as, long_length;

	memset(out, 0, sizeof(*out));
	if (octets_u8(&o, &version) || octets_u16(&o, &as) || octets_u16(&o, &out->hold_time_s) ||
	    octets_u32(&o, &out->router_id))
		return octets_fail(&o, error, "OPEN is cut short");
	if (version != 4)
		return octets_fail(&o, error, "OPEN is not of BGP version 4");
	out->as = as;
	if (bgp_open_parameters(&o, &parameters, &wide))
		return octets_fail(&o, error, "OPEN's parameters exceed it");
	if (o.left > 0)
		return octets_fail(&o, error, "OPEN has bytes after its parameters");
	while (parameters.left > 0) {
		if (octets_u8(&parameters, &type))
			return octets_fail(&parameters, error, "OPEN parameter is cut short");
		if (wide ? octets_u16(&parameters, &long_length) : octets_u8(&parameters, &length))
			return octets_fail(&parameters, error, "OPEN parameter is cut short");
		if (octets_take(&parameters, wide ? long_length : length, &value))
			return octets_fail(&parameters, error, "OPEN parameter exceeds the OPEN");
		if (type == OPTION_CAPABILITIES &&
		    bgp_open_capabilities(value, out, &any_family, error))
			return -EBADMSG;
	}
	if (!any_family)
		out->multiprotocol[BGP_FAMILY_IPV4] = true;
	return 0;
}
