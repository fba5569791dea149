/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_complete.h"

#include <stdlib.h>

#include "ofi/ofi_cntr.h"
#include "ofi/ofi_cq.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_multi.h"
#include "ofi/ofi_name.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_peer.h"

bool ofi_complete_wants_entry(const struct ofi_ep *ep, bool tx, uint64_t flags)
{
	return flags & FI_COMPLETION || !(tx ? ep->tx_selective : ep->rx_selective);
}

/* Where no entry is made, what it would have counted is given back. */
static void complete(struct ofi_cq *cq, bool wanted, const struct ofi_cq_event *event)
{
	if (cq && (wanted || event->err))
		ofi_cq_add(cq, event);
	else if (event->kept_bytes)
		ofi_peer_give_credit(event->peer, event->kept_bytes);
}

static void count(struct ofi_cntr *cntr, const struct ofi_cq_event *event)
{
	if (cntr)
		ofi_cntr_count(cntr, event->err);
}

/*
 * FI_SOURCE_ERR: what arrives from an address that is not in the AV ends as an error that names the
 * address. Nothing else is wrong with it.
 */
static void name_unknown(const struct ofi_ep *ep, bool wanted, struct ofi_cq_event *event,
			 const struct ofi_address *from)
{
	uint32_t format = ep->domain->format;

	if (!(ep->caps & FI_SOURCE_ERR) || !ep->rx_cq || !wanted || event->err ||
	    event->source != FI_ADDR_NOTAVAIL)
		return;
	event->err = FI_EADDRNOTAVAIL;
	event->unknown = malloc(ofi_name_bytes(format));
	if (event->unknown)
		ofi_name_encode(format, from, event->unknown);
}

void ofi_complete_op(struct ofi_ep *ep, const struct ofi_op *op)
{
	const struct ofi_cq_event event = {.entry = {.op_context = op->context,
						     .flags = op->flags,
						     .len = op->status ? 0 : op->length},
					   .source = FI_ADDR_NOTAVAIL,
					   .err = -op->status};
	enum ofi_ep_cntr cntr = op->flags & FI_READ    ? OFI_CNTR_READ
				: op->flags & FI_WRITE ? OFI_CNTR_WRITE
						       : OFI_CNTR_SEND;

	count(ep->cntr[cntr], &event);
	complete(ep->tx_cq, op->wants_entry, &event);
}

void ofi_complete_recv(struct ofi_recv *recv, int status)
{
	struct ofi_ep *ep = recv->ep;
	uint64_t got = recv->length < recv->room ? recv->length : recv->room;
	bool gives_back = ofi_multi_gives_back(recv);
	struct ofi_cq_event event = {
		.entry = {.op_context = recv->context,
			  .flags = FI_RECV | (recv->posted.tagged ? FI_TAGGED : FI_MSG) |
				   (recv->wire.flags & OFI_WIRE_DATA ? FI_REMOTE_CQ_DATA : 0) |
				   (gives_back ? FI_MULTI_RECV : 0),
			  .len = status ? 0 : got,
			  .buf = recv->n_iov ? recv->iov[0].iov_base : NULL,
			  .data = recv->wire.data,
			  .tag = recv->wire.tag},
		.source = recv->source,
		.err = -status,
		.kept_bytes = recv->kept_bytes,
		.peer = recv->peer};

	if (!status && recv->length > recv->room) {
		event.err = FI_ETRUNC;
		event.olen = recv->length - recv->room;
	}
	/* the application is always told when it has its buffer back */
	recv->kept_bytes = 0;
	count(ep->cntr[OFI_CNTR_RECV], &event);
	name_unknown(ep, recv->wants_entry || gives_back, &event, &recv->from);
	complete(ep->rx_cq, recv->wants_entry || gives_back, &event);
	ofi_multi_free(recv);
}

void ofi_complete_written(struct ofi_ep *ep, struct ofi_peer *peer, uint64_t source,
			  const struct ofi_wire *w)
{
	const struct ofi_address from = {peer->address, w->src_ep};
	struct ofi_cq_event event = {
		.entry = {.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
			  .len = w->length,
			  .data = w->data},
		.source = source,
		.kept_bytes = (uint32_t)ofi_wire_cost(OFI_WRITTEN, 0),
		.peer = peer};

	count(ep->cntr[OFI_CNTR_REMOTE_WRITE], &event);
	name_unknown(ep, true, &event, &from);
	complete(ep->rx_cq, true, &event);
}
