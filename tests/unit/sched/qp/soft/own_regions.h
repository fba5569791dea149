/* SPDX-License-Identifier: BSD-2-Clause */
/* own_regions.h - a table with one region, for tests that post work. */
#ifndef OWN_REGIONS_H
#define OWN_REGIONS_H

#include <check.h>

#include "qp/soft/mr_table.h"

static struct mr_table own_regions;
static struct qp_mr own_mr;

/* The region is [addr, addr + length), and no other. */
static inline void own_regions_start(void *addr, size_t length)
{
	mr_table_fini(&own_regions);
	ck_assert_int_eq(mr_table_add(&own_regions, addr, length, 0, 1, &own_mr), 0);
}

#endif
