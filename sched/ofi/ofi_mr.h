/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_mr.h - fi_mr(3): the application's regions, which peers reach by the keys of libfare.
 */
#ifndef OFI_MR_H
#define OFI_MR_H

#include <rdma/fi_domain.h>

#include "fare.h"
#include "ofi/ofi_hash.h"

struct ofi_domain;

struct ofi_mr {
	struct fid_mr fid;
	struct ofi_domain *domain;
	struct fare_mr *mr;
	uintptr_t addr;
	size_t length;
	unsigned rights; /* FARE_REMOTE_* */
	uint32_t rkey;
	UT_hash_handle hh;
};

/* all of a domain, by key: for operations of a process on itself */
struct ofi_mrs {
	struct ofi_mr *by_rkey;
};

extern struct fi_ops_mr ofi_mr_ops;

/* length bytes at addr in a region with that key and that right; NULL: there is none. */
void *ofi_mr_reach(const struct ofi_mrs *mrs, uint32_t rkey, uint64_t addr, uint64_t length,
		   unsigned right);

#endif
