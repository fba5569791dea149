/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_order_free.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "soft_endpoint.h"
#include "soft_sock.h"

static int create(struct qp *qp)
{
	struct soft_order_free *of = calloc(1, sizeof(*of));

	if (!of)
		return -ENOMEM;
	/* the QP's socket is the first path's */
	of->legs[0] = (struct soft_leg){{qp->attr.sub_port, qp->attr.udp_source_port}, qp->socket};
	of->n_legs = 1;
	qp->order_free = of;
	return 0;
}

static int start(struct qp *qp, const struct rc_requester_config *config)
{
	of_receiver_init(&qp->order_free->rx, config->path_mtu, qp->remote.psn, config->stats);
	return of_sender_init(&qp->order_free->tx, config);
}

static void put_legs(struct qp *qp, const struct soft_leg *legs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		soft_sockets_put(&qp->ep->sockets, legs[i].socket);
}

static void destroy(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	if (!of)
		return;
	put_legs(qp, of->legs, of->n_legs);
	qp->socket = NULL;
	of_sender_fini(&of->tx);
	of_receiver_fini(&of->rx);
	free(of);
	qp->order_free = NULL;
}

static bool is_among(const struct qp_path *path, const struct qp_path *paths, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (paths[i].sub_port == path->sub_port &&
		    paths[i].udp_source_port == path->udp_source_port)
			return true;
	return false;
}

static int check_paths(const struct qp *qp, const struct qp_path *paths, unsigned n)
{
	if (!n || n > QP_MAX_PATHS || qp->attr.plane == QP_ANY_PLANE)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++)
		if (paths[i].sub_port >= qp->ep->attr.n_sub_ports[qp->attr.plane] ||
		    paths[i].udp_source_port < ROCE_SOURCE_PORT_FIRST ||
		    is_among(&paths[i], paths, i))
			return -EINVAL;
	return 0;
}

/* All n of legs, or none. */
static int get_legs(struct qp *qp, const struct qp_path *paths, unsigned n, struct soft_leg *legs)
{
	for (unsigned i = 0; i < n; i++) {
		int err = soft_qp_get_socket(qp, &paths[i], &legs[i].socket);

		if (err) {
			put_legs(qp, legs, i);
			return err;
		}
		legs[i].path = paths[i];
	}
	return 0;
}

static void use(struct qp *qp, unsigned turn)
{
	struct soft_order_free *of = qp->order_free;

	of->turn = turn;
	qp->socket = of->legs[turn].socket;
	qp->attr.sub_port = of->legs[turn].path.sub_port;
	qp->attr.udp_source_port = qp->flow.source_port = of->legs[turn].path.udp_source_port;
}

int soft_order_free_spread(struct qp *qp, const struct qp_path *paths, unsigned n)
{
	struct soft_order_free *of = qp->order_free;
	struct soft_leg legs[QP_MAX_PATHS];
	int err = check_paths(qp, paths, n);

	if (!err)
		err = get_legs(qp, paths, n, legs);
	if (err)
		return err;
	put_legs(qp, of->legs, of->n_legs);
	memcpy(of->legs, legs, n * sizeof(*legs));
	of->n_legs = n;
	qp->no_gso = false; /* other devices, perhaps */
	use(qp, 0);
	if (!soft_link_is_alone(&qp->waiting)) { /* for room in a socket that it may not have now */
		soft_link_remove(&qp->waiting);
		soft_qp_schedule(qp);
	}
	return 0;
}

/* The next batch leaves by the next path whose socket has room; by this one if none has. */
static void turn(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	for (unsigned i = 1; i <= of->n_legs; i++) {
		unsigned next = (of->turn + i) % of->n_legs;

		if (of->legs[next].socket->is_full)
			continue;
		use(qp, next);
		return;
	}
}

static int post(struct qp *qp, const struct rc_work *work)
{
	return of_sender_post(&qp->order_free->tx, work);
}

static enum qp_wc_status burst(struct qp *qp, struct roce_packet *out, unsigned max, unsigned *n)
{
	enum qp_wc_status status = of_sender_burst(&qp->order_free->tx, out, max, n);

	if (*n)
		turn(qp);
	return status;
}

static void sent(struct qp *qp, unsigned n_packets, uint64_t now_ns)
{
	of_sender_sent(&qp->order_free->tx, n_packets, now_ns);
}

static bool has_unsent(const struct qp *qp)
{
	return of_sender_has_unsent(&qp->order_free->tx);
}

static uint64_t unsent_bytes(const struct qp *qp)
{
	return of_sender_unsent_bytes(&qp->order_free->tx);
}

static bool is_idle(const struct qp *qp)
{
	return !has_unsent(qp) && !qp->order_free->tx.n_out;
}

static uint64_t deadline_ns(const struct qp *qp)
{
	return qp->order_free->tx.deadline_ns;
}

static enum qp_wc_status on_timer(struct qp *qp, uint64_t now_ns)
{
	return of_sender_on_timer(&qp->order_free->tx, now_ns);
}

static enum qp_wc_status on_answer(struct qp *qp, const struct roce_packet *packet, uint64_t now_ns)
{
	if (packet->opcode == ROCE_ACK || packet->opcode == ROCE_SELECTIVE_ACK)
		return of_sender_on_ack(&qp->order_free->tx, packet, now_ns);
	return QP_WC_SUCCESS;
}

static void kick(struct qp *qp, uint64_t now_ns)
{
	of_sender_kick(&qp->order_free->tx, now_ns);
}

static void slow_down(struct qp *qp)
{
	struct of_sender *tx = &qp->order_free->tx;

	soft_window_marked(&tx->window, tx->una, tx->next);
}

static void fail(struct qp *qp, enum qp_wc_status status)
{
	of_sender_fail(&qp->order_free->tx, status);
}

/* What waits for packets before it does so in vain. */
static void end_receives(struct qp *qp)
{
	struct of_receiver *rx = &qp->order_free->rx;

	for (; rx->n_notices; rx->n_notices--)
		soft_cq_unclaim(&qp->ep->cq, true);
}

static void on_request(struct qp *qp, const struct roce_packet *packet)
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
		soft_qp_notify(qp, &notice);
	ep->stats.rx_dropped += verdict != RC_RESPONDER_PLACED;
	soft_tx_owe_answer(qp);
}

static bool answer_due(const struct qp *qp)
{
	return of_receiver_answer_due(&qp->order_free->rx);
}

static bool take_answer(struct qp *qp, uint8_t bitmap[OF_BITMAP_BYTES], struct roce_packet *out)
{
	return of_receiver_take_answer(&qp->order_free->rx, bitmap, out);
}

static uint8_t *syndrome(struct qp *qp)
{
	return &qp->order_free->rx.syndrome;
}

static bool is_dead(const struct qp *qp)
{
	return qp->order_free->rx.dead;
}

const struct soft_protocol soft_order_free = SOFT_PROTOCOL_OF_FILE;
