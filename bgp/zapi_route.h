/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zapi_route.h - the messages by which a client of zebra installs a route, and takes it back.
 *
 * Owns nothing; pure. In: the layout of FRR's release (zapi_parse.h), a route. Out: bytes. Any
 * thread. zebra removes a client's routes when its connection ends.
 */
#ifndef ZAPI_ROUTE_H
#define ZAPI_ROUTE_H

#include "zapi_parse.h"

/* zebra (8.4, 10.3) does not find a dead client's routes if the instance has more than 8 bits. */
#define ZAPI_ROUTE_INSTANCE 84
#define ZAPI_ROUTE_MAX_HOPS 128
/* Header and route, then hops: VRF, type, flags, address, interface, weight. */
#define ZAPI_ROUTE_MAX_WRITE (64 + ZAPI_ROUTE_MAX_HOPS * (4 + 1 + 1 + 16 + 4 + 8))

struct zapi_route_hop {
	struct in6_addr gateway; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t ifindex;
	uint8_t weight; /* 1.. */
};

/*
 * Each writes one message and returns its length. host: a /32 (::ffff:a.b.c.d) or /128. n hops,
 * 1..ZAPI_ROUTE_MAX_HOPS; more are left out.
 */
size_t zapi_route_install(const struct zapi_layout *layout, uint32_t table,
			  const struct in6_addr *host, const struct zapi_route_hop *hops,
			  unsigned n, uint8_t out[ZAPI_ROUTE_MAX_WRITE]);
size_t zapi_route_uninstall(const struct zapi_layout *layout, uint32_t table,
			    const struct in6_addr *host, uint8_t out[ZAPI_ROUTE_MAX_WRITE]);

#endif
