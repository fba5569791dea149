/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_peer.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_clock.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_prov.h"
#include "ofi/ofi_rx.h"
#include "ofi/ofi_self.h"
#include "ofi/ofi_wire.h"

#define REOPEN_NS     UINT64_C(100000000)
#define CREDIT_SHARES 4 /* a peer is told of a quarter of its window at the latest */

/* ---- peers ---- */

struct ofi_peer *ofi_peer_get(struct ofi_domain *domain, const struct fare_address *address)
{
	struct ofi_peer *peer;

	HASH_FIND(hh, domain->peers.by_address, address, sizeof(*address), peer);
	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->domain = domain;
	peer->address = *address;
	peer->is_self = !memcmp(address, &domain->address, sizeof(*address));
	HASH_ADD(hh, domain->peers.by_address, address, sizeof(peer->address), peer);
	if (!peer->hh.tbl) {
		free(peer);
		return NULL;
	}
	return peer;
}

static void mark_dirty(struct ofi_peer *peer)
{
	if (peer->is_dirty)
		return;
	peer->is_dirty = true;
	DL_APPEND(peer->domain->peers.dirty, peer);
}

/* ---- links ---- */

static struct ofi_link *add_link(struct ofi_peer *peer, struct fare_group *group)
{
	struct ofi_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->peer = peer;
	link->group = group;
	fare_group_set_context(group, link);
	DL_APPEND(peer->links, link);
	return link;
}

static struct ofi_greeting own_greeting(const struct ofi_domain *domain)
{
	return (struct ofi_greeting){.address = domain->address,
				     .window_bytes = domain->env.window_bytes};
}

static int open_link(struct ofi_peer *peer)
{
	struct ofi_domain *domain = peer->domain;
	uint8_t greeting[OFI_GREETING_BYTES];
	const struct ofi_greeting own = own_greeting(domain);
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .message_bytes = FARE_MESSAGE_MAX,
						   .in_order = true,
						   .private_data = greeting,
						   .private_bytes = sizeof(greeting)};
	struct fare_group *group;
	int err;

	ofi_greeting_encode(&own, greeting);
	err = fare_group_open_to(&group, domain->fare_domain, &peer->address, &options);
	if (err)
		return err;
	peer->tx = add_link(peer, group);
	if (!peer->tx) {
		fare_group_close(group);
		return -ENOMEM;
	}
	peer->tx->opened = true;
	return 0;
}

/* 0: it is connected; -EAGAIN: later; else why not. */
static int ensure_link(struct ofi_peer *peer)
{
	struct ofi_link *link;
	int err = 0;

	if (!peer->tx)
		DL_FOREACH (peer->links, link)
			if (link->connected && !link->closed)
				peer->tx = link;
	if (!peer->tx && peer->is_cut)
		return -ECONNABORTED;
	if (!peer->tx && peer->reopen_ns)
		return -EAGAIN;
	if (!peer->tx)
		err = open_link(peer);
	if (err)
		return err;
	return peer->tx->connected && !peer->tx->closed ? 0 : -EAGAIN;
}

/* ---- operations ---- */

static int send_message(struct ofi_op *op)
{
	struct ofi_peer *peer = op->peer;
	const struct fare_send send = {.data = op->message,
				       .length = op->message_bytes,
				       .context = (uintptr_t)op,
				       .deadline_ns = op->deadline_ns};
	int err;

	ofi_wire_set_credit(op->message, peer->owed);
	err = fare_group_send(peer->tx->group, &send);
	if (err)
		return err;
	peer->owed = 0;
	if (ofi_wire_kind(op->message) == OFI_CREDIT)
		peer->credit_queued = false;
	return 0;
}

static int write_memory(struct ofi_op *op)
{
	const struct fare_write write = {.remote_addr = op->remote_addr,
					 .rkey = op->rkey,
					 .context = (uintptr_t)op,
					 .deadline_ns = op->deadline_ns,
					 .pieces = op->pieces,
					 .n_pieces = op->n_pieces};
	int err = fare_group_write(op->peer->tx->group, &write);

	op->peer->n_writes += !err;
	return err;
}

static int read_memory(struct ofi_op *op)
{
	const struct fare_read read = {.remote_addr = op->remote_addr,
				       .rkey = op->rkey,
				       .context = (uintptr_t)op,
				       .deadline_ns = op->deadline_ns,
				       .pieces = op->pieces,
				       .n_pieces = op->n_pieces,
				       /* an announced message's; one of an RMA is its caller's */
				       .flags = op->recv ? FARE_KEY_IS_GOOD : 0};

	return fare_group_read(op->peer->tx->group, &read);
}

/* 0: the group has it; -EAGAIN: later; else it fails. */
static int start(struct ofi_op *op)
{
	int err;

	if (op->after_writes && op->peer->n_writes)
		return -EAGAIN;
	err = ensure_link(op->peer);
	if (err)
		return err;
	err = op->kind == OFI_OP_MESSAGE ? send_message(op)
	      : op->kind == OFI_OP_WRITE ? write_memory(op)
					 : read_memory(op);
	/* closed: its event is on the way */
	return err == -ENOBUFS || err == -ENOTCONN ? -EAGAIN : err;
}

static void start_own(struct ofi_peer *peer, struct ofi_op *op)
{
	int err = ofi_self_run(op);

	if (!err && op->kind == OFI_OP_MESSAGE)
		peer->owed = 0;
	ofi_op_settle(op, OFI_WAIT_FARE, err);
}

static void dequeue(struct ofi_peer *peer, struct ofi_op *op)
{
	DL_DELETE(peer->queue, op);
	if (op->kind == OFI_OP_MESSAGE && ofi_wire_kind(op->message) == OFI_FIN)
		ofi_limits_answered(&peer->limits);
}

/* Starts what can start, in order. */
static void run_queue(struct ofi_peer *peer)
{
	struct ofi_op *op;
	int err = 0;

	while ((op = peer->queue) && err != -EAGAIN) {
		err = peer->is_self ? 0 : start(op);
		if (err == -EAGAIN)
			break;
		dequeue(peer, op);
		op->submitted = true;
		if (peer->is_self)
			start_own(peer, op);
		else if (err)
			ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, err);
	}
}

void ofi_peer_submit(struct ofi_op *op)
{
	struct ofi_peer *peer = op->peer;

	if (peer->domain->env.deadline_ms)
		op->deadline_ns = ofi_now_ns() + peer->domain->env.deadline_ms * UINT64_C(1000000);
	op->waits |= OFI_WAIT_FARE;
	DL_APPEND(peer->queue, op);
	if (peer->queue == op)
		run_queue(peer);
}

/* ---- credit ---- */

bool ofi_peer_has_window(const struct ofi_peer *peer, uint64_t bytes)
{
	return bytes <= peer->domain->env.window_bytes &&
	       peer->eager_out <= peer->domain->env.window_bytes - bytes;
}

void ofi_peer_give_credit(struct ofi_peer *peer, uint32_t bytes)
{
	const struct ofi_wire w = {.kind = OFI_CREDIT};

	ofi_limits_taken(&peer->limits, bytes);
	peer->owed += bytes;
	if (peer->credit_queued || peer->owed < peer->domain->env.window_bytes / CREDIT_SHARES)
		return;
	peer->credit_queued = !ofi_rx_answer(peer, &w);
}

/* ---- a peer that does not keep to the protocol ---- */

void ofi_peer_cut(struct ofi_peer *peer, const char *why)
{
	struct ofi_link *link;

	if (!peer->is_cut)
		OFI_WARN(FI_LOG_EP_CTRL, "a peer is cut off: %s\n", why);
	peer->is_cut = true;
	DL_FOREACH (peer->links, link)
		if (!link->closed)
			fare_group_disconnect(link->group);
}

/* ---- events ---- */

int ofi_peer_on_request(void *arg, struct fare_request *request)
{
	struct ofi_domain *domain = arg;
	const struct ofi_greeting own = own_greeting(domain);
	struct ofi_greeting peer;

	if (ofi_greeting_decode(request->data, request->bytes, &peer))
		return -EPROTONOSUPPORT;
	if (peer.window_bytes != own.window_bytes) {
		OFI_WARN(FI_LOG_EP_CTRL,
			 "a peer has FI_FARE_WINDOW_BYTES=%u, this process %u: they must be the "
			 "same at all processes\n",
			 peer.window_bytes, own.window_bytes);
		return -EPROTONOSUPPORT;
	}
	ofi_greeting_encode(&own, request->reply);
	request->reply_bytes = OFI_GREETING_BYTES;
	return 0;
}

static void on_accepted(struct ofi_domain *domain, struct fare_group *group)
{
	struct ofi_greeting greeting;
	struct ofi_peer *peer = NULL;
	struct ofi_link *link;
	size_t bytes;
	const void *said = fare_group_private(group, &bytes);

	if (!ofi_greeting_decode(said, bytes, &greeting))
		peer = ofi_peer_get(domain, &greeting.address);
	link = peer && !peer->is_cut ? add_link(peer, group) : NULL;
	if (!link) {
		fare_group_disconnect(group);
		return;
	}
	link->connected = true;
	mark_dirty(peer);
}

static void on_completed(const struct fare_event *e, struct ofi_peer *peer)
{
	struct ofi_op *op = (struct ofi_op *)(uintptr_t)e->context;

	if (e->kind == FARE_EVENT_RELEASED) {
		ofi_op_settle(op, OFI_WAIT_RELEASE, 0);
		return;
	}
	if (op->kind == OFI_OP_WRITE)
		peer->n_writes--;
	if (e->status == -ETIMEDOUT)
		op->waits |= OFI_WAIT_RELEASE; /* its event still comes */
	ofi_op_settle(op, OFI_WAIT_FARE | (e->status ? OFI_WAIT_FIN : 0), e->status);
	mark_dirty(peer);
}

static void on_closed(struct ofi_link *link, int status)
{
	link->closed = true;
	link->status = status;
	mark_dirty(link->peer);
}

void ofi_peers_on_event(struct ofi_domain *domain, const struct fare_event *e)
{
	struct ofi_link *link = fare_group_context(e->group);

	if (e->kind == FARE_EVENT_ACCEPTED) {
		on_accepted(domain, e->group);
	} else if (!link) {
		if (e->kind == FARE_EVENT_CLOSED)
			fare_group_close(e->group);
	} else if (e->kind == FARE_EVENT_CONNECTED) {
		link->connected = true;
		mark_dirty(link->peer);
	} else if (e->kind == FARE_EVENT_MESSAGE) {
		ofi_rx_message(link->peer, e->data, e->bytes);
	} else if (e->kind == FARE_EVENT_COMPLETED || e->kind == FARE_EVENT_RELEASED) {
		on_completed(e, link->peer);
	} else if (e->kind == FARE_EVENT_CLOSED) {
		on_closed(link, e->status);
	}
}

/* ---- what ends ---- */

static void fail_queue(struct ofi_peer *peer, int status)
{
	struct ofi_op *op;

	while ((op = peer->queue)) {
		dequeue(peer, op);
		ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, status);
	}
}

/* Messages that the peer was to read or to answer: it is gone, or will not. */
static void fail_waiting(struct ofi_peer *peer, int status)
{
	struct ofi_cookies *c = &peer->domain->cookies;

	for (uint32_t i = 0; i < c->n_slots; i++) {
		struct ofi_op *op = ofi_cookies_at(c, i);

		if (op && op->peer == peer && op->submitted)
			ofi_op_settle(op, OFI_WAIT_FIN, status);
	}
}

/* Nobody answered so far: somebody may later, unless a deadline says that it is late. */
static bool may_come(int status)
{
	return status == -ETIMEDOUT || status == -EHOSTUNREACH || status == -ENETUNREACH ||
	       status == -EADDRINUSE || status == -EUSERS;
}

static void end_link(struct ofi_link *link)
{
	struct ofi_peer *peer = link->peer;
	bool was_tx = peer->tx == link, was_connected = link->connected;
	int status = link->status ? link->status : -ECANCELED;

	DL_DELETE(peer->links, link);
	fare_group_close(link->group);
	free(link);
	ofi_limits_relinked(&peer->limits);
	if (was_tx) {
		peer->tx = NULL;
		peer->eager_out = 0;
		peer->credit_queued = false;
	}
	if (was_tx && !was_connected && may_come(status)) {
		peer->reopen_ns = ofi_now_ns() + REOPEN_NS;
		peer->domain->peers.n_reopening++;
		return;
	}
	if (was_connected)
		fail_waiting(peer, -ECONNABORTED);
	if (was_tx)
		fail_queue(peer, was_connected ? -ECONNABORTED : status);
}

void ofi_peers_sweep(struct ofi_domain *domain)
{
	struct ofi_link *link, *next;
	struct ofi_peer *peer;

	while ((peer = domain->peers.dirty)) {
		DL_DELETE(domain->peers.dirty, peer);
		peer->is_dirty = false;
		DL_FOREACH_SAFE (peer->links, link, next)
			if (link->closed)
				end_link(link);
		run_queue(peer);
	}
}

/* Those that a group has end by its own deadline. */
static void fail_late(struct ofi_peer *peer, uint64_t now_ns)
{
	struct ofi_op *op, *next;

	DL_FOREACH_SAFE (peer->queue, op, next) {
		if (!op->deadline_ns || now_ns < op->deadline_ns)
			continue;
		dequeue(peer, op);
		ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, -ETIMEDOUT);
	}
}

static void fail_unanswered(struct ofi_domain *domain, uint64_t now_ns)
{
	for (uint32_t i = 0; i < domain->cookies.n_slots; i++) {
		struct ofi_op *op = ofi_cookies_at(&domain->cookies, i);

		if (op && op->submitted && op->deadline_ns && now_ns >= op->deadline_ns)
			ofi_op_settle(op, OFI_WAIT_FIN, -ETIMEDOUT);
	}
}

void ofi_peers_tick(struct ofi_domain *domain, uint64_t now_ns)
{
	struct ofi_peer *peer, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next) {
		fail_late(peer, now_ns);
		if (!peer->reopen_ns || now_ns < peer->reopen_ns)
			continue;
		peer->reopen_ns = 0;
		domain->peers.n_reopening--;
		run_queue(peer);
	}
	fail_unanswered(domain, now_ns);
}

void ofi_peers_fini(struct ofi_domain *domain)
{
	struct ofi_peer *peer, *next_peer;
	struct ofi_link *link, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next_peer) {
		DL_FOREACH_SAFE (peer->links, link, next) {
			fare_group_close(link->group);
			free(link);
		}
		HASH_DEL(domain->peers.by_address, peer);
		free(peer);
	}
}
