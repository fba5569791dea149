/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_eq.h - fi_eq(3): an event queue holds only what the application itself writes to it, as
 * nothing here is asynchronous but data.
 */
#ifndef OFI_EQ_H
#define OFI_EQ_H

#include <rdma/fi_eq.h>

int ofi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		void *context);

#endif
