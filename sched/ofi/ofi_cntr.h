/* SPDX-License-Identifier: BSD-2-Clause */
/* ofi_cntr.h - fi_cntr(3): counters of completions. */
#ifndef OFI_CNTR_H
#define OFI_CNTR_H

#include <stdbool.h>

#include <rdma/fi_eq.h>

struct ofi_cntr;

int ofi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **out,
		  void *context);
struct ofi_cntr *ofi_cntr_of(struct fid *fid);
void ofi_cntr_bound(struct ofi_cntr *cntr, int by); /* +1, -1: an endpoint uses it */
void ofi_cntr_count(struct ofi_cntr *cntr, bool failed);

#endif
