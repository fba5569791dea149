/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_info.h - fi_getinfo(3): what this provider offers for each local GPU, and whether that is
 * what the hints ask for.
 */
#ifndef OFI_INFO_H
#define OFI_INFO_H

#include <stdbool.h>

#include <rdma/fabric.h>

#define OFI_CAPS_TX (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE)
#define OFI_CAPS_RX                                                                                \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |    \
	 FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV | FI_MULTI_RECV)
#define OFI_CAPS_DOMAIN (FI_LOCAL_COMM | FI_REMOTE_COMM)
/* fi_ep_attr.protocol: of the range that is left to providers */
#define OFI_PROTOCOL (UINT32_C(1) << 31)
/* messages in order; a message behind a write that was posted before; atomic operations in order */
#define OFI_ORDER                                                                                  \
	(FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |                 \
	 FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
#define OFI_MR_MODE  (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define OFI_TX_SIZE  1024
#define OFI_RX_SIZE  16384
#define OFI_IOV_MAX  FARE_PIECES_MAX
#define OFI_MAX_SIZE (SIZE_MAX >> 16)

/*
 * The modes of fi_mr(3) before 1.5, which are no bits: FI_MR_BASIC and FI_MR_SCALABLE. Programs
 * still ask for them; libfabric 2 calls the names deprecated.
 */
enum { OFI_MR_BASIC = 1, OFI_MR_SCALABLE = 2 };

/* Whether a domain of that info has keys of the application's choice (fi_mr(3)). */
bool ofi_info_is_scalable(const struct fi_info *info);
int ofi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **out);

#endif
