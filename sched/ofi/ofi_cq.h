/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_cq.h - fi_cq(3): completion queues of every format; waiting by descriptor, in the call, or
 * not at all.
 *
 * A queue is never overrun: it grows, and what is outstanding bounds it: operations, posted
 * receives, and what peers have credit for.
 */
#ifndef OFI_CQ_H
#define OFI_CQ_H

#include <rdma/fi_eq.h>

struct ofi_domain;
struct ofi_peer;

struct ofi_cq_event {
	struct fi_cq_tagged_entry entry;
	uint64_t source;
	size_t olen; /* bytes that did not fit */
	int err;     /* 0, or an errno: read by fi_cq_readerr() */
	/* it counts so much against that peer until it is read; or 0 */
	uint32_t kept_bytes;
	struct ofi_peer *peer;
	/* FI_EADDRNOTAVAIL: the source's address in the domain's format; malloc'ed */
	void *unknown;
};

struct ofi_cq;

int ofi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		void *context);
struct ofi_cq *ofi_cq_of(struct fid *fid);
void ofi_cq_bound(struct ofi_cq *cq, int by); /* +1, -1: an endpoint uses it */
/* Under the domain's lock. Takes event->unknown. */
void ofi_cq_add(struct ofi_cq *cq, const struct ofi_cq_event *event);
/* 0: the application may wait; -FI_EAGAIN: there is something to read. Takes the lock. */
int ofi_cq_trywait(struct fid *fid);

#endif
