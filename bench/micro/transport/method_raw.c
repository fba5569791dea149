/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ceiling: what a UDP socket with segmentation offload can carry when every segment has a RoCE
 * header and an ICRC that both ends compute, and its payload is copied to where it belongs; nothing
 * else. No QPs, no retransmission: a packet that is lost is the end of the measurement. And beside
 * it `udp`, a bare datagram, for the round trip.
 */
#include <endian.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "micro/transport/method.h"
#include "base/address.h"
#include "qp/soft/roce_icrc.h"
#include "qp/soft/roce_wire.h"
#include "qp/soft/soft_sock.h"
#include "roce_ports.h"

#define HEADER_BYTES  28 /* BTH and RETH on every segment */
#define BATCH_BYTES   65000
#define BATCH_PACKETS 64
#define WINDOW_BYTES  (1u << 20)
#define QUEUE	      2048 /* more than slots */

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

struct raw {
	const struct transport_end *end;
	int tx_fd, rx_fd;
	struct sockaddr_storage peer;
	socklen_t peer_bytes;
	struct roce_flow tx_flow, rx_flow;
	struct roce_icrc_ids ids;
	uint64_t base; /* the other end's memory */
	unsigned per_message;
	/*
	 * posted, acknowledged messages; packets: sent, acknowledged, asked to be acknowledged,
	 * received
	 */
	uint64_t head, acked, tail, sent, una, asked, received;
	unsigned queue[QUEUE];
	uint8_t headers[BATCH_PACKETS][HEADER_BYTES + ROCE_ICRC_BYTES];
	struct iovec iov[2 * BATCH_PACKETS + 1];
	uint8_t rx[65536];
};

static uint32_t packet_bytes(const struct raw *r)
{
	return r->end->bytes < TRANSPORT_PATH_MTU ? (uint32_t)r->end->bytes : TRANSPORT_PATH_MTU;
}

static int raw_open(struct transport_end *end, void **state)
{
	struct raw *r = calloc(1, sizeof(*r));
	struct in6_addr local = transport_address(end->local),
			remote = transport_address(end->remote);
	uint16_t port = (uint16_t)(ROCE_SOURCE_PORT_FIRST + end->who);
	uint16_t rx_port = ROCE_UDP_PORT;
	uint64_t base = (uintptr_t)end->memory;

	*state = r;
	if (!r)
		return -ENOMEM;
	if (end->bytes > TRANSPORT_PATH_MTU && end->bytes % TRANSPORT_PATH_MTU)
		return -EOPNOTSUPP; /* equal segments only */
	r->end = end;
	r->rx_fd = soft_sock_open_rx(&local, &rx_port, 1);
	r->tx_fd = soft_sock_open_tx(&local, port, "p0", FARE_DSCP, 4 * WINDOW_BYTES);
	if (r->rx_fd < 0 || r->tx_fd < 0)
		return r->rx_fd < 0 ? r->rx_fd : r->tx_fd;
	r->peer_bytes = address_to_socket(&remote, ROCE_UDP_PORT, &r->peer);
	r->tx_flow = (struct roce_flow){local, remote, port, ROCE_UDP_PORT};
	r->rx_flow = (struct roce_flow){
		remote, local, (uint16_t)(ROCE_SOURCE_PORT_FIRST + !end->who), ROCE_UDP_PORT};
	r->per_message = (unsigned)((end->bytes + TRANSPORT_PATH_MTU - 1) / TRANSPORT_PATH_MTU);
	return transport_exchange(end, &base, &r->base, sizeof(base));
}

/* Packet `number` (counted from the first ever), segment `place` of its batch: two iovecs. */
static void lay(struct raw *r, uint64_t number, unsigned place, bool ack_req)
{
	unsigned slot = r->queue[number / r->per_message % QUEUE];
	size_t offset = slot * r->end->stride + number % r->per_message * TRANSPORT_PATH_MTU;
	struct roce_packet p = {
		.opcode = ROCE_WRITE_ONLY,
		.ack_req = ack_req,
		.psn = number & ROCE_PSN_MASK,
		.remote_addr = r->base + offset,
		.dma_bytes = packet_bytes(r),
		.payload = r->end->memory + offset,
		.payload_bytes = packet_bytes(r),
	};
	uint8_t *header = r->headers[place];
	uint32_t crc;

	/* the CRC of one packet and the header of the next share an iovec */
	header += ROCE_ICRC_BYTES;
	roce_wire_build(&p, header);
	crc = htole32(roce_icrc_compute(&r->tx_flow, (uint16_t)place, header, HEADER_BYTES,
					p.payload, p.payload_bytes, 0));
	memcpy(r->headers[place + 1], &crc, sizeof(crc));
	r->iov[2 * place] = (struct iovec){place ? r->headers[place] : header,
					   HEADER_BYTES + (place ? (size_t)ROCE_ICRC_BYTES : 0)};
	r->iov[2 * place + 1] = (struct iovec){(void *)(uintptr_t)p.payload, p.payload_bytes};
}

/* One batch. 0: nothing to send, or no room in the window. */
static int send_batch(struct raw *r)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))];
	uint32_t bytes = packet_bytes(r), wire = HEADER_BYTES + bytes + ROCE_ICRC_BYTES;
	uint64_t left = r->tail * r->per_message - r->sent,
		 room = WINDOW_BYTES / bytes - (r->sent - r->una);
	unsigned n = BATCH_BYTES / wire;
	uint16_t segment = (uint16_t)wire;
	struct msghdr m = {.msg_name = &r->peer, .msg_namelen = r->peer_bytes, .msg_iov = r->iov};
	struct cmsghdr *c;
	bool ask;

	if (n > BATCH_PACKETS - 1)
		n = BATCH_PACKETS - 1;
	if (n > left)
		n = (unsigned)left;
	if (!n || room < n)
		return 0;
	ask = left == n || r->sent + n - r->asked >= WINDOW_BYTES / bytes / 4;
	for (unsigned i = 0; i < n; i++)
		lay(r, r->sent + i, i, ask && i + 1 == n);
	r->iov[2 * n] = (struct iovec){r->headers[n], ROCE_ICRC_BYTES};
	m.msg_iovlen = 2 * n + 1;
	if (n > 1) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(c), &segment, sizeof(segment));
	}
	if (sendmsg(r->tx_fd, &m, MSG_DONTWAIT) < 0)
		return errno == EAGAIN || errno == ENOBUFS ? 0 : -errno;
	r->sent += n;
	if (ask)
		r->asked = r->sent;
	return 1;
}

static int raw_post(void *state, unsigned slot)
{
	struct raw *r = state;

	r->queue[r->tail++ % QUEUE] = slot;
	return r->end->latency ? (send_batch(r) < 0 ? -EIO : 0) : 0;
}

static int method_raw_answer(struct raw *r)
{
	struct roce_packet p = {.opcode = ROCE_ACK,
				.psn = (r->received - 1) & ROCE_PSN_MASK,
				.syndrome = ROCE_SYNDROME_ACK};
	uint8_t bytes[ROCE_HEADER_MAX + ROCE_ICRC_BYTES];
	size_t n = roce_wire_build(&p, bytes);
	uint32_t crc = htole32(roce_icrc_compute(&r->tx_flow, 0, bytes, n, NULL, 0, 0));

	memcpy(bytes + n, &crc, sizeof(crc));
	return sendto(r->tx_fd, bytes, n + sizeof(crc), MSG_DONTWAIT, (struct sockaddr *)&r->peer,
		      r->peer_bytes) < 0
		       ? -errno
		       : 0;
}

static int method_raw_take(struct raw *r, const uint8_t *data, size_t bytes, uint16_t *ip_id)
{
	struct roce_packet p;

	if (!roce_icrc_verify(&r->rx_flow, &r->ids, ip_id, data, bytes) ||
	    roce_wire_parse(data, bytes, &p, NULL))
		return -EBADMSG;
	*ip_id = (*ip_id + 1) % ROCE_ICRC_IDS;
	if (p.opcode == ROCE_ACK) {
		r->una += (p.psn + 1 - r->una) & ROCE_PSN_MASK;
		return 0;
	}
	if (p.psn != (r->received & ROCE_PSN_MASK) ||
	    p.remote_addr - (uintptr_t)r->end->memory > r->end->memory_bytes - p.payload_bytes)
		return -ENODATA; /* lost, or reordered */
	memcpy((void *)(uintptr_t)p.remote_addr, p.payload, p.payload_bytes);
	r->received++;
	return p.ack_req && !r->end->latency ? method_raw_answer(r) : 0;
}

static size_t segment_bytes(struct msghdr *m, size_t bytes)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int size;

		if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof(size));
		return size > 0 ? (size_t)size : bytes;
	}
	return bytes;
}

/* 1: a datagram was there; 0: none. */
static int method_raw_receive(struct raw *r)
{
	_Alignas(struct cmsghdr) uint8_t control[128];
	struct iovec iov = {r->rx, sizeof(r->rx)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(r->rx_fd, &m, MSG_DONTWAIT);
	uint16_t ip_id = 0;
	size_t step;

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	step = segment_bytes(&m, (size_t)n);
	for (size_t at = 0; at < (size_t)n; at += step) {
		int err = method_raw_take(r, r->rx + at,
					  (size_t)n - at < step ? (size_t)n - at : step, &ip_id);

		if (err)
			return err;
	}
	return 1;
}

static int raw_progress(void *state, unsigned *done, int max)
{
	struct raw *r = state;
	int n = 0, err;

	for (int i = 0; i < 4 && (err = method_raw_receive(r)) != 0; i++)
		if (err < 0)
			return err;
	for (int i = 0; i < 4 && (err = send_batch(r)) != 0; i++)
		if (err < 0)
			return err;
	if (r->end->latency)
		r->una = r->sent;
	r->acked = r->una / r->per_message;
	while (n < max && r->head < r->acked)
		done[n++] = r->queue[r->head++ % QUEUE];
	return n;
}

static int raw_fd(void *state)
{
	return ((struct raw *)state)->rx_fd;
}

static void raw_close(void *state)
{
	struct raw *r = state;

	close(r->rx_fd);
	close(r->tx_fd);
	free(r);
}

const struct transport_method transport_raw = {
	.name = "raw",
	.what = "UDP, segmentation offload, RoCE header and ICRC on every segment: the ceiling",
	.open = raw_open,
	.post = raw_post,
	.progress = raw_progress,
	.fd = raw_fd,
	.close = raw_close,
};

/* ---- udp: sendto, recv, nothing else --------------------------------------------------------- */

static int udp_open(struct transport_end *end, void **state)
{
	int err = end->bytes > TRANSPORT_PATH_MTU ? -EOPNOTSUPP : raw_open(end, state);
	struct raw *r = *state;
	int off = 0;

	if (!err && setsockopt(r->rx_fd, SOL_UDP, UDP_GRO, &off, sizeof(off)))
		err = -errno;
	return err;
}

static int udp_post(void *state, unsigned slot)
{
	struct raw *r = state;

	return sendto(r->tx_fd, r->end->memory + slot * r->end->stride, r->end->bytes, 0,
		      (struct sockaddr *)&r->peer, r->peer_bytes) < 0
		       ? -errno
		       : 0;
}

static int udp_progress(void *state, unsigned *done, int max)
{
	struct raw *r = state;
	ssize_t n = recv(r->rx_fd, r->end->memory + (r->end->who ? 0 : 1) * r->end->stride,
			 r->end->bytes, MSG_DONTWAIT);

	(void)done;
	(void)max;
	return n < 0 && errno != EAGAIN ? -errno : 0;
}

const struct transport_method transport_udp = {
	.name = "udp",
	.what = "bare UDP datagrams, one at a time",
	.is_probe = true,
	.open = udp_open,
	.post = udp_post,
	.progress = udp_progress,
	.fd = raw_fd,
	.close = raw_close,
};
