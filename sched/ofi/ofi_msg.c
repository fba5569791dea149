/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_msg.c - fi_msg(3) and fi_tagged(3): libfabric's calls for messages.
 *
 * A message with a tag is one with OFI_WIRE_TAGGED, a receive with a tag is one that is tagged. The
 * two tables differ in nothing else but FI_PEEK, FI_CLAIM and FI_DISCARD, which only tagged
 * receives have, and FI_MULTI_RECV, which only untagged ones have.
 */
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "ofi/ofi_ep.h"
#include "ofi/ofi_recv.h"
#include "ofi/ofi_send.h"

#define SEND_FLAGS                                                                                 \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_INJECT_COMPLETE |            \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define RECV_FLAGS   (FI_COMPLETION | FI_MORE)
#define TAGGED_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)

/* ---- receiving ---- */

static ssize_t receive_buffer(struct fid_ep *fid, void *buf, size_t len, void *desc,
			      struct ofi_receive r)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = len};

	r.iov = &iov;
	r.desc = &desc;
	r.count = 1;
	r.flags = ofi_ep_of(fid)->rx_flags;
	return ofi_receive(ofi_ep_of(fid), &r);
}

static ssize_t receive_vector(struct fid_ep *fid, const struct iovec *iov, void **desc,
			      size_t count, struct ofi_receive r)
{
	r.iov = iov;
	r.desc = desc;
	r.count = count;
	r.flags = ofi_ep_of(fid)->rx_flags;
	return ofi_receive(ofi_ep_of(fid), &r);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
			void *context)
{
	return receive_buffer(fid, buf, len, desc,
			      (struct ofi_receive){.source = source, .context = context});
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t source, void *context)
{
	return receive_vector(fid, iov, desc, count,
			      (struct ofi_receive){.source = source, .context = context});
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	const struct ofi_receive r = {.iov = msg->msg_iov,
				      .desc = msg->desc,
				      .count = msg->iov_count,
				      .source = msg->addr,
				      .context = msg->context,
				      .flags = flags};

	return flags & ~(RECV_FLAGS | FI_MULTI_RECV) ? -FI_EBADFLAGS
						     : ofi_receive(ofi_ep_of(fid), &r);
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
			   uint64_t tag, uint64_t ignore, void *context)
{
	return receive_buffer(fid, buf, len, desc,
			      (struct ofi_receive){.source = source,
						   .tagged = true,
						   .tag = tag,
						   .ignore = ignore,
						   .context = context});
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
	return receive_vector(fid, iov, desc, count,
			      (struct ofi_receive){.source = source,
						   .tagged = true,
						   .tag = tag,
						   .ignore = ignore,
						   .context = context});
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

	return flags & ~(RECV_FLAGS | TAGGED_FLAGS) ? -FI_EBADFLAGS
						    : ofi_receive(ofi_ep_of(fid), &r);
}

/* ---- sending ---- */

static ssize_t send_vector(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   struct ofi_send s)
{
	s.iov = iov;
	s.desc = desc;
	s.count = count;
	s.flags = s.silent ? FI_INJECT : ofi_ep_of(fid)->tx_flags;
	return ofi_send(ofi_ep_of(fid), &s);
}

static ssize_t send_buffer(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   struct ofi_send s)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return send_vector(fid, &iov, &desc, 1, s);
}

/* wire_flags: OFI_WIRE_TAGGED or 0 */
static ssize_t send_message(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint8_t wire_flags,
			    uint64_t flags)
{
	const struct ofi_send s = {
		.iov = msg->msg_iov,
		.desc = msg->desc,
		.count = msg->iov_count,
		.destination = msg->addr,
		.data = msg->data,
		.tag = msg->tag,
		.wire_flags =
			(uint8_t)(wire_flags | (flags & FI_REMOTE_CQ_DATA ? OFI_WIRE_DATA : 0)),
		.context = msg->context,
		.flags = flags};

	return flags & ~SEND_FLAGS ? -FI_EBADFLAGS : ofi_send(ofi_ep_of(fid), &s);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
			void *context)
{
	return send_buffer(fid, buf, len, desc,
			   (struct ofi_send){.destination = dest, .context = context});
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest, void *context)
{
	return send_vector(fid, iov, desc, count,
			   (struct ofi_send){.destination = dest, .context = context});
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	const struct fi_msg_tagged m = {.msg_iov = msg->msg_iov,
					.desc = msg->desc,
					.iov_count = msg->iov_count,
					.addr = msg->addr,
					.context = msg->context,
					.data = msg->data};

	return send_message(fid, &m, 0, flags);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	return send_buffer(fid, buf, len, NULL,
			   (struct ofi_send){.destination = dest, .silent = true});
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest, void *context)
{
	return send_buffer(fid, buf, len, desc,
			   (struct ofi_send){.destination = dest,
					     .wire_flags = OFI_WIRE_DATA,
					     .data = data,
					     .context = context});
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest)
{
	return send_buffer(fid, buf, len, NULL,
			   (struct ofi_send){.destination = dest,
					     .wire_flags = OFI_WIRE_DATA,
					     .data = data,
					     .silent = true});
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t dest, uint64_t tag, void *context)
{
	return send_buffer(fid, buf, len, desc,
			   (struct ofi_send){.destination = dest,
					     .wire_flags = OFI_WIRE_TAGGED,
					     .tag = tag,
					     .context = context});
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest, uint64_t tag, void *context)
{
	return send_vector(fid, iov, desc, count,
			   (struct ofi_send){.destination = dest,
					     .wire_flags = OFI_WIRE_TAGGED,
					     .tag = tag,
					     .context = context});
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return send_message(fid, msg, OFI_WIRE_TAGGED, flags);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
			     uint64_t tag)
{
	return send_buffer(fid, buf, len, NULL,
			   (struct ofi_send){.destination = dest,
					     .wire_flags = OFI_WIRE_TAGGED,
					     .tag = tag,
					     .silent = true});
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	return send_buffer(fid, buf, len, desc,
			   (struct ofi_send){.destination = dest,
					     .wire_flags = OFI_WIRE_TAGGED | OFI_WIRE_DATA,
					     .tag = tag,
					     .data = data,
					     .context = context});
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest, uint64_t tag)
{
	return send_buffer(fid, buf, len, NULL,
			   (struct ofi_send){.destination = dest,
					     .wire_flags = OFI_WIRE_TAGGED | OFI_WIRE_DATA,
					     .tag = tag,
					     .data = data,
					     .silent = true});
}

/* ---- tables ---- */

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
