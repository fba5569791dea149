/* SPDX-License-Identifier: BSD-2-Clause */
/* farectl_kernel.c - what the kernel has, beside what fared wants it to have. */
#include "farectl_tables.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "farectl_columns.h"

/* ---- what the kernel has --------------------------------------------------- */

struct farectl_kernel {
	uint32_t table;
	json_t *routes; /* by address: a list of next hops */
	bool has_rule;
};

static const char *address_text(const struct nl_addr *a, char text[ADDRESS_TEXT_MAX])
{
	struct in6_addr address = IN6ADDR_ANY_INIT;

	if (a && nl_addr_get_len(a) == 4)
		address = address_of_v4(nl_addr_get_binary_addr(a));
	else if (a && nl_addr_get_len(a) == 16)
		memcpy(&address, nl_addr_get_binary_addr(a), 16);
	return address_format(&address, text);
}

static void add_kernel_hop(struct rtnl_nexthop *hop, void *hops)
{
	const struct nl_addr *gateway = rtnl_route_nh_get_gateway(hop);
	char text[ADDRESS_TEXT_MAX];

	if (!gateway) /* IPv4 is routed by way of IPv6 */
		gateway = rtnl_route_nh_get_via(hop);
	json_array_append_new(hops, json_pack("{s:i, s:s, s:i}", "ifindex",
					      rtnl_route_nh_get_ifindex(hop), "gateway",
					      address_text(gateway, text), "weight",
					      rtnl_route_nh_get_weight(hop) + 1));
}

static void on_kernel_route(struct nl_object *object, void *arg)
{
	struct rtnl_route *route = (struct rtnl_route *)object;
	struct farectl_kernel *k = arg;
	char text[ADDRESS_TEXT_MAX];
	json_t *hops;

	if (rtnl_route_get_table(route) != k->table || !nl_addr_get_len(rtnl_route_get_dst(route)))
		return;
	hops = json_array();
	rtnl_route_foreach_nexthop(route, add_kernel_hop, hops);
	json_object_set_new(k->routes, address_text(rtnl_route_get_dst(route), text), hops);
}

static int on_kernel_rule(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[FRA_MAX + 1];
	struct farectl_kernel *k = arg;

	if (!nlmsg_parse(nlmsg_hdr(msg), sizeof(struct fib_rule_hdr), attrs, FRA_MAX, NULL) &&
	    attrs[FRA_TABLE] && nla_get_u32(attrs[FRA_TABLE]) == k->table)
		k->has_rule = true;
	return NL_OK;
}

static int read_kernel(struct farectl_kernel *k)
{
	const struct fib_rule_hdr any = {.family = AF_INET};
	struct nl_sock *socket = nl_socket_alloc();
	struct nl_cache *routes = NULL;
	int rc = socket && !nl_connect(socket, NETLINK_ROUTE) &&
				 !rtnl_route_alloc_cache(socket, AF_UNSPEC, 0, &routes)
			 ? 0
			 : -EIO;

	if (!rc) {
		nl_cache_foreach(routes, on_kernel_route, k);
		nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, on_kernel_rule, k);
		if (nl_send_simple(socket, RTM_GETRULE, NLM_F_DUMP, (void *)&any, sizeof(any)) <
			    0 ||
		    nl_recvmsgs_default(socket) < 0)
			rc = -EIO;
	}
	nl_cache_free(routes);
	nl_socket_free(socket);
	return rc;
}

/* ---- comparison ------------------------------------------------------------ */

static double farectl_kernel_number(const json_t *hop, const char *key)
{
	return json_number_value(json_object_get(hop, key));
}

/* A next hop's part of all, or -1: it is not among them. */
static double share_of(const json_t *hops, const json_t *wanted)
{
	double all = 0, its = -1;
	const json_t *hop;
	size_t i;

	json_array_foreach (hops, i, hop) {
		all += farectl_kernel_number(hop, "weight");
		if (farectl_kernel_number(hop, "ifindex") ==
			    farectl_kernel_number(wanted, "ifindex") &&
		    json_equal(json_object_get(hop, "gateway"), json_object_get(wanted, "gateway")))
			its = farectl_kernel_number(hop, "weight");
	}
	return its < 0 ? -1 : its / all;
}

/* zebra scales weights: only their ratio counts. */
static bool is_same(const json_t *wanted, const json_t *kernel)
{
	const json_t *hop;
	size_t i;

	if (json_array_size(wanted) != json_array_size(kernel))
		return false;
	json_array_foreach (wanted, i, hop)
		if (fabs(share_of(wanted, hop) - share_of(kernel, hop)) > 0.01)
			return false;
	return true;
}

int farectl_kernel_compare(json_t *reply)
{
	struct farectl_kernel k = {
		.table = (uint32_t)json_integer_value(json_object_get(reply, "table")),
		.routes = json_object()};
	int rc = read_kernel(&k);
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(reply, "kernel"), i, row) {
		json_t *hops =
			json_object_get(k.routes, json_string_value(json_object_get(row, "peer")));

		json_object_set_new(row, "kernel", hops ? json_incref(hops) : json_array());
		json_object_set_new(row, "same",
				    json_boolean(is_same(json_object_get(row, "hops"),
							 json_object_get(row, "kernel"))));
	}
	json_object_set_new(reply, "rule", json_boolean(k.has_rule));
	json_decref(k.routes);
	return rc;
}

/* ---- the table ------------------------------------------------------------- */

static void print_hop(const json_t *hop, const json_t *others)
{
	char dev[IF_NAMESIZE] = "?";
	double other = share_of(others, hop);

	if_indextoname((unsigned)farectl_kernel_number(hop, "ifindex"), dev);
	printf("  %-15s via %-26s weight %3.0f", dev,
	       json_string_value(json_object_get(hop, "gateway")),
	       farectl_kernel_number(hop, "weight"));
	if (other < 0)
		printf("  not in the kernel");
	putchar('\n');
}

void farectl_kernel_print(const json_t *reply)
{
	bool on = json_is_true(json_object_get(reply, "on"));
	const json_t *row, *hop;
	char head[320];
	size_t i, h;

	printf("kernel_routes %s, zebra %s, table %lld%s\n", on ? "on" : "off",
	       json_is_true(json_object_get(reply, "connected")) ? "connected" : "not connected",
	       (long long)json_integer_value(json_object_get(reply, "table")),
	       json_is_true(json_object_get(reply, "rule")) || !on
		       ? ""
		       : ", NO RULE LEADS THERE: fared(8)");
	json_array_foreach (json_object_get(reply, "kernel"), i, row) {
		const char *reason = json_string_value(json_object_get(row, "reason"));
		json_t *kernel = json_object_get(row, "kernel");

		snprintf(head, sizeof(head), "%s: %s%s%s",
			 json_string_value(json_object_get(row, "peer")),
			 json_is_true(json_object_get(row, "same")) ? "as wanted"
								    : "DIFFERS FROM THE KERNEL",
			 reason && *reason ? "; " : "", reason ? reason : "");
		columns_wrap("", head);
		json_array_foreach (json_object_get(row, "hops"), h, hop)
			print_hop(hop, kernel);
	}
}
