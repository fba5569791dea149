/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_event.c - what devices report (IBTA 11.6.3): ports, GIDs, QPs, completion queues and
 * devices that fail.
 */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 64 /* a turn: the rest keeps the descriptor readable */

static void fail(struct qp *qp, int error)
{
	if (qp && !qp->error)
		qp->error = error;
}

static void fail_port(struct qp_endpoint *ep, unsigned device, unsigned port, int error)
{
	for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
		if (qp->device == device && qp->port == port)
			fail(qp, error);
}

static void on_port(struct qp_endpoint *ep, unsigned device, unsigned port, bool up)
{
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (ep->sub_ports[p][s].device == device &&
			    ep->sub_ports[p][s].port == port)
				ep->sub_ports[p][s].up = up;
	if (!up)
		fail_port(ep, device, port, -ENETDOWN);
}

void verbs_event_follow_gids(struct qp_endpoint *ep, unsigned device)
{
	struct ibv_gid_entry *gids;
	struct ibv_context *context = ep->devices[device].handle->context;
	ssize_t n = verbs_gid_read(context, &gids);

	ep->devices[device].gids_due = n < 0;
	for (unsigned p = 0; n >= 0 && p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			struct verbs_sub_port *sp = &ep->sub_ports[p][s], old = *sp;

			if (sp->device != device)
				continue;
			if (!verbs_gid_find(ep, context, gids, n, p, s))
				sp->has_gid = false;
			if (old.has_gid && (!sp->has_gid || sp->gid_index != old.gid_index ||
					    memcmp(&sp->gid, &old.gid, sizeof(old.gid))))
				for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
					if (qp->attr.plane == p && qp->attr.sub_port == s)
						fail(qp, -EADDRNOTAVAIL);
		}
	}
	free(gids);
}

/* True: the device is lost. */
static bool on_event(struct qp_endpoint *ep, unsigned device, const struct ibv_async_event *e)
{
	struct qp *qp;

	switch (e->event_type) {
	case IBV_EVENT_PORT_ERR:
		on_port(ep, device, (unsigned)e->element.port_num, false);
		return false;
	case IBV_EVENT_PORT_ACTIVE:
		on_port(ep, device, (unsigned)e->element.port_num, true);
		ep->devices[device].gids_due = true;
		return false;
	case IBV_EVENT_GID_CHANGE:
		ep->devices[device].gids_due = true;
		return false;
	case IBV_EVENT_DEVICE_FATAL:
		return true;
	case IBV_EVENT_CQ_ERR: /* each QP has its own: the QP made in its place gets another */
		qp = verbs_qp_find(ep, e->element.cq->cq_context);
		if (qp)
			qp->cq_failed = true;
		fail(qp, -EIO);
		return false;
	case IBV_EVENT_QP_REQ_ERR: /* of the peer (IBTA 11.6.3.2) */
	case IBV_EVENT_QP_ACCESS_ERR:
		qp = verbs_qp_find(ep, e->element.qp->qp_context);
		if (qp)
			qp->refused = true;
		fail(qp, -EIO);
		return false;
	case IBV_EVENT_QP_FATAL:
		fail(verbs_qp_find(ep, e->element.qp->qp_context), -EIO);
		return false;
	default:
		return false; /* of no consequence here */
	}
}

int verbs_event_take(struct qp_endpoint *ep, unsigned device)
{
	struct verbs_handle *handle = ep->devices[device].handle;
	struct ibv_async_event e;
	bool lost = false;
	int n = 0;

	if (!handle)
		return 0;
	for (; n < MAX_EVENTS && !lost; n++) {
		if (ibv_get_async_event(handle->context, &e)) {
			lost = errno != EAGAIN; /* unbound: nothing more will come */
			break;
		}
		lost = on_event(ep, device, &e);
		ibv_ack_async_event(&e);
	}
	if (lost)
		verbs_device_lose(ep, device);
	else if (ep->devices[device].gids_due)
		verbs_event_follow_gids(ep, device); /* once for all of them */
	return n + lost;
}
