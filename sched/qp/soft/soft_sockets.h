/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_sockets.h - an endpoint's sending sockets: one for each (plane, sub-port, source port,
 * DSCP), shared by all QPs and control datagrams that leave so.
 *
 * Owns the sockets, how many use each, and which QPs wait for room in one. In: who needs which.
 * Out: descriptors to send from. One thread.
 *
 * A leaf distinguishes nothing but (sub-port, source port) and DSCP, and a socket has no peer. So
 * one for each is enough, and descriptors grow with ports and DSCPs in use, not with peers. The
 * DSCP is the socket's own, so that a send has nothing to say of it. Sockets of the pool
 * (FARE_SOURCE_PORTS of each sub-port) stay open once opened; others close with their last user.
 */
#ifndef SOFT_SOCKETS_H
#define SOFT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/provider.h"
#include "soft_list.h"

#define SOFT_SOCKET_BUCKETS 256

struct soft_socket_key {
	uint16_t plane, sub_port; /* or QP_ANY_PLANE, and no sub-port */
	uint16_t port;
	uint8_t dscp;
};

struct soft_socket {
	struct soft_socket *next; /* same hash */
	struct soft_socket_key key;
	int fd;
	unsigned users;
	uint32_t tx_bytes;
	bool is_full;		  /* the descriptor is watched until there is room again */
	struct soft_link waiting; /* QPs that wait for that */
	uint64_t renewed_ns;
};

struct soft_sockets {
	const struct qp_endpoint_attr *attr; /* borrowed */
	int epoll_fd;			     /* borrowed */
	unsigned n_full;
	struct soft_socket *buckets[SOFT_SOCKET_BUCKETS];
};

void soft_sockets_init(struct soft_sockets *sockets, const struct qp_endpoint_attr *attr);
void soft_sockets_fini(struct soft_sockets *sockets); /* closes all */

/*
 * The socket of that key, with room for tx_bytes at least; it has one more user. Port 0: the port
 * of the pool that has the fewest users; of QP_ANY_PLANE, whose ports a kernel's hash is to draw
 * from, a random one. 0, -EADDRINUSE (a socket of another user has the port), -ENODEV, -EMFILE,
 * -ENOMEM.
 */
int soft_sockets_get(struct soft_sockets *sockets, struct soft_socket_key key, uint32_t tx_bytes,
		     struct soft_socket **out);
/*
 * Likewise, whatever key.port: a random port outside of the pool that nothing else of this endpoint
 * uses.
 */
int soft_sockets_get_own(struct soft_sockets *sockets, struct soft_socket_key key,
			 uint32_t tx_bytes, struct soft_socket **out);
/* One user less. NULL is fine. */
void soft_sockets_put(struct soft_sockets *sockets, struct soft_socket *socket);

/* It took no more: it is full until the descriptor says otherwise. 0 or -errno (not watched). */
int soft_sockets_set_full(struct soft_sockets *sockets, struct soft_socket *socket);
/* There is room again. Who waits is the caller's to wake. */
void soft_sockets_clear_full(struct soft_sockets *sockets, struct soft_socket *socket);
/* A send said that the device is gone: one may have been made anew under its name. */
void soft_sockets_renew(struct soft_sockets *sockets, struct soft_socket *socket, uint64_t now_ns);

#endif
