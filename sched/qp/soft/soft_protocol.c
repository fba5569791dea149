/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- paths of an order-free QP ---- */

static void put_paths(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	for (unsigned i = 0; i < of->n_paths; i++)
		soft_sockets_put(&qp->ep->sockets, of->paths[i].socket);
}

static void use_path(struct qp *qp, unsigned turn)
{
	const struct soft_path *path = &qp->order_free->paths[turn];

	qp->order_free->turn = turn;
	qp->socket = path->socket;
	qp->attr.sub_port = path->path.sub_port;
	qp->attr.udp_source_port = qp->flow.source_port = path->path.udp_source_port;
}

void soft_protocol_set_paths(struct qp *qp, const struct soft_path *paths, unsigned n)
{
	put_paths(qp);
	memcpy(qp->order_free->paths, paths, n * sizeof(*paths));
	qp->order_free->n_paths = n;
	use_path(qp, 0);
}

/* The next batch leaves by the next path whose socket has room; by this one if none has. */
static void turn_path(struct qp *qp)
{
	const struct soft_order_free *of = qp->order_free;

	for (unsigned i = 1; i <= of->n_paths; i++) {
		unsigned next = (of->turn + i) % of->n_paths;

		if (of->paths[next].socket->is_full)
			continue;
		use_path(qp, next);
		return;
	}
}

/* ---- from creation to destruction ---- */

int soft_protocol_create(struct qp *qp)
{
	if (!qp->attr.order_free)
		return rc_receives_init(&qp->receives, qp->attr.receives);
	qp->order_free = calloc(1, sizeof(*qp->order_free));
	if (!qp->order_free)
		return -ENOMEM;
	/* the QP's socket is the first path's */
	qp->order_free->paths[0] =
		(struct soft_path){{qp->attr.sub_port, qp->attr.udp_source_port}, qp->socket};
	qp->order_free->n_paths = 1;
	return 0;
}

int soft_protocol_start(struct qp *qp, const struct rc_requester_config *config)
{
	if (qp->order_free) {
		of_receiver_init(&qp->order_free->rx, config->path_mtu, qp->remote.psn,
				 config->stats);
		return of_sender_init(&qp->order_free->tx, config);
	}
	rc_responder_init(&qp->responder, config->path_mtu, qp->remote.psn,
			  qp->attr.receives ? &qp->receives : NULL, config->stats);
	return rc_requester_init(&qp->requester, config);
}

void soft_protocol_destroy(struct qp *qp)
{
	rc_requester_fini(&qp->requester);
	rc_receives_fini(&qp->receives);
	if (!qp->order_free)
		return;
	put_paths(qp);
	qp->socket = NULL;
	of_sender_fini(&qp->order_free->tx);
	of_receiver_fini(&qp->order_free->rx);
	free(qp->order_free);
	qp->order_free = NULL;
}

/* ---- requests of this end ---- */

int soft_protocol_post(struct qp *qp, const struct qp_work *work)
{
	return qp->order_free ? of_sender_post(&qp->order_free->tx, work)
			      : rc_requester_post(&qp->requester, work);
}

enum qp_wc_status soft_protocol_burst(struct qp *qp, struct roce_packet *out, unsigned max,
				      unsigned *n)
{
	enum qp_wc_status status;

	if (!qp->order_free)
		return rc_requester_burst(&qp->requester, out, max, n);
	status = of_sender_burst(&qp->order_free->tx, out, max, n);
	if (*n)
		turn_path(qp);
	return status;
}

void soft_protocol_sent(struct qp *qp, unsigned n_packets, uint64_t now_ns)
{
	if (qp->order_free)
		of_sender_sent(&qp->order_free->tx, n_packets, now_ns);
	else
		rc_requester_sent(&qp->requester, n_packets, now_ns);
}

bool soft_protocol_has_unsent(const struct qp *qp)
{
	return qp->order_free ? of_sender_has_unsent(&qp->order_free->tx)
			      : rc_requester_has_unsent(&qp->requester);
}

uint64_t soft_protocol_unsent_bytes(const struct qp *qp)
{
	return qp->order_free ? of_sender_unsent_bytes(&qp->order_free->tx)
			      : rc_requester_unsent_bytes(&qp->requester);
}

bool soft_protocol_is_idle(const struct qp *qp)
{
	return !soft_protocol_has_unsent(qp) &&
	       (qp->order_free ? !qp->order_free->tx.n_out : rc_requester_is_idle(&qp->requester));
}

uint64_t soft_protocol_deadline_ns(const struct qp *qp)
{
	return qp->order_free ? qp->order_free->tx.deadline_ns : qp->requester.deadline_ns;
}

enum qp_wc_status soft_protocol_on_timer(struct qp *qp, uint64_t now_ns)
{
	return qp->order_free ? of_sender_on_timer(&qp->order_free->tx, now_ns)
			      : rc_requester_on_timer(&qp->requester, now_ns);
}

enum qp_wc_status soft_protocol_on_answer(struct qp *qp, const struct roce_packet *packet,
					  uint64_t now_ns)
{
	bool is_ack = packet->opcode == ROCE_ACK;

	if (qp->order_free && (is_ack || packet->opcode == ROCE_SELECTIVE_ACK))
		return of_sender_on_ack(&qp->order_free->tx, packet, now_ns);
	if (!qp->order_free && is_ack)
		return rc_requester_on_ack(&qp->requester, packet, now_ns);
	if (!qp->order_free && roce_wire_is_read_response(packet->opcode))
		return rc_requester_on_response(&qp->requester, packet, now_ns);
	return QP_WC_SUCCESS;
}

void soft_protocol_kick(struct qp *qp, uint64_t now_ns)
{
	if (qp->order_free)
		of_sender_kick(&qp->order_free->tx, now_ns);
	else
		rc_requester_kick(&qp->requester, now_ns);
}

void soft_protocol_slow_down(struct qp *qp)
{
	struct rc_requester *r = &qp->requester;
	struct of_sender *tx = qp->order_free ? &qp->order_free->tx : NULL;

	if (tx)
		soft_window_marked(&tx->window, tx->una, tx->next);
	else
		soft_window_marked(&r->window, r->una, r->sent);
}

void soft_protocol_fail(struct qp *qp, enum qp_wc_status status)
{
	if (qp->order_free)
		of_sender_fail(&qp->order_free->tx, status);
	else
		rc_requester_fail(&qp->requester, status);
}

/* ---- requests of the peer ---- */

static void on_placement(struct qp *qp, const struct roce_packet *packet)
{
	struct qp_endpoint *ep = qp->ep;
	struct of_receiver *rx = &qp->order_free->rx;
	bool claims = roce_wire_has_imm(packet->opcode),
	     can_notify = claims && !soft_cq_claim(&ep->cq, true);
	enum rc_responder_verdict verdict =
		of_receiver_on_request(rx, &ep->regions, packet, can_notify);
	struct rc_notice notice;

	/* a notification that waits for its turn keeps its place */
	if (can_notify && verdict != RC_RESPONDER_PLACED)
		soft_cq_unclaim(&ep->cq, true);
	while (of_receiver_take_notice(rx, &notice))
		soft_cq_notify(qp, &notice);
	ep->stats.rx_dropped += verdict != RC_RESPONDER_PLACED;
}

void soft_protocol_on_request(struct qp *qp, const struct roce_packet *packet)
{
	struct qp_endpoint *ep = qp->ep;
	enum rc_responder_verdict verdict;
	struct rc_notice notice;
	bool claims, can_notify;

	if (qp->order_free) {
		on_placement(qp, packet);
		return;
	}
	/* posted receives have claimed their places already */
	claims = !qp->attr.receives &&
		 (roce_wire_has_imm(packet->opcode) || roce_wire_is_send(packet->opcode));
	can_notify = !claims || !soft_cq_claim(&ep->cq, true);
	verdict =
		rc_responder_on_request(&qp->responder, &ep->regions, packet, can_notify, &notice);
	if (claims && can_notify && verdict != RC_RESPONDER_NOTIFIED)
		soft_cq_unclaim(&ep->cq, true);
	if (verdict == RC_RESPONDER_NOTIFIED)
		soft_cq_notify(qp, &notice);
	else
		ep->stats.rx_dropped += verdict != RC_RESPONDER_PLACED;
}

bool soft_protocol_answer_due(const struct qp *qp)
{
	return qp->order_free ? of_receiver_answer_due(&qp->order_free->rx)
			      : rc_responder_answer_due(&qp->responder);
}

bool soft_protocol_take_answer(struct qp *qp, uint8_t bitmap[OF_BITMAP_BYTES],
			       struct roce_packet *out)
{
	if (!(qp->order_free ? of_receiver_take_answer(&qp->order_free->rx, bitmap, out)
			     : rc_responder_take_answer(&qp->responder, out)))
		return false;
	out->dest_qpn = qp->remote.qpn;
	return true;
}

uint8_t *soft_protocol_syndrome(struct qp *qp)
{
	return qp->order_free ? &qp->order_free->rx.syndrome : &qp->responder.syndrome;
}

bool soft_protocol_is_dead(const struct qp *qp)
{
	return qp->order_free ? qp->order_free->rx.dead : qp->responder.dead;
}

void soft_protocol_end_receives(struct qp *qp)
{
	struct rc_notice notice;

	/* what waits for packets before it does so in vain */
	for (; qp->order_free && qp->order_free->rx.n_notices; qp->order_free->rx.n_notices--)
		soft_cq_unclaim(&qp->ep->cq, true);
	if (qp->order_free)
		return;
	/* posted ones there may be although it never was connected */
	qp->responder.receives = &qp->receives;
	while (rc_responder_flush(&qp->responder, &notice))
		soft_cq_notify(qp, &notice);
}
