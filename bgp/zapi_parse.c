/* SPDX-License-Identifier: BSD-2-Clause */
#include "zapi_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
	MARKER = 0xfe,
	VERSION = 6,
	SAFI_UNICAST = 1,
	MESSAGE_NEXTHOP = 0x01,
	MESSAGE_SOURCE_PREFIX = 0x20,
	MESSAGE_NEXTHOP_GROUP = 0x80,
	MESSAGE_SEGMENT_ROUTING = 0x200, /* puts a color into every nexthop */
	NEXTHOP_IFINDEX = 1,
	NEXTHOP_IPV4 = 2,
	NEXTHOP_IPV4_IFINDEX = 3,
	NEXTHOP_IPV6 = 4,
	NEXTHOP_IPV6_IFINDEX = 5,
	NEXTHOP_BLACKHOLE = 6,
	NEXTHOP_FLAG_ON_LINK = 0x01,
	NEXTHOP_FLAG_WEIGHT = 0x04,
};

int zapi_parse_version(const char *text, struct zapi_layout *out)
{
	unsigned major, minor;
	bool ten;

	text += strcspn(text, "0123456789");
	if (sscanf(text, "%2u.%2u", &major, &minor) != 2)
		return -EPROTONOSUPPORT;
	if (!(major == 8 && minor >= 4) && major != 9 && major != 10)
		return -EPROTONOSUPPORT;
	ten = major == 10;
	*out = (struct zapi_layout){
		.release = (uint16_t)(major * 100 + minor),
		.redistribute_add = ten ? 12 : 11,
		.hello = ten ? 19 : 18,
		.route_add = ten ? 31 : 30,
		.route_del = ten ? 32 : 31,
		.install = ten ? 9 : 8,
		.uninstall = ten ? 10 : 9,
		.bgp = ten ? 10 : 9, /* 10.0 put `local` before it */
		.sharp = ten ? 24 : 23,
		.weight_bytes = ten && minor >= 1 ? 8 : 4,
		.hello_sync = !(ten && minor >= 2),
	};
	return 0;
}

int zapi_parse_length(const uint8_t *data, size_t length, size_t *out_bytes,
		      struct octets_error *error)
{
	uint8_t marker, version;
	struct octets o;
	uint16_t bytes;

	octets_init(&o, data, length);
	if (octets_u16(&o, &bytes) || octets_u8(&o, &marker) || octets_u8(&o, &version))
		return -EAGAIN;
	if (marker != MARKER || version != VERSION)
		return octets_fail(&o, error, "not zapi version 6");
	if (bytes < ZAPI_PARSE_HEADER_BYTES)
		return octets_fail(&o, error, "zapi length is smaller than its header");
	*out_bytes = bytes;
	return 0;
}

static int zapi_parse_address(struct octets *o, bool ipv4, size_t bytes, struct in6_addr *out)
{
	memset(out, 0, sizeof(*out));
	if (ipv4)
		memset(out->s6_addr + 10, 0xff, 2);
	return octets_copy(o, out->s6_addr + (ipv4 ? 12 : 0), bytes);
}

static int zapi_parse_prefix(struct octets *o, struct bgp_prefix *out, struct octets_error *error)
{
	uint8_t family, bits;
	bool ipv4;

	if (octets_u8(o, &family) || octets_u8(o, &bits))
		return octets_fail(o, error, "route is cut short");
	ipv4 = family == AF_INET;
	if (!ipv4 && family != AF_INET6)
		return octets_fail(o, error, "route of unknown address family");
	if (bits > (ipv4 ? 32 : 128))
		return octets_fail(o, error, "prefix is longer than an address");
	if (zapi_parse_address(o, ipv4, (bits + 7u) / 8, &out->address))
		return octets_fail(o, error, "prefix is cut short");
	out->length = (uint8_t)(bits + (ipv4 ? 96 : 0));
	return 0;
}

static int zapi_parse_gateway(struct octets *o, uint8_t type, struct zapi_nexthop *out)
{
	bool ipv4 = type == NEXTHOP_IPV4 || type == NEXTHOP_IPV4_IFINDEX;

	switch (type) {
	case NEXTHOP_IPV4:
	case NEXTHOP_IPV4_IFINDEX:
	case NEXTHOP_IPV6:
	case NEXTHOP_IPV6_IFINDEX:
		out->has_address = true;
		if (zapi_parse_address(o, ipv4, ipv4 ? 4 : 16, &out->address))
			return -EBADMSG;
		return octets_u32(o, &out->ifindex);
	case NEXTHOP_IFINDEX:
		return octets_u32(o, &out->ifindex);
	case NEXTHOP_BLACKHOLE:
		return octets_skip(o, 1);
	default:
		return -EBADMSG;
	}
}

static int zapi_parse_nexthop(const struct zapi_layout *layout, struct octets *o,
			      struct zapi_nexthop *out, struct octets_error *error)
{
	uint8_t type, flags;
	uint32_t vrf, weight;

	memset(out, 0, sizeof(*out));
	if (octets_u32(o, &vrf) || octets_u8(o, &type) || octets_u8(o, &flags))
		return octets_fail(o, error, "nexthop is cut short");
	/* Labels, EVPN, SRv6, backups: no GPU fabric has them, and each would need a layout of its
	 * own */
	if (flags & ~(NEXTHOP_FLAG_ON_LINK | NEXTHOP_FLAG_WEIGHT))
		return octets_fail(o, error, "nexthop with something besides a weight");
	if (zapi_parse_gateway(o, type, out))
		return octets_fail(o, error, "nexthop is cut short, or of unknown type");
	if (!(flags & NEXTHOP_FLAG_WEIGHT))
		return 0;
	if (layout->weight_bytes == 8)
		return octets_u64(o, &out->weight) ? octets_fail(o, error, "weight is cut short")
						   : 0;
	if (octets_u32(o, &weight))
		return octets_fail(o, error, "weight is cut short");
	out->weight = weight;
	return 0;
}

static int zapi_parse_nexthops(const struct zapi_layout *layout, struct octets *o,
			       struct zapi_message *out, struct octets_error *error)
{
	uint16_t count;

	if (octets_u16(o, &count))
		return octets_fail(o, error, "nexthop count is cut short");
	if (count > ZAPI_PARSE_MAX_NEXTHOPS)
		return octets_fail(o, error, "more nexthops than can be");
	for (unsigned i = 0; i < count; i++)
		if (zapi_parse_nexthop(layout, o, &out->nexthops[i], error))
			return -EBADMSG;
	out->n_nexthops = count;
	return 0;
}

static int zapi_parse_route(const struct zapi_layout *layout, struct octets o, uint32_t vrf,
			    struct zapi_message *out, struct octets_error *error)
{
	uint32_t flags, message;
	uint16_t instance;
	uint8_t type, safi;

	if (octets_u8(&o, &type) || octets_u16(&o, &instance) || octets_u32(&o, &flags) ||
	    octets_u32(&o, &message) || octets_u8(&o, &safi))
		return octets_fail(&o, error, "route is cut short");
	out->bgp = type == layout->bgp && safi == SAFI_UNICAST && vrf == 0 &&
		   !(message & (MESSAGE_SOURCE_PREFIX | MESSAGE_SEGMENT_ROUTING));
	if (!out->bgp)
		return 0;
	if (zapi_parse_prefix(&o, &out->prefix, error))
		return -EBADMSG;
	if (message & MESSAGE_NEXTHOP_GROUP && octets_skip(&o, 4))
		return octets_fail(&o, error, "nexthop group is cut short");
	/* A withdrawal shows the nexthops that were; they say nothing */
	if (out->kind == ZAPI_ROUTE_ADD && message & MESSAGE_NEXTHOP)
		return zapi_parse_nexthops(layout, &o, out, error);
	return 0; /* distance, metric, tag and MTU follow */
}

int zapi_parse(const struct zapi_layout *layout, const uint8_t *data, size_t length,
	       struct zapi_message *out, struct octets_error *error)
{
	uint16_t command;
	struct octets o;
	uint32_t vrf;
	size_t bytes;

	out->kind = ZAPI_OTHER;
	out->bgp = false;
	out->n_nexthops = 0;
	octets_init(&o, data, length);
	if (zapi_parse_length(data, length, &bytes, error) || bytes != length ||
	    octets_skip(&o, 4) || octets_u32(&o, &vrf) || octets_u16(&o, &command))
		return octets_fail(&o, error, "zapi message is not of the length that it says");
	if (command == layout->route_add)
		out->kind = ZAPI_ROUTE_ADD;
	else if (command == layout->route_del)
		out->kind = ZAPI_ROUTE_DEL;
	else
		return 0;
	return zapi_parse_route(layout, o, vrf, out, error);
}

/* ---- what a client sends ---- */

void zapi_write_header(struct octets_out *o, uint16_t command)
{
	octets_put(o, 0, 2);
	octets_put(o, MARKER, 1);
	octets_put(o, VERSION, 1);
	octets_put(o, 0, 4);
	octets_put(o, command, 2);
}

static size_t zapi_write_end(const struct octets_out *o, uint8_t out[ZAPI_PARSE_MAX_WRITE])
{
	size_t n = ZAPI_PARSE_MAX_WRITE - o->left;

	octets_store(out, n, 2);
	return n;
}

size_t zapi_write_hello(const struct zapi_layout *layout, uint16_t instance,
			uint8_t out[ZAPI_PARSE_MAX_WRITE])
{
	struct octets_out o = {out, ZAPI_PARSE_MAX_WRITE, false};

	zapi_write_header(&o, layout->hello);
	octets_put(&o, layout->sharp, 1);
	octets_put(&o, instance, 2);
	octets_put(&o, 0, 4); /* session */
	octets_put(&o, 0, 1); /* no notification of what becomes of a client's own routes */
	if (layout->hello_sync)
		octets_put(&o, 0, 1);
	return zapi_write_end(&o, out);
}

size_t zapi_write_redistribute(const struct zapi_layout *layout, enum bgp_family family,
			       uint8_t out[ZAPI_PARSE_MAX_WRITE])
{
	struct octets_out o = {out, ZAPI_PARSE_MAX_WRITE, false};

	zapi_write_header(&o, layout->redistribute_add);
	octets_put(&o, family == BGP_FAMILY_IPV4 ? 1 : 2, 1);
	octets_put(&o, layout->bgp, 1);
	octets_put(&o, 0, 2); /* instance */
	return zapi_write_end(&o, out);
}
