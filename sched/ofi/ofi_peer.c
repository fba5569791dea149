/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_peer.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_link.h"
#include "ofi/ofi_name.h"
#include "ofi/ofi_named.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_prov.h"
#include "ofi/ofi_queue.h"
#include "ofi/ofi_rx.h"
#include "base/clock.h"
#include "ofi/ofi_wire.h"

#define REOPEN_NS     UINT64_C(100000000)
#define SAY_NS	      UINT64_C(1000000000)
#define CREDIT_SHARES 4 /* a peer is told of a quarter of its window at the latest */
/* One for each direction, and others whose end this process has not seen yet. */
#define LINKS_MAX 8u
/* Peers that are gone may leave as much here as so many may that are not; those of one address. */
#define LEFT_SHARES 4
/* That wait for a peer that takes none; the next says that all regions may be closed. */
#define FORGETS_MAX 64u

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

bool ofi_peer_is_name(const struct ofi_peer *peer)
{
	const struct ofi_address address = {.process = peer->address};

	return ofi_name_is(&address);
}

void ofi_peer_changed(struct ofi_peer *peer)
{
	if (peer->is_dirty)
		return;
	peer->is_dirty = true;
	DL_APPEND(peer->domain->peers.dirty, peer);
}

void ofi_peer_time(struct ofi_peer *peer)
{
	if (peer->is_timed)
		return;
	peer->is_timed = true;
	DL_APPEND2(peer->domain->peers.timed, peer, timed_prev, timed_next);
}

static void untime(struct ofi_peer *peer)
{
	if (!peer->is_timed)
		return;
	peer->is_timed = false;
	DL_DELETE2(peer->domain->peers.timed, peer, timed_prev, timed_next);
}

static void set_left(struct ofi_peer *peer, bool is_left)
{
	if (peer->is_left == is_left)
		return;
	peer->is_left = is_left;
	if (is_left)
		DL_APPEND2(peer->domain->peers.left, peer, left_prev, left_next);
	else
		DL_DELETE2(peer->domain->peers.left, peer, left_prev, left_next);
}

static void destroy(struct ofi_peer *peer)
{
	ofi_named_down(peer);
	set_left(peer, false);
	untime(peer);
	peer->domain->peers.n_reopening -= peer->reopen_ns > 0;
	HASH_DEL(peer->domain->peers.by_address, peer);
	ofi_keys_fini(&peer->keys);
	free(peer);
}

/* Frees it if nothing needs it any more. What is kept of it names it, and is counted in limits. */
static void free_if_idle(struct ofi_peer *peer)
{
	bool is_idle = !peer->links && !peer->n_entries && !peer->is_self;

	set_left(peer, is_idle);
	if (is_idle && !peer->n_ops && !peer->limits.bytes && !peer->is_dirty)
		destroy(peer);
}

void ofi_peer_add_op(struct ofi_peer *peer)
{
	peer->n_ops++;
}

void ofi_peer_remove_op(struct ofi_peer *peer, struct ofi_op *op)
{
	if (!op->sent_bytes || op->is_atomic) /* the answer is what gives it back */
		ofi_peer_uncharge(op);
	if (!--peer->n_ops)
		ofi_peer_changed(peer);
}

bool ofi_peer_is_linked(const struct ofi_peer *peer)
{
	const struct ofi_link *link;

	DL_FOREACH (peer->links, link)
		if (!link->closed)
			return true;
	return peer->is_self;
}

bool ofi_peers_are_full(const struct ofi_domain *domain, const struct in6_addr *address)
{
	const struct ofi_peer *peer;
	uint64_t bytes = 0;

	DL_FOREACH2 (domain->peers.left, peer, left_next)
		if (!memcmp(&peer->gpu, address, sizeof(*address)))
			bytes += sizeof(*peer) + peer->limits.bytes;
	return bytes >= LEFT_SHARES * ofi_wire_room(OFI_RTS, domain->env.window_bytes);
}

bool ofi_peers_may_say(struct ofi_domain *domain)
{
	uint64_t now = clock_now_ns();

	if (domain->peers.said_ns && now - domain->peers.said_ns < SAY_NS)
		return false;
	domain->peers.said_ns = now;
	return true;
}

/* ---- credit ---- */

bool ofi_peer_charge(struct ofi_op *op, uint8_t kind, uint64_t length)
{
	uint64_t cost = ofi_wire_cost(kind, length);

	if (op->peer->out_bytes + cost > ofi_wire_room(kind, op->domain->env.window_bytes))
		return false;
	op->charged = (uint32_t)cost;
	op->peer->out_bytes += cost;
	return true;
}

void ofi_peer_uncharge(struct ofi_op *op)
{
	struct ofi_peer *peer = op->peer;

	peer->out_bytes -= op->charged < peer->out_bytes ? op->charged : peer->out_bytes;
	op->charged = 0;
}

void ofi_peer_taken(struct ofi_peer *peer, uint64_t bytes)
{
	ofi_limits_taken(&peer->limits, bytes);
	if (!peer->limits.bytes)
		ofi_peer_changed(peer);
}

void ofi_peer_give_credit(struct ofi_peer *peer, uint64_t bytes)
{
	const struct ofi_wire w = {.kind = OFI_CREDIT};
	uint32_t window = peer->domain->env.window_bytes;

	ofi_peer_taken(peer, bytes);
	/* one whose links have ended counts from 0 again */
	if (!ofi_peer_is_linked(peer))
		return;
	peer->owed += (uint32_t)bytes;
	if (peer->credit_queued ||
	    peer->owed < (window ? window : OFI_RESERVE_BYTES) / CREDIT_SHARES)
		return;
	peer->credit_queued = true; /* until it is sent, which may be at once */
	if (ofi_rx_answer(peer, &w))
		peer->credit_queued = false;
}

void ofi_peers_forget_key(struct ofi_domain *domain, uint64_t key)
{
	struct ofi_wire w = {.kind = OFI_FORGET, .tag = key};
	struct ofi_peer *peer, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next) {
		if (!peer->asks_keys || !peer->tx || !peer->tx->connected || peer->tx->closed ||
		    peer->n_forgets > FORGETS_MAX)
			continue;
		w.status = peer->n_forgets == FORGETS_MAX ? OFI_FORGET_ALL : 0;
		if (ofi_rx_answer(peer, &w))
			OFI_WARN(FI_LOG_MR, "no memory to tell a peer of a closed region\n");
	}
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
	if (!peer->is_cut && ofi_peers_may_say(peer->domain))
		OFI_WARN(FI_LOG_EP_CTRL, "a peer is cut off: %s\n", why);
	peer->is_cut = true;
	ofi_rx_drop(peer);
	ofi_peer_disconnect(peer);
}

/* ---- events ---- */

static unsigned count_links(const struct ofi_peer *peer)
{
	const struct ofi_link *link;
	unsigned n;

	DL_COUNT(peer->links, link, n);
	return n;
}

/* The peer is who the group says that it is; none is this process itself. */
static void on_accepted(struct ofi_domain *domain, struct fare_group *group)
{
	struct fare_address address;
	struct ofi_peer *peer = NULL;
	struct ofi_link *link = NULL;

	if (!fare_group_peer_address(group, &address))
		peer = ofi_peer_get(domain, &address);
	if (peer && !peer->is_self && !peer->is_cut && count_links(peer) < LINKS_MAX)
		link = ofi_link_add(peer, group);
	if (link) {
		link->connected = true;
		ofi_named_up(peer);
	} else {
		fare_group_disconnect(group);
	}
	if (peer)
		ofi_peer_changed(peer);
}

/* The peer has accepted; what it has answered must be of this protocol, too. */
static void on_connected(struct ofi_link *link)
{
	size_t bytes;
	const void *reply = fare_group_private(link->group, &bytes);

	ofi_peer_changed(link->peer);
	link->status = ofi_link_check_greeting(link->peer->domain, reply, bytes);
	if (!link->status && ofi_peer_is_name(link->peer) && !ofi_named_connected(link))
		link->status = -ENOMEM;
	link->connected = !link->status;
	if (link->status || link->peer->is_cut)
		fare_group_disconnect(link->group);
	else
		ofi_named_up(link->peer);
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
	ofi_peer_changed(peer);
	if (e->status)
		ofi_peer_uncharge(op); /* it may not have arrived: the receiver is lenient */
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
	link->status = link->status ? link->status : status;
	ofi_peer_changed(link->peer);
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
		on_connected(link);
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
	if (was_tx) {
		peer->tx = NULL;
		peer->credit_queued = false;
	}
	if (was_tx && !was_connected && peer->n_entries && may_come(status)) {
		peer->reopen_ns = clock_now_ns() + REOPEN_NS;
		peer->domain->peers.n_reopening++;
		ofi_peer_time(peer);
		return;
	}
	if (was_connected)
		fail_waiting(peer, -ECONNABORTED);
	if (was_tx || (!peer->links && !peer->n_entries))
		ofi_queue_fail(peer, was_connected ? -ECONNABORTED : status);
	if (was_tx)
		peer->out_bytes = 0;
	if (!peer->links)
		ofi_named_down(peer);
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
		free_if_idle(peer);
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

	DL_FOREACH_SAFE2(domain->peers.timed, peer, next, timed_next)
	{
		ofi_queue_expire(peer, now_ns);
		if (peer->reopen_ns && now_ns >= peer->reopen_ns) {
			peer->reopen_ns = 0;
			domain->peers.n_reopening--;
			ofi_queue_run(peer);
		}
		if (!peer->queue && !peer->reopen_ns)
			untime(peer);
	}
	fail_unanswered(domain, now_ns);
}

void ofi_peers_close_links(struct ofi_domain *domain)
{
	struct ofi_peer *peer, *next_peer;
	struct ofi_link *link, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next_peer)
		DL_FOREACH_SAFE (peer->links, link, next) {
			DL_DELETE(peer->links, link);
			fare_group_close(link->group);
			free(link->partial);
			free(link);
		}
}

void ofi_peers_fini(struct ofi_domain *domain)
{
	struct ofi_peer *peer, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next)
		destroy(peer);
}
