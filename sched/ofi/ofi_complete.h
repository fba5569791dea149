/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_complete.h - completions: which operations end as an entry of a CQ, and what the entry says;
 * what counters count.
 *
 * Owns nothing; an endpoint's CQs and counters take what is written. Under the domain's lock.
 */
#ifndef OFI_COMPLETE_H
#define OFI_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

struct ofi_ep;
struct ofi_op;
struct ofi_peer;
struct ofi_recv;
struct ofi_wire;

/* Whether an operation with these flags ends as an entry if it succeeds. tx: it is no receive. */
bool ofi_complete_wants_entry(const struct ofi_ep *ep, bool tx, uint64_t flags);
/* The endpoint's operation is over, with op->status. */
void ofi_complete_op(struct ofi_ep *ep, const struct ofi_op *op);
/* Takes the receive: its completion is written, and it is gone. status: 0 or -errno. */
void ofi_complete_recv(struct ofi_recv *recv, int status);
/* A peer's write with remote CQ data: its entry counts against the peer until it is read. */
void ofi_complete_written(struct ofi_ep *ep, struct ofi_peer *peer, uint64_t source,
			  const struct ofi_wire *w);

#endif
