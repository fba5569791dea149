/* SPDX-License-Identifier: BSD-2-Clause */
#include "farectl_kernel.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
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

static bool take_address(struct nlattr *attr, struct in6_addr *out)
{
	if (attr && nla_len(attr) == 4)
		*out = address_of_v4(nla_data(attr));
	else if (attr && nla_len(attr) == 16)
		memcpy(out, nla_data(attr), 16);
	return attr && (nla_len(attr) == 4 || nla_len(attr) == 16);
}

/* RTA_VIA, as IPv4 is routed by way of IPv6: family, then the address. */
static bool take_via(struct nlattr *attr, struct in6_addr *out)
{
	if (!attr || nla_len(attr) != sizeof(struct rtvia) + 16)
		return false;
	memcpy(out, ((const struct rtvia *)nla_data(attr))->rtvia_addr, 16);
	return true;
}

static void add_kernel_hop(json_t *hops, int ifindex, int weight, struct nlattr *const *attrs)
{
	struct in6_addr gateway = IN6ADDR_ANY_INIT;
	char text[ADDRESS_TEXT_MAX];

	if (!take_address(attrs[RTA_GATEWAY], &gateway))
		take_via(attrs[RTA_VIA], &gateway);
	json_array_append_new(hops, json_pack("{s:i, s:s, s:i}", "ifindex", ifindex, "gateway",
					      address_format(&gateway, text), "weight", weight));
}

static void add_multipath(json_t *hops, struct nlattr *multipath)
{
	const struct rtnexthop *hop = nla_data(multipath);
	int left = nla_len(multipath);

	for (; left >= (int)sizeof(*hop) && RTNH_OK(hop, left); hop = RTNH_NEXT(hop)) {
		struct nlattr *attrs[RTA_MAX + 1];

		if (!nla_parse(attrs, RTA_MAX, (struct nlattr *)RTNH_DATA(hop),
			       hop->rtnh_len - (int)sizeof(*hop), NULL))
			add_kernel_hop(hops, hop->rtnh_ifindex, hop->rtnh_hops + 1, attrs);
		left -= RTNH_ALIGN(hop->rtnh_len);
	}
}

static int on_kernel_route(struct nl_msg *msg, void *arg)
{
	const struct rtmsg *route = nlmsg_data(nlmsg_hdr(msg));
	struct nlattr *attrs[RTA_MAX + 1];
	struct farectl_kernel *k = arg;
	char text[ADDRESS_TEXT_MAX];
	struct in6_addr host;
	json_t *hops;

	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse(nlmsg_hdr(msg), sizeof(*route), attrs, RTA_MAX, NULL) < 0 ||
	    !attrs[RTA_TABLE] || nla_get_u32(attrs[RTA_TABLE]) != k->table ||
	    !take_address(attrs[RTA_DST], &host))
		return NL_OK;
	hops = json_array();
	if (attrs[RTA_MULTIPATH])
		add_multipath(hops, attrs[RTA_MULTIPATH]);
	else if (attrs[RTA_OIF])
		add_kernel_hop(hops, (int)nla_get_u32(attrs[RTA_OIF]), 1, attrs);
	json_object_set_new(k->routes, address_format(&host, text), hops);
	return NL_OK;
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

static int dump(struct nl_sock *socket, int type, int family,
		int (*on_message)(struct nl_msg *msg, void *arg), struct farectl_kernel *k)
{
	struct rtmsg any = {.rtm_family = (unsigned char)family}; /* as long as a rule's header */

	_Static_assert(sizeof(struct rtmsg) == sizeof(struct fib_rule_hdr), "asked for alike");
	nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, on_message, k);
	if (nl_send_simple(socket, type, NLM_F_DUMP, &any, sizeof(any)) < 0)
		return -EIO;
	return nl_recvmsgs_default(socket) < 0 ? -EIO : 0;
}

static int read_kernel(struct farectl_kernel *k)
{
	struct nl_sock *socket = nl_socket_alloc();
	int rc = socket && !nl_connect(socket, NETLINK_ROUTE) ? 0 : -EIO;

	if (!rc)
		rc = dump(socket, RTM_GETROUTE, AF_INET, on_kernel_route, k);
	if (!rc)
		rc = dump(socket, RTM_GETROUTE, AF_INET6, on_kernel_route, k);
	if (!rc)
		rc = dump(socket, RTM_GETRULE, AF_INET, on_kernel_rule, k);
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
