/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_ep.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_av.h"
#include "ofi/ofi_clock.h"
#include "ofi/ofi_cntr.h"
#include "ofi/ofi_cq.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_info.h"
#include "ofi/ofi_no.h"
#include "ofi/ofi_op.h"

#define LINGER_LOOK_MS 10

/* ---- completions ---- */

int ofi_ep_has_room(struct ofi_ep *ep, bool tx)
{
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	return (tx ? ep->n_tx >= OFI_TX_SIZE : ep->n_rx >= OFI_RX_SIZE) ? -FI_EAGAIN : 0;
}

bool ofi_ep_wants_entry(const struct ofi_ep *ep, bool tx, uint64_t flags)
{
	return flags & FI_COMPLETION || !(tx ? ep->tx_selective : ep->rx_selective);
}

static void complete(struct ofi_cq *cq, struct ofi_cntr *cntr, bool wanted,
		     const struct ofi_cq_event *event)
{
	if (cntr)
		ofi_cntr_count(cntr, event->err);
	if (cq && (wanted || event->err))
		ofi_cq_add(cq, event);
}

/* Those that read for a receive end as the receive does. */
void ofi_ep_op_begins(struct ofi_ep *ep, const struct ofi_op *op)
{
	(void)op;
	ep->n_tx++;
}

void ofi_ep_op_ends(struct ofi_ep *ep, const struct ofi_op *op)
{
	(void)op;
	ep->n_tx--;
}

void ofi_ep_op_done(struct ofi_ep *ep, const struct ofi_op *op)
{
	const struct ofi_cq_event event = {.entry = {.op_context = op->context,
						     .flags = op->flags,
						     .len = op->status ? 0 : op->length},
					   .source = FI_ADDR_NOTAVAIL,
					   .err = -op->status};
	enum ofi_ep_cntr cntr = op->flags & FI_READ    ? OFI_CNTR_READ
				: op->flags & FI_WRITE ? OFI_CNTR_WRITE
						       : OFI_CNTR_SEND;

	complete(ep->tx_cq, ep->cntr[cntr], op->wants_entry, &event);
}

void ofi_ep_recv_done(struct ofi_recv *recv, int status)
{
	struct ofi_ep *ep = recv->ep;
	uint64_t got = recv->length < recv->room ? recv->length : recv->room;
	struct ofi_cq_event event = {
		.entry = {.op_context = recv->context,
			  .flags = FI_RECV | (recv->posted.tagged ? FI_TAGGED : FI_MSG) |
				   (recv->wire.flags & OFI_WIRE_DATA ? FI_REMOTE_CQ_DATA : 0),
			  .len = status ? 0 : got,
			  .buf = recv->n_iov ? recv->iov[0].iov_base : NULL,
			  .data = recv->wire.data,
			  .tag = recv->wire.tag},
		.source = recv->source,
		.err = -status};

	if (!status && recv->length > recv->room) {
		event.err = FI_ETRUNC;
		event.olen = recv->length - recv->room;
	}
	complete(ep->rx_cq, ep->cntr[OFI_CNTR_RECV], recv->wants_entry, &event);
	ep->n_rx--;
	free(recv);
}

void ofi_ep_written(struct ofi_ep *ep, uint64_t source, const struct ofi_wire *w)
{
	const struct ofi_cq_event event = {
		.entry = {.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
			  .len = w->length,
			  .data = w->data},
		.source = source};

	if (ep->rx_cq)
		ofi_cq_add(ep->rx_cq, &event);
}

/* ---- binding ---- */

static int bind_cq(struct ofi_ep *ep, struct ofi_cq *cq, uint64_t flags)
{
	if (!(flags & (FI_TRANSMIT | FI_RECV)) || (flags & FI_TRANSMIT && ep->tx_cq) ||
	    (flags & FI_RECV && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		ofi_cq_bound(cq, 1);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		ofi_cq_bound(cq, 1);
	}
	return 0;
}

static int bind_cntr(struct ofi_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	static const uint64_t flag[OFI_CNTRS] = {
		[OFI_CNTR_SEND] = FI_SEND,
		[OFI_CNTR_RECV] = FI_RECV,
		[OFI_CNTR_READ] = FI_READ,
		[OFI_CNTR_WRITE] = FI_WRITE,
	};

	/* nobody is told here of what peers do to memory */
	if (!flags || flags & ~(uint64_t)(FI_SEND | FI_RECV | FI_READ | FI_WRITE))
		return -FI_ENOSYS;
	for (unsigned i = 0; i < OFI_CNTRS; i++) {
		if (!(flags & flag[i]))
			continue;
		if (ep->cntr[i])
			return -FI_EINVAL;
		ep->cntr[i] = cntr;
		ofi_cntr_bound(cntr, 1);
	}
	return 0;
}

static int bind_av(struct ofi_ep *ep, struct ofi_av *av)
{
	if (ep->av)
		return -FI_EINVAL;
	ep->av = av;
	ofi_av_bind_ep(av, ep);
	return 0;
}

static int bind_any(struct ofi_ep *ep, struct fid *bfid, uint64_t flags)
{
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, ofi_cq_of(bfid), flags);
	case FI_CLASS_AV:
		return bind_av(ep, ofi_av_of(bfid));
	case FI_CLASS_CNTR:
		return bind_cntr(ep, ofi_cntr_of(bfid), flags);
	case FI_CLASS_EQ: /* nothing is said there */
	case FI_CLASS_MR:
		return 0;
	}
	return -FI_EINVAL;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	int err;

	ofi_lock(ep->domain);
	err = ep->enabled ? -FI_EOPBADSTATE : bind_any(ep, bfid, flags);
	ofi_unlock(ep->domain);
	return err;
}

static void unbind_all(struct ofi_ep *ep)
{
	for (unsigned i = 0; i < OFI_CNTRS; i++)
		if (ep->cntr[i])
			ofi_cntr_bound(ep->cntr[i], -1);
	if (ep->tx_cq)
		ofi_cq_bound(ep->tx_cq, -1);
	if (ep->rx_cq)
		ofi_cq_bound(ep->rx_cq, -1);
	if (ep->av)
		ofi_av_unbind_ep(ep->av, ep);
}

static int enable(struct ofi_ep *ep)
{
	if (!ep->av)
		return -FI_ENOAV;
	if ((ep->caps & (FI_SEND | FI_READ | FI_WRITE) && !ep->tx_cq && !ep->cntr[OFI_CNTR_SEND] &&
	     !ep->cntr[OFI_CNTR_READ] && !ep->cntr[OFI_CNTR_WRITE]) ||
	    (ep->caps & FI_RECV && !ep->rx_cq && !ep->cntr[OFI_CNTR_RECV]))
		return -FI_ENOCQ;
	for (unsigned i = 0; i < OFI_EPS_MAX && !ep->enabled; i++) {
		if (ep->domain->eps[i])
			continue;
		ep->domain->eps[i] = ep;
		ep->number = (uint16_t)i;
		ep->enabled = true;
	}
	return ep->enabled ? 0 : -FI_ENOSPC;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	int err = 0;

	(void)arg;
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	ofi_lock(ep->domain);
	if (!ep->enabled)
		err = enable(ep);
	ofi_unlock(ep->domain);
	return err;
}

/* ---- closing ---- */

/* What was injected is on its way: nobody but this process can send it again. */
static void linger(struct ofi_ep *ep)
{
	struct ofi_domain *domain = ep->domain;
	struct pollfd p = {.fd = fare_domain_fd(domain->fare_domain), .events = POLLIN};
	uint64_t end_ns = ofi_now_ns() + domain->env.linger_ms * UINT64_C(1000000);

	ofi_lock(domain);
	ofi_progress_by_application(domain);
	while (ep->n_tx && ofi_now_ns() < end_ns) {
		ofi_unlock(domain);
		poll(&p, 1, LINGER_LOOK_MS);
		ofi_lock(domain);
		ofi_progress_by_application(domain);
	}
	ofi_unlock(domain);
}

static void drop_messages(struct ofi_ep *ep)
{
	struct ofi_arrived *a, *next;

	for (unsigned tagged = 0; tagged < 2; tagged++) {
		DL_FOREACH_SAFE (ep->match.arrived[tagged], a, next) {
			ofi_match_remove(&ep->match, a);
			ofi_rx_discard((struct ofi_message *)a);
			free(a);
		}
	}
	while (ep->claimed) {
		struct ofi_message *m = ep->claimed;

		ep->claimed = (struct ofi_message *)m->arrived.next;
		ofi_rx_discard(m);
		free(m);
	}
}

static void drop_receives(struct ofi_ep *ep)
{
	struct ofi_posted *p, *next;

	for (unsigned tagged = 0; tagged < 2; tagged++)
		DL_FOREACH_SAFE (ep->match.posted[tagged], p, next) {
			ofi_match_unpost(&ep->match, p);
			free(p);
		}
}

static int ep_close(struct fid *fid)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	struct ofi_domain *domain = ep->domain;

	linger(ep);
	ofi_lock(domain);
	if (ep->enabled)
		domain->eps[ep->number] = NULL;
	drop_receives(ep);
	drop_messages(ep);
	ofi_op_forget_ep(domain, ep);
	unbind_all(ep);
	domain->n_users--;
	ofi_unlock(domain);
	free(ep);
	return 0;
}

/* ---- small calls ---- */

static struct ofi_posted *find_context(struct ofi_ep *ep, const void *context)
{
	struct ofi_posted *p;

	for (unsigned tagged = 0; tagged < 2; tagged++)
		DL_FOREACH (ep->match.posted[tagged], p)
			if (((struct ofi_recv *)p)->context == context)
				return p;
	return NULL;
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	struct ofi_posted *p;

	ofi_lock(ep->domain);
	p = find_context(ep, context);
	if (p) {
		ofi_match_unpost(&ep->match, p);
		((struct ofi_recv *)p)->source = FI_ADDR_NOTAVAIL;
		((struct ofi_recv *)p)->wire.tag = p->tag;
		ofi_ep_recv_done((struct ofi_recv *)p, -FI_ECANCELED);
	}
	ofi_unlock(ep->domain);
	return 0;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	(void)fid, (void)value, (void)len;
	return level == FI_OPT_ENDPOINT && name == FI_OPT_CM_DATA_SIZE ? -FI_ENOSYS
								       : -FI_ENOPROTOOPT;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	(void)fid, (void)level, (void)name, (void)value, (void)len;
	return -FI_ENOPROTOOPT;
}

static int no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **ep,
		     void *context)
{
	(void)sep, (void)index, (void)attr, (void)ep, (void)context;
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **ep,
		     void *context)
{
	(void)sep, (void)index, (void)attr, (void)ep, (void)context;
	return -FI_ENOSYS;
}

static ssize_t rx_size_left(struct fid_ep *fid)
{
	return (ssize_t)(OFI_RX_SIZE - ofi_ep_of(fid)->n_rx);
}

static ssize_t tx_size_left(struct fid_ep *fid)
{
	return (ssize_t)(OFI_TX_SIZE - ofi_ep_of(fid)->n_tx);
}

static int ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	struct ofi_address address = {.process = ep->domain->address, .ep = ep->number};
	size_t room = *addrlen;
	uint8_t bytes[OFI_ADDRESS_BYTES];

	*addrlen = sizeof(bytes);
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	ofi_address_encode(&address, bytes);
	memcpy(addr, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
	return room < sizeof(bytes) ? -FI_ETOOSMALL : 0;
}

static int no_setname(fid_t fid, void *addr, size_t addrlen)
{
	(void)fid, (void)addr, (void)addrlen;
	return -FI_ENOSYS;
}

static int no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	(void)ep, (void)addr, (void)addrlen;
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	(void)ep, (void)addr, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *pep)
{
	(void)pep;
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	(void)ep, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	(void)pep, (void)handle, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)ep, (void)flags;
	return -FI_ENOSYS;
}

static int no_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		   void *context)
{
	(void)ep, (void)addr, (void)flags, (void)mc, (void)context;
	return -FI_ENOSYS;
}

/* ---- tables ---- */

static struct fi_ops ep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = ofi_no_ops_open,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx,
	.rx_size_left = rx_size_left,
	.tx_size_left = tx_size_left,
};

static struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = no_setname,
	.getname = ep_getname,
	.getpeer = no_getpeer,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
	.join = no_join,
};

static void take_attributes(struct ofi_ep *ep, const struct fi_info *info)
{
	ep->caps = info->caps;
	ep->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	ep->send_after_write = info->tx_attr && info->tx_attr->msg_order & FI_ORDER_SAW;
}

int ofi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct ofi_ep *ep;

	if (info->ep_attr && info->ep_attr->type != FI_EP_UNSPEC &&
	    info->ep_attr->type != FI_EP_RDM)
		return -FI_EINVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->domain = ofi_domain_of(domain);
	take_attributes(ep, info);
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fi_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.msg = &ofi_msg_ops;
	ep->fid.tagged = &ofi_tagged_ops;
	ep->fid.rma = &ofi_rma_ops;
	ofi_lock(ep->domain);
	ep->domain->n_users++;
	ofi_unlock(ep->domain);
	*out = &ep->fid;
	return 0;
}
