/* SPDX-License-Identifier: BSD-2-Clause */
#include "socket_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct socket_owner_ends {
	struct sockaddr_storage ours, theirs;
};

static int socket_owner_ends(int fd, struct socket_owner_ends *e)
{
	socklen_t ours = sizeof(e->ours), theirs = sizeof(e->theirs);

	if (getsockname(fd, (struct sockaddr *)&e->ours, &ours) ||
	    getpeername(fd, (struct sockaddr *)&e->theirs, &theirs))
		return -errno;
	return e->ours.ss_family == AF_INET || e->ours.ss_family == AF_INET6 ? 0 : -EAFNOSUPPORT;
}

/* The address as sock_diag wants it, padded with zeros; returns the port, in network order. */
static uint16_t socket_owner_unpack(const struct sockaddr_storage *name, uint32_t address[4])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)name;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;

	memset(address, 0, 16);
	if (name->ss_family == AF_INET6) {
		memcpy(address, &v6->sin6_addr, 16);
		return v6->sin6_port;
	}
	memcpy(address, &v4->sin_addr, 4);
	return v4->sin_port;
}

static bool socket_owner_is_loopback(const struct sockaddr_storage *name)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)name)->sin6_addr;
	const struct in_addr *v4 = &((const struct sockaddr_in *)name)->sin_addr;

	if (name->ss_family == AF_INET)
		return ntohl(v4->s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(v6) ||
	       (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
}

/* The kernel uses a local destination as the source address too, unless the socket is bound. */
bool socket_owner_is_local(int fd)
{
	uint32_t ours[4], theirs[4];
	struct socket_owner_ends e;

	if (socket_owner_ends(fd, &e))
		return true; /* not known: it is to be checked */
	socket_owner_unpack(&e.ours, ours);
	socket_owner_unpack(&e.theirs, theirs);
	return socket_owner_is_loopback(&e.theirs) || !memcmp(ours, theirs, sizeof(ours));
}

struct socket_owner_request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* Asks for the other end's socket: source and destination are exchanged. */
static struct socket_owner_request socket_owner_request(const struct socket_owner_ends *e)
{
	struct socket_owner_request r = {
		.head = {.nlmsg_len = sizeof(r),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (uint8_t)e->ours.ss_family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = UINT32_MAX,
			 .id = {.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};

	r.body.id.idiag_sport = socket_owner_unpack(&e->theirs, r.body.id.idiag_src);
	r.body.id.idiag_dport = socket_owner_unpack(&e->ours, r.body.id.idiag_dst);
	return r;
}

/*
 * A socket that no process holds has inode 0, and its user means nothing. If the connection is
 * gone, the kernel answers with the listener.
 */
static int socket_owner_read(const void *answer, ssize_t n, uid_t *uid)
{
	const struct nlmsghdr *head = answer;
	const struct inet_diag_msg *m = NLMSG_DATA(head);

	if (n < 0)
		return -errno;
	if (n >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && head->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(head))->error == -ENOENT ? -ENOTCONN
										     : -EIO;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*m)) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -EIO;
	if (m->idiag_state != TCP_ESTABLISHED || !m->idiag_inode)
		return -ENOTCONN;
	*uid = m->idiag_uid;
	return 0;
}

int socket_owner_uid(int fd, uid_t *uid)
{
	_Alignas(struct nlmsghdr) char answer[8192];
	struct socket_owner_request r;
	struct socket_owner_ends e;
	int rc, diag;

	rc = socket_owner_ends(fd, &e);
	if (rc)
		return rc;
	diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (diag < 0)
		return -errno;
	r = socket_owner_request(&e);
	/* the answer is there when send() returns */
	if (send(diag, &r, sizeof(r), MSG_DONTWAIT) != sizeof(r))
		rc = -errno;
	else
		rc = socket_owner_read(answer, recv(diag, answer, sizeof(answer), MSG_DONTWAIT),
				       uid);
	close(diag);
	return rc;
}
