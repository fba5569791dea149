/* SPDX-License-Identifier: BSD-2-Clause */
/* ofi_strerror.h - fi_cq_strerror(), fi_eq_strerror(): provider's errors are libfabric's own. */
#ifndef OFI_STRERROR_H
#define OFI_STRERROR_H

#include <stdio.h>

#include <rdma/fi_errno.h>

/* buf takes len bytes of the text at most, ended by a zero; NULL or 0: none. */
static inline const char *ofi_strerror(int prov_errno, char *buf, size_t len)
{
	if (buf && len)
		snprintf(buf, len, "%s", fi_strerror(prov_errno));
	return fi_strerror(prov_errno);
}

#endif
