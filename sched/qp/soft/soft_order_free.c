/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_order_free.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "soft_endpoint.h"

static int soft_order_free_create(struct qp *qp)
{
	struct soft_order_free *of = calloc(1, sizeof(*of));

	if (!of)
		return -ENOMEM;
	/* the QP's socket is the first path's */
	of->paths[0] =
		(struct soft_path){{qp->attr.sub_port, qp->attr.udp_source_port}, qp->socket};
	of->n_paths = 1;
	qp->order_free = of;
	return 0;
}

static int soft_order_free_start(struct qp *qp, const struct rc_requester_config *config)
{
	of_receiver_init(&qp->order_free->rx, config->path_mtu, qp->remote.psn, config->stats);
	return of_sender_init(&qp->order_free->tx, config);
}

void soft_order_free_put_paths(struct qp *qp, const struct soft_path *paths, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		soft_sockets_put(&qp->ep->sockets, paths[i].socket);
}

static void soft_order_free_destroy(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	if (!of)
		return;
	soft_order_free_put_paths(qp, of->paths, of->n_paths);
	qp->socket = NULL;
	of_sender_fini(&of->tx);
	of_receiver_fini(&of->rx);
	free(of);
	qp->order_free = NULL;
}

static void soft_order_free_use(struct qp *qp, unsigned turn)
{
	struct soft_order_free *of = qp->order_free;

	of->turn = turn;
	qp->socket = of->paths[turn].socket;
	qp->attr.sub_port = of->paths[turn].path.sub_port;
	qp->attr.udp_source_port = qp->flow.source_port = of->paths[turn].path.udp_source_port;
}

void soft_order_free_set_paths(struct qp *qp, const struct soft_path *paths, unsigned n)
{
	struct soft_order_free *of = qp->order_free;

	soft_order_free_put_paths(qp, of->paths, of->n_paths);
	memcpy(of->paths, paths, n * sizeof(*paths));
	of->n_paths = n;
	soft_order_free_use(qp, 0);
}

/* The next batch leaves by the next path whose socket has room; by this one if none has. */
static void turn(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	for (unsigned i = 1; i <= of->n_paths; i++) {
		unsigned next = (of->turn + i) % of->n_paths;

		if (of->paths[next].socket->is_full)
			continue;
		soft_order_free_use(qp, next);
		return;
	}
}

static int soft_order_free_post(struct qp *qp, const struct rc_work *work)
{
	return of_sender_post(&qp->order_free->tx, work);
}

static enum qp_wc_status soft_order_free_burst(struct qp *qp, struct roce_packet *out, unsigned max,
					       unsigned *n)
{
	enum qp_wc_status status = of_sender_burst(&qp->order_free->tx, out, max, n);

	if (*n)
		turn(qp);
	return status;
}

static void soft_order_free_sent(struct qp *qp, unsigned n_packets, uint64_t now_ns)
{
	of_sender_sent(&qp->order_free->tx, n_packets, now_ns);
}

static bool soft_order_free_has_unsent(const struct qp *qp)
{
	return of_sender_has_unsent(&qp->order_free->tx);
}

static uint64_t soft_order_free_unsent_bytes(const struct qp *qp)
{
	return of_sender_unsent_bytes(&qp->order_free->tx);
}

static bool soft_order_free_is_idle(const struct qp *qp)
{
	return !soft_order_free_has_unsent(qp) && !qp->order_free->tx.n_out;
}

static uint64_t soft_order_free_deadline_ns(const struct qp *qp)
{
	return qp->order_free->tx.deadline_ns;
}

static enum qp_wc_status soft_order_free_on_timer(struct qp *qp, uint64_t now_ns)
{
	return of_sender_on_timer(&qp->order_free->tx, now_ns);
}

static enum qp_wc_status soft_order_free_on_answer(struct qp *qp, const struct roce_packet *packet,
						   uint64_t now_ns)
{
	if (packet->opcode == ROCE_ACK || packet->opcode == ROCE_SELECTIVE_ACK)
		return of_sender_on_ack(&qp->order_free->tx, packet, now_ns);
	return QP_WC_SUCCESS;
}

static void soft_order_free_kick(struct qp *qp, uint64_t now_ns)
{
	of_sender_kick(&qp->order_free->tx, now_ns);
}

static void soft_order_free_slow_down(struct qp *qp)
{
	struct of_sender *tx = &qp->order_free->tx;

	soft_window_marked(&tx->window, tx->una, tx->next);
}

static void soft_order_free_fail(struct qp *qp, enum qp_wc_status status)
{
	of_sender_fail(&qp->order_free->tx, status);
}

/* What waits for packets before it does so in vain. */
static void soft_order_free_end_receives(struct qp *qp)
{
	struct of_receiver *rx = &qp->order_free->rx;

	for (; rx->n_notices; rx->n_notices--)
		soft_cq_unclaim(&qp->ep->cq, true);
}

static void soft_order_free_on_request(struct qp *qp, const struct roce_packet *packet)
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

static bool soft_order_free_answer_due(const struct qp *qp)
{
	return of_receiver_answer_due(&qp->order_free->rx);
}

static bool soft_order_free_take_answer(struct qp *qp, uint8_t bitmap[OF_BITMAP_BYTES],
					struct roce_packet *out)
{
	return of_receiver_take_answer(&qp->order_free->rx, bitmap, out);
}

static uint8_t *soft_order_free_syndrome(struct qp *qp)
{
	return &qp->order_free->rx.syndrome;
}

static bool soft_order_free_is_dead(const struct qp *qp)
{
	return qp->order_free->rx.dead;
}

const struct soft_protocol soft_order_free = SOFT_PROTOCOL(soft_order_free);
