/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_order_free.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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

	of->legs[0] = (struct soft_leg){{qp->attr.sub_port, qp->attr.udp_source_port}, qp->fd};
	of->n_legs = 1;
}

void soft_order_free_destroy(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	for (unsigned i = 0; i < of->n_legs; i++)
		close(of->legs[i].fd);
	if (of->n_legs)
		qp->fd = -1;
	of_sender_fini(&of->tx);
	free(of);
	qp->order_free = NULL;
}

static const struct soft_leg *find(const struct soft_order_free *of, const struct qp_path *path)
{
	for (unsigned i = 0; i < of->n_legs; i++)
		if (of->legs[i].path.sub_port == path->sub_port &&
		    of->legs[i].path.udp_source_port == path->udp_source_port)
			return &of->legs[i];
	return NULL;
}

int soft_order_free_fd(const struct qp *qp, const struct qp_path *path)
{
	const struct soft_leg *leg = find(qp->order_free, path);

	return leg ? leg->fd : -1;
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

/* Those there are stay open; in: all n of legs, or none of those that are new. */
static int open_new(struct qp *qp, const struct qp_path *paths, unsigned n, struct soft_leg *legs)
{
	int err = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct soft_leg *old = find(qp->order_free, &paths[i]);

		legs[i] = (struct soft_leg){.path = paths[i], .fd = old ? old->fd : -1};
		if (old || err)
			continue;
		legs[i].fd = soft_sock_open_tx(&qp->ep->attr.address, &legs[i].path.udp_source_port,
					       qp->ep->attr.dev[qp->attr.plane][paths[i].sub_port],
					       soft_qp_tx_bytes(qp));
		err = legs[i].fd < 0 ? legs[i].fd : 0;
	}
	for (unsigned i = 0; err && i < n; i++)
		if (legs[i].fd >= 0 && !find(qp->order_free, &paths[i]))
			close(legs[i].fd);
	return err;
}

static void use(struct qp *qp, unsigned turn)
{
	struct soft_order_free *of = qp->order_free;

	of->turn = turn;
	qp->fd = of->legs[turn].fd;
	qp->attr.sub_port = of->legs[turn].path.sub_port;
	qp->attr.udp_source_port = qp->flow.source_port = of->legs[turn].path.udp_source_port;
}

int soft_order_free_spread(struct qp *qp, const struct qp_path *paths, unsigned n)
{
	struct soft_order_free *of = qp->order_free;
	struct soft_leg legs[QP_MAX_PATHS];
	int err = check_paths(qp, paths, n);

	if (!err)
		err = open_new(qp, paths, n, legs);
	if (err)
		return err;
	soft_tx_forget_block(qp);
	for (unsigned i = 0; i < of->n_legs; i++)
		if (!is_among(&of->legs[i].path, paths, n))
			close(of->legs[i].fd);
	for (unsigned i = 0; i < n; i++)
		of->legs[i] = legs[i];
	of->n_legs = n;
	use(qp, 0);
	return 0;
}

void soft_order_free_turn(struct qp *qp)
{
	struct soft_order_free *of = qp->order_free;

	if (of->n_legs > 1 && !qp->blocked)
		use(qp, (of->turn + 1) % of->n_legs);
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
