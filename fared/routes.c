/* SPDX-License-Identifier: BSD-2-Clause */
#include "routes.h"

#include <errno.h>
#include <ev.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "zebra_sink.h"

/* a bgpd that restarts has all of them deleted and added again at once */
#define MESSAGES_MAX  64 /* in one turn of the loop: probes are not kept waiting */
#define RECEIVE_BYTES (4 << 20)
#define MESSAGE_BYTES 65536

struct routes {
	struct ev_loop *loop;
	struct routes_handlers handlers;
	void *arg;
	struct nl_sock *socket, *questions;
	bool lost; /* messages, since all was read */
	ev_io io;
};

/* false: not a host's. */
static bool host_of(const struct rtmsg *route, struct nlattr *dst, struct in6_addr *out)
{
	if (!dst)
		return false;
	if (route->rtm_family == AF_INET && route->rtm_dst_len == 32 && nla_len(dst) == 4) {
		*out = address_of_v4(nla_data(dst));
		return true;
	}
	if (route->rtm_family != AF_INET6 || route->rtm_dst_len != 128 || nla_len(dst) != 16)
		return false;
	memcpy(out, nla_data(dst), 16);
	return true;
}

static unsigned hops_of(struct nlattr *multipath, int *ifindex)
{
	const struct rtnexthop *hop = nla_data(multipath);
	int left = nla_len(multipath);
	unsigned n = 0;

	/* RTNH_OK reads the length before it compares it with what is left */
	for (; n < ROUTES_MAX_HOPS && left >= (int)sizeof(*hop) && RTNH_OK(hop, left);
	     hop = RTNH_NEXT(hop)) {
		if (!(hop->rtnh_flags & RTNH_F_DEAD))
			ifindex[n++] = hop->rtnh_ifindex;
		left -= RTNH_ALIGN(hop->rtnh_len);
	}
	return n;
}

static unsigned devices_of(struct nlattr **attrs, int *ifindex)
{
	if (attrs[RTA_MULTIPATH])
		return hops_of(attrs[RTA_MULTIPATH], ifindex);
	if (!attrs[RTA_OIF] || nla_len(attrs[RTA_OIF]) != 4)
		return 0;
	ifindex[0] = (int)nla_get_u32(attrs[RTA_OIF]);
	return 1;
}

static int routes_on_message(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	int ifindex[ROUTES_MAX_HOPS];
	struct nlattr *attrs[RTA_MAX + 1];
	const struct rtmsg *route;
	struct routes *r = arg;
	struct in6_addr host;
	unsigned n = 0;

	if (header->nlmsg_type != RTM_NEWROUTE && header->nlmsg_type != RTM_DELROUTE)
		return NL_OK;
	if (nlmsg_parse(header, sizeof(*route), attrs, RTA_MAX, NULL) < 0)
		return NL_SKIP;
	route = nlmsg_data(header);
	if (route->rtm_table != RT_TABLE_MAIN || route->rtm_type != RTN_UNICAST ||
	    !host_of(route, attrs[RTA_DST], &host))
		return NL_OK;
	if (header->nlmsg_type == RTM_NEWROUTE)
		n = devices_of(attrs, ifindex);
	r->handlers.on_route(r->arg, &host, ifindex, n);
	return NL_OK;
}

/*
 * The kernel says once that messages were lost, and drops what follows in silence until nothing is
 * left unread: only then is all that is known known to be old.
 */
static void routes_on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct routes *r = w->data;
	unsigned n_errors = 0;
	int rc = 0;

	(void)loop;
	(void)revents;
	for (unsigned i = 0; i < MESSAGES_MAX && rc != -NLE_AGAIN; i++) {
		rc = nl_recvmsgs_default(r->socket);
		n_errors += rc < 0 && rc != -NLE_AGAIN;
	}
	r->lost |= n_errors > 0;
	/* or of a socket that gives nothing but errors */
	if (!r->lost || (rc != -NLE_AGAIN && n_errors < MESSAGES_MAX))
		return;
	r->lost = false;
	r->handlers.on_lost(r->arg);
}

/* ---- asking -------------------------------------------------------------- */

struct answer {
	int *ifindex;
	int n; /* or -errno */
};

static int on_answer(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct nlattr *attrs[RTA_MAX + 1];
	struct answer *a = arg;

	if (header->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse(header, sizeof(struct rtmsg), attrs, RTA_MAX, NULL) < 0)
		return NL_SKIP;
	/* what this daemon gave zebra says nothing of BGP's routes */
	if (attrs[RTA_TABLE] && nla_get_u32(attrs[RTA_TABLE]) == ZEBRA_SINK_TABLE)
		return NL_STOP;
	a->n = ((const struct rtmsg *)nlmsg_data(header))->rtm_type == RTN_UNICAST
		       ? (int)devices_of(attrs, a->ifindex)
		       : 0;
	return NL_STOP;
}

static int on_no_route(struct sockaddr_nl *who, struct nlmsgerr *error, void *arg)
{
	struct answer *a = arg;

	(void)who;
	a->n = error->error == -ENETUNREACH || error->error == -EHOSTUNREACH ? 0 : error->error;
	return NL_STOP;
}

int routes_ask(struct routes *r, const struct in6_addr *host, int ifindex[ROUTES_MAX_HOPS])
{
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(host);
	struct rtmsg question = {.rtm_family = is_v4 ? AF_INET : AF_INET6,
				 .rtm_dst_len = is_v4 ? 32 : 128,
				 /* of IPv4 the table is named only if it is asked for */
				 .rtm_flags = RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE};
	struct answer a = {ifindex, -EIO};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	int rc = msg ? 0 : -NLE_NOMEM;

	if (!rc)
		rc = nlmsg_append(msg, &question, sizeof(question), NLMSG_ALIGNTO);
	if (!rc)
		rc = nla_put(msg, RTA_DST, is_v4 ? 4 : 16, host->s6_addr + (is_v4 ? 12 : 0));
	if (!rc && nl_send_auto(r->questions, msg) < 0)
		rc = -NLE_FAILURE;
	nlmsg_free(msg);
	if (rc)
		return -EIO;
	nl_socket_modify_cb(r->questions, NL_CB_VALID, NL_CB_CUSTOM, on_answer, &a);
	nl_socket_modify_err_cb(r->questions, NL_CB_CUSTOM, on_no_route, &a);
	nl_recvmsgs_default(r->questions);
	return a.n;
}

/* ---- life ---------------------------------------------------------------- */

static int routes_open_questions(struct routes *r)
{
	r->questions = nl_socket_alloc();
	if (!r->questions)
		return -ENOMEM;
	nl_socket_disable_seq_check(r->questions);
	nl_socket_disable_auto_ack(r->questions);
	nl_socket_set_msg_buf_size(r->questions, MESSAGE_BYTES);
	/* the answer is there once the question is sent: nothing is waited for */
	return nl_connect(r->questions, NETLINK_ROUTE) || nl_socket_set_nonblocking(r->questions)
		       ? -EIO
		       : 0;
}

static int routes_open_socket(struct routes *r)
{
	r->socket = nl_socket_alloc();
	if (!r->socket)
		return -ENOMEM;
	nl_socket_disable_seq_check(r->socket); /* events come unasked */
	if (nl_connect(r->socket, NETLINK_ROUTE))
		return -EIO;
	nl_socket_set_buffer_size(r->socket, RECEIVE_BYTES, 0);
	nl_socket_set_msg_buf_size(r->socket, MESSAGE_BYTES);
	nl_socket_modify_cb(r->socket, NL_CB_VALID, NL_CB_CUSTOM, routes_on_message, r);
	if (nl_socket_add_memberships(r->socket, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, 0))
		return -EIO;
	return nl_socket_set_nonblocking(r->socket) ? -EIO : 0;
}

int routes_create(struct routes **out, struct ev_loop *loop, const struct routes_handlers *handlers,
		  void *arg)
{
	struct routes *r = calloc(1, sizeof(*r));
	int rc = r ? 0 : -ENOMEM;

	*out = NULL;
	if (rc)
		return rc;
	r->loop = loop;
	r->handlers = *handlers;
	r->arg = arg;
	ev_init(&r->io, routes_on_readable);
	r->io.data = r;
	rc = routes_open_questions(r);
	if (!rc)
		rc = routes_open_socket(r);
	if (rc) {
		routes_destroy(r);
		return rc;
	}
	ev_io_set(&r->io, nl_socket_get_fd(r->socket), EV_READ);
	ev_io_start(loop, &r->io);
	*out = r;
	return 0;
}

void routes_destroy(struct routes *r)
{
	if (!r)
		return;
	ev_io_stop(r->loop, &r->io);
	nl_socket_free(r->socket);
	nl_socket_free(r->questions);
	free(r);
}
