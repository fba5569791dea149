/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_sockets.h - an endpoint's sending sockets: one for each (plane, sub-port, source port,
 * DSCP), shared by all QPs with these values.
 *
 * Owns the sockets, the number of users of each, and the list of QPs that wait for room in one. In:
 * users. Out: descriptors to send from. One thread.
 *
 * A leaf distinguishes only (sub-port, source port) and DSCP, and a socket has no peer. So one
 * socket for each is enough, and the number of descriptors grows with ports and DSCPs in use, not
 * with peers. The DSCP is an option of the socket, so that it need not be given with each send.
 * Sockets of the pool (FARE_SOURCE_PORTS of each sub-port) stay open; others are closed with their
 * last user.
 */
#ifndef SOFT_SOCKETS_H
#define SOFT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "qp/provider.h"
#include "soft_list.h"

/* without padding: its bytes are the key */
struct soft_socket_key {
	uint16_t plane, sub_port; /* or QP_ANY_PLANE, and no sub-port */
	uint16_t port;
	uint16_t dscp;
};

struct soft_socket {
	UT_hash_handle hh;
	struct soft_socket_key key;
	int fd;
	unsigned users;
	uint32_t tx_bytes;
	bool is_full;		  /* the descriptor is watched until there is room again */
	struct soft_link waiting; /* QPs that wait for room */
	uint64_t renewed_ns;
};

struct soft_sockets {
	const struct qp_endpoint_attr *attr; /* borrowed */
	int epoll_fd;			     /* borrowed */
	unsigned n_full;
	struct soft_socket *by_key;
};

void soft_sockets_init(struct soft_sockets *sockets, const struct qp_endpoint_attr *attr);
void soft_sockets_fini(struct soft_sockets *sockets); /* closes all */
/* In a child of fork(): closes the descriptors and changes nothing else, nor the epoll. */
void soft_sockets_leave(const struct soft_sockets *sockets);

/*
 * What a QP may hand to the kernel at once for that key's link: on a slow one no more than it
 * carries in a few milliseconds, and the send buffer holds two of that. The kernel sends in order;
 * what waits in the QPs goes in turns, as a device would send it, so that a request of one to read
 * need not wait behind all that others respond with.
 */
uint32_t soft_sockets_burst_bytes(const struct soft_sockets *sockets, struct soft_socket_key key);
/*
 * The socket of that key, with a send buffer of tx_bytes at least (less on a slow link); it has one
 * more user then. Port 0: the port of the pool with the fewest users, or, if others on this host
 * have all of them, one as soft_sockets_get_own(); with QP_ANY_PLANE a random port, because the
 * kernel's hash chooses the path by it. 0, -EADDRINUSE (a socket of another user
 * has the port), -ENODEV, -EMFILE, -ENOMEM.
 */
int soft_sockets_get(struct soft_sockets *sockets, struct soft_socket_key key, uint32_t tx_bytes,
		     struct soft_socket **out);
/*
 * The same with a random port outside of the pool that nothing else of this endpoint uses. key.port
 * is ignored.
 */
int soft_sockets_get_own(struct soft_sockets *sockets, struct soft_socket_key key,
			 uint32_t tx_bytes, struct soft_socket **out);
/* One user less. NULL is fine. */
void soft_sockets_put(struct soft_sockets *sockets, struct soft_socket *socket);

/* The socket took no more: its descriptor is watched until there is room. 0 or -errno. */
int soft_sockets_set_full(struct soft_sockets *sockets, struct soft_socket *socket);
/* There is room again. The caller wakes the QPs that wait. */
void soft_sockets_clear_full(struct soft_sockets *sockets, struct soft_socket *socket);
/* A send failed with -ENODEV: binds to the device that may have been made anew with that name. */
void soft_sockets_renew(struct soft_sockets *sockets, struct soft_socket *socket, uint64_t now_ns);

#endif
