/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_msg.c - fi_msg(3): libfabric's calls for untagged messages.
 */
#include <rdma/fi_errno.h>

#include "ofi/ofi_ep.h"
#include "ofi/ofi_recv.h"
#include "ofi/ofi_send.h"

#define SEND_FLAGS                                                                                 \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_INJECT_COMPLETE |            \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define RECV_FLAGS (FI_COMPLETION | FI_MORE)

/* ---- receiving ---- */

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t source, void *context)
{
	const struct ofi_receive r = {.iov = iov,
				      .desc = desc,
				      .count = count,
				      .source = source,
				      .context = context,
				      .flags = ofi_ep_of(fid)->rx_flags};

	return ofi_receive(ofi_ep_of(fid), &r);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
			void *context)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = len};

	return msg_recvv(fid, &iov, &desc, 1, source, context);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	const struct ofi_receive r = {.iov = msg->msg_iov,
				      .desc = msg->desc,
				      .count = msg->iov_count,
				      .source = msg->addr,
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
	return ofi_send(ofi_ep_of(fid), s);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
			void *context)
{
	struct ofi_send s = {
		.destination = dest, .context = context, .flags = ofi_ep_of(fid)->tx_flags};

	return send_one(fid, buf, len, desc, &s);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest, void *context)
{
	struct ofi_send s = {.destination = dest,
			     .context = context,
			     .data = data,
			     .wire_flags = OFI_WIRE_DATA,
			     .flags = ofi_ep_of(fid)->tx_flags};

	return send_one(fid, buf, len, desc, &s);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	struct ofi_send s = {.destination = dest, .flags = FI_INJECT, .silent = true};

	return send_one(fid, buf, len, NULL, &s);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest)
{
	struct ofi_send s = {.destination = dest,
			     .data = data,
			     .wire_flags = OFI_WIRE_DATA,
			     .flags = FI_INJECT,
			     .silent = true};

	return send_one(fid, buf, len, NULL, &s);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest, void *context)
{
	const struct ofi_send s = {.iov = iov,
				   .desc = desc,
				   .count = count,
				   .destination = dest,
				   .context = context,
				   .flags = ofi_ep_of(fid)->tx_flags};

	return ofi_send(ofi_ep_of(fid), &s);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	const struct ofi_send s = {.iov = msg->msg_iov,
				   .desc = msg->desc,
				   .count = msg->iov_count,
				   .destination = msg->addr,
				   .data = msg->data,
				   .wire_flags = flags & FI_REMOTE_CQ_DATA ? OFI_WIRE_DATA : 0,
				   .context = msg->context,
				   .flags = flags};

	return flags & ~(uint64_t)SEND_FLAGS ? -FI_EBADFLAGS : ofi_send(ofi_ep_of(fid), &s);
}

struct fi_ops_msg ofi_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
