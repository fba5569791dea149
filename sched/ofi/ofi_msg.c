/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_msg.c - fi_msg(3) and fi_tagged(3): messages, eager or announced for the receiver to read;
 * receives; messages that wait (FI_PEEK, FI_CLAIM, FI_DISCARD).
 *
 * A message with a tag is one with OFI_WIRE_TAGGED, a receive with a tag is one that is tagged. The
 * two tables differ in nothing else but FI_PEEK, FI_CLAIM and FI_DISCARD, which only tagged
 * receives have, and FI_MULTI_RECV, which only untagged ones have.
 */
#include "ofi/ofi.h"

#include <stdlib.h>

#define SEND_FLAGS                                                                                 \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_INJECT_COMPLETE |            \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define RECV_FLAGS   (FI_COMPLETION | FI_MORE)
#define TAGGED_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)

struct send {
	struct fi_msg_tagged msg;
	uint8_t wire_flags; /* OFI_WIRE_TAGGED, OFI_WIRE_DATA */
	uint64_t flags;	    /* FI_INJECT, FI_COMPLETION, FI_DELIVERY_COMPLETE */
	bool silent;	    /* an inject call: no entry in a CQ, whatever flags say */
};

struct receive {
	struct fi_msg_tagged msg;
	bool tagged;
	uint64_t flags;
};

#define SEND(...)    ((struct send){__VA_ARGS__})
#define RECEIVE(...) ((struct receive){__VA_ARGS__})

static struct fi_msg_tagged without_tag(const struct fi_msg *msg)
{
	return (struct fi_msg_tagged){.msg_iov = msg->msg_iov,
				      .desc = msg->desc,
				      .iov_count = msg->iov_count,
				      .addr = msg->addr,
				      .context = msg->context,
				      .data = msg->data};
}

/* ---- sending ---- */

/* Its window is charged. */
static int prepare_eager(struct ofi_op *op, struct ofi_wire *w, const struct send *send)
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
		err = ofi_op_set_eager(op, w, send->msg.msg_iov, op->length);
	return err;
}

/* One piece of memory for the receiver to read: the application's, or a copy. */
static int prepare_rts(struct ofi_op *op, struct ofi_wire *w, const struct send *send)
{
	bool copied = send->flags & FI_INJECT || send->msg.iov_count > 1;
	int err;

	if (!ofi_peer_charge(op, OFI_RTS, op->length))
		return -FI_EAGAIN;
	err = copied ? ofi_op_copy_memory(op, send->msg.msg_iov, send->msg.iov_count, op->length,
					  FARE_REMOTE_READ)
		     : ofi_op_take_memory(op, send->msg.msg_iov, send->msg.desc,
					  send->msg.iov_count, op->length, FARE_REMOTE_READ);
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
	ofi_op_set_message(op, w);
	return 0;
}

static int prepare_send(struct ofi_op *op, const struct send *send, uint16_t dst_ep)
{
	struct ofi_wire w = {.flags = send->wire_flags,
			     .src_ep = op->ep->number,
			     .dst_ep = dst_ep,
			     .tag = send->msg.tag,
			     .data = send->msg.data};
	/* what is this process's own is copied once if it is announced */
	uint64_t longest = op->peer->is_self && op->domain->env.eager_bytes > OFI_RECORD_MAX
				   ? OFI_RECORD_MAX
				   : op->domain->env.eager_bytes;
	bool eager = op->length <= longest && ofi_peer_charge(op, OFI_EAGER, op->length);

	op->context = send->msg.context;
	op->flags = FI_SEND | (send->wire_flags & OFI_WIRE_TAGGED ? FI_TAGGED : FI_MSG);
	op->wants_entry = !send->silent && ofi_complete_wants_entry(op->ep, true, send->flags);
	op->after_writes = op->ep->send_after_write;
	return eager ? prepare_eager(op, &w, send) : prepare_rts(op, &w, send);
}

static ssize_t send_locked(struct ofi_ep *ep, const struct send *send)
{
	uint64_t length = ofi_iov_bytes(send->msg.msg_iov, send->msg.iov_count);
	struct ofi_peer *peer;
	struct ofi_op *op;
	uint16_t dst_ep;
	int err = ofi_op_has_room(ep, true);

	if (err)
		return err;
	peer = ofi_av_peer(ep->av, send->msg.addr, &dst_ep);
	if (!peer || send->msg.iov_count > OFI_IOV_MAX)
		return -FI_EINVAL;
	if (length > (send->flags & FI_INJECT ? OFI_RECORD_MAX : OFI_MAX_SIZE))
		return -FI_EMSGSIZE;
	op = ofi_op_create(ep->domain, ep, peer, OFI_OP_MESSAGE);
	if (!op)
		return -FI_ENOMEM;
	op->length = length;
	err = prepare_send(op, send, dst_ep);
	if (err) {
		ofi_op_destroy(op);
		return err;
	}
	ofi_op_submit(op);
	return 0;
}

static ssize_t send_any(struct ofi_ep *ep, const struct send *send)
{
	ssize_t err;

	ofi_lock(ep->domain);
	err = send_locked(ep, send);
	ofi_leave(ep->domain);
	return err;
}

/* ---- receiving ---- */

static struct ofi_posted posted_of(const struct ofi_ep *ep, const struct receive *r)
{
	/* without FI_DIRECTED_RECV the source is not looked at */
	return (struct ofi_posted){.source = ep->caps & FI_DIRECTED_RECV ? r->msg.addr
									 : OFI_ANY_SOURCE,
				   .tag = r->msg.tag,
				   .ignore = r->msg.ignore,
				   .tagged = r->tagged};
}

static struct ofi_recv *recv_create(struct ofi_ep *ep, const struct receive *r)
{
	struct ofi_recv *recv = calloc(1, sizeof(*recv));

	if (!recv)
		return NULL;
	recv->posted = posted_of(ep, r);
	recv->ep = ep;
	recv->context = r->msg.context;
	recv->wants_entry = ofi_complete_wants_entry(ep, false, r->flags);
	recv->n_iov = r->msg.iov_count;
	for (size_t i = 0; i < r->msg.iov_count; i++) {
		recv->iov[i] = r->msg.msg_iov[i];
		recv->desc[i] = r->msg.desc ? r->msg.desc[i] : NULL;
	}
	recv->room = ofi_iov_bytes(r->msg.msg_iov, r->msg.iov_count);
	recv->is_multi = !r->tagged && r->flags & FI_MULTI_RECV;
	recv->least = ep->min_multi_recv;
	return recv;
}

static ssize_t recv_make(struct ofi_recv **out, struct ofi_ep *ep, const struct receive *r)
{
	int err = ofi_op_has_room(ep, false);

	if (err)
		return err;
	*out = recv_create(ep, r);
	if (!*out)
		return -FI_ENOMEM;
	ep->n_rx++;
	return 0;
}

/* Messages that wait go into it, until it takes no more; then it waits itself. */
static ssize_t msg_post(struct ofi_ep *ep, const struct receive *r)
{
	struct ofi_recv *recv, *part;
	bool is_spent = false;
	ssize_t err = recv_make(&recv, ep, r);

	if (err)
		return err;
	while (!is_spent) {
		struct ofi_arrived *a = ofi_match_arrived(&ep->match, &recv->posted);

		part = a ? ofi_recv_part(recv, ((struct ofi_message *)a)->length) : NULL;
		if (!part) {
			/* without memory for a part its message waits for the next receive */
			ofi_match_post(&ep->match, &recv->posted);
			return 0;
		}
		is_spent = ofi_recv_is_spent(recv);
		ofi_match_remove(&ep->match, a);
		ofi_recv_deliver(part, (struct ofi_message *)a);
		free(a);
	}
	return 0;
}

/* ---- messages that wait ---- */

static void report_message(struct ofi_ep *ep, const struct receive *r, const struct ofi_message *m)
{
	struct ofi_cq_event event = {.entry = {.op_context = r->msg.context,
					       .flags = FI_RECV | (r->tagged ? FI_TAGGED : FI_MSG),
					       .tag = r->msg.tag},
				     .source = FI_ADDR_NOTAVAIL,
				     .err = m ? 0 : FI_ENOMSG};

	if (m) {
		event.entry.len = m->length;
		event.entry.tag = m->wire.tag;
		event.entry.data = m->wire.data;
		event.entry.flags |= m->wire.flags & OFI_WIRE_DATA ? FI_REMOTE_CQ_DATA : 0;
		event.source = m->arrived.source;
	}
	if (ep->rx_cq)
		ofi_complete(ep->rx_cq, &event);
}

static void claim_message(struct ofi_ep *ep, struct ofi_message *m, void *context)
{
	m->claimed_by = context;
	m->arrived.next = (struct ofi_arrived *)ep->claimed;
	ep->claimed = m;
}

static void discard_message(struct ofi_message *m)
{
	ofi_message_discard(m, 0);
	free(m);
}

static ssize_t peek(struct ofi_ep *ep, const struct receive *r)
{
	const struct ofi_posted wanted = posted_of(ep, r);
	struct ofi_message *m = (struct ofi_message *)ofi_match_arrived(&ep->match, &wanted);

	if (!m) {
		ofi_progress_by_application(ep->domain);
		m = (struct ofi_message *)ofi_match_arrived(&ep->match, &wanted);
	}
	report_message(ep, r, m);
	if (m && r->flags & FI_CLAIM) {
		ofi_match_remove(&ep->match, &m->arrived);
		claim_message(ep, m, r->msg.context);
	} else if (m && r->flags & FI_DISCARD) {
		ofi_match_remove(&ep->match, &m->arrived);
		discard_message(m);
	}
	return 0;
}

/* The message that this context has claimed. */
static struct ofi_message *take_claimed(struct ofi_ep *ep, const void *context)
{
	struct ofi_message *m, *before = NULL;

	for (m = ep->claimed; m && m->claimed_by != context;
	     m = (struct ofi_message *)m->arrived.next)
		before = m;
	if (!m)
		return NULL;
	if (before)
		before->arrived.next = m->arrived.next;
	else
		ep->claimed = (struct ofi_message *)m->arrived.next;
	return m;
}

static ssize_t receive_claimed(struct ofi_ep *ep, const struct receive *r)
{
	struct ofi_message *m = take_claimed(ep, r->msg.context);
	struct ofi_recv *recv;
	ssize_t err;

	if (!m)
		return -FI_ENOMSG;
	if (r->flags & FI_DISCARD) {
		report_message(ep, r, m);
		discard_message(m);
		return 0;
	}
	err = recv_make(&recv, ep, r);
	if (err) {
		claim_message(ep, m, r->msg.context);
		return err;
	}
	ofi_recv_deliver(recv, m);
	free(m);
	return 0;
}

static ssize_t receive_locked(struct ofi_ep *ep, const struct receive *r)
{
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (r->flags & FI_PEEK)
		return peek(ep, r);
	if (r->msg.iov_count > OFI_IOV_MAX)
		return -FI_EINVAL;
	if (r->flags & FI_MULTI_RECV && !r->tagged && r->msg.iov_count != 1)
		return -FI_EINVAL;
	if (r->flags & FI_CLAIM)
		return receive_claimed(ep, r);
	return msg_post(ep, r);
}

static ssize_t receive_any(struct ofi_ep *ep, const struct receive *receive)
{
	ssize_t err;

	ofi_lock(ep->domain);
	err = receive_locked(ep, receive);
	ofi_leave(ep->domain);
	return err;
}

/* ---- calls that receive ---- */

static ssize_t receive_vector(struct fid_ep *fid, const struct iovec *iov, void **desc,
			      size_t count, struct receive r)
{
	r.msg.msg_iov = iov;
	r.msg.desc = desc;
	r.msg.iov_count = count;
	r.flags = ofi_ep_of(fid)->rx_flags;
	return receive_any(ofi_ep_of(fid), &r);
}

static ssize_t receive_buffer(struct fid_ep *fid, void *buf, size_t len, void *desc,
			      struct receive r)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = len};

	return receive_vector(fid, &iov, &desc, 1, r);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
			void *context)
{
	return receive_buffer(fid, buf, len, desc,
			      RECEIVE(.msg.addr = source, .msg.context = context));
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t source, void *context)
{
	return receive_vector(fid, iov, desc, count,
			      RECEIVE(.msg.addr = source, .msg.context = context));
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	const struct receive r = {.msg = without_tag(msg), .flags = flags};

	return flags & ~(RECV_FLAGS | FI_MULTI_RECV) ? -FI_EBADFLAGS
						     : receive_any(ofi_ep_of(fid), &r);
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t source,
			   uint64_t tag, uint64_t ignore, void *context)
{
	return receive_buffer(fid, buf, len, desc,
			      RECEIVE(.msg.addr = source, .tagged = true, .msg.tag = tag,
				      .msg.ignore = ignore, .msg.context = context));
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
	return receive_vector(fid, iov, desc, count,
			      RECEIVE(.msg.addr = source, .tagged = true, .msg.tag = tag,
				      .msg.ignore = ignore, .msg.context = context));
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct receive r = {.msg = *msg, .tagged = true, .flags = flags};

	return flags & ~(RECV_FLAGS | TAGGED_FLAGS) ? -FI_EBADFLAGS
						    : receive_any(ofi_ep_of(fid), &r);
}

/* ---- calls that send ---- */

static ssize_t send_vector(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   struct send s)
{
	s.msg.msg_iov = iov;
	s.msg.desc = desc;
	s.msg.iov_count = count;
	s.flags = s.silent ? FI_INJECT : ofi_ep_of(fid)->tx_flags;
	return send_any(ofi_ep_of(fid), &s);
}

static ssize_t send_buffer(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   struct send s)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return send_vector(fid, &iov, &desc, 1, s);
}

static ssize_t send_message(struct fid_ep *fid, struct send s)
{
	s.wire_flags |= s.flags & FI_REMOTE_CQ_DATA ? OFI_WIRE_DATA : 0;
	return s.flags & ~SEND_FLAGS ? -FI_EBADFLAGS : send_any(ofi_ep_of(fid), &s);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
			void *context)
{
	return send_buffer(fid, buf, len, desc, SEND(.msg.addr = dest, .msg.context = context));
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest, void *context)
{
	return send_vector(fid, iov, desc, count, SEND(.msg.addr = dest, .msg.context = context));
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return send_message(fid, SEND(.msg = without_tag(msg), .flags = flags));
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	return send_buffer(fid, buf, len, NULL, SEND(.msg.addr = dest, .silent = true));
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest, void *context)
{
	return send_buffer(fid, buf, len, desc,
			   SEND(.msg.addr = dest, .wire_flags = OFI_WIRE_DATA, .msg.data = data,
				.msg.context = context));
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest)
{
	return send_buffer(fid, buf, len, NULL,
			   SEND(.msg.addr = dest, .wire_flags = OFI_WIRE_DATA, .msg.data = data,
				.silent = true));
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t dest, uint64_t tag, void *context)
{
	return send_buffer(fid, buf, len, desc,
			   SEND(.msg.addr = dest, .wire_flags = OFI_WIRE_TAGGED, .msg.tag = tag,
				.msg.context = context));
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest, uint64_t tag, void *context)
{
	return send_vector(fid, iov, desc, count,
			   SEND(.msg.addr = dest, .wire_flags = OFI_WIRE_TAGGED, .msg.tag = tag,
				.msg.context = context));
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return send_message(fid, SEND(.msg = *msg, .wire_flags = OFI_WIRE_TAGGED, .flags = flags));
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
			     uint64_t tag)
{
	return send_buffer(fid, buf, len, NULL,
			   SEND(.msg.addr = dest, .wire_flags = OFI_WIRE_TAGGED, .msg.tag = tag,
				.silent = true));
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	return send_buffer(fid, buf, len, desc,
			   SEND(.msg.addr = dest, .wire_flags = OFI_WIRE_TAGGED | OFI_WIRE_DATA,
				.msg.tag = tag, .msg.data = data, .msg.context = context));
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest, uint64_t tag)
{
	return send_buffer(fid, buf, len, NULL,
			   SEND(.msg.addr = dest, .wire_flags = OFI_WIRE_TAGGED | OFI_WIRE_DATA,
				.msg.tag = tag, .msg.data = data, .silent = true));
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
