/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_sock.h - how the provider's UDP sockets are set up.
 *
 * Owns nothing; returns descriptors that the caller closes. In: addresses, ports, device names.
 * Out: sockets whose datagrams the other end can check (roce_icrc.h), and socket addresses. Any
 * thread.
 *
 * No socket is connected: a connected UDP socket gets a random multipath hash at every open, and IP
 * ids that cannot be predicted. All forbid fragmentation, so that the IP id is 0 (roce_icrc.h), and
 * ignore path MTUs of the route cache (IP_PMTUDISC_PROBE): ICMP messages set those, and anybody can
 * send ICMP messages. No socket asks for errors (IP_RECVERR): an unconnected one then reports none
 * that ICMP messages claim. One socket receives everything. It is bound to no device, because
 * answers of a peer may arrive on any sub-port. The others only send.
 */
#ifndef SOFT_SOCK_H
#define SOFT_SOCK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A datagram socket of the address's family, as said above, not yet bound. Descriptor or -errno. */
int soft_sock_open(const struct in6_addr *address);
/*
 * Binds to the first of n ports, from *port on, that no other process at that address has, and
 * stores it; FARE_CONTROL_PORT only if it is the first. If all n > 1 are taken, which any local
 * user can bring about: a random one of RoCEv2's source ports. 0 or -errno; -EADDRINUSE: none free.
 */
int soft_sock_bind_free(int fd, const struct in6_addr *address, uint16_t *port, unsigned n);
/*
 * A receiving socket that is bound like that, takes segmentation batches (GRO) and reports the
 * arrival device. A descriptor or -errno.
 */
int soft_sock_open_rx(const struct in6_addr *address, uint16_t *port, unsigned n);

/*
 * A sending socket at (address, port), which other sockets of this user may share: it receives
 * nothing. dev: the device of its packets; NULL or empty: the kernel routes. dscp: of its packets,
 * with ECT(0). tx_bytes: size of its send buffer. A descriptor or -errno; -EADDRINUSE: a socket
 * that does not share has the port; -ENODEV.
 */
int soft_sock_open_tx(const struct in6_addr *address, uint16_t port, const char *dev, uint8_t dscp,
		      uint32_t tx_bytes);
/* Packets that are sent from now on have that DSCP, and ECT(0) (RFC 3168). 0 or -errno. */
int soft_sock_set_dscp(int fd, bool v4, uint8_t dscp);
/* Random bytes, at most 256: so many are never short or interrupted. 0 or -EIO. */
int soft_sock_random(void *out, size_t bytes);
/* A random source port of RoCEv2's range. 0 or -EIO. */
int soft_sock_random_port(uint16_t *port);

#endif
