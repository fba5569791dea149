/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_complete.c - completions: which operations end as an entry of a CQ, and what the entry says;
 * what counters count; the events of a queue.
 */
#include "ofi/ofi.h"

#include <stdlib.h>
#include <unistd.h>

#include "ofi/ofi_name.h"

/* ---- a descriptor to wait on ---- */

int ofi_signal_init(struct ofi_signal *signal)
{
	*signal = (struct ofi_signal){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
	return signal->fd < 0 ? -errno : 0;
}

void ofi_signal_fini(struct ofi_signal *signal)
{
	if (signal->fd >= 0)
		close(signal->fd);
	*signal = OFI_SIGNAL_NONE;
}

void ofi_signal_raise(struct ofi_signal *signal)
{
	if (signal->fd < 0 || signal->raised)
		return;
	eventfd_write(signal->fd, 1);
	signal->raised = true;
}

void ofi_signal_clear(struct ofi_signal *signal)
{
	eventfd_t value;

	if (!signal->raised)
		return;
	eventfd_read(signal->fd, &value);
	signal->raised = false;
}

/* ---- the events of a completion queue ---- */

struct ofi_cq_event *ofi_complete_first(const struct ofi_cq *cq)
{
	return cq->n ? fifo_at(&cq->events, sizeof(struct ofi_cq_event), cq->head) : NULL;
}

/* The event is not here any more. */
static void let_go(const struct ofi_cq_event *event)
{
	free(event->unknown);
	if (event->kept_bytes)
		ofi_peer_give_credit(event->peer, event->kept_bytes);
}

void ofi_complete(struct ofi_cq *cq, const struct ofi_cq_event *event)
{
	if (cq->domain->is_inherited) { /* the signal is the parent's */
		free(event->unknown);
		return;
	}
	if (fifo_reserve(&cq->events, sizeof(*event), cq->head, cq->head + cq->n, cq->n + 1)) {
		cq->domain->broken = true; /* a completion less: reads say so from now on */
		let_go(event);
		return;
	}
	*(struct ofi_cq_event *)fifo_at(&cq->events, sizeof(*event), cq->head + cq->n++) = *event;
	ofi_signal_raise(&cq->signal);
}

void ofi_complete_drop(struct ofi_cq *cq)
{
	const struct ofi_cq_event event = *ofi_complete_first(cq);

	cq->head++;
	if (!--cq->n)
		ofi_signal_clear(&cq->signal);
	let_go(&event);
}

/* ---- what completes ---- */

bool ofi_complete_wants_entry(const struct ofi_ep *ep, bool tx, uint64_t flags)
{
	return flags & FI_COMPLETION || !(tx ? ep->tx_selective : ep->rx_selective);
}

static void count_event(struct ofi_cntr *cntr, const struct ofi_cq_event *event)
{
	if (cntr)
		*(event->err ? &cntr->errors : &cntr->value) += 1;
}

static void add_event(struct ofi_cq *cq, bool wanted, const struct ofi_cq_event *event)
{
	if (cq && (wanted || event->err))
		ofi_complete(cq, event);
	else /* where no entry is made, what it would have counted is given back */
		let_go(event);
}

void ofi_complete_op(const struct ofi_op *op)
{
	const struct ofi_cq_event event = {.entry = {.op_context = op->context,
						     .flags = op->flags,
						     .len = op->status ? 0 : op->length},
					   .source = FI_ADDR_NOTAVAIL,
					   .err = -op->status};
	enum ofi_ep_cntr cntr = op->flags & FI_READ    ? OFI_CNTR_READ
				: op->flags & FI_WRITE ? OFI_CNTR_WRITE
						       : OFI_CNTR_SEND;

	count_event(op->ep->cntr[cntr], &event);
	add_event(op->ep->tx_cq, op->wants_entry, &event);
}

/*
 * FI_SOURCE_ERR: what arrives from an address that is not in the AV ends as an error that names the
 * address. Nothing else is wrong with it, so it counts as a success.
 */
void ofi_complete_rx(struct ofi_ep *ep, enum ofi_ep_cntr cntr, bool wanted,
		     struct ofi_cq_event *event, const struct ofi_address *from)
{
	uint32_t format = ep->domain->format;
	bool names_source = ep->caps & FI_SOURCE_ERR && ep->rx_cq && wanted && !event->err &&
			    event->source == FI_ADDR_NOTAVAIL;

	count_event(ep->cntr[cntr], event);
	if (names_source) {
		event->err = FI_EADDRNOTAVAIL;
		event->unknown = malloc(ofi_name_bytes(format));
		if (event->unknown)
			ofi_name_encode(format, from, event->unknown);
	}
	add_event(ep->rx_cq, wanted, event);
}
