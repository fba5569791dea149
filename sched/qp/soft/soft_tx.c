/* SPDX-License-Identifier: BSD-2-Clause */
/* soft_tx.c - packets of QPs, laid out in bursts and sent */
#include "soft_protocol.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "soft_mtu.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define TURNS	16	 /* bursts per call: 1 MB, then it is the receiver's turn again */
#define HOLD_NS 500000u	 /* how long to wait when the kernel lacked memory */
#define MTUS_NS 1000000u /* packets that are too long come in bursts: one look for all of them */
/* between CNPs of one QP: DCQCN's; about a round trip, of which a window counts one mark */
#define CNP_NS	     50000u
#define CNP_PSN_BACK (1u << 22)

/*
 * Lays packets out as iovecs: small bytes of neighbours share one, larger payloads are the user's
 * own.
 */
struct layout {
	struct qp *qp;
	struct soft_tx_scratch *s;
	uint8_t *at, *open; /* next free byte; start of the iovec that grows */
	struct iovec *iov;
	unsigned n_runs;
};

static void close_iov(struct layout *l)
{
	if (l->at == l->open)
		return;
	*l->iov++ = (struct iovec){.iov_base = l->open, .iov_len = (size_t)(l->at - l->open)};
	l->open = l->at;
}

/* Packet i of a run: its place in the batch is its IP id. */
static void lay_packet(struct layout *l, const struct roce_packet *p, uint16_t ip_id)
{
	uint32_t pad = roce_wire_pad_bytes(p->payload_bytes), crc;
	size_t header_bytes = roce_wire_build(p, l->at);

	crc = htole32(roce_icrc_compute(&l->qp->flow, ip_id, l->at, header_bytes, p->payload,
					p->payload_bytes, pad));
	l->at += header_bytes;
	if (p->payload_bytes > SOFT_COPY_BYTES) {
		close_iov(l);
		*l->iov++ = (struct iovec){.iov_base = (void *)(uintptr_t)p->payload,
					   .iov_len = p->payload_bytes};
	} else if (p->payload_bytes) {
		memcpy(l->at, p->payload, p->payload_bytes);
		l->at += p->payload_bytes;
	}
	memset(l->at, 0, pad);
	memcpy(l->at + pad, &crc, sizeof(crc));
	l->at += pad + sizeof(crc);
}

static void set_segment_size(struct msghdr *m, uint8_t *cmsg, uint16_t bytes)
{
	struct cmsghdr *c;

	m->msg_control = cmsg;
	m->msg_controllen = CMSG_SPACE(sizeof(bytes));
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(bytes));
	memcpy(CMSG_DATA(c), &bytes, sizeof(bytes));
}

/*
 * One run: packets of one size, then at most one shorter: what segmentation offload can send as
 * one. How many of the n packets it takes.
 */
static unsigned run_length(const struct qp *qp, const struct roce_packet *packets, unsigned n)
{
	unsigned most = qp->no_gso ? 1 : SOFT_GSO_SEGMENTS, taken = 0;
	size_t size = roce_wire_packet_bytes(packets), total = 0, bytes = size;

	while (taken < n && taken < most && bytes == size) {
		bytes = roce_wire_packet_bytes(&packets[taken]);
		total += bytes;
		if (bytes > size || total > SOFT_GSO_BYTES)
			break;
		taken++;
	}
	return taken;
}

/* While the CRC of one packet is computed, the payload of the next one comes into the cache. */
static void prefetch(const uint8_t *payload, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 64)
		__builtin_prefetch(payload + at, 0, 2);
}

/* Returns how many of the n packets it took. */
static unsigned lay_run(struct layout *l, const struct roce_packet *packets, unsigned n)
{
	unsigned taken = run_length(l->qp, packets, n);
	struct mmsghdr *m = &l->s->messages[l->n_runs];
	struct iovec *first = l->iov;

	for (unsigned i = 0; i < taken; i++) {
		if (i + 1 < taken)
			prefetch(packets[i + 1].payload, packets[i + 1].payload_bytes);
		lay_packet(l, &packets[i], (uint16_t)i);
	}
	close_iov(l);
	memset(m, 0, sizeof(*m));
	m->msg_hdr.msg_name = &l->qp->remote_at;
	m->msg_hdr.msg_namelen = l->qp->remote_at_bytes;
	m->msg_hdr.msg_iov = first;
	m->msg_hdr.msg_iovlen = (size_t)(l->iov - first);
	if (taken > 1)
		set_segment_size(&m->msg_hdr, l->s->cmsg[l->n_runs],
				 (uint16_t)roce_wire_packet_bytes(packets));
	l->s->run_packets[l->n_runs++] = taken;
	return taken;
}

static unsigned lay_burst(struct qp *qp, unsigned n_packets)
{
	struct soft_tx_scratch *s = &qp->ep->tx;
	struct layout l = {.qp = qp, .s = s, .at = s->bytes, .open = s->bytes, .iov = s->iov};

	for (unsigned i = 0; i < n_packets;)
		i += lay_run(&l, &s->packets[i], n_packets - i);
	return l.n_runs;
}

/* Until its socket has room again. */
static void block(struct qp *qp)
{
	if (soft_sockets_set_full(&qp->ep->sockets, qp->socket))
		qp->hold_until_ns = clock_now_ns() + HOLD_NS;
	else
		soft_link_append(&qp->socket->waiting, &qp->waiting);
}

static bool is_blocked(const struct qp *qp)
{
	return !soft_link_is_alone(&qp->waiting);
}

/* A packet was above its device's MTU, or may have been. True: so it was. */
static bool is_too_long(struct qp *qp, uint64_t now_ns)
{
	struct qp_endpoint *ep = qp->ep;

	soft_mtu_refresh(ep, now_ns, MTUS_NS);
	return qp->attr.plane != QP_ANY_PLANE &&
	       ep->mtus.payload[qp->attr.plane][qp->attr.sub_port] < qp->path_mtu;
}

/*
 * The first run of a call failed. True: count it as sent. A packet that no route or device takes is
 * a lost packet: only acknowledgements decide whether a path lives.
 */
static bool on_send_error(struct qp *qp, int err, unsigned run_packets, uint64_t now_ns)
{
	switch (err) {
	case EAGAIN:
		block(qp);
		return false;
	case ENOBUFS:
	case ENOMEM:
		qp->hold_until_ns = now_ns + HOLD_NS;
		return false;
	case ENODEV: /* to the next packet it may be there again */
		soft_sockets_renew(&qp->ep->sockets, qp->socket, now_ns);
		return true;
	case EMSGSIZE:
	case EINVAL: /* of a super-packet whose segments are too long; or as EIO */
	case EIO:    /* no checksum offload on this device, so no segmentation either */
		if (err != EIO && is_too_long(qp, now_ns)) {
			qp->ep->stats.too_long_packets += run_packets;
			return true;
		}
		if (run_packets > 1) {
			qp->no_gso = true;
			return false;
		}
		return true;
	default:
		return true;
	}
}

/* Runs that the socket took, or -1. */
static int send_runs(int fd, struct mmsghdr *messages, unsigned n)
{
	if (n > 1)
		return sendmmsg(fd, messages, n, MSG_DONTWAIT);
	return sendmsg(fd, &messages->msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
}

/* Sends the n packets of the scratch space, as far as the socket takes them; how many that was. */
static unsigned send_packets(struct qp *qp, unsigned n, uint64_t now_ns)
{
	struct soft_tx_scratch *s = &qp->ep->tx;
	unsigned n_runs = lay_burst(qp, n), run = 0, sent = 0;

	while (run < n_runs) {
		int done = send_runs(qp->socket->fd, &s->messages[run], n_runs - run);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && !on_send_error(qp, errno, s->run_packets[run], now_ns))
			break;
		for (int i = 0; i < (done < 0 ? 1 : done); i++)
			sent += s->run_packets[run++];
	}
	return sent;
}

void soft_tx_queue_answer(struct qp *qp)
{
	if (!soft_protocol_answer_due(qp))
		return;
	qp->ep->delayed.urgent |=
		qp->responder.n_reads || *soft_protocol_syndrome(qp) > ROCE_SYNDROME_ACK;
	soft_link_append(&qp->ep->answering, &qp->answering);
}

/* It was taken, and the network did not take it: it is due again, unless a newer one is. */
static void give_back_answer(struct qp *qp, uint8_t syndrome)
{
	uint8_t *due = soft_protocol_syndrome(qp);

	if (!*due)
		*due = syndrome;
}

/*
 * A packet that goes alone takes an acknowledgement along: as a second segment that costs both ends
 * next to nothing, and as a datagram as much as the packet. Not so behind a long burst, where it
 * would wait; nor if the caller spins: the packet alone arrives sooner.
 */
static bool add_answer(struct qp *qp, unsigned n)
{
	struct soft_tx_scratch *s = &qp->ep->tx;

	return n == 1 && !soft_alarm_is_spinning(&qp->ep->alarm) &&
	       *soft_protocol_syndrome(qp) == ROCE_SYNDROME_ACK && !soft_protocol_is_dead(qp) &&
	       soft_protocol_take_answer(qp, s->bitmap, &s->packets[n]);
}

/* For a reason of this end, which sending again would not change. */
static void fail_here(struct qp *qp, enum qp_wc_status status)
{
	soft_state_fail(qp, status);
	soft_alarm_wake(&qp->ep->alarm); /* completions wait */
}

/*
 * Does the rate ask to wait? It may rise meanwhile, so it is looked at again after an interval of
 * DCQCN at the latest.
 */
static bool pace_waits(struct qp *qp, uint64_t now_ns)
{
	struct soft_pace *pace = qp->pace;
	double wait_ns;

	if (!pace)
		return false;
	dcqcn_advance(&pace->rate, now_ns, 0);
	pace->debt -= pace->rate.rate_bps * (double)(now_ns - pace->at_ns) / 8e9;
	/* a timer that was late costs no rate, as far as one such burst makes up for it */
	pace->debt = fmax(pace->debt, -(double)pace->burst);
	pace->at_ns = now_ns;
	pace->next_ns = 0;
	if (pace->debt <= 0)
		return false;
	wait_ns = fmin(pace->debt * 8e9 / pace->rate.rate_bps, (double)pace->rate.config.timer_ns);
	pace->next_ns = now_ns + (uint64_t)wait_ns + 1;
	soft_state_set_timer(qp);
	return true;
}

/* The first n packets of the scratch space were sent. */
static void pace_sent(struct qp *qp, unsigned n, uint64_t now_ns)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += roce_wire_packet_bytes(&qp->ep->tx.packets[i]);
	dcqcn_advance(&qp->pace->rate, now_ns, bytes);
	qp->pace->debt += (double)bytes;
	qp->pace->burst = bytes;
}

bool soft_tx_burst(struct qp *qp, uint64_t now_ns)
{
	unsigned n, n_answers, sent;
	enum qp_wc_status status;

	if (!soft_state_is_live(qp) || is_blocked(qp) || qp->hold_until_ns > now_ns ||
	    pace_waits(qp, now_ns))
		return false;
	status = soft_protocol_burst(qp, qp->ep->tx.packets, RC_BURST_PACKETS, &n);
	qp->is_deferred = false;
	if (status) {
		fail_here(qp, status);
		return false;
	}
	if (!n)
		return false;
	if (qp->socket->is_full) { /* others filled it */
		block(qp);
		return false;
	}
	qp->ep->delayed.replied |= !soft_link_is_alone(&qp->ep->answering);
	n_answers = add_answer(qp, n);
	sent = send_packets(qp, n + n_answers, now_ns);
	if (sent < n + n_answers && n_answers)
		give_back_answer(qp, ROCE_SYNDROME_ACK);
	sent = sent < n ? sent : n;
	soft_protocol_sent(qp, sent, now_ns);
	if (qp->pace)
		pace_sent(qp, sent, now_ns);
	soft_state_set_timer(qp);
	return soft_protocol_has_unsent(qp) && !is_blocked(qp) && qp->hold_until_ns <= now_ns &&
	       !pace_waits(qp, now_ns);
}

/* Of n packets, those of the first two runs: the border of two READs, and a whole super-packet. */
static unsigned two_runs(const struct qp *qp, const struct roce_packet *packets, unsigned n)
{
	unsigned taken = 0;

	for (unsigned run = 0; run < 2 && taken < n; run++)
		taken += run_length(qp, &packets[taken], n - taken);
	return taken;
}

/* A burst of read responses. True: there is nothing left of them. */
static bool answer_reads(struct qp *qp)
{
	struct rc_responder *r = &qp->responder;
	struct soft_tx_scratch *s = &qp->ep->tx;
	uint64_t now_ns;
	unsigned n;

	if (!r->n_reads)
		return true;
	now_ns = clock_now_ns();
	if (qp->hold_until_ns > now_ns)
		return false;
	n = qp->batch_bytes / qp->path_mtu + QP_READ_BORDER;
	n = rc_responder_read_burst(r, &qp->ep->regions, s->packets,
				    n < RC_BURST_PACKETS ? n : RC_BURST_PACKETS);
	n = two_runs(qp, s->packets, n);
	for (unsigned i = 0; i < n; i++)
		s->packets[i].dest_qpn = qp->remote.qpn;
	if (n)
		rc_responder_reads_sent(r, send_packets(qp, n, now_ns));
	if (!r->n_reads)
		return true;
	if (qp->hold_until_ns > now_ns)
		soft_state_set_timer(qp);
	else if (!is_blocked(qp))
		soft_state_schedule(qp);
	return false;
}

/* A small packet by itself. 0 or -errno. */
static int send_one(struct qp *qp, const struct roce_packet *packet)
{
	uint8_t bytes[ROCE_HEADER_MAX + OF_BITMAP_BYTES + ROCE_ICRC_BYTES];
	size_t n = roce_wire_build(packet, bytes);
	uint32_t crc = htole32(roce_icrc_compute(&qp->flow, 0, bytes, n, packet->payload,
						 packet->payload_bytes, 0));

	if (packet->payload_bytes)
		memcpy(bytes + n, packet->payload, packet->payload_bytes);
	n += packet->payload_bytes;
	memcpy(bytes + n, &crc, sizeof(crc));
	return sendto(qp->socket->fd, bytes, n + sizeof(crc), MSG_DONTWAIT,
		      (struct sockaddr *)&qp->remote_at, qp->remote_at_bytes) < 0
		       ? -errno
		       : 0;
}

/*
 * Devices send CNPs with PSN 0. But rdma_rxe, which does not know them, takes whatever is no
 * request for an answer to one; an answer of long ago it ignores. Nobody else looks at a CNP's PSN.
 */
void soft_tx_cnp(struct qp *qp, uint32_t psn, uint64_t now_ns)
{
	static const uint8_t zeros[ROCE_CNP_BYTES];
	struct roce_packet cnp = {.opcode = ROCE_CNP,
				  .dest_qpn = qp->remote.qpn,
				  .psn = (psn - CNP_PSN_BACK) & ROCE_PSN_MASK,
				  .payload = zeros,
				  .payload_bytes = sizeof(zeros)};

	if (now_ns - qp->cnp_sent_ns < (qp->pace ? qp->pace->rate.config.cnp_ns : CNP_NS) ||
	    qp->socket->is_full)
		return;
	qp->cnp_sent_ns = now_ns;
	if (!send_one(qp, &cnp)) /* or the next mark does */
		qp->ep->stats.cnps_sent++;
}

static void acknowledge(struct qp *qp)
{
	uint8_t bitmap[OF_BITMAP_BYTES], syndrome = *soft_protocol_syndrome(qp);
	struct roce_packet answer;

	if (soft_protocol_take_answer(qp, bitmap, &answer) && send_one(qp, &answer) == -EAGAIN) {
		/* behind our own data in the socket: it goes out when that has left */
		give_back_answer(qp, syndrome);
		block(qp);
	}
}

/* Those of one QP; at most a burst of read responses, the QP stays runnable. May end the QP. */
static void soft_tx_answer(struct qp *qp)
{
	if (!soft_state_is_live(qp) || is_blocked(qp))
		return;
	if (qp->socket->is_full) {
		block(qp);
		return;
	}
	if (!answer_reads(qp))
		return;
	acknowledge(qp);
	if (soft_protocol_is_dead(qp) && !soft_protocol_answer_due(qp))
		soft_state_refuse(qp);
}

int soft_tx_run(struct qp_endpoint *ep, uint64_t now_ns)
{
	int turns = 0;

	while (turns < TURNS && !soft_link_is_alone(&ep->runnable)) {
		struct qp *qp = soft_link_owner(ep->runnable.next, struct qp, runnable);

		soft_link_remove(&qp->runnable);
		/* one that waits for its turn does so */
		if (soft_protocol_answer_due(qp) &&
		    (soft_link_is_alone(&qp->answering) || !soft_alarm_is_spinning(&ep->alarm)))
			soft_tx_answer(qp);
		if (soft_tx_burst(qp, now_ns))
			soft_state_schedule(qp);
		turns++;
	}
	return turns;
}

void soft_tx_answers(struct qp_endpoint *ep)
{
	ep->delayed = (struct soft_delayed){.converses = ep->delayed.replied};
	while (!soft_link_is_alone(&ep->answering)) {
		struct qp *qp = soft_link_owner(ep->answering.next, struct qp, answering);

		soft_link_remove(&qp->answering);
		soft_tx_answer(qp);
	}
}

static void wake_waiting(struct soft_socket *socket)
{
	while (!soft_link_is_alone(&socket->waiting)) {
		struct qp *qp = soft_link_owner(socket->waiting.next, struct qp, waiting);

		soft_link_remove(&qp->waiting);
		soft_state_schedule(qp);
	}
}

int soft_tx_unblock(struct qp_endpoint *ep)
{
	struct epoll_event events[16];
	int n, woken = 0;

	if (!ep->sockets.n_full)
		return 0;
	n = epoll_wait(ep->alarm.epoll_fd, events, 16, 0);
	for (int i = 0; i < n; i++) {
		struct soft_socket *socket = events[i].data.ptr;

		if (!socket)
			continue;
		soft_sockets_clear_full(&ep->sockets, socket);
		wake_waiting(socket);
		woken++;
	}
	return woken;
}
