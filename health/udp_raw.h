/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_raw.h - UDP datagrams to a port that somebody else's socket owns: sent from any source port,
 * and heard beside it.
 *
 * Solely owns: raw sockets, and a kernel filter on the hearing ones that lets through nothing but
 * our probes to ROCE_UDP_PORT. A process that is bound to that port still gets every datagram, our
 * probes too, and drops those as it drops anything that is not RoCEv2. In: addresses, packets. Out:
 * packets as of udp.h. Thread: the loop's. Opening takes CAP_NET_RAW; using does not.
 *
 * A NIC that takes that port for itself (RoCE in hardware) hides these datagrams from the kernel:
 * then none is answered.
 */
#ifndef UDP_RAW_H
#define UDP_RAW_H

#include "roce_ports.h"
#include "udp.h"

struct udp_raw;

/*
 * To hear, or (n_devices > 0) to send by up to that many devices with that DSCP and hop limit 255.
 * 0 or -errno; -EPERM: no CAP_NET_RAW.
 */
int udp_raw_open(struct udp_raw **out, const struct in6_addr *address, uint8_t dscp,
		 unsigned n_devices);
void udp_raw_close(struct udp_raw *r); /* NULL is fine */
int udp_raw_fd(const struct udp_raw *r);
/* One datagram into p->bytes (UDP_PACKET_BYTES of room): 1, or 0: none. */
int udp_raw_receive(struct udp_raw *r, struct udp_packet *p);
/* From p->from, from_port, to p->to, ROCE_UDP_PORT, by p->ifindex. 0 or -errno. */
int udp_raw_send(struct udp_raw *r, const struct udp_packet *p);

#endif
