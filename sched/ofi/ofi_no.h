/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_no.h - what this provider's objects answer to calls that they do not have: libfabric's
 * tables must be full.
 */
#ifndef OFI_NO_H
#define OFI_NO_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

struct fi_eq_attr;

int ofi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int ofi_no_control(struct fid *fid, int command, void *arg);
int ofi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
