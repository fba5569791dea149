/* SPDX-License-Identifier: BSD-2-Clause */
#include "socket_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"

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
	int rc = socket_owner_ends(fd, &e), diag;

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

/* ---- all sockets ---- */

typedef int socket_owner_fn(void *arg, const struct inet_diag_msg *m);

/* One read of a dump. 1: it goes on; 0: its end; -errno. */
static int socket_owner_read_dump(int diag, socket_owner_fn *on_socket, void *arg)
{
	_Alignas(struct nlmsghdr) char bytes[32768];
	ssize_t n = recv(diag, bytes, sizeof(bytes), MSG_DONTWAIT);
	const struct nlmsghdr *head = (const struct nlmsghdr *)bytes;
	int rc = 1;

	if (n < 0)
		return -errno;
	for (; rc == 1 && NLMSG_OK(head, n); head = NLMSG_NEXT(head, n)) {
		if (head->nlmsg_type == NLMSG_DONE)
			return 0;
		if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		    head->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			return -EIO;
		rc = on_socket(arg, NLMSG_DATA(head));
	}
	return rc;
}

/* on_socket returns 1, or -errno, which ends it. */
static int socket_owner_dump(const struct inet_diag_req_v2 *wanted, socket_owner_fn *on_socket,
			     void *arg)
{
	struct socket_owner_request r = {
		.head = {.nlmsg_len = sizeof(r),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = *wanted,
	};
	int diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), rc;

	if (diag < 0)
		return -errno;
	rc = send(diag, &r, sizeof(r), MSG_DONTWAIT) == sizeof(r) ? 1 : -errno;
	while (rc > 0)
		rc = socket_owner_read_dump(diag, on_socket, arg);
	close(diag);
	return rc;
}

static int socket_owner_add_connection(void *arg, const struct inet_diag_msg *m)
{
	struct socket_owner_connections *all = arg;
	struct socket_owner_connection c = {.local_port = ntohs(m->id.idiag_sport),
					    .remote_port = ntohs(m->id.idiag_dport)};
	struct socket_owner_connection *rows = all->rows;

	memcpy(&c.local, m->id.idiag_src, sizeof(c.local));
	memcpy(&c.remote, m->id.idiag_dst, sizeof(c.remote));
	if (!m->idiag_inode || !IN6_IS_ADDR_LINKLOCAL(&c.remote) ||
	    !if_indextoname(m->id.idiag_if, c.dev))
		return 1;
	if (!(all->n & (all->n - 1))) /* a power of 2 is full */
		rows = realloc(rows, (all->n ? 2 * all->n : 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	rows[all->n++] = c;
	all->rows = rows;
	return 1;
}

int socket_owner_link_local(struct socket_owner_connections *out)
{
	const struct inet_diag_req_v2 wanted = {.sdiag_family = AF_INET6,
						.sdiag_protocol = IPPROTO_TCP,
						.idiag_states = 1u << TCP_ESTABLISHED};
	int rc;

	*out = (struct socket_owner_connections){0};
	rc = socket_owner_dump(&wanted, socket_owner_add_connection, out);
	if (rc)
		socket_owner_free(out);
	return rc;
}

void socket_owner_free(struct socket_owner_connections *all)
{
	free(all->rows);
	*all = (struct socket_owner_connections){0};
}

/* ---- who holds a port ---- */

#define SOCKET_OWNER_PROCESSES 100000 /* looked at */

struct socket_owner_search {
	uint16_t port;
	const struct in6_addr *address;
	struct socket_owner *out;
};

/* Whether one bound so keeps that address of the same port from us. */
static bool socket_owner_is_in_our_place(const struct inet_diag_msg *m,
					 const struct socket_owner_search *s)
{
	struct in6_addr is = {0};

	if (m->id.idiag_sport != htons(s->port) || !m->idiag_inode)
		return false;
	if (m->idiag_family == AF_INET6)
		memcpy(&is, m->id.idiag_src, sizeof(is));
	else if (m->id.idiag_src[0])
		is = address_of_v4(m->id.idiag_src);
	return IN6_IS_ADDR_UNSPECIFIED(&is) || IN6_ARE_ADDR_EQUAL(&is, s->address);
}

static int socket_owner_on_port(void *arg, const struct inet_diag_msg *m)
{
	const struct socket_owner_search *s = arg;

	if (!s->out->inode && socket_owner_is_in_our_place(m, s)) {
		s->out->inode = m->idiag_inode;
		s->out->uid = m->idiag_uid;
	}
	return 1;
}

static int socket_owner_find(int family, struct socket_owner_search *s)
{
	const struct inet_diag_req_v2 wanted = {.sdiag_family = (uint8_t)family,
						.sdiag_protocol = IPPROTO_UDP,
						.idiag_states = UINT32_MAX,
						.id = {.idiag_sport = htons(s->port)}};

	return socket_owner_dump(&wanted, socket_owner_on_port, s);
}

/* Whether one of the process's descriptors is that socket. */
static bool socket_owner_has(const char *pid, const char *wanted)
{
	char path[300], target[64];
	struct dirent *entry;
	bool has = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	fds = opendir(path);
	while (fds && !has && (entry = readdir(fds))) {
		ssize_t n = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);

		if (n < 0)
			continue;
		target[n] = '\0';
		has = !strcmp(target, wanted);
	}
	if (fds)
		closedir(fds);
	return has;
}

/* A user names a process: what is no plain character is replaced. */
static void socket_owner_name(const char *pid, char out[16])
{
	char path[64];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, 15);
		close(fd);
	}
	n = n < 0 ? 0 : n;
	for (ssize_t i = 0; i < n; i++)
		if (out[i] == '\n')
			n = i;
		else if (out[i] < '!' || out[i] > '~' || out[i] == '"')
			out[i] = '?';
	out[n] = '\0';
}

void socket_owner_find_process(struct socket_owner *out)
{
	char wanted[32];
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	snprintf(wanted, sizeof(wanted), "socket:[%u]", out->inode);
	for (unsigned i = 0; proc && !out->pid && i < SOCKET_OWNER_PROCESSES; i++) {
		entry = readdir(proc);
		if (!entry)
			break;
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !socket_owner_has(entry->d_name, wanted))
			continue;
		out->pid = (pid_t)strtol(entry->d_name, NULL, 10);
		socket_owner_name(entry->d_name, out->name);
	}
	if (proc)
		closedir(proc);
}

int socket_owner_of_port(const struct in6_addr *address, uint16_t port, struct socket_owner *out)
{
	struct socket_owner_search s = {port, address, out};
	int rc = 0;

	*out = (struct socket_owner){0};
	if (IN6_IS_ADDR_V4MAPPED(address))
		rc = socket_owner_find(AF_INET, &s);
	if (!rc && !out->inode) /* of IPv6, and for both families */
		rc = socket_owner_find(AF_INET6, &s);
	if (!rc && !out->inode)
		rc = -ENOENT;
	return rc;
}
