/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_recv.c - receives, also of several messages (FI_MULTI_RECV); a message meets its receive, and
 * long ones are read from the sender's memory; messages that no receive takes.
 */
#include "ofi/ofi.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* ---- a receive, and the parts of a buffer for several messages ---- */

struct ofi_recv *ofi_recv_part(struct ofi_recv *recv, uint64_t bytes)
{
	struct ofi_recv *part;
	uint64_t left;

	if (!recv->is_multi)
		return recv;
	part = calloc(1, sizeof(*part));
	if (!part)
		return NULL;
	left = recv->room - recv->used;
	part->whole = recv;
	part->ep = recv->ep;
	part->context = recv->context;
	part->wants_entry = recv->wants_entry;
	part->room = bytes < left ? bytes : left;
	part->n_iov = 1;
	part->iov[0].iov_base = (uint8_t *)recv->iov[0].iov_base + recv->used;
	part->iov[0].iov_len = part->room;
	part->desc[0] = recv->desc[0];
	recv->ep->n_rx++;
	recv->n_parts++;
	recv->used += part->room;
	left -= part->room;
	recv->is_spent = !left || left < recv->least;
	return part;
}

bool ofi_recv_is_spent(const struct ofi_recv *recv)
{
	return !recv->is_multi || recv->is_spent;
}

bool ofi_recv_end(struct ofi_recv *recv)
{
	recv->is_spent = true;
	return !recv->n_parts;
}

bool ofi_recv_gives_back(const struct ofi_recv *recv)
{
	return recv->is_multi ||
	       (recv->whole && recv->whole->is_spent && recv->whole->n_parts == 1);
}

void ofi_recv_free(struct ofi_recv *recv)
{
	struct ofi_recv *whole = recv->whole;

	recv->ep->n_rx--;
	if (recv->kept_bytes)
		ofi_peer_give_credit(recv->peer, recv->kept_bytes);
	free(recv);
	if (!whole || --whole->n_parts || !whole->is_spent)
		return;
	whole->ep->n_rx--;
	free(whole);
}

void ofi_recv_complete(struct ofi_recv *recv, int status)
{
	uint64_t got = recv->length < recv->room ? recv->length : recv->room;
	bool gives_back = ofi_recv_gives_back(recv);
	struct ofi_cq_event event = {
		.entry = {.op_context = recv->context,
			  .flags = FI_RECV | (recv->posted.tagged ? FI_TAGGED : FI_MSG) |
				   (recv->wire.flags & OFI_WIRE_DATA ? FI_REMOTE_CQ_DATA : 0) |
				   (gives_back ? FI_MULTI_RECV : 0),
			  .len = status ? 0 : got,
			  .buf = recv->n_iov ? recv->iov[0].iov_base : NULL,
			  .data = recv->wire.data,
			  .tag = recv->wire.tag},
		.source = recv->source,
		.err = -status,
		.kept_bytes = recv->kept_bytes,
		.peer = recv->peer};

	if (!status && recv->length > recv->room) {
		event.err = FI_ETRUNC;
		event.olen = recv->length - recv->room;
	}
	recv->kept_bytes = 0;
	/* a buffer that is given back always has an entry */
	ofi_complete_rx(recv->ep, OFI_CNTR_RECV, recv->wants_entry || gives_back, &event,
			&recv->from);
	ofi_recv_free(recv);
}

/* ---- a message meets its receive ---- */

static void recv_finish(struct ofi_peer *peer, uint32_t cookie, int status)
{
	const struct ofi_wire fin = {
		.kind = OFI_FIN, .cookie = cookie, .status = (uint32_t)-status};

	/* without a link the peer waits no longer; no new one is opened for that */
	if (!ofi_peer_is_linked(peer) || ofi_op_answer(peer, &fin))
		ofi_limits_answered(&peer->limits);
}

/* As far as there is room. */
static void recv_place(const struct ofi_recv *recv, uint64_t at, const uint8_t *data,
		       uint64_t length)
{
	for (size_t i = 0; i < recv->n_iov && length; i++) {
		uint64_t room = recv->iov[i].iov_len, n;

		if (at >= room) {
			at -= room;
			continue;
		}
		n = room - at < length ? room - at : length;
		memcpy((uint8_t *)recv->iov[i].iov_base + at, data, n);
		data += n;
		length -= n;
		at = 0;
	}
}

static void recv_scatter(const struct ofi_recv *recv, const struct ofi_message *m)
{
	uint64_t at = 0;

	if (!m->n_parts)
		recv_place(recv, 0, m->payload, m->length);
	for (unsigned i = 0; i < m->n_parts; i++) {
		recv_place(recv, at, m->parts[i].iov_base, m->parts[i].iov_len);
		at += m->parts[i].iov_len;
	}
}

/* No posted receive bounds the entries that a buffer for several makes: those count on. */
static void recv_credit(struct ofi_recv *recv, const struct ofi_message *m)
{
	recv->peer = m->peer;
	recv->kept_bytes = recv->whole ? OFI_KEPT_BYTES : 0;
	ofi_peer_give_credit(m->peer, ofi_message_cost(m) - recv->kept_bytes);
}

static void deliver_eager(struct ofi_recv *recv, const struct ofi_message *m)
{
	recv_scatter(recv, m);
	recv_credit(recv, m);
	if (m->wire.flags & OFI_WIRE_ACK)
		recv_finish(m->peer, m->wire.cookie, 0);
	ofi_recv_complete(recv, 0);
}

/* 0: the read is submitted */
static int read_message(struct ofi_recv *recv, const struct ofi_message *m, uint64_t length)
{
	struct ofi_op *op = ofi_op_create(m->peer->domain, recv->ep, m->peer, OFI_OP_READ);
	int err;

	if (!op)
		return -ENOMEM;
	err = ofi_op_take_memory(op, recv->iov, recv->desc, recv->n_iov, length, 0);
	if (err) {
		ofi_op_destroy(op);
		return err;
	}
	op->recv = recv;
	op->remote_addr = m->wire.address;
	op->rkey = m->wire.rkey;
	op->fin_cookie = m->wire.cookie;
	ofi_op_submit(op);
	return 0;
}

static void deliver_rts(struct ofi_recv *recv, const struct ofi_message *m)
{
	uint64_t length = m->length < recv->room ? m->length : recv->room;
	int err;

	recv_credit(recv, m);
	err = length ? read_message(recv, m, length) : 0;

	if (length && !err)
		return;
	recv_finish(m->peer, m->wire.cookie, err);
	ofi_recv_complete(recv, err);
}

void ofi_recv_deliver(struct ofi_recv *recv, const struct ofi_message *m)
{
	recv->wire = m->wire;
	recv->source = m->arrived.source;
	recv->from = (struct ofi_address){m->peer->address, m->wire.src_ep};
	recv->length = m->length;
	if (m->wire.kind == OFI_EAGER)
		deliver_eager(recv, m);
	else
		deliver_rts(recv, m);
}

void ofi_recv_read_done(struct ofi_op *op)
{
	/* its region is not needed any more, whatever became of the read; or the peer is gone */
	if (op->status != -ECANCELED && op->status != -ECONNABORTED)
		recv_finish(op->peer, op->fin_cookie, op->status);
	else
		ofi_limits_answered(&op->peer->limits);
	ofi_recv_complete(op->recv, op->status);
	op->recv = NULL;
}

static struct ofi_op *find_unreported(const struct ofi_ep *ep)
{
	struct ofi_op *op;

	DL_FOREACH2 (ep->domain->ops, op, all_next)
		if (op->ep == ep && !op->reported)
			return op;
	return NULL;
}

/* An answer to the peer may start, and so end, any other operation: the search begins anew. */
void ofi_recv_silence(struct ofi_ep *ep)
{
	struct ofi_op *op;

	while ((op = find_unreported(ep))) {
		struct ofi_recv *recv = op->recv;

		op->reported = true;
		op->recv = NULL;
		if (!recv)
			continue;
		ofi_recv_free(recv);
		recv_finish(op->peer, op->fin_cookie, -ECANCELED);
	}
}

/* ---- messages that no receive takes ---- */

static bool wants_fin(const struct ofi_message *m)
{
	return m->wire.kind == OFI_RTS ||
	       (m->wire.kind == OFI_EAGER && m->wire.flags & OFI_WIRE_ACK);
}

void ofi_message_discard(const struct ofi_message *m, int status)
{
	ofi_peer_give_credit(m->peer, ofi_message_cost(m));
	if (wants_fin(m))
		recv_finish(m->peer, m->wire.cookie, status);
}

void ofi_message_drop(struct ofi_message *m)
{
	ofi_peer_taken(m->peer, ofi_message_cost(m));
	if (wants_fin(m))
		ofi_limits_answered(&m->peer->limits);
	free(m);
}
