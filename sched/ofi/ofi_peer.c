/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_peer.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_clock.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_link.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_prov.h"
#include "ofi/ofi_queue.h"
#include "ofi/ofi_rx.h"
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

void ofi_peers_forget_key(struct ofi_domain *domain, uint64_t key)
{
	const struct ofi_wire w = {.kind = OFI_FORGET, .tag = key};
	struct ofi_peer *peer, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next)
		if (peer->asks_keys && peer->tx && peer->tx->connected && !peer->tx->closed &&
		    ofi_rx_answer(peer, &w))
			OFI_WARN(FI_LOG_MR, "no memory to tell a peer of a closed region\n");
}

/* ---- a peer that does not keep to the protocol ---- */

void ofi_peer_disconnect(struct ofi_peer *peer)
{
	struct ofi_link *link;

	DL_FOREACH (peer->links, link)
		if (!link->closed)
			fare_group_disconnect(link->group);
}

void ofi_peer_cut(struct ofi_peer *peer, const char *why)
{
	if (!peer->is_cut)
		OFI_WARN(FI_LOG_EP_CTRL, "a peer is cut off: %s\n", why);
	peer->is_cut = true;
	ofi_peer_disconnect(peer);
}

/* ---- events ---- */

static void on_accepted(struct ofi_domain *domain, struct fare_group *group)
{
	struct ofi_greeting greeting;
	struct ofi_peer *peer = NULL;
	struct ofi_link *link;
	size_t bytes;
	const void *said = fare_group_private(group, &bytes);

	if (!ofi_greeting_decode(said, bytes, &greeting))
		peer = ofi_peer_get(domain, &greeting.address);
	link = peer && !peer->is_cut ? ofi_link_add(peer, group) : NULL;
	if (!link) {
		fare_group_disconnect(group);
		return;
	}
	link->connected = true;
	mark_dirty(peer);
}

/* A message of several records is complete with the last of them, and fails with the first. */
static void on_completed(const struct fare_event *e, struct ofi_peer *peer)
{
	struct ofi_op *op = (struct ofi_op *)(uintptr_t)e->context;

	if (e->status != -ETIMEDOUT || e->kind == FARE_EVENT_RELEASED)
		op->n_held--; /* else its event still comes */
	if (e->kind == FARE_EVENT_RELEASED) {
		ofi_op_settle(op, 0, 0);
		return;
	}
	if (op->kind == OFI_OP_WRITE)
		peer->n_writes--;
	mark_dirty(peer);
	if (e->status == -EACCES && ofi_queue_again(op))
		return;
	if (!e->status && (op->n_held || !op->submitted))
		return;
	ofi_queue_drop(op);
	ofi_op_settle(op, OFI_WAIT_FARE | (e->status ? OFI_WAIT_FIN : 0), e->status);
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
		ofi_rx_record(link->peer, &link->partial, e->data, e->bytes);
	} else if (e->kind == FARE_EVENT_COMPLETED || e->kind == FARE_EVENT_RELEASED) {
		on_completed(e, link->peer);
	} else if (e->kind == FARE_EVENT_CLOSED) {
		on_closed(link, e->status);
	}
}

/* ---- what ends ---- */

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
	ofi_rx_end(&link->partial);
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
		ofi_queue_fail(peer, was_connected ? -ECONNABORTED : status);
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
		ofi_queue_run(peer);
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
		ofi_queue_expire(peer, now_ns);
		if (!peer->reopen_ns || now_ns < peer->reopen_ns)
			continue;
		peer->reopen_ns = 0;
		domain->peers.n_reopening--;
		ofi_queue_run(peer);
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
			free(link->partial);
			free(link);
		}
		HASH_DEL(domain->peers.by_address, peer);
		ofi_keys_fini(&peer->keys);
		free(peer);
	}
}
