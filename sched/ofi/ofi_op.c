/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_complete.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_multi.h"
#include "ofi/ofi_queue.h"
#include "ofi/ofi_rx.h"
#include "ofi/ofi_wire.h"

struct ofi_op *ofi_op_create(struct ofi_domain *domain, struct ofi_ep *ep, struct ofi_peer *peer,
			     enum ofi_op_kind kind)
{
	struct ofi_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->domain = domain;
	op->peer = peer;
	op->kind = kind;
	op->ep = ep;
	DL_APPEND2(domain->ops, op, all_prev, all_next);
	ofi_peer_add_op(peer);
	if (ep)
		ep->n_tx++;
	return op;
}

static void release_memory(struct ofi_op *op)
{
	for (unsigned i = 0; i < op->n_pieces; i++) {
		fare_mr_deregister(op->registered[i]);
		op->registered[i] = NULL;
	}
	op->n_pieces = 0;
	free(op->bounce);
	op->bounce = NULL;
}

void ofi_op_destroy(struct ofi_op *op)
{
	if (op->ep)
		op->ep->n_tx--;
	if (op->cookie)
		ofi_cookies_remove(&op->domain->cookies, op->cookie);
	if (op->announces)
		ofi_op_destroy(op->announces);
	release_memory(op);
	DL_DELETE2(op->domain->ops, op, all_prev, all_next);
	ofi_peer_remove_op(op->peer, op);
	free(op->message);
	free(op);
}

/* ---- memory ---- */

static int take_message(struct ofi_op *op, size_t bytes)
{
	op->message = malloc(bytes);
	if (!op->message)
		return -ENOMEM;
	op->message_bytes = (uint32_t)bytes;
	return 0;
}

int ofi_op_set_message(struct ofi_op *op, const struct ofi_wire *w)
{
	int err = take_message(op, ofi_wire_bytes(w->kind));

	if (!err)
		ofi_wire_encode(w, op->message);
	return err;
}

int ofi_op_set_eager(struct ofi_op *op, const struct ofi_wire *w, const struct iovec *iov,
		     uint64_t bytes)
{
	int err = take_message(op, ofi_wire_eager_bytes(bytes));

	if (!err)
		ofi_wire_encode_eager(w, iov, bytes, op->message);
	return err;
}

static int add_piece(struct ofi_op *op, void *data, uint64_t length, struct fare_mr *mr,
		     unsigned rights)
{
	struct fare_piece *piece = &op->pieces[op->n_pieces];
	int err = 0;

	if (!mr) {
		err = fare_mr_register(&mr, op->domain->fare_domain, data, length, rights);
		op->registered[op->n_pieces] = err ? NULL : mr;
	}
	if (err)
		return err;
	*piece = (struct fare_piece){.data = data, .mr = mr, .length = length};
	op->n_pieces++;
	return 0;
}

/*
 * The application's region serves if it is still open (a receive may have been posted long ago) and
 * has what is needed of it.
 */
static struct fare_mr *region_of(const struct ofi_op *op, void **desc, size_t i, unsigned rights)
{
	const struct ofi_mr *mr =
		desc && desc[i] ? ofi_mr_of_desc(&op->domain->mrs, desc[i]) : NULL;

	return mr && (mr->rights & rights) == rights ? mr->mr : NULL;
}

int ofi_op_take_memory(struct ofi_op *op, const struct iovec *iov, void **desc, size_t count,
		       uint64_t length, unsigned rights)
{
	int err = count > FARE_PIECES_MAX ? -EINVAL : 0;

	for (size_t i = 0; i < count && length && !err; i++) {
		uint64_t n = iov[i].iov_len < length ? iov[i].iov_len : length;

		if (!n)
			continue;
		err = add_piece(op, iov[i].iov_base, n, region_of(op, desc, i, rights), rights);
		length -= n;
	}
	return err;
}

int ofi_op_copy_memory(struct ofi_op *op, const struct iovec *iov, size_t count, uint64_t length,
		       unsigned rights)
{
	uint8_t *copy = malloc(length ? length : 1);

	if (!copy)
		return -ENOMEM;
	op->bounce = copy;
	for (size_t i = 0; i < count; i++) {
		memcpy(copy, iov[i].iov_base, iov[i].iov_len);
		copy += iov[i].iov_len;
	}
	return length ? add_piece(op, op->bounce, length, NULL, rights) : 0;
}

/* ---- waiting ---- */

int ofi_op_await_fin(struct ofi_op *op)
{
	int err = ofi_cookies_add(&op->domain->cookies, op, &op->cookie);

	if (!err)
		op->waits |= OFI_WAIT_FIN;
	return err;
}

struct ofi_op *ofi_op_find(struct ofi_domain *domain, const struct ofi_peer *peer, uint32_t cookie)
{
	struct ofi_op *op = ofi_cookies_find(&domain->cookies, cookie);

	return op && op->peer == peer ? op : NULL;
}

/* The message behind a write: it goes, or fails as the write did. */
static void announce(struct ofi_op *op)
{
	struct ofi_op *next = op->announces;

	op->announces = NULL;
	if (op->status)
		ofi_op_settle(next, 0, op->status);
	else
		ofi_queue_submit(next);
}

static void report(struct ofi_op *op)
{
	op->reported = true;
	if (op->is_question)
		ofi_keys_unask(&op->peer->keys, op->key);
	else if (op->announces)
		announce(op);
	else if (op->recv)
		ofi_rx_read_done(op);
	else if (op->ep)
		ofi_complete_op(op->ep, op);
}

void ofi_op_started(struct ofi_op *op)
{
	if (op->ends_early && !op->reported)
		report(op);
}

void ofi_op_settle(struct ofi_op *op, uint8_t waits, int status)
{
	op->status = op->status ? op->status : status;
	op->waits &= (uint8_t)~waits;
	if (!(op->waits & (OFI_WAIT_FARE | OFI_WAIT_FIN)) && !op->reported)
		report(op);
	if (!op->waits && !op->n_held)
		ofi_op_destroy(op);
}

/* ---- ends ---- */

static struct ofi_op *find_unreported(const struct ofi_domain *domain, const struct ofi_ep *ep)
{
	struct ofi_op *op;

	DL_FOREACH2 (domain->ops, op, all_next)
		if (op->ep == ep && !op->reported)
			return op;
	return NULL;
}

/* An answer to the peer may start, and so end, any other operation: the search begins anew. */
static void silence(struct ofi_domain *domain, const struct ofi_ep *ep)
{
	struct ofi_op *op;

	while ((op = find_unreported(domain, ep))) {
		struct ofi_recv *recv = op->recv;

		op->reported = true;
		op->recv = NULL;
		if (!recv)
			continue;
		ofi_multi_free(recv);
		ofi_rx_refuse(op->peer, op->fin_cookie);
	}
}

/* Regions of the application stay; those of the operation go when it does. */
static bool uses_regions_of_others(const struct ofi_op *op)
{
	for (unsigned i = 0; i < op->n_pieces; i++)
		if (!op->registered[i])
			return true;
	return false;
}

bool ofi_op_end_ep(struct ofi_domain *domain, const struct ofi_ep *ep)
{
	bool any = false;
	struct ofi_op *op;

	silence(domain, ep);
	DL_FOREACH2 (domain->ops, op, all_next) {
		if (op->ep != ep || !op->n_held || !uses_regions_of_others(op))
			continue;
		ofi_peer_disconnect(op->peer);
		any = true;
	}
	return any;
}

void ofi_op_forget_ep(struct ofi_domain *domain, const struct ofi_ep *ep)
{
	struct ofi_op *op;

	silence(domain, ep);
	DL_FOREACH2 (domain->ops, op, all_next) {
		if (op->ep != ep)
			continue;
		op->ep = NULL;
		release_memory(op);
	}
}

void ofi_op_forget_mr(struct ofi_domain *domain, const struct fare_mr *mr)
{
	struct ofi_op *op;

	DL_FOREACH2 (domain->ops, op, all_next)
		for (unsigned i = 0; i < op->n_pieces; i++)
			if (op->pieces[i].mr == mr)
				op->pieces[i].mr = NULL;
}

void ofi_op_destroy_all(struct ofi_domain *domain)
{
	while (domain->ops)
		ofi_op_destroy(domain->ops);
}
