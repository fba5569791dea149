/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_owner.h - which user's process is at the other end of a TCP connection on this machine.
 *
 * Owns nothing. In: a connected socket. Out: a user, from the kernel (sock_diag(7)), which answers
 * at once. Thread: any.
 */
#ifndef SOCKET_OWNER_H
#define SOCKET_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether the other end is on this machine, in this network namespace. */
bool socket_owner_is_local(int fd);

/*
 * Of a local one: the user whose process accepted the connection. 0; -ENOTCONN: no process holds
 * the other end (not accepted yet, or closed); another -errno: the kernel does not tell. If bytes
 * have been received, it was accepted.
 */
int socket_owner_uid(int fd, uid_t *uid);

#endif
