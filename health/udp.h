/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp.h - UDP datagrams as probing wants them: sent out of a chosen device, from any source port,
 * in batches; received with the device and hop limit that they arrived with, and how long they
 * waited to be read.
 *
 * Solely owns: two raw sockets per address family to send by (one for data's class), the receiving
 * sockets, the buffers of both directions. In: addresses, packets. Out: packets. Thread: the
 * loop's. Nothing is allocated per packet.
 *
 * Sending. Packets leave by a raw socket, with IP and UDP headers of our own (IP_HDRINCL). So one
 * socket serves all devices and all source ports; a device that was made anew needs no new socket.
 * The device is given beside each packet (IP_PKTINFO). IPv6 takes it for a mere hint if a source
 * address is given beside it too; so none is, and routing rules that select by source address do
 * not apply to probes over IPv6.
 *
 * Receiving. One UDP socket per address and port, of all devices, and never sharing the port: no
 * other process, of whatever user, can bind it and take what arrives.
 */
#ifndef UDP_H
#define UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UDP_BATCH	 32u
#define UDP_PACKET_BYTES 4136u /* a probe of the largest path MTU (path_mtu.h), and some */
#define UDP_POLL_MAX	 512u
/*
 * Batches taken from one socket before others get their turn. What is left is judged by newer
 * reports of other planes: so it is more than 40 peers send while this server has no CPU time.
 */
#define UDP_ROUNDS 32

struct udp_packet {
	uint8_t *bytes; /* UDP_PACKET_BYTES of room */
	size_t length;
	struct in6_addr from, to; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t from_port;
	uint16_t to_port; /* of packets to send */
	int ifindex;
	int hop_limit; /* of received packets; -1: unknown. To send: 0 means 255 */
	/* DSCP FARE_DSCP, in which data is queued; to send: instead of udp_create()'s */
	bool is_data;
	uint64_t waited_ns; /* received, until it was read; 0: not known */
	uint64_t read_ns;   /* received: when it was read (CLOCK_MONOTONIC) */
};

struct udp;
struct udp_socket;

/*
 * Opens what sends, with that DSCP. 0 or -errno; -EPERM: it takes CAP_NET_RAW, but only here.
 */
int udp_create(struct udp **out, uint8_t dscp);
void udp_destroy(struct udp *u); /* NULL is fine */
/*
 * How large the send buffer is if the kernel gave less than was asked for: then one device whose
 * queue stalls may keep packets of all others back. 0: as large as asked for.
 */
uint32_t udp_short_bytes(const struct udp *u);

/*
 * A non-blocking socket that receives at address and port (0: one of FARE_PROBE_PORT_FIRST to
 * _LAST, by chance). address need not exist yet. 0 or -errno. Any local user can hold the port:
 * then it is 0 all the same, and the socket receives nothing until udp_bind() has got the port.
 */
int udp_open(struct udp_socket **out, const struct in6_addr *address, uint16_t port);
/* Takes the port of a socket that has none yet. 0; -EADDRINUSE: it is held; or another -errno. */
int udp_bind(struct udp_socket *s);
void udp_close(struct udp_socket *s);	       /* NULL is fine */
int udp_fd(const struct udp_socket *s);	       /* readable when something has come in */
uint16_t udp_port(const struct udp_socket *s); /* 0: it has none yet */
/* Which of n sockets (UDP_POLL_MAX at most) have something to read, by one system call. */
void udp_poll(struct udp_socket *const *sockets, unsigned n, bool *readable);
/* How many packets were read, up to UDP_BATCH. Valid until the next call on u. */
unsigned udp_receive(struct udp *u, struct udp_socket *s);
const struct udp_packet *udp_received(const struct udp *u, unsigned i);

/* The next packet to send, to be filled in; sends first if the batch is full. */
struct udp_packet *udp_next(struct udp *u);
/* The last one that udp_next() gave is not sent after all. */
void udp_put_back(struct udp *u);
/*
 * Sends the batch. Packets that the kernel refuses are dropped, as a network would. Returns how
 * many it took.
 */
unsigned udp_send(struct udp *u);
uint64_t udp_refused(const struct udp *u); /* packets so far; NULL: 0 */

#endif
