/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_ep.h - fi_endpoint(3): an endpoint of type FI_EP_RDM.
 *
 * Owns what is bound to it, its receives and unexpected messages, and the count of its operations.
 */
#ifndef OFI_EP_H
#define OFI_EP_H

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include "ofi/ofi_fabric.h"
#include "ofi/ofi_tables.h"
#include "ofi/ofi_rx.h"
#include "ofi/ofi_wire.h"

struct ofi_av;
struct ofi_cntr;
struct ofi_cq;
struct ofi_domain;
struct ofi_op;

/*
 * OFI_CNTR_REMOTE_READ never counts, and OFI_CNTR_REMOTE_WRITE only writes with remote CQ data:
 * this end does not see others complete. An application that needs them asks for FI_RMA_EVENT,
 * which is not offered.
 */
enum ofi_ep_cntr {
	OFI_CNTR_SEND,
	OFI_CNTR_RECV,
	OFI_CNTR_READ,
	OFI_CNTR_WRITE,
	OFI_CNTR_REMOTE_READ,
	OFI_CNTR_REMOTE_WRITE,
	OFI_CNTRS,
};

struct ofi_ep {
	struct fid_ep fid;
	struct ofi_domain *domain;
	uint16_t number;
	bool enabled;
	struct ofi_av *av;
	struct ofi_cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective; /* entries only for operations with FI_COMPLETION */
	struct ofi_cntr *cntr[OFI_CNTRS];
	uint64_t caps, tx_flags, rx_flags;
	bool send_after_write; /* FI_ORDER_SAW */
	struct ofi_match match;
	struct ofi_message *claimed; /* by fi_trecvmsg(FI_CLAIM); linked by arrived.next */
	unsigned n_tx, n_rx;	     /* operations; receives posted or being read */
	size_t min_multi_recv;	     /* FI_OPT_MIN_MULTI_RECV, in bytes */
};

static inline struct ofi_ep *ofi_ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct ofi_ep, fid);
}

int ofi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		void *context);

/* -FI_EAGAIN: as many as the queue takes are outstanding, of that direction. */
int ofi_ep_has_room(struct ofi_ep *ep, bool tx);

extern struct fi_ops_msg ofi_msg_ops;
extern struct fi_ops_tagged ofi_tagged_ops;
extern struct fi_ops_rma ofi_rma_ops;
extern struct fi_ops_atomic ofi_atomic_ops;

#endif
