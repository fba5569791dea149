/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_ep.c - fi_endpoint(3), fi_cm(3): endpoints of type FI_EP_RDM are opened, bound, enabled,
 * named and closed.
 */
#include "ofi/ofi.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "ofi/ofi_name.h"

#define LINGER_POLL_MS 10

/* ---- binding ---- */

static int bind_cq(struct ofi_ep *ep, struct ofi_cq *cq, uint64_t flags)
{
	if (!(flags & (FI_TRANSMIT | FI_RECV)) || (flags & FI_TRANSMIT && ep->tx_cq) ||
	    (flags & FI_RECV && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		cq->n_bound++;
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		cq->n_bound++;
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
		[OFI_CNTR_REMOTE_READ] = FI_REMOTE_READ,
		[OFI_CNTR_REMOTE_WRITE] = FI_REMOTE_WRITE,
	};
	uint64_t known = 0;

	for (unsigned i = 0; i < OFI_CNTRS; i++)
		known |= flag[i];
	if (!flags || flags & ~known)
		return -FI_EBADFLAGS;
	for (unsigned i = 0; i < OFI_CNTRS; i++)
		if (flags & flag[i] && ep->cntr[i])
			return -FI_EINVAL;
	for (unsigned i = 0; i < OFI_CNTRS; i++) {
		if (!(flags & flag[i]))
			continue;
		ep->cntr[i] = cntr;
		cntr->n_bound++;
	}
	return 0;
}

static int bind_any(struct ofi_ep *ep, struct fid *bfid, uint64_t flags)
{
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, container_of(bfid, struct ofi_cq, fid.fid), flags);
	case FI_CLASS_AV:
		return ofi_av_bind(ep, bfid);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, container_of(bfid, struct ofi_cntr, fid.fid), flags);
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

static void ep_unbind(struct ofi_ep *ep)
{
	for (unsigned i = 0; i < OFI_CNTRS; i++)
		if (ep->cntr[i])
			ep->cntr[i]->n_bound--;
	if (ep->tx_cq)
		ep->tx_cq->n_bound--;
	if (ep->rx_cq)
		ep->rx_cq->n_bound--;
	ofi_av_unbind(ep);
}

/* ---- enabling ---- */

static int ep_enable(struct ofi_ep *ep)
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
		err = ep_enable(ep);
	ofi_unlock(ep->domain);
	return err;
}

/* ---- closing ---- */

/* What was injected: no other process can send it again. */
static void linger(struct ofi_ep *ep)
{
	struct ofi_domain *domain = ep->domain;
	struct pollfd p = {.fd = fare_domain_fd(domain->fare_domain), .events = POLLIN};
	uint64_t end_ns = clock_now_ns() + domain->env.linger_ms * UINT64_C(1000000);

	ofi_progress_by_application(domain);
	while (ep->n_tx && !domain->is_inherited && clock_now_ns() < end_ns) {
		ofi_leave(domain);
		poll(&p, 1, LINGER_POLL_MS);
		ofi_lock(domain);
		ofi_progress_by_application(domain);
	}
}

static void drop_messages(struct ofi_ep *ep)
{
	struct ofi_arrived *a, *next;

	for (unsigned tagged = 0; tagged < 2; tagged++) {
		DL_FOREACH_SAFE (ep->match.arrived[tagged], a, next) {
			ofi_match_remove(&ep->match, a);
			ofi_message_discard((struct ofi_message *)a, 0);
			free(a);
		}
	}
	while (ep->claimed) {
		struct ofi_message *m = ep->claimed;

		ep->claimed = (struct ofi_message *)m->arrived.next;
		ofi_message_discard(m, 0);
		free(m);
	}
}

static void drop_receives(struct ofi_ep *ep)
{
	struct ofi_posted *p, *next;

	for (unsigned tagged = 0; tagged < 2; tagged++)
		DL_FOREACH_SAFE (ep->match.posted[tagged], p, next) {
			ofi_match_unpost(&ep->match, p);
			if (ofi_recv_end((struct ofi_recv *)p))
				ofi_recv_free((struct ofi_recv *)p);
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

	ofi_recv_silence(ep);
	while (!domain->broken && ofi_op_end_ep(ep)) {
		ofi_leave(domain);
		poll(&p, 1, LINGER_POLL_MS);
		ofi_lock(domain);
		ofi_progress_by_application(domain);
		ofi_recv_silence(ep);
	}
	ofi_progress_settle(domain); /* receives whose reads were over before */
	ofi_op_forget_ep(ep);
}

static int ep_close(struct fid *fid)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	struct ofi_domain *domain = ep->domain;

	ofi_lock(domain);
	linger(ep);
	if (ep->enabled)
		domain->eps[ep->number] = NULL;
	drop_receives(ep);
	drop_messages(ep);
	end_operations(ep);
	ep_unbind(ep);
	domain->n_users--;
	ofi_leave(domain);
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
	struct ofi_recv *recv;

	ofi_lock(ep->domain);
	recv = (struct ofi_recv *)find_context(ep, context);
	if (recv)
		ofi_match_unpost(&ep->match, &recv->posted);
	if (recv && ofi_recv_end(recv)) {
		recv->source = FI_ADDR_NOTAVAIL;
		recv->wire.tag = recv->posted.tag;
		ofi_recv_complete(recv, -FI_ECANCELED);
	}
	ofi_leave(ep->domain);
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

static ssize_t rx_size_left(struct fid_ep *fid)
{
	return (ssize_t)(OFI_RX_SIZE - ofi_ep_of(fid)->n_rx);
}

static ssize_t tx_size_left(struct fid_ep *fid)
{
	return (ssize_t)(OFI_TX_SIZE - ofi_ep_of(fid)->n_tx);
}

/* ---- its name ---- */

/*
 * An endpoint wants this address as its own. 0; -FI_EADDRNOTAVAIL: it is not where the domain
 * receives; -FI_EINVAL: it is none.
 */
static int check_source(const struct ofi_domain *d, const void *addr, size_t bytes)
{
	struct ofi_address own = {.process = d->address}, address;
	struct peer_address at, wanted;
	int err = ofi_name_decode(d->format, addr, bytes, &address);

	if (err)
		return -FI_EINVAL;
	ofi_name_place(&own, &at);
	ofi_name_place(&address, &wanted);
	if (!wanted.port)
		wanted.port = at.port;
	return peer_address_equal(&at, &wanted) ? 0 : -FI_EADDRNOTAVAIL;
}

static int ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	struct ofi_address address = {.process = ep->domain->address, .ep = ep->number};
	size_t room = *addrlen, bytes = ofi_name_bytes(ep->domain->format);
	uint8_t text[OFI_NAME_BYTES_MAX];

	*addrlen = bytes;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	ofi_name_encode(ep->domain->format, &address, text);
	memcpy(addr, text, room < bytes ? room : bytes);
	return room < bytes ? -FI_ETOOSMALL : 0;
}

/* The domain receives where it does since it was opened. */
static int ep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);

	if (ep->enabled)
		return -FI_EOPBADSTATE;
	return check_source(ep->domain, addr, addrlen);
}

/* ---- tables ---- */

/* FI_EP_RDM has no connections, and no contexts of its own here. */
OFI_NOT_OFFERED(int, no_getpeer, struct fid_ep *ep, void *addr, size_t *addrlen)
OFI_NOT_OFFERED(int, no_connect, struct fid_ep *ep, const void *addr, const void *p, size_t n)
OFI_NOT_OFFERED(int, no_listen, struct fid_pep *pep)
OFI_NOT_OFFERED(int, no_accept, struct fid_ep *ep, const void *param, size_t paramlen)
OFI_NOT_OFFERED(int, no_reject, struct fid_pep *pep, fid_t handle, const void *param, size_t n)
OFI_NOT_OFFERED(int, no_shutdown, struct fid_ep *ep, uint64_t flags)
OFI_NOT_OFFERED(int, no_join, struct fid_ep *ep, const void *addr, uint64_t flags,
		struct fid_mc **mc, void *context)
OFI_NOT_OFFERED(int, no_tx_ctx, struct fid_ep *sep, int index, struct fi_tx_attr *attr,
		struct fid_ep **ep, void *context)
OFI_NOT_OFFERED(int, no_rx_ctx, struct fid_ep *sep, int index, struct fi_rx_attr *attr,
		struct fid_ep **ep, void *context)

static struct fi_ops_cm ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = ep_setname,
	.getname = ep_getname,
	.getpeer = no_getpeer,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
	.join = no_join,
};

static struct fi_ops ep_fi_ops = OFI_FI_OPS(ep_close, ep_bind, ep_control);

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
	err = info->src_addr
		      ? check_source(ofi_domain_of(domain), info->src_addr, info->src_addrlen)
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
	ep->fid.fid = (struct fid){FI_CLASS_EP, context, &ep_fi_ops};
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &ep_cm_ops;
	ep->fid.msg = &ofi_msg_ops;
	ep->fid.tagged = &ofi_tagged_ops;
	ep->fid.rma = &ofi_rma_ops;
	ep->fid.atomic = &ofi_atomic_ops;
	ofi_domain_hold(ep->domain);
	*out = &ep->fid;
	return 0;
}
