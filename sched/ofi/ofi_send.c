/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_send.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "ofi/ofi_av.h"
#include "ofi/ofi_complete.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_info.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_queue.h"

/* Its window is charged. */
static int prepare_eager(struct ofi_op *op, struct ofi_wire *w, const struct ofi_send *send)
{
	int err = 0;

	w->kind = OFI_EAGER;
	op->ends_early =
		!send->silent && !(send->flags & (FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE));
	if (send->flags & FI_DELIVERY_COMPLETE) {
		w->flags |= OFI_WIRE_ACK;
		err = ofi_op_await_fin(op);
		w->cookie = op->cookie;
	}
	if (!err)
		err = ofi_op_set_eager(op, w, send->iov, op->length);
	return err == -ENOSPC ? -FI_EAGAIN : err;
}

/* One piece of memory for the receiver to read: the application's, or a copy. */
static int prepare_rts(struct ofi_op *op, struct ofi_wire *w, const struct ofi_send *send)
{
	bool copied = send->flags & FI_INJECT || send->count > 1;
	int err;

	if (!ofi_peer_charge(op, OFI_RTS, op->length))
		return -FI_EAGAIN;
	err = copied ? ofi_op_copy_memory(op, send->iov, send->count, op->length, FARE_REMOTE_READ)
		     : ofi_op_take_memory(op, send->iov, send->desc, send->count, op->length,
					  FARE_REMOTE_READ);

	if (!err)
		err = ofi_op_await_fin(op);
	if (err)
		return err == -ENOSPC ? -FI_EAGAIN : err;
	w->kind = OFI_RTS;
	w->cookie = op->cookie;
	w->length = op->length;
	if (op->n_pieces) {
		w->address = (uintptr_t)op->pieces[0].data;
		w->rkey = fare_mr_rkey(op->pieces[0].mr);
	}
	return ofi_op_set_message(op, w);
}

static int prepare(struct ofi_op *op, const struct ofi_send *send, uint16_t dst_ep)
{
	struct ofi_wire w = {.flags = send->wire_flags,
			     .src_ep = op->ep->number,
			     .dst_ep = dst_ep,
			     .tag = send->tag,
			     .data = send->data};
	/* what is this process's own is copied once if it is announced */
	uint64_t longest = op->peer->is_self && op->domain->env.eager_bytes > OFI_RECORD_MAX
				   ? OFI_RECORD_MAX
				   : op->domain->env.eager_bytes;
	bool eager = op->length <= longest && ofi_peer_charge(op, OFI_EAGER, op->length);

	op->context = send->context;
	op->flags = FI_SEND | (send->wire_flags & OFI_WIRE_TAGGED ? FI_TAGGED : FI_MSG);
	op->wants_entry = !send->silent && ofi_complete_wants_entry(op->ep, true, send->flags);
	op->after_writes = op->ep->send_after_write;
	return eager ? prepare_eager(op, &w, send) : prepare_rts(op, &w, send);
}

static ssize_t send_locked(struct ofi_ep *ep, const struct ofi_send *send)
{
	uint64_t length = ofi_iov_bytes(send->iov, send->count);
	struct ofi_peer *peer;
	struct ofi_op *op;
	uint16_t dst_ep;
	int err = ofi_ep_has_room(ep, true);

	if (err)
		return err;
	peer = ofi_av_peer(ep->av, send->destination, &dst_ep);
	if (!peer || send->count > OFI_IOV_MAX)
		return -FI_EINVAL;
	if (length > (send->flags & FI_INJECT ? OFI_RECORD_MAX : OFI_MAX_SIZE))
		return -FI_EMSGSIZE;
	op = ofi_op_create(ep->domain, ep, peer, OFI_OP_MESSAGE);
	if (!op)
		return -FI_ENOMEM;
	op->length = length;
	err = prepare(op, send, dst_ep);
	if (err) {
		ofi_op_destroy(op);
		return err;
	}
	ofi_queue_submit(op);
	return 0;
}

ssize_t ofi_send(struct ofi_ep *ep, const struct ofi_send *send)
{
	ssize_t err;

	ofi_lock(ep->domain);
	err = send_locked(ep, send);
	ofi_unlock(ep->domain);
	return err;
}
