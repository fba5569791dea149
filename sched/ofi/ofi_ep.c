/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_ep.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_bind.h"
#include "ofi/ofi_cm.h"
#include "ofi/ofi_complete.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_info.h"
#include "ofi/ofi_multi.h"
#include "ofi/ofi_no.h"
#include "base/clock.h"
#include "ofi/ofi_op.h"

#define LINGER_LOOK_MS 10

/* ---- operations ---- */

int ofi_ep_has_room(struct ofi_ep *ep, bool tx)
{
	if (ep->domain->is_inherited)
		return -ECHILD;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	return (tx ? ep->n_tx >= OFI_TX_SIZE : ep->n_rx >= OFI_RX_SIZE) ? -FI_EAGAIN : 0;
}

/* ---- enabling ---- */

static int enable(struct ofi_ep *ep)
{
	if (!ep->av)
		return -FI_ENOAV;
	if ((ep->caps & (FI_SEND | FI_READ | FI_WRITE) && !ep->tx_cq && !ep->cntr[OFI_CNTR_SEND] &&
	     !ep->cntr[OFI_CNTR_READ] && !ep->cntr[OFI_CNTR_WRITE]) ||
	    (ep->caps & FI_RECV && !ep->rx_cq && !ep->cntr[OFI_CNTR_RECV]))
		return -FI_ENOCQ;
	/* a socket address cannot say which endpoint it is */
	if (ep->domain->format != FI_FORMAT_UNSPEC && ep->domain->eps[0])
		return -FI_EADDRINUSE;
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
	uint64_t end_ns = clock_now_ns() + domain->env.linger_ms * UINT64_C(1000000);

	ofi_lock(domain);
	ofi_progress_by_application(domain);
	while (ep->n_tx && !domain->is_inherited && clock_now_ns() < end_ns) {
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
			if (ofi_multi_end((struct ofi_recv *)p))
				ofi_multi_free((struct ofi_recv *)p);
		}
}

/*
 * What groups still have of the endpoint's operations must not touch the application's memory any
 * more. libfare says when a device has let go of it, which does not depend on the peer.
 */
static void end_operations(struct ofi_ep *ep)
{
	struct ofi_domain *domain = ep->domain;
	struct pollfd p = {.fd = fare_domain_fd(domain->fare_domain), .events = POLLIN};

	ofi_lock(domain);
	while (!domain->broken && ofi_op_end_ep(domain, ep)) {
		ofi_unlock(domain);
		poll(&p, 1, LINGER_LOOK_MS);
		ofi_lock(domain);
		ofi_progress_by_application(domain);
	}
	ofi_unlock(domain);
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
	ofi_unlock(domain);
	end_operations(ep);
	ofi_lock(domain);
	ofi_op_forget_ep(domain, ep);
	ofi_bind_undo(ep);
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
	if (p)
		ofi_match_unpost(&ep->match, p);
	if (p && ofi_multi_end((struct ofi_recv *)p)) {
		((struct ofi_recv *)p)->source = FI_ADDR_NOTAVAIL;
		((struct ofi_recv *)p)->wire.tag = p->tag;
		ofi_complete_recv((struct ofi_recv *)p, -FI_ECANCELED);
	}
	ofi_unlock(ep->domain);
	return 0;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	size_t room = *len;

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	*len = sizeof(ep->min_multi_recv);
	if (room < sizeof(ep->min_multi_recv))
		return -FI_ETOOSMALL;
	ofi_lock(ep->domain);
	memcpy(value, &ep->min_multi_recv, sizeof(ep->min_multi_recv));
	ofi_unlock(ep->domain);
	return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (len != sizeof(ep->min_multi_recv))
		return -FI_EINVAL;
	ofi_lock(ep->domain);
	memcpy(&ep->min_multi_recv, value, sizeof(ep->min_multi_recv));
	ofi_unlock(ep->domain);
	return 0;
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

/* ---- tables ---- */

static struct fi_ops ep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ofi_bind,
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
	int err;

	if (info->ep_attr && info->ep_attr->type != FI_EP_UNSPEC &&
	    info->ep_attr->type != FI_EP_RDM)
		return -FI_EINVAL;
	err = info->src_addr ? ofi_domain_check_source(ofi_domain_of(domain), info->src_addr,
						       info->src_addrlen)
			     : 0;
	if (err)
		return err;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->domain = ofi_domain_of(domain);
	take_attributes(ep, info);
	/* so no eager message is cut short by default */
	ep->min_multi_recv = OFI_RECORD_MAX;
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fi_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &ofi_cm_ops;
	ep->fid.msg = &ofi_msg_ops;
	ep->fid.tagged = &ofi_tagged_ops;
	ep->fid.rma = &ofi_rma_ops;
	ep->fid.atomic = &ofi_atomic_ops;
	ofi_lock(ep->domain);
	ep->domain->n_users++;
	ofi_unlock(ep->domain);
	*out = &ep->fid;
	return 0;
}
