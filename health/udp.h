/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp.h - UDP sockets as probing wants them: pinned to a device per packet, in batches.
 *
 * Solely owns: the batches' buffers. In: addresses, packets. Out: packets with the device and hop
 * limit they arrived with. Thread: the loop's. Nothing is allocated per packet.
 *
 * A packet is pinned to a device: IPv4 by IP_PKTINFO, with one socket for all devices. IPv6 takes
 * the device there for a hint if the source address is given too; so it has a socket more for each
 * device, bound to it. They share the port, and no other user's socket can. Neither needs a
 * privilege. Replies may come in on any sub-port of the plane; all of a port's sockets are read as
 * one.
 */
#ifndef UDP_H
#define UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define UDP_BATCH	 32u
#define UDP_PACKET_BYTES 320u

struct udp_packet {
	uint8_t *bytes; /* UDP_PACKET_BYTES of room */
	size_t length;
	struct in6_addr from, to; /* IPv4 as ::ffff:a.b.c.d */
	/* to_port: of packets to send; from_port: of those received, or sent by udp_raw.h */
	uint16_t from_port, to_port;
	int ifindex;
	int hop_limit; /* of received packets; -1: unknown */
};

struct udp_socket;
struct udp_batch; /* buffers for UDP_BATCH packets, one direction at a time */

int udp_batch_create(struct udp_batch **out);
void udp_batch_destroy(struct udp_batch *b);

/*
 * A non-blocking socket bound to address and port (0: by chance), sending with hop limit 255 and
 * that DSCP. address need not exist yet. owner: the user that the process is or will become; no
 * other user can bind the same. 0 or -errno; -EADDRINUSE: the port is taken.
 */
int udp_open(struct udp_socket **out, const struct in6_addr *address, uint16_t port, uint8_t dscp,
	     uid_t owner);
void udp_close(struct udp_socket *s);	/* NULL is fine */
int udp_fd(const struct udp_socket *s); /* readable when something has come in */
uint16_t udp_port(const struct udp_socket *s);
/*
 * Makes what packets take to leave by that device, which sending would make otherwise. 0 or -errno;
 * if that is udp_is_shortage(), try again later.
 */
int udp_pin(struct udp_socket *s, int ifindex);
bool udp_is_pinned(const struct udp_socket *s, int ifindex);
/* No descriptor, or no memory for one: no word of the device or the network. */
bool udp_is_shortage(int rc);
/* Up to UDP_BATCH packets, or 0 if there are none, or -errno. Valid until the next call on b. */
int udp_receive(struct udp_socket *s, struct udp_batch *b);
struct udp_packet *udp_received(struct udp_batch *b, unsigned i);

/* The next packet to send, with its bytes to fill in; NULL: the batch is full, send it first. */
struct udp_packet *udp_next(struct udp_batch *b);
/* the last one that udp_next() gave is not sent after all */
void udp_put_back(struct udp_batch *b);
/* Sends and empties the batch. Packets that the kernel refuses are dropped, as a network would.
 * Returns how many it took. */
unsigned udp_send(struct udp_socket *s, struct udp_batch *b);

/*
 * For udp_raw.c: what the kernel says beside a packet received, and is told beside one to send (96
 * bytes of room; returns how many it took).
 */
void udp_read_control(struct msghdr *m, struct udp_packet *p);
void udp_read_name(const struct sockaddr_storage *name, struct udp_packet *p);
size_t udp_write_control(const struct udp_packet *p, struct msghdr *m);

#endif
