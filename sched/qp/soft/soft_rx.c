/* SPDX-License-Identifier: BSD-2-Clause */
/* soft_rx.c - datagrams become packets, and packets reach their QP */
#include "soft_protocol.h"

#include <errno.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/address.h"
#include "base/dgram.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define PASSES 4 /* receive calls per progress: up to 2 MB, then it is the sender's turn */

/* One received super-packet: what the kernel said beside the bytes. */
struct arrival {
	struct roce_flow flow;
	const uint8_t *data;
	size_t bytes, segment_bytes;
	unsigned ifindex;
	bool is_marked; /* CE: a queue of the path was filling up */
};

/* An acknowledgement or a read response. */
static void on_answer(struct qp *qp, const struct roce_packet *packet, uint64_t now_ns)
{
	enum qp_wc_status status = soft_protocol_on_answer(qp, packet, now_ns);

	if (status) {
		soft_state_fail(qp, status);
		return;
	}
	soft_state_set_timer(qp);
	if (soft_protocol_has_unsent(qp))
		soft_state_schedule(qp);
}

/* The requester can ask for less than the packet: of the answer to a READ, that is this end. */
static void on_mark(struct qp *qp, const struct roce_packet *packet, uint64_t now_ns)
{
	if (roce_wire_is_request(packet->opcode))
		soft_tx_cnp(qp, packet->psn, now_ns);
	else if (roce_wire_is_read_response(packet->opcode))
		soft_protocol_slow_down(qp);
}

static void on_cnp(struct qp *qp, uint64_t now_ns)
{
	qp->ep->stats.cnps_received++;
	if (!qp->pace) {
		soft_protocol_slow_down(qp);
		return;
	}
	dcqcn_advance(&qp->pace->rate, now_ns, 0);
	dcqcn_cnp(&qp->pace->rate, now_ns);
}

static void on_packet(struct qp *qp, const struct arrival *a, const struct roce_packet *packet,
		      uint64_t now_ns)
{
	if (a->is_marked)
		on_mark(qp, packet, now_ns);
	if (packet->opcode == ROCE_CNP) {
		on_cnp(qp, now_ns);
	} else if (roce_wire_is_request(packet->opcode)) {
		soft_protocol_on_request(qp, packet);
		soft_tx_queue_answer(qp);
	} else {
		on_answer(qp, packet, now_ns);
	}
}

/* The live QP that a packet is for, from its own peer; NULL: none. */
static struct qp *find_qp(const struct qp_endpoint *ep, const struct arrival *a,
			  const struct roce_packet *packet)
{
	struct qp *qp = soft_state_find(ep, packet->dest_qpn);

	return qp && soft_state_is_live(qp) &&
			       IN6_ARE_ADDR_EQUAL(&qp->remote.address, &a->flow.source)
		       ? qp
		       : NULL;
}

/*
 * One packet, whose IP id is perhaps *ip_id. What is cheap to see is looked at first: anybody can
 * send packets, and to find the id of one whose ICRC is wrong takes microseconds.
 */
static void on_segment(struct qp_endpoint *ep, const struct arrival *a, const uint8_t *data,
		       size_t bytes, uint16_t *ip_id, uint64_t now_ns)
{
	uint16_t no_id = 0; /* control datagrams leave one by one */
	struct roce_packet packet;
	struct qp *qp = NULL;
	bool is_control;

	if (roce_wire_parse(data, bytes, &packet, NULL)) {
		ep->stats.rx_dropped++;
		return;
	}
	is_control = packet.opcode == ROCE_UD_SEND_ONLY;
	if (is_control ? !soft_control_is_wanted(ep, &packet) : !(qp = find_qp(ep, a, &packet))) {
		ep->stats.rx_dropped++;
		return;
	}
	if (!roce_icrc_verify(&a->flow, is_control ? NULL : &ep->icrc_ids,
			      is_control ? &no_id : ip_id, data, bytes))
		ep->stats.icrc_errors++;
	else if (is_control)
		soft_control_on_packet(ep, &packet, &a->flow, a->ifindex);
	else
		on_packet(qp, a, &packet, now_ns);
}

static void on_arrival(struct qp_endpoint *ep, const struct arrival *a, uint64_t now_ns)
{
	uint16_t ip_id = 0;

	for (size_t at = 0; at < a->bytes; at += a->segment_bytes) {
		size_t bytes = a->bytes - at;

		if (bytes > a->segment_bytes)
			bytes = a->segment_bytes;
		on_segment(ep, a, a->data + at, bytes, &ip_id, now_ns);
		/* segments of a batch count up, from wherever it was cut */
		ip_id = (ip_id + 1) % ROCE_ICRC_IDS;
	}
}

static void read_cmsgs(struct msghdr *m, struct arrival *a)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
			int size;

			memcpy(&size, CMSG_DATA(c), sizeof(size));
			if (size > 0)
				a->segment_bytes = (size_t)size;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			a->is_marked = (*CMSG_DATA(c) & IPTOS_ECN_MASK) == IPTOS_ECN_CE;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
			int traffic_class;

			memcpy(&traffic_class, CMSG_DATA(c), sizeof(traffic_class));
			a->is_marked = (traffic_class & IPTOS_ECN_MASK) == IPTOS_ECN_CE;
		} else {
			dgram_read_arrival(c, &a->ifindex, NULL);
		}
	}
}

/*
 * A caller that spins waits for one packet: then the kernel is asked for one, and does not look for
 * a second.
 */
static int soft_rx_receive(struct qp_endpoint *ep)
{
	struct soft_rx_scratch *rx = &ep->rx;
	unsigned most = soft_alarm_is_spinning(&ep->alarm) ? 1 : SOFT_RX_MESSAGES;
	ssize_t bytes;

	for (unsigned i = 0; i < most; i++) {
		rx->iov[i] = (struct iovec){.iov_base = rx->bytes + i * SOFT_RX_BYTES,
					    .iov_len = SOFT_RX_BYTES};
		rx->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->from[i],
			.msg_namelen = sizeof(rx->from[i]),
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = rx->cmsg[i],
			.msg_controllen = sizeof(rx->cmsg[i]),
		};
	}
	if (most > 1)
		return recvmmsg(ep->rx_fd, rx->messages, most, MSG_DONTWAIT, NULL);
	bytes = recvmsg(ep->rx_fd, &rx->messages[0].msg_hdr, MSG_DONTWAIT);
	if (bytes < 0)
		return -1;
	rx->messages[0].msg_len = (unsigned)bytes;
	return 1;
}

static int pass(struct qp_endpoint *ep, uint64_t now_ns)
{
	struct soft_rx_scratch *rx = &ep->rx;
	int n = soft_rx_receive(ep);

	for (int i = 0; i < n; i++) {
		struct arrival a = {
			.flow = {.destination = ep->attr.address,
				 .destination_port = ep->info.port},
			.data = rx->iov[i].iov_base,
			.bytes = rx->messages[i].msg_len,
			.segment_bytes = rx->messages[i].msg_len,
		};

		address_of_socket(&rx->from[i], &a.flow.source, &a.flow.source_port);
		read_cmsgs(&rx->messages[i].msg_hdr, &a);
		ep->delayed.bytes += a.bytes;
		if (a.bytes)
			on_arrival(ep, &a, now_ns);
	}
	return n;
}

int soft_rx_run(struct qp_endpoint *ep, uint64_t now_ns)
{
	int total = 0;

	for (unsigned i = 0; i < PASSES; i++) {
		int n = pass(ep, now_ns);

		if (n > 0)
			total += n;
		if (n < SOFT_RX_MESSAGES)
			break;
	}
	return total;
}
