/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_mr.h - fi_mr(3): the application's regions.
 *
 * Basic: a key is libfare's rkey, an address is a virtual one. Scalable: a key is the
 * application's, an address is an offset; peers ask which of libfare's regions it stands for
 * (ofi_tables.h). Only regions that peers may reach have a key of the table.
 */
#ifndef OFI_MR_H
#define OFI_MR_H

#include <rdma/fi_domain.h>

#include "fare.h"
#include "ofi/ofi_tables.h"

struct ofi_domain;

struct ofi_mr {
	struct fid_mr fid;
	struct ofi_domain *domain;
	struct fare_mr *mr;
	uintptr_t addr;
	size_t length;
	unsigned rights; /* FARE_REMOTE_* */
	uint64_t key;
	UT_hash_handle hh, hh_desc;
};

/* those of a domain: that peers may reach; all, by their own address, which is fi_mr_desc() */
struct ofi_mrs {
	struct ofi_mr *by_key, *by_desc;
};

extern struct fi_ops_mr ofi_mr_ops;

/* NULL: none has that key. */
const struct ofi_mr *ofi_mr_find(const struct ofi_mrs *mrs, uint64_t key);
/* NULL: the region that the application names so is closed. */
const struct ofi_mr *ofi_mr_of_desc(const struct ofi_mrs *mrs, const void *desc);
/* Logs why libfare has no memory for that; one line a second. Under the domain's lock. */
void ofi_mr_say_why(struct ofi_domain *domain, const char *what, int err);
/*
 * For what this process does to its own memory: length bytes at an address of a region, as the
 * application names both, with all of these rights; NULL: there are none.
 */
void *ofi_mr_reach(const struct ofi_mrs *mrs, uint64_t key, uint64_t addr, uint64_t length,
		   unsigned rights);

#endif
