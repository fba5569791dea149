/* SPDX-License-Identifier: BSD-2-Clause */
/* udp_internal.h - buffers of udp.h, for udp.c and udp_send.c alone */
#ifndef UDP_INTERNAL_H
#define UDP_INTERNAL_H

#include <sys/socket.h>

#include "udp.h"

#define UDP_HEADER_BYTES  8u
#define UDP_CONTROL_BYTES 128u
/* the longest IP header, the UDP header, the payload */
#define UDP_SLOT_BYTES (60u + UDP_HEADER_BYTES + UDP_PACKET_BYTES)

struct udp_buffers {
	struct udp_packet packets[UDP_BATCH];
	struct mmsghdr headers[UDP_BATCH];
	struct iovec vectors[UDP_BATCH];
	struct sockaddr_storage names[UDP_BATCH];
	_Alignas(struct cmsghdr) uint8_t control[UDP_BATCH][UDP_CONTROL_BYTES];
	_Alignas(8) uint8_t bytes[UDP_BATCH][UDP_SLOT_BYTES];
};

struct udp {
	int fds[2][2]; /* that send: [1]: in data's class; IPv4, IPv6 */
	uint8_t dscp;
	uint32_t short_bytes; /* of the smaller send buffer, if it is smaller than asked for */
	uint64_t n_refused;
	unsigned n_out;
	struct udp_buffers in, out;
};

#endif
