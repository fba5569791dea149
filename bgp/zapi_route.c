/* SPDX-License-Identifier: BSD-2-Clause */
#include "zapi_route.h"

#include <sys/socket.h>

enum {
	SAFI_UNICAST = 1,
	MESSAGE_NEXTHOP = 0x01,
	MESSAGE_DISTANCE = 0x02,
	MESSAGE_TABLE = 0x100,
	NEXTHOP_IPV4_IFINDEX = 3,
	NEXTHOP_IPV6_IFINDEX = 5,
	NEXTHOP_FLAG_WEIGHT = 0x04,
	DISTANCE = 5, /* nobody else is in that table: any will do, but 0, which is the kernel's */
};

static void zapi_route_put_address(struct octets_out *o, const struct in6_addr *address)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(address);

	octets_put_bytes(o, address->s6_addr + (v4 ? 12 : 0), v4 ? 4 : 16);
}

/* From the header to the prefix; the length is filled in at the end. */
static struct octets_out zapi_route_begin(const struct zapi_layout *layout, uint16_t command,
					  uint32_t message, const struct in6_addr *host,
					  uint8_t *out)
{
	struct octets_out o = {out, ZAPI_ROUTE_MAX_WRITE, false};
	bool v4 = IN6_IS_ADDR_V4MAPPED(host);

	zapi_write_header(&o, command);
	octets_put(&o, layout->sharp, 1);
	octets_put(&o, ZAPI_ROUTE_INSTANCE, 2);
	octets_put(&o, 0, 4); /* flags */
	octets_put(&o, message, 4);
	octets_put(&o, SAFI_UNICAST, 1);
	octets_put(&o, v4 ? AF_INET : AF_INET6, 1);
	octets_put(&o, v4 ? 32 : 128, 1);
	zapi_route_put_address(&o, host);
	return o;
}

static size_t zapi_route_end(const struct octets_out *o, uint8_t *out)
{
	size_t n = ZAPI_ROUTE_MAX_WRITE - o->left;

	octets_store(out, n, 2);
	return n;
}

static void zapi_route_put_hop(const struct zapi_layout *layout, struct octets_out *o,
			       const struct zapi_route_hop *hop)
{
	octets_put(o, 0, 4); /* VRF */
	octets_put(o,
		   IN6_IS_ADDR_V4MAPPED(&hop->gateway) ? NEXTHOP_IPV4_IFINDEX
						       : NEXTHOP_IPV6_IFINDEX,
		   1);
	octets_put(o, NEXTHOP_FLAG_WEIGHT, 1);
	zapi_route_put_address(o, &hop->gateway);
	octets_put(o, hop->ifindex, 4);
	octets_put(o, hop->weight, layout->weight_bytes);
}

size_t zapi_route_install(const struct zapi_layout *layout, uint32_t table,
			  const struct in6_addr *host, const struct zapi_route_hop *hops,
			  unsigned n, uint8_t out[ZAPI_ROUTE_MAX_WRITE])
{
	struct octets_out o =
		zapi_route_begin(layout, layout->install,
				 MESSAGE_NEXTHOP | MESSAGE_DISTANCE | MESSAGE_TABLE, host, out);

	n = n < ZAPI_ROUTE_MAX_HOPS ? n : ZAPI_ROUTE_MAX_HOPS;
	octets_put(&o, n, 2);
	for (unsigned i = 0; i < n; i++)
		zapi_route_put_hop(layout, &o, &hops[i]);
	octets_put(&o, DISTANCE, 1);
	octets_put(&o, table, 4);
	return zapi_route_end(&o, out);
}

size_t zapi_route_uninstall(const struct zapi_layout *layout, uint32_t table,
			    const struct in6_addr *host, uint8_t out[ZAPI_ROUTE_MAX_WRITE])
{
	struct octets_out o = zapi_route_begin(layout, layout->uninstall, MESSAGE_TABLE, host, out);

	octets_put(&o, table, 4);
	return zapi_route_end(&o, out);
}
