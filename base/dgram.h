/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dgram.h - how UDP sockets (and raw ones that send UDP) are opened, bound and asked.
 *
 * Owns nothing; descriptors are the caller's. In: addresses, IPv4 as ::ffff:a.b.c.d. Out:
 * descriptors, options, where a datagram arrived. Thread: any.
 *
 * No socket here is connected, or asks for errors (IP_RECVERR): an unconnected one then reports
 * none that ICMP messages claim, which anybody can send.
 */
#ifndef DGRAM_H
#define DGRAM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* UDP, not blocking, of the address's family alone, not bound yet. A descriptor or -errno. */
int dgram_open(const struct in6_addr *address);
/* An integer option; the second one by the socket's family. 0 or -errno. */
int dgram_set(int fd, int level, int name, int value);
int dgram_set_ip(int fd, bool v4, int v4_name, int v6_name, int value);
/*
 * Packets are not fragmented, and may be as long as the device takes: a path MTU of the route cache
 * comes from ICMP messages. 0 or -errno.
 */
int dgram_ignore_path_mtu(int fd, bool v4);
/* SO_RCVBUF or SO_SNDBUF: beyond the system's limit where privilege allows it, else up to it. */
void dgram_set_buffer(int fd, int name, int bytes);
/* 0 or -errno. */
int dgram_bind(int fd, const struct in6_addr *address, uint16_t port);
/* A random port of first to last. 0 or -EIO. */
int dgram_random_port(uint16_t first, uint16_t last, uint16_t *port);
/* Binds to such a port that is free, and says which. 0 or -errno; -EADDRINUSE: 64 were not. */
int dgram_bind_random(int fd, const struct in6_addr *address, uint16_t first, uint16_t last,
		      uint16_t *port);
/*
 * True: the message is where a datagram arrived (IP_PKTINFO, IPV6_PKTINFO): *ifindex, and unless to
 * is NULL the address that it was sent to.
 */
bool dgram_read_arrival(const struct cmsghdr *message, unsigned *ifindex, struct in6_addr *to);

#endif
