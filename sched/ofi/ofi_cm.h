/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_cm.h - fi_cm(3): an endpoint's name. FI_EP_RDM has no connections: all else is refused.
 */
#ifndef OFI_CM_H
#define OFI_CM_H

#include <rdma/fi_cm.h>

extern struct fi_ops_cm ofi_cm_ops;

#endif
