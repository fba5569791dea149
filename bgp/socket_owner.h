/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_owner.h - which user's process is at the other end of a TCP connection on this machine,
 * and which one holds a UDP port of it.
 *
 * Owns nothing. In: a connected socket, or an address and a port. Out: a user, from the kernel
 * (sock_diag(7)), which answers at once; of a port's holder the process, too, if we may see it.
 * Thread: any.
 */
#ifndef SOCKET_OWNER_H
#define SOCKET_OWNER_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct socket_owner {
	uid_t uid;
	uint32_t inode;
	pid_t pid; /* 0: not known */
	char name[16];
};

/* Whether the other end is on this machine, in this network namespace. */
bool socket_owner_is_local(int fd);

/*
 * Of a local one: the user whose process accepted the connection. 0; -ENOTCONN: no process holds
 * the other end (not accepted yet, or closed); another -errno: the kernel does not tell. If bytes
 * have been received, it was accepted.
 */
int socket_owner_uid(int fd, uid_t *uid);

/* An established TCP connection that a process holds. */
struct socket_owner_connection {
	struct in6_addr local, remote;
	uint16_t local_port, remote_port;
	char dev[IF_NAMESIZE]; /* that its socket is bound to */
};

struct socket_owner_connections {
	struct socket_owner_connection *rows;
	size_t n;
};

/*
 * All with link-local addresses, by one question to the kernel, however many there are; to be
 * freed. 0 or -errno: *out is empty.
 */
int socket_owner_link_local(struct socket_owner_connections *out);
void socket_owner_free(struct socket_owner_connections *all);

/*
 * Whose socket keeps UDP port of address (IPv4 as ::ffff:a.b.c.d) from being bound: bound to that
 * address, or to all. Sets uid and inode. 0; -ENOENT: none does; another -errno: the kernel does
 * not tell.
 */
int socket_owner_of_port(const struct in6_addr *address, uint16_t port, struct socket_owner *out);
/*
 * Looks through /proc for the process that has that inode, and sets pid and name. It takes root, or
 * the same user, and some milliseconds for a thousand processes.
 */
void socket_owner_find_process(struct socket_owner *owner);

#endif
