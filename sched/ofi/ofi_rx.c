/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_rx.c - records that arrive: messages, of one record or several; answers; keys; atomic
 * operations.
 *
 * An atomic operation is done when it arrives, and answered. If the answer cannot be made, the
 * operation is not done.
 */
#include "ofi/ofi.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_atomic_op.h"

/* ---- a message for an endpoint ---- */

/* False: no receive takes it. */
static bool meet(struct ofi_ep *ep, struct ofi_message *m)
{
	struct ofi_posted *posted;
	struct ofi_recv *recv;

	m->arrived.source = ofi_av_find(ep->av, m->peer, m->wire.src_ep);
	m->arrived.tag = m->wire.tag;
	m->arrived.tagged = m->wire.flags & OFI_WIRE_TAGGED;
	posted = ofi_match_posted(&ep->match, &m->arrived);
	recv = posted ? ofi_recv_part((struct ofi_recv *)posted, m->length) : NULL;
	if (!recv)
		return false;
	if (ofi_recv_is_spent((struct ofi_recv *)posted))
		ofi_match_unpost(&ep->match, posted);
	ofi_recv_deliver(recv, m);
	return true;
}

/* On the heap, with room for all of its payload; what is here of that. NULL: no memory. */
static struct ofi_message *copy_message(const struct ofi_message *m)
{
	uint8_t *at;
	struct ofi_message *kept =
		malloc(sizeof(*kept) + (m->wire.kind == OFI_EAGER ? m->length : 0));

	if (!kept) {
		/* a message less: reads of completions say so from now on */
		OFI_WARN(FI_LOG_EP_DATA, "no memory for a message\n");
		m->peer->domain->broken = true;
		ofi_peer_taken(m->peer, ofi_message_cost(m));
		return NULL;
	}
	*kept = *m;
	kept->parts = NULL;
	kept->n_parts = 0;
	at = (uint8_t *)(kept + 1);
	kept->payload = at;
	if (m->wire.kind == OFI_EAGER && !m->n_parts && m->length)
		memcpy(at, m->payload, m->length);
	for (unsigned i = 0; i < m->n_parts; i++) {
		memcpy(at, m->parts[i].iov_base, m->parts[i].iov_len);
		at += m->parts[i].iov_len;
	}
	return kept;
}

static void arrive(struct ofi_ep *ep, struct ofi_message *m)
{
	struct ofi_message *kept = meet(ep, m) ? NULL : copy_message(m);

	if (kept)
		ofi_match_arrive(&ep->match, &kept->arrived);
}

static struct ofi_ep *endpoint_of(const struct ofi_peer *peer, const struct ofi_wire *w)
{
	return w->dst_ep < OFI_EPS_MAX ? peer->domain->eps[w->dst_ep] : NULL;
}

/* ---- messages of several records ---- */

void ofi_rx_settle(struct ofi_domain *domain)
{
	struct ofi_gather *g = &domain->gather;

	if (g->partial)
		*g->partial = copy_message(&g->m);
	g->partial = NULL;
}

static void gather_record(struct ofi_gather *g, const uint8_t *payload, size_t bytes)
{
	g->parts[g->m.n_parts++] =
		(struct iovec){.iov_base = (void *)(uintptr_t)payload, .iov_len = bytes};
}

/* Its first record. */
static void gather_first(struct ofi_message **partial, const struct ofi_message *m, size_t bytes)
{
	struct ofi_domain *domain = m->peer->domain;
	struct ofi_gather *g = &domain->gather;

	ofi_rx_settle(domain);
	g->m = *m;
	g->m.parts = g->parts;
	g->partial = partial;
	gather_record(g, m->payload, bytes);
}

/* Its sender has left out the rest: a record was past its deadline. */
static void give_up(struct ofi_message **partial)
{
	struct ofi_message *m = *partial;

	if (!m)
		return;
	*partial = NULL;
	ofi_message_discard(m, -ECANCELED);
	free(m);
}

/* All of it is here, on the heap. */
static void arrive_whole(struct ofi_message *m)
{
	struct ofi_ep *ep = endpoint_of(m->peer, &m->wire);

	if (ep && !meet(ep, m)) {
		ofi_match_arrive(&ep->match, &m->arrived);
		return;
	}
	if (!ep)
		ofi_message_discard(m, 0);
	free(m);
}

/* The next record of the message that is being gathered. False: it is another one. */
static bool gather_more(struct ofi_domain *domain, struct ofi_message **partial,
			const struct ofi_wire *w, const uint8_t *payload, size_t bytes)
{
	struct ofi_gather *g = &domain->gather;
	struct ofi_ep *ep;

	if (g->partial != partial || g->m.n_parts == OFI_GATHER_MAX ||
	    w->status + bytes != g->m.missing)
		return false;
	gather_record(g, payload, bytes);
	g->m.missing = w->status;
	if (g->m.missing)
		return true;
	g->partial = NULL;
	ep = endpoint_of(g->m.peer, &g->m.wire);
	if (ep)
		arrive(ep, &g->m);
	else
		ofi_message_discard(&g->m, 0);
	return true;
}

/* A record that is not the next one of a message here belongs to one that was given up. */
static void on_more(struct ofi_domain *domain, struct ofi_message **partial,
		    const struct ofi_wire *w, const uint8_t *payload, size_t bytes)
{
	struct ofi_message *m;

	if (!partial || gather_more(domain, partial, w, payload, bytes))
		return;
	ofi_rx_settle(domain);
	m = *partial;
	if (!m)
		return;
	if (w->status + bytes != m->missing) {
		give_up(partial);
		return;
	}
	memcpy((uint8_t *)(m + 1) + m->length - m->missing, payload, bytes);
	m->missing = w->status;
	if (m->missing)
		return;
	*partial = NULL;
	arrive_whole(m);
}

/* ---- what ends with one record ---- */

static void on_fin(struct ofi_peer *peer, const struct ofi_wire *w)
{
	struct ofi_op *op = ofi_op_find(peer->domain, peer, w->cookie);

	if (op && !op->is_atomic)
		ofi_op_settle(op, OFI_WAIT_FIN, w->status ? -EREMOTEIO : 0);
}

static void on_written(struct ofi_ep *ep, const struct ofi_message *m)
{
	const struct ofi_address from = {m->peer->address, m->wire.src_ep};
	struct ofi_cq_event event = {
		.entry = {.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
			  .len = m->wire.length,
			  .data = m->wire.data},
		.source = ofi_av_find(ep->av, m->peer, m->wire.src_ep),
		.kept_bytes = (uint32_t)ofi_message_cost(m),
		.peer = m->peer};

	ofi_complete_rx(ep, OFI_CNTR_REMOTE_WRITE, true, &event, &from);
}

/* ---- keys ---- */

static void on_find(struct ofi_peer *peer, const struct ofi_wire *w)
{
	const struct ofi_domain *domain = peer->domain;
	const struct ofi_mr *mr = domain->is_scalable ? ofi_mr_find(domain, w->tag) : NULL;
	struct ofi_wire found = {.kind = OFI_FOUND, .cookie = w->cookie, .status = EACCES};

	if (mr) {
		found.status = 0;
		found.length = mr->length;
		found.address = mr->addr;
		found.rkey = fare_mr_rkey(mr->mr);
	}
	peer->asks_keys = true;
	if (ofi_op_answer(peer, &found))
		ofi_limits_answered(&peer->limits);
}

static void on_found(struct ofi_peer *peer, const struct ofi_wire *w)
{
	struct ofi_op *op = ofi_op_find(peer->domain, peer, w->cookie);

	if (!op || !op->is_question)
		return;
	ofi_keys_answer(&peer->keys, op->key, w);
	ofi_op_settle(op, OFI_WAIT_FIN, 0);
	ofi_queue_run(peer);
}

static void on_forget(struct ofi_peer *peer, const struct ofi_wire *w)
{
	if (w->status == OFI_FORGET_ALL)
		ofi_keys_forget_all(&peer->keys);
	else
		ofi_keys_forget(&peer->keys, w->tag);
}

/* ---- atomic operations of a peer ---- */

/* 0; -EACCES: no such memory, or not with that right; -EINVAL: not aligned. */
static int atomic_reach(const struct ofi_domain *domain, const struct ofi_atomic *a, void **target)
{
	size_t size = ofi_atomic_size(a->datatype);
	unsigned rights = (ofi_atomic_changes(a) ? FARE_REMOTE_WRITE : 0) |
			  (ofi_atomic_result_bytes(a) ? FARE_REMOTE_READ : 0);

	*target = ofi_mr_reach(domain, a->key, a->address, a->count * size, rights);
	if (!*target)
		return -EACCES;
	return (uintptr_t)*target % size ? -EINVAL : 0;
}

/* What the peer is answered, and where its result goes. NULL: no memory. */
static struct ofi_op *atomic_answer(struct ofi_peer *peer, const struct ofi_wire *w, int err,
				    uint8_t **results)
{
	const struct ofi_wire answer = {
		.kind = OFI_RESULT, .cookie = w->cookie, .status = (uint32_t)-err};
	struct ofi_op *op = ofi_op_create(peer->domain, NULL, peer, OFI_OP_MESSAGE);

	if (op && ofi_op_set_record(op, &answer, err ? 0 : w->status, results)) {
		ofi_op_destroy(op);
		return NULL;
	}
	return op;
}

static void on_atomic(struct ofi_peer *peer, const struct ofi_wire *w, const uint8_t *body,
		      size_t bytes)
{
	uint8_t *results = NULL;
	void *target = NULL;
	struct ofi_atomic a;
	struct ofi_op *answer;
	int err = ofi_atomic_decode(body, bytes, w->status, &a);

	if (!err)
		err = atomic_reach(peer->domain, &a, &target);
	answer = atomic_answer(peer, w, err, &results);
	if (!answer) {
		ofi_peer_taken(peer, ofi_wire_cost(OFI_ATOMIC, w->status));
		ofi_limits_answered(&peer->limits);
		ofi_op_lose_answer(peer, w->cookie);
		return;
	}
	if (err)
		ofi_peer_taken(peer, w->status); /* the answer is shorter than was counted */
	else
		ofi_atomic_apply(&a, target, results);
	ofi_op_submit(answer);
}

/* ---- answers to those of this process ---- */

static uint64_t result_bytes(const struct ofi_op *op)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < op->n_results; i++)
		bytes += op->results[i].iov_len;
	return bytes;
}

static void scatter_results(const struct ofi_op *op, const uint8_t *data)
{
	for (unsigned i = 0; i < op->n_results; i++) {
		memcpy(op->results[i].iov_base, data, op->results[i].iov_len);
		data += op->results[i].iov_len;
	}
}

static int result_status(const struct ofi_wire *w)
{
	switch (w->status) {
	case 0:
		return 0;
	case EACCES:
	case EINVAL:
		return -(int)w->status;
	default:
		return -EREMOTEIO;
	}
}

static void on_result(struct ofi_peer *peer, const struct ofi_wire *w, const uint8_t *body,
		      size_t bytes)
{
	struct ofi_op *op = ofi_op_find(peer->domain, peer, w->cookie);
	int err = result_status(w);

	/* what was not sent yet cannot have an answer */
	if (!op || !op->is_atomic || !op->submitted)
		return;
	if (!err && bytes != result_bytes(op))
		err = -EREMOTEIO;
	if (!err && !op->reported)
		scatter_results(op, body);
	ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, err);
}

/* ---- any record ---- */

static void drop_from(struct ofi_ep *ep, struct ofi_peer *peer)
{
	struct ofi_arrived *a, *next;

	for (unsigned tagged = 0; tagged < 2; tagged++)
		DL_FOREACH_SAFE (ep->match.arrived[tagged], a, next) {
			struct ofi_message *m = (struct ofi_message *)a;

			if (m->peer != peer)
				continue;
			ofi_match_remove(&ep->match, a);
			ofi_message_drop(m);
		}
}

/* All messages of that peer that no receive has taken. Its sender gets no answer. */
static void drop_messages(struct ofi_peer *peer)
{
	for (unsigned i = 0; i < OFI_EPS_MAX; i++)
		if (peer->domain->eps[i])
			drop_from(peer->domain->eps[i], peer);
}

static bool is_admitted(struct ofi_peer *peer, const struct ofi_message *m)
{
	if (peer->is_cut)
		return false;
	if (ofi_limits_admit(&peer->limits, peer->domain->env.window_bytes, &m->wire, m->length))
		return true;
	drop_messages(peer);
	ofi_peer_cut(peer, "it sends more than its window, or wants more answers than it can wait "
			   "for");
	return false;
}

/* bytes: of payload */
static void rx_on_message(struct ofi_message **partial, struct ofi_message *m, size_t bytes)
{
	struct ofi_ep *ep = endpoint_of(m->peer, &m->wire);

	if (m->peer->domain->gather.partial == partial)
		ofi_rx_settle(m->peer->domain);
	if (partial)
		give_up(partial);
	if (m->missing && partial)
		gather_first(partial, m, bytes);
	else if (!ep || m->missing)
		ofi_message_discard(m, 0);
	else if (m->wire.kind == OFI_WRITTEN)
		on_written(ep, m);
	else
		arrive(ep, m);
}

void ofi_rx_record(struct ofi_peer *peer, struct ofi_message **partial, const void *data,
		   size_t bytes)
{
	struct ofi_message m = {.peer = peer};
	size_t payload;

	if (ofi_wire_decode(data, bytes, &m.wire, &payload)) {
		OFI_INFO(FI_LOG_EP_DATA, "a malformed record of %zu bytes is ignored\n", bytes);
		return;
	}
	m.payload = (const uint8_t *)data + payload;
	m.missing = m.wire.kind == OFI_EAGER ? m.wire.status : 0;
	m.length = m.wire.kind == OFI_EAGER    ? bytes - payload + m.missing
		   : m.wire.kind == OFI_ATOMIC ? m.wire.status
					       : m.wire.length;
	if (!is_admitted(peer, &m))
		return;
	peer->out_bytes -= m.wire.credit < peer->out_bytes ? m.wire.credit : peer->out_bytes;
	bytes -= payload;
	switch (m.wire.kind) {
	case OFI_FIN:
		on_fin(peer, &m.wire);
		break;
	case OFI_CREDIT:
		break;
	case OFI_FIND:
		on_find(peer, &m.wire);
		break;
	case OFI_FOUND:
		on_found(peer, &m.wire);
		break;
	case OFI_FORGET:
		on_forget(peer, &m.wire);
		break;
	case OFI_MORE:
		on_more(peer->domain, partial, &m.wire, m.payload, bytes);
		break;
	case OFI_ATOMIC:
		on_atomic(peer, &m.wire, m.payload, bytes);
		break;
	case OFI_RESULT:
		on_result(peer, &m.wire, m.payload, bytes);
		break;
	default: /* OFI_EAGER, OFI_RTS, OFI_WRITTEN */
		rx_on_message(partial, &m, bytes);
	}
}
