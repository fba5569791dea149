/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_bind.h"

#include "ofi/ofi_av.h"
#include "ofi/ofi_cntr.h"
#include "ofi/ofi_cq.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"

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

int ofi_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	int err;

	ofi_lock(ep->domain);
	err = ep->enabled ? -FI_EOPBADSTATE : bind_any(ep, bfid, flags);
	ofi_unlock(ep->domain);
	return err;
}

void ofi_bind_undo(struct ofi_ep *ep)
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
