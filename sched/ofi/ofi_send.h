/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_send.h - sending messages, tagged or not: eager, or announced for the receiver to read.
 */
#ifndef OFI_SEND_H
#define OFI_SEND_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <rdma/fabric.h>

struct ofi_ep;

struct ofi_send {
	const struct iovec *iov;
	void **desc;
	size_t count;
	fi_addr_t destination;
	uint8_t wire_flags; /* OFI_WIRE_TAGGED, OFI_WIRE_DATA */
	uint64_t tag, data;
	void *context;
	uint64_t flags; /* FI_INJECT, FI_COMPLETION, FI_DELIVERY_COMPLETE */
	bool silent;	/* an inject call: no entry in a CQ, whatever flags say */
};

/* Takes the lock. 0 or -errno. */
ssize_t ofi_send(struct ofi_ep *ep, const struct ofi_send *send);

/* Bytes of all of them. */
static inline uint64_t ofi_iov_bytes(const struct iovec *iov, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

#endif
