/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_bind.h - fi_ep_bind(3): the queues, counters and the address vector of an endpoint.
 */
#ifndef OFI_BIND_H
#define OFI_BIND_H

#include <rdma/fabric.h>

struct ofi_ep;

/* struct fi_ops.bind of an endpoint. Takes the lock. 0 or -errno; nothing after fi_enable(). */
int ofi_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
/* The endpoint closes. Under the lock. */
void ofi_bind_undo(struct ofi_ep *ep);

#endif
