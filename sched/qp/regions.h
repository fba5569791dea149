/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions.h - registered memory of a domain: struct fare_mr.
 *
 * Solely owns: the regions and the domain's cache of them. A struct fare_mr of fare_mr_get()
 * borrows a region of the cache (mr_cache.h). The domain's thread.
 */
#ifndef QP_REGIONS_H
#define QP_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"

void regions_fini(struct fare_domain *domain); /* all of them */
uint32_t regions_lkey(const struct fare_mr *mr);
/* True: length bytes at data lie within the region, and the region is the domain's. */
bool regions_hold(const struct fare_domain *domain, const struct fare_mr *mr, const void *data,
		  uint64_t length);

#endif
