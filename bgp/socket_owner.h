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
