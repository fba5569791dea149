/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_rma.c - fi_rma(3): reads and writes of a peer's registered memory.
 *
 * A write that carries remote CQ data is a write and a message behind it, which starts when the
 * write has completed; the operation is over with the second.
 */
#include <stdlib.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "ofi/ofi_av.h"
#include "ofi/ofi_complete.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_info.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_peer.h"
#include "ofi/ofi_queue.h"
#include "ofi/ofi_send.h"

#define FLAGS                                                                                      \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_INJECT_COMPLETE |            \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

struct rma {
	const struct iovec *iov;
	void **desc;
	size_t count;
	fi_addr_t peer;
	uint64_t addr, key, data;
	void *context;
	uint64_t flags; /* FI_REMOTE_CQ_DATA: data counts */
	bool is_read, silent;
};

/* ---- one operation ---- */

static struct ofi_op *begin(struct ofi_ep *ep, struct ofi_peer *peer, const struct rma *r,
			    enum ofi_op_kind kind)
{
	struct ofi_op *op = ofi_op_create(ep->domain, ep, peer, kind);

	if (!op)
		return NULL;
	op->context = r->context;
	op->flags = FI_RMA | (r->is_read ? FI_READ : FI_WRITE);
	op->length = ofi_iov_bytes(r->iov, r->count);
	op->wants_entry = !r->silent && ofi_complete_wants_entry(ep, true, r->flags);
	return op;
}

static int take_memory(struct ofi_op *op, const struct rma *r)
{
	int err = r->flags & FI_INJECT
			  ? ofi_op_copy_memory(op, r->iov, r->count, op->length, 0)
			  : ofi_op_take_memory(op, r->iov, r->desc, r->count, op->length, 0);

	op->key = r->key;
	op->address = r->addr;
	op->by_key = op->domain->is_scalable;
	op->remote_addr = r->addr;
	op->rkey = (uint32_t)r->key;
	return err == -ENOSPC ? -FI_EAGAIN : err;
}

/* The message behind a write with data. */
static int follow(struct ofi_ep *ep, struct ofi_peer *peer, const struct rma *r, uint16_t dst_ep,
		  struct ofi_op **out)
{
	const struct ofi_wire w = {.kind = OFI_WRITTEN,
				   .flags = OFI_WIRE_DATA,
				   .src_ep = ep->number,
				   .dst_ep = dst_ep,
				   .data = r->data,
				   .length = ofi_iov_bytes(r->iov, r->count)};
	struct ofi_op *op = begin(ep, peer, r, OFI_OP_MESSAGE);

	if (!op)
		return -FI_ENOMEM;
	if (!ofi_peer_charge(op, OFI_WRITTEN, 0)) {
		ofi_op_destroy(op);
		return -FI_EAGAIN; /* the peer's application has not read what came before */
	}
	if (ofi_op_set_message(op, &w)) {
		ofi_op_destroy(op);
		return -FI_ENOMEM;
	}
	*out = op;
	return 0;
}

static int prepare(struct ofi_op *op, const struct rma *r, uint16_t dst_ep)
{
	int err = take_memory(op, r);

	if (!err && r->flags & FI_REMOTE_CQ_DATA && !r->is_read)
		err = follow(op->ep, op->peer, r, dst_ep, &op->announces);
	return err;
}

static int submit(struct ofi_ep *ep, struct ofi_peer *peer, const struct rma *r, uint16_t dst_ep)
{
	struct ofi_op *op = begin(ep, peer, r, r->is_read ? OFI_OP_READ : OFI_OP_WRITE);
	int err = op ? prepare(op, r, dst_ep) : -FI_ENOMEM;

	if (err) {
		if (op)
			ofi_op_destroy(op);
		return err;
	}
	if (op->n_pieces)
		ofi_queue_submit(op);
	else
		ofi_op_settle(op, 0, 0);
	return 0;
}

static ssize_t rma(struct fid_ep *fid, const struct rma *r)
{
	struct ofi_ep *ep = ofi_ep_of(fid);
	struct ofi_peer *peer;
	uint16_t dst_ep;
	int err;

	ofi_lock(ep->domain);
	err = ofi_ep_has_room(ep, true);
	peer = err ? NULL : ofi_av_peer(ep->av, r->peer, &dst_ep);
	if (!err &&
	    (!peer || r->count > OFI_IOV_MAX || (r->key > UINT32_MAX && !ep->domain->is_scalable)))
		err = -FI_EINVAL;
	if (!err && r->flags & FI_INJECT && ofi_iov_bytes(r->iov, r->count) > OFI_RECORD_MAX)
		err = -FI_EMSGSIZE;
	if (!err)
		err = submit(ep, peer, r, dst_ep);
	ofi_unlock(ep->domain);
	return err;
}

/* ---- libfabric's calls ---- */

static ssize_t rma_vector(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  struct rma r)
{
	r.iov = iov;
	r.desc = desc;
	r.count = count;
	r.flags |= r.silent ? FI_INJECT : ofi_ep_of(fid)->tx_flags;
	if (r.is_read) /* what is read cannot be injected */
		r.flags &= ~FI_INJECT;
	return rma(fid, &r);
}

static ssize_t rma_buffer(struct fid_ep *fid, const void *buf, size_t len, void *desc, struct rma r)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return rma_vector(fid, &iov, &desc, 1, r);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	return rma_vector(fid, iov, desc, count,
			  (struct rma){.peer = peer,
				       .addr = addr,
				       .key = key,
				       .context = context,
				       .is_read = true});
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t peer,
			uint64_t addr, uint64_t key, void *context)
{
	return rma_buffer(fid, buf, len, desc,
			  (struct rma){.peer = peer,
				       .addr = addr,
				       .key = key,
				       .context = context,
				       .is_read = true});
}

static ssize_t rma_msg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags,
		       bool is_read)
{
	const struct rma r = {.iov = msg->msg_iov,
			      .desc = msg->desc,
			      .count = msg->iov_count,
			      .peer = msg->addr,
			      .addr = msg->rma_iov[0].addr,
			      .key = msg->rma_iov[0].key,
			      .data = msg->data,
			      .context = msg->context,
			      .flags = flags,
			      .is_read = is_read};

	if (flags & ~(uint64_t)FLAGS || (is_read && flags & FI_INJECT))
		return -FI_EBADFLAGS;
	return msg->rma_iov_count == 1 ? rma(fid, &r) : -FI_EINVAL;
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, true);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	return rma_vector(fid, iov, desc, count,
			  (struct rma){.peer = peer, .addr = addr, .key = key, .context = context});
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	return rma_buffer(fid, buf, len, desc,
			  (struct rma){.peer = peer, .addr = addr, .key = key, .context = context});
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, false);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t peer,
			  uint64_t addr, uint64_t key)
{
	return rma_buffer(fid, buf, len, NULL,
			  (struct rma){.peer = peer, .addr = addr, .key = key, .silent = true});
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t peer, uint64_t addr, uint64_t key,
			     void *context)
{
	return rma_buffer(fid, buf, len, desc,
			  (struct rma){.peer = peer,
				       .addr = addr,
				       .key = key,
				       .data = data,
				       .context = context,
				       .flags = FI_REMOTE_CQ_DATA});
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t peer, uint64_t addr, uint64_t key)
{
	return rma_buffer(fid, buf, len, NULL,
			  (struct rma){.peer = peer,
				       .addr = addr,
				       .key = key,
				       .data = data,
				       .flags = FI_REMOTE_CQ_DATA,
				       .silent = true});
}

struct fi_ops_rma ofi_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
