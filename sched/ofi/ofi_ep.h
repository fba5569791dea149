/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_ep.h - fi_endpoint(3): an endpoint of type FI_EP_RDM.
 *
 * Owns what is bound to it, its receives and unexpected messages, and the count of its operations.
 * It decides which completions are entries of a CQ and which count.
 */
#ifndef OFI_EP_H
#define OFI_EP_H

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include "ofi/ofi_match.h"
#include "ofi/ofi_rx.h"
#include "ofi/ofi_wire.h"

struct ofi_av;
struct ofi_cntr;
struct ofi_cq;
struct ofi_domain;
struct ofi_op;

enum ofi_ep_cntr { OFI_CNTR_SEND, OFI_CNTR_RECV, OFI_CNTR_READ, OFI_CNTR_WRITE, OFI_CNTRS };

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
};

static inline struct ofi_ep *ofi_ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct ofi_ep, fid);
}

int ofi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		void *context);

/* -FI_EAGAIN: as many as the queue takes are outstanding, of that direction. */
int ofi_ep_has_room(struct ofi_ep *ep, bool tx);
bool ofi_ep_wants_entry(const struct ofi_ep *ep, bool tx, uint64_t flags);

/* An operation begins; is over, with a completion; is gone. */
void ofi_ep_op_begins(struct ofi_ep *ep, const struct ofi_op *op);
void ofi_ep_op_done(struct ofi_ep *ep, const struct ofi_op *op);
void ofi_ep_op_ends(struct ofi_ep *ep, const struct ofi_op *op);
/* Takes the receive: its completion is written, and it is gone. status: 0 or -errno. */
void ofi_ep_recv_done(struct ofi_recv *recv, int status);
/* A peer's write with remote CQ data. */
void ofi_ep_written(struct ofi_ep *ep, uint64_t source, const struct ofi_wire *w);

extern struct fi_ops_msg ofi_msg_ops;
extern struct fi_ops_tagged ofi_tagged_ops;
extern struct fi_ops_rma ofi_rma_ops;

#endif
