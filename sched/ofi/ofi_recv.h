/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_recv.h - posting receives, and looking at messages that wait (FI_PEEK, FI_CLAIM,
 * FI_DISCARD).
 */
#ifndef OFI_RECV_H
#define OFI_RECV_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <rdma/fabric.h>

struct ofi_ep;

struct ofi_receive {
	const struct iovec *iov;
	void **desc;
	size_t count;
	fi_addr_t source;
	bool tagged;
	uint64_t tag, ignore;
	void *context;
	uint64_t flags;
};

/* Takes the lock. 0 or -errno. */
ssize_t ofi_receive(struct ofi_ep *ep, const struct ofi_receive *receive);

#endif
