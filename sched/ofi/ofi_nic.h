/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_nic.h - struct fid_nic of a local GPU: its planes as one network card, with the speed of the
 * sub-ports that are up.
 */
#ifndef OFI_NIC_H
#define OFI_NIC_H

#include <rdma/fabric.h>

#include "fare.h"

/* NULL: no memory, or no such GPU. It goes with the fi_info that holds it. */
struct fid_nic *ofi_nic_create(const struct fare *fare, unsigned gpu);

#endif
