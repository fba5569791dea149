/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_tagged.c - fi_tagged(3): libfabric's calls for tagged messages.
 */
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "ofi/ofi_ep.h"
#include "ofi/ofi_recv.h"
#include "ofi/ofi_send.h"

#define SEND_FLAGS                                                                                 \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_INJECT_COMPLETE |            \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define RECV_FLAGS (FI_COMPLETION | FI_MORE | FI_PEEK | FI_CLAIM | FI_DISCARD)

/* ---- receiving ---- */

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
	const struct ofi_receive r = {.iov = iov,
				      .desc = desc,
				      .count = count,
				      .source = source,
				      .tagged = true,
				      .tag = tag,
				      .ignore = ignore,
				      .context = context,
				      .flags = ofi_ep_of(fid)->rx_flags};

	return ofi_receive(ofi_ep_of(fid), &r);
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
			   uint64_t tag, uint64_t ignore, void *context)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = len};

	return tagged_recvv(fid, &iov, &desc, 1, source, tag, ignore, context);
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct ofi_receive r = {.iov = msg->msg_iov,
				      .desc = msg->desc,
				      .count = flags & FI_PEEK ? 0 : msg->iov_count,
				      .source = msg->addr,
				      .tagged = true,
				      .tag = msg->tag,
				      .ignore = msg->ignore,
				      .context = msg->context,
				      .flags = flags};

	return flags & ~(uint64_t)RECV_FLAGS ? -FI_EBADFLAGS : ofi_receive(ofi_ep_of(fid), &r);
}

/* ---- sending ---- */

static ssize_t send_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			struct ofi_send *s)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	s->iov = &iov;
	s->desc = &desc;
	s->count = 1;
	s->wire_flags |= OFI_WIRE_TAGGED;
	return ofi_send(ofi_ep_of(fid), s);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t dest, uint64_t tag, void *context)
{
	struct ofi_send s = {.destination = dest,
			     .tag = tag,
			     .context = context,
			     .flags = ofi_ep_of(fid)->tx_flags};

	return send_one(fid, buf, len, desc, &s);
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	struct ofi_send s = {.destination = dest,
			     .tag = tag,
			     .context = context,
			     .data = data,
			     .wire_flags = OFI_WIRE_DATA,
			     .flags = ofi_ep_of(fid)->tx_flags};

	return send_one(fid, buf, len, desc, &s);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
			     uint64_t tag)
{
	struct ofi_send s = {.destination = dest, .tag = tag, .flags = FI_INJECT, .silent = true};

	return send_one(fid, buf, len, NULL, &s);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest, uint64_t tag)
{
	struct ofi_send s = {.destination = dest,
			     .tag = tag,
			     .data = data,
			     .wire_flags = OFI_WIRE_DATA,
			     .flags = FI_INJECT,
			     .silent = true};

	return send_one(fid, buf, len, NULL, &s);
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest, uint64_t tag, void *context)
{
	const struct ofi_send s = {.iov = iov,
				   .desc = desc,
				   .count = count,
				   .destination = dest,
				   .wire_flags = OFI_WIRE_TAGGED,
				   .tag = tag,
				   .context = context,
				   .flags = ofi_ep_of(fid)->tx_flags};

	return ofi_send(ofi_ep_of(fid), &s);
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct ofi_send s = {.iov = msg->msg_iov,
				   .desc = msg->desc,
				   .count = msg->iov_count,
				   .destination = msg->addr,
				   .data = msg->data,
				   .tag = msg->tag,
				   .wire_flags = OFI_WIRE_TAGGED |
						 (flags & FI_REMOTE_CQ_DATA ? OFI_WIRE_DATA : 0),
				   .context = msg->context,
				   .flags = flags};

	return flags & ~(uint64_t)SEND_FLAGS ? -FI_EBADFLAGS : ofi_send(ofi_ep_of(fid), &s);
}

struct fi_ops_tagged ofi_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
