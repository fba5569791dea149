/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_order_free.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "soft_endpoint.h"
#include "soft_sock.h"

int soft_order_free_create(struct qp *qp, const struct rc_requester_config *config)
{
	struct soft_order_free *of = calloc(1, sizeof(*of));
	int err;

	if (!of)
		return -ENOMEM;
	err = of_sender_init(&of->tx, config);
	if (err) {
		free(of);
		return err;
	}
	qp->order_free = of;
	return 0;
}

void soft_order_free_begin(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	of->legs[0] = (struct soft_leg){{qp->attr.sub_port, qp->attr.udp_source_port}, qp->socket};
	of->n_legs = 1;
}

void soft_order_free_destroy(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	for (unsigned i = 0; i < of->n_legs; i++)
		soft_sockets_put(&qp->ep->sockets, of->legs[i].socket);
	if (of->n_legs)
		qp->socket = NULL;
	of_sender_fini(&of->tx);
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
		    paths[i].udp_source_port < SOFT_PORT_FIRST || is_among(&paths[i], paths, i))
			return -EINVAL;
	return 0;
}

static void put_legs(struct qp *qp, const struct soft_leg *legs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		soft_sockets_put(&qp->ep->sockets, legs[i].socket);
}

/* All n of legs, or none. */
static int get_legs(struct qp *qp, const struct qp_path *paths, unsigned n, struct soft_leg *legs)
{
	for (unsigned i = 0; i < n; i++) {
		int err = soft_sockets_get(&qp->ep->sockets, qp->attr.plane, paths[i].sub_port,
					   paths[i].udp_source_port, soft_qp_tx_bytes(qp),
					   &legs[i].socket);

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
	use(qp, 0);
	if (!soft_link_is_alone(&qp->waiting)) { /* for room in a socket that it may not have now */
		soft_link_remove(&qp->waiting);
		soft_qp_schedule(qp);
	}
	return 0;
}

void soft_order_free_turn(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	for (unsigned i = 1; i <= of->n_legs; i++) {
		unsigned turn = (of->turn + i) % of->n_legs;

		if (of->legs[turn].socket->is_full)
			continue;
		use(qp, turn);
		return;
	}
}

void soft_order_free_on_request(struct qp *qp, const struct roce_packet *packet)
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

void soft_order_free_forget(struct qp *qp)
{
	struct of_receiver *rx = &qp->order_free->rx;

	for (; rx->n_notices; rx->n_notices--)
		soft_cq_unclaim(&qp->ep->cq, true);
}
