/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_rx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_av.h"
#include "ofi/ofi_complete.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_multi.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_prov.h"
#include "ofi/ofi_queue.h"

/* ---- answers ---- */

int ofi_rx_answer(struct ofi_peer *peer, const struct ofi_wire *w)
{
	struct ofi_op *op = ofi_op_create(peer->domain, NULL, peer, OFI_OP_MESSAGE);

	if (!op)
		return -ENOMEM;
	if (ofi_op_set_message(op, w)) {
		ofi_op_destroy(op);
		return -ENOMEM;
	}
	/* nothing here need be done before a peer knows a region, and it may wait for that alone */
	if (w->kind == OFI_FOUND)
		ofi_queue_submit_first(op);
	else
		ofi_queue_submit(op);
	return 0;
}

static void finish(struct ofi_peer *peer, uint32_t cookie, int status)
{
	const struct ofi_wire fin = {
		.kind = OFI_FIN, .cookie = cookie, .status = (uint32_t)-status};

	/* without a link the peer waits no longer; no new one is opened for that */
	if (!ofi_peer_is_linked(peer) || ofi_rx_answer(peer, &fin))
		ofi_limits_answered(&peer->limits);
}

void ofi_rx_refuse(struct ofi_peer *peer, uint32_t cookie)
{
	finish(peer, cookie, -ECANCELED);
}

/* ---- delivery ---- */

/* As far as there is room. */
static void place(const struct ofi_recv *recv, uint64_t at, const uint8_t *data, uint64_t length)
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

static void scatter(const struct ofi_recv *recv, const struct ofi_message *m)
{
	uint64_t at = 0;

	if (!m->n_parts)
		place(recv, 0, m->payload, m->length);
	for (unsigned i = 0; i < m->n_parts; i++) {
		place(recv, at, m->parts[i].iov_base, m->parts[i].iov_len);
		at += m->parts[i].iov_len;
	}
}

static uint64_t cost_of(const struct ofi_message *m)
{
	return ofi_wire_cost(m->wire.kind, m->length);
}

/* No posted receive bounds the entries that a buffer for several makes: those count on. */
static void give_credit(struct ofi_recv *recv, const struct ofi_message *m)
{
	recv->peer = m->peer;
	recv->kept_bytes = recv->whole ? OFI_KEPT_BYTES : 0;
	ofi_peer_give_credit(m->peer, cost_of(m) - recv->kept_bytes);
}

static void deliver_eager(struct ofi_recv *recv, const struct ofi_message *m)
{
	scatter(recv, m);
	give_credit(recv, m);
	if (m->wire.flags & OFI_WIRE_ACK)
		finish(m->peer, m->wire.cookie, 0);
	ofi_complete_recv(recv, 0);
}

/* 0: the read is on its way */
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
	ofi_queue_submit(op);
	return 0;
}

static void deliver_rts(struct ofi_recv *recv, const struct ofi_message *m)
{
	uint64_t length = m->length < recv->room ? m->length : recv->room;
	int err;

	give_credit(recv, m);
	err = length ? read_message(recv, m, length) : 0;

	if (length && !err)
		return;
	finish(m->peer, m->wire.cookie, err);
	ofi_complete_recv(recv, err);
}

void ofi_rx_read_done(struct ofi_op *op)
{
	/* its region is not needed any more, whatever became of the read; or the peer is gone */
	if (op->status != -ECANCELED && op->status != -ECONNABORTED)
		finish(op->peer, op->fin_cookie, op->status);
	else
		ofi_limits_answered(&op->peer->limits);
	ofi_complete_recv(op->recv, op->status);
}

void ofi_rx_deliver(struct ofi_recv *recv, const struct ofi_message *m)
{
	recv->wire = m->wire;
	recv->source = m->arrived.source;
	recv->length = m->length;
	if (m->wire.kind == OFI_EAGER)
		deliver_eager(recv, m);
	else
		deliver_rts(recv, m);
}

void ofi_rx_discard(const struct ofi_message *m)
{
	ofi_peer_give_credit(m->peer, cost_of(m));
	if (m->wire.kind == OFI_RTS || m->wire.flags & OFI_WIRE_ACK)
		finish(m->peer, m->wire.cookie, 0);
}

static void drop_from(struct ofi_ep *ep, struct ofi_peer *peer)
{
	struct ofi_arrived *a, *next;

	for (unsigned tagged = 0; tagged < 2; tagged++)
		DL_FOREACH_SAFE (ep->match.arrived[tagged], a, next) {
			struct ofi_message *m = (struct ofi_message *)a;

			if (m->peer != peer)
				continue;
			ofi_match_remove(&ep->match, a);
			ofi_peer_taken(peer, cost_of(m));
			if (m->wire.kind == OFI_RTS || m->wire.flags & OFI_WIRE_ACK)
				ofi_limits_answered(&peer->limits);
			free(m);
		}
}

void ofi_rx_drop(struct ofi_peer *peer)
{
	for (unsigned i = 0; i < OFI_EPS_MAX; i++)
		if (peer->domain->eps[i])
			drop_from(peer->domain->eps[i], peer);
}

/* ---- arrival ---- */

/* False: no receive takes it. */
static bool meet(struct ofi_ep *ep, struct ofi_message *m)
{
	struct ofi_posted *posted;
	struct ofi_recv *recv;

	m->arrived.source = ofi_av_find(ep->av, m->peer, m->wire.src_ep);
	m->arrived.tag = m->wire.tag;
	m->arrived.tagged = m->wire.flags & OFI_WIRE_TAGGED;
	posted = ofi_match_posted(&ep->match, &m->arrived);
	recv = posted ? ofi_multi_part((struct ofi_recv *)posted, m->length) : NULL;
	if (!recv)
		return false;
	if (ofi_multi_is_spent((struct ofi_recv *)posted))
		ofi_match_unpost(&ep->match, posted);
	ofi_rx_deliver(recv, m);
	return true;
}

/* On the heap, with room for all of its payload; what is here of that. NULL: no memory. */
static struct ofi_message *copy(const struct ofi_message *m)
{
	uint8_t *at;
	struct ofi_message *kept =
		malloc(sizeof(*kept) + (m->wire.kind == OFI_EAGER ? m->length : 0));

	if (!kept) {
		/* a message less: reads of completions say so from now on */
		OFI_WARN(FI_LOG_EP_DATA, "no memory for a message\n");
		m->peer->domain->broken = true;
		ofi_peer_taken(m->peer, cost_of(m));
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
	struct ofi_message *kept = meet(ep, m) ? NULL : copy(m);

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
		*g->partial = copy(&g->m);
	g->partial = NULL;
}

static void gather(struct ofi_gather *g, const uint8_t *payload, size_t bytes)
{
	g->parts[g->m.n_parts++] =
		(struct iovec){.iov_base = (void *)(uintptr_t)payload, .iov_len = bytes};
}

/* Its first record. */
static void begin(struct ofi_message **partial, const struct ofi_message *m, size_t bytes)
{
	struct ofi_domain *domain = m->peer->domain;
	struct ofi_gather *g = &domain->gather;

	ofi_rx_settle(domain);
	g->m = *m;
	g->m.parts = g->parts;
	g->partial = partial;
	gather(g, m->payload, bytes);
}

void ofi_rx_end(struct ofi_message **partial)
{
	struct ofi_message *m = *partial;

	if (!m)
		return;
	*partial = NULL;
	ofi_peer_taken(m->peer, cost_of(m));
	if (m->wire.flags & OFI_WIRE_ACK)
		ofi_limits_answered(&m->peer->limits);
	free(m);
}

/* Its sender has left out the rest: a record was past its deadline. */
static void give_up(struct ofi_message **partial)
{
	struct ofi_message *m = *partial;

	if (!m)
		return;
	*partial = NULL;
	ofi_peer_give_credit(m->peer, cost_of(m));
	if (m->wire.flags & OFI_WIRE_ACK)
		ofi_rx_refuse(m->peer, m->wire.cookie);
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
		ofi_rx_discard(m);
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
	gather(g, payload, bytes);
	g->m.missing = w->status;
	if (g->m.missing)
		return true;
	g->partial = NULL;
	ep = endpoint_of(g->m.peer, &g->m.wire);
	if (ep)
		arrive(ep, &g->m);
	else
		ofi_rx_discard(&g->m);
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

/* ---- answers from the peer ---- */

static void on_fin(struct ofi_peer *peer, const struct ofi_wire *w)
{
	struct ofi_op *op = ofi_op_find(peer->domain, peer, w->cookie);

	if (op)
		ofi_op_settle(op, OFI_WAIT_FIN, w->status ? -EREMOTEIO : 0);
}

static void on_written(struct ofi_ep *ep, struct ofi_message *m)
{
	ofi_complete_written(ep, m->peer, ofi_av_find(ep->av, m->peer, m->wire.src_ep), &m->wire);
}

/* ---- keys ---- */

static void on_find(struct ofi_peer *peer, const struct ofi_wire *w)
{
	const struct ofi_domain *domain = peer->domain;
	const struct ofi_mr *mr = domain->is_scalable ? ofi_mr_find(&domain->mrs, w->tag) : NULL;
	struct ofi_wire found = {.kind = OFI_FOUND, .cookie = w->cookie, .status = EACCES};

	if (mr) {
		found.status = 0;
		found.length = mr->length;
		found.address = mr->addr;
		found.rkey = fare_mr_rkey(mr->mr);
	}
	peer->asks_keys = true;
	if (ofi_rx_answer(peer, &found))
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

/* True: it is not for an endpoint, but for the process. */
static bool is_for_process(struct ofi_peer *peer, const struct ofi_wire *w)
{
	switch (w->kind) {
	case OFI_FIN:
		on_fin(peer, w);
		return true;
	case OFI_CREDIT:
		return true;
	case OFI_FIND:
		on_find(peer, w);
		return true;
	case OFI_FOUND:
		on_found(peer, w);
		return true;
	case OFI_FORGET:
		on_forget(peer, w);
		return true;
	default:
		return false;
	}
}

static bool is_admitted(struct ofi_peer *peer, const struct ofi_message *m)
{
	if (peer->is_cut)
		return false;
	if (ofi_limits_admit(&peer->limits, peer->domain->env.window_bytes, &m->wire, m->length))
		return true;
	ofi_peer_cut(peer, "it sends more than its window, or wants more answers than it can wait "
			   "for");
	return false;
}

/* bytes: of payload */
static void on_message(struct ofi_message **partial, struct ofi_message *m, size_t bytes)
{
	struct ofi_ep *ep = endpoint_of(m->peer, &m->wire);

	if (m->peer->domain->gather.partial == partial)
		ofi_rx_settle(m->peer->domain);
	if (partial)
		give_up(partial);
	if (m->missing && partial)
		begin(partial, m, bytes);
	else if (!ep || m->missing)
		ofi_rx_discard(m);
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
	m.length = m.wire.kind == OFI_EAGER ? bytes - payload + m.missing : m.wire.length;
	if (!is_admitted(peer, &m))
		return;
	peer->out_bytes -= m.wire.credit < peer->out_bytes ? m.wire.credit : peer->out_bytes;
	if (m.wire.kind == OFI_MORE)
		on_more(peer->domain, partial, &m.wire, m.payload, bytes - payload);
	else if (!is_for_process(peer, &m.wire))
		on_message(partial, &m, bytes - payload);
}
