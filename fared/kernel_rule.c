/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel_rule.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#define PROTOCOL 84 /* names the rules that fared has added, beside an operator's */

static int kernel_rule_errno(int rc)
{
	switch (-rc) {
	case 0:
	case NLE_EXIST:
		return 0;
	case NLE_PERM:
		return -EPERM;
	case NLE_AF_NOSUPPORT: /* a kernel without IPv6 routes none */
	case NLE_OPNOTSUPP:
		return 0;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

static int kernel_rule_change(struct nl_sock *socket, int family, uint32_t table, bool on)
{
	struct fib_rule_hdr rule = {.family = (uint8_t)family, .action = FR_ACT_TO_TBL};
	struct nl_msg *msg = nlmsg_alloc_simple(on ? RTM_NEWRULE : RTM_DELRULE,
						on ? NLM_F_CREATE | NLM_F_EXCL : 0);
	int rc = msg ? 0 : -NLE_NOMEM;

	if (!rc)
		rc = nlmsg_append(msg, &rule, sizeof(rule), NLMSG_ALIGNTO);
	if (!rc)
		rc = nla_put_u32(msg, FRA_PRIORITY, KERNEL_RULE_PRIORITY);
	if (!rc)
		rc = nla_put_u32(msg, FRA_TABLE, table);
	if (!rc)
		rc = nla_put_u8(msg, FRA_PROTOCOL, PROTOCOL);
	if (!rc)
		rc = nl_send_auto(socket, msg);
	if (rc >= 0)
		rc = nl_wait_for_ack(socket);
	nlmsg_free(msg);
	return kernel_rule_errno(rc);
}

struct kernel_rule_search {
	uint32_t table;
	bool found;
};

static int kernel_rule_on_rule(struct nl_msg *msg, void *arg)
{
	struct kernel_rule_search *search = arg;
	struct nlattr *attrs[FRA_MAX + 1];

	if (!nlmsg_parse(nlmsg_hdr(msg), sizeof(struct fib_rule_hdr), attrs, FRA_MAX, NULL) &&
	    attrs[FRA_TABLE] && nla_get_u32(attrs[FRA_TABLE]) == search->table)
		search->found = true;
	return NL_OK;
}

/* Also if an operator has added it, at another place. */
static bool kernel_rule_is_there(struct nl_sock *socket, int family, uint32_t table)
{
	const struct fib_rule_hdr any = {.family = (uint8_t)family};
	struct kernel_rule_search search = {table, false};

	nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, kernel_rule_on_rule, &search);
	return nl_send_simple(socket, RTM_GETRULE, NLM_F_DUMP, (void *)&any, sizeof(any)) >= 0 &&
	       nl_recvmsgs_default(socket) >= 0 && search.found;
}

int kernel_rule_set(uint32_t table, bool on)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct nl_sock *socket = nl_socket_alloc();
	int rc = socket ? 0 : -ENOMEM;

	if (!rc && nl_connect(socket, NETLINK_ROUTE))
		rc = -EIO;
	for (unsigned i = 0; !rc && i < 2; i++) {
		if (kernel_rule_is_there(socket, families[i], table) != on)
			rc = kernel_rule_change(socket, families[i], table, on);
		if (rc == -ENOENT) /* an operator's, which stays */
			rc = 0;
	}
	nl_socket_free(socket);
	return rc;
}
