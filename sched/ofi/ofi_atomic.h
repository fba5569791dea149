/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_atomic.h - fi_atomic(3): libfabric's calls for atomic operations.
 *
 * What they ask for goes to the target as a record, is done by the target's CPU and answered
 * (ofi_atomic_rx.h). An operation is complete with its answer.
 */
#ifndef OFI_ATOMIC_H
#define OFI_ATOMIC_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>

/* fi_query_atomic(3) */
int ofi_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags);

#endif
