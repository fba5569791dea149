/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_ends.h - both ends as fi_getinfo(3) has them: which local GPUs the source allows, and the
 * addresses of a struct fi_info.
 *
 * In: node, service, flags and hints. Out: addr_format, src_addr and dest_addr of one GPU's info.
 * With FI_SOURCE node and service are the source, else the destination; the other end is that of
 * the hints. A source without a port, or with the unspecified address, leaves that open.
 */
#ifndef OFI_ENDS_H
#define OFI_ENDS_H

#include "ofi/ofi_name.h"

struct fare;

struct ofi_end {
	int n; /* 0: it was not named */
	struct peer_address at[OFI_NAME_PLACES];
	const void *bytes; /* of the hints, in their format; borrowed */
};

struct ofi_ends {
	uint32_t format; /* of the hints; FI_FORMAT_UNSPEC: opaque bytes */
	struct ofi_end source, destination;
};

/* 0, or -FI_ENODATA: there is no such node, service or format, which is logged. */
int ofi_ends_read(struct ofi_ends *out, const char *node, const char *service, uint64_t flags,
		  const struct fi_info *hints, uint16_t first_port);
/*
 * The GPU's own address; false: it has none that both ends fit, or there is no route to the node.
 * So programs that take any provider do not get this one for a host's other addresses.
 */
bool ofi_ends_fit(const struct ofi_ends *ends, struct fare *fare, unsigned gpu,
		  struct in6_addr *own);
/* 0 or -FI_ENOMEM */
int ofi_ends_fill(const struct ofi_ends *ends, const struct in6_addr *own, struct fi_info *info);

#endif
