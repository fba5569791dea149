/* SPDX-License-Identifier: BSD-2-Clause */
#include "routes.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

int routes_read(struct nl_cache **out)
{
	struct nl_sock *sock = nl_socket_alloc();
	int rc = sock ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;

	if (!rc)
		rc = rtnl_route_alloc_cache(sock, AF_UNSPEC, 0, out);
	nl_socket_free(sock);
	return rc == -NLE_NOMEM ? -ENOMEM : rc ? -EIO : 0;
}

static unsigned live_nexthops(struct rtnl_route *route)
{
	unsigned live = 0;

	for (int i = 0; i < rtnl_route_get_nnexthops(route); i++) {
		struct rtnl_nexthop *nh = rtnl_route_nexthop_n(route, i);

		live += !(rtnl_route_nh_get_flags(nh) & (RTNH_F_DEAD | RTNH_F_LINKDOWN));
	}
	return live;
}

unsigned routes_nexthops(struct nl_cache *routes, const char *address)
{
	struct nl_addr *wanted;
	unsigned n = 0;

	if (nl_addr_parse(address, AF_UNSPEC, &wanted))
		return 0;
	for (struct nl_object *o = nl_cache_get_first(routes); o; o = nl_cache_get_next(o)) {
		struct rtnl_route *route = (struct rtnl_route *)o;

		if (rtnl_route_get_table(route) == RT_TABLE_MAIN &&
		    !nl_addr_cmp(rtnl_route_get_dst(route), wanted))
			n += live_nexthops(route);
	}
	nl_addr_put(wanted);
	return n;
}
