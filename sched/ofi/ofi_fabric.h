/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_fabric.h - fi_fabric(3): opens domains and event queues, and says whether an application may
 * wait on descriptors.
 */
#ifndef OFI_FABRIC_H
#define OFI_FABRIC_H

#include <stddef.h>

#include <rdma/fabric.h>

/* libfabric's headers have it up to release 1 */
#ifndef container_of
#define container_of(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))
#endif

#define OFI_FABRIC_NAME "fare"

struct ofi_fabric {
	struct fid_fabric fid;
	unsigned n_users; /* domains and event queues */
};

int ofi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context);

#endif
