/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_peer.c - the processes that this one exchanges data with: which there are, what is counted
 * for each, and the groups toward them.
 */
#include "ofi/ofi.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "ofi/ofi_name.h"
#include "why.h"

#define LOG_NS	      UINT64_C(1000000000)
#define CREDIT_SHARES 4 /* a quarter of its window: the peer gets credit at the latest then */
/* Peers that are gone may leave as much here as so many may that are not; those of one address. */
#define LEFT_SHARES 4

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

void ofi_peer_changed(struct ofi_peer *peer)
{
	if (peer->is_changed)
		return;
	peer->is_changed = true;
	DL_APPEND(peer->domain->events.peers, peer);
}

void ofi_peer_set_left(struct ofi_peer *peer, bool is_left)
{
	if (peer->is_left == is_left)
		return;
	peer->is_left = is_left;
	if (is_left)
		DL_APPEND2(peer->domain->peers.left, peer, left_prev, left_next);
	else
		DL_DELETE2(peer->domain->peers.left, peer, left_prev, left_next);
}

void ofi_peer_destroy(struct ofi_peer *peer)
{
	ofi_peer_set_left(peer, false);
	peer->domain->peers.n_reopening -= peer->reopen_ns > 0;
	HASH_DEL(peer->domain->peers.by_address, peer);
	ofi_keys_fini(&peer->keys);
	free(peer);
}

bool ofi_peer_is_linked(const struct ofi_peer *peer)
{
	const struct ofi_link *link;

	DL_FOREACH (peer->links, link)
		if (!link->closed)
			return true;
	return peer->is_self;
}

bool ofi_peers_may_log(struct ofi_domain *domain)
{
	uint64_t now = clock_now_ns();

	if (domain->peers.logged_ns && now - domain->peers.logged_ns < LOG_NS)
		return false;
	domain->peers.logged_ns = now;
	return true;
}

void ofi_peers_log_memory(struct ofi_domain *domain, const char *what, int err)
{
	char why[WHY_BYTES];

	if (!ofi_peers_may_log(domain))
		return;
	why_memory(err, domain->env.provider, why);
	OFI_WARN(FI_LOG_MR, "%s: %s\n", what, why);
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
	ofi_peer_taken(peer, bytes);
	/* one whose links have ended counts from 0 again */
	if (!ofi_peer_is_linked(peer))
		return;
	peer->credit += (uint32_t)bytes;
	if (ofi_peer_credit_is_due(peer))
		ofi_peer_changed(peer);
}

bool ofi_peer_credit_is_due(const struct ofi_peer *peer)
{
	uint32_t window = peer->domain->env.window_bytes;

	return !peer->credit_queued &&
	       peer->credit >= (window ? window : OFI_RESERVE_BYTES) / CREDIT_SHARES;
}

/* ---- links ---- */

void ofi_peer_disconnect(struct ofi_peer *peer)
{
	struct ofi_link *link;

	DL_FOREACH (peer->links, link)
		if (!link->closed)
			fare_group_disconnect(link->group);
}

void ofi_peer_cut(struct ofi_peer *peer, const char *why)
{
	if (!peer->is_cut && ofi_peers_may_log(peer->domain))
		OFI_WARN(FI_LOG_EP_CTRL, "a peer is cut off: %s\n", why);
	peer->is_cut = true;
	ofi_peer_disconnect(peer);
}

struct ofi_link *ofi_link_add(struct ofi_peer *peer, struct fare_group *group)
{
	struct ofi_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->peer = peer;
	link->group = group;
	fare_group_peer(group, &peer->gpu);
	fare_group_set_context(group, link);
	DL_APPEND(peer->links, link);
	return link;
}

static struct ofi_greeting own_greeting(const struct ofi_domain *domain)
{
	return (struct ofi_greeting){.version = OFI_WIRE_VERSION,
				     .window_bytes = domain->env.window_bytes};
}

static int open_link(struct ofi_peer *peer)
{
	struct ofi_domain *domain = peer->domain;
	uint8_t greeting[OFI_GREETING_BYTES];
	const struct ofi_greeting own = own_greeting(domain);
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .message_bytes = OFI_RECORD_BYTES,
						   .in_order = true,
						   .private_data = greeting,
						   .private_bytes = sizeof(greeting)};
	struct fare_group *group;
	int err;

	ofi_greeting_encode(&own, greeting);
	err = fare_group_open_to(&group, domain->fare_domain, &peer->address, &options);
	if (err) {
		ofi_peers_log_memory(domain, "a connection cannot be opened", err);
		return err;
	}
	peer->tx = ofi_link_add(peer, group);
	if (!peer->tx) {
		fare_group_close(group);
		return -ENOMEM;
	}
	return 0;
}

int ofi_link_ensure(struct ofi_peer *peer)
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

int ofi_link_check_greeting(struct ofi_domain *domain, const void *data, size_t bytes)
{
	uint32_t own_bytes = domain->env.window_bytes;
	struct ofi_greeting peer;
	int err = ofi_greeting_decode(data, bytes, &peer);

	if (!err && peer.window_bytes == own_bytes)
		return 0;
	if (!ofi_peers_may_log(domain))
		return -EPROTONOSUPPORT;
	if (err == -EPROTONOSUPPORT)
		OFI_WARN(FI_LOG_EP_CTRL,
			 "a peer has version 0x%02x of this provider's protocol, this process "
			 "0x%02x: use one release of fared at all processes\n",
			 (unsigned)(uint8_t)peer.version, (unsigned)OFI_WIRE_VERSION);
	else if (err)
		OFI_WARN(FI_LOG_EP_CTRL, "a peer does not have this provider's protocol\n");
	else
		OFI_WARN(FI_LOG_EP_CTRL,
			 "a peer has FI_FARE_WINDOW_BYTES=%u, this process %u: they must be the "
			 "same at all processes\n",
			 peer.window_bytes, own_bytes);
	return -EPROTONOSUPPORT;
}

/*
 * What peers from that address have left here is so much that no other from there is accepted,
 * until the application has taken some of it.
 */
static bool peers_are_full(const struct ofi_domain *domain, const struct in6_addr *address)
{
	const struct ofi_peer *peer;
	uint64_t bytes = 0;

	DL_FOREACH2 (domain->peers.left, peer, left_next)
		if (!memcmp(&peer->gpu, address, sizeof(*address)))
			bytes += sizeof(*peer) + peer->limits.bytes;
	return bytes >= LEFT_SHARES * ofi_wire_room(OFI_RTS, domain->env.window_bytes);
}

static bool has_endpoint(const struct ofi_domain *domain)
{
	for (unsigned i = 0; i < OFI_EPS_MAX; i++)
		if (domain->eps[i])
			return true;
	return false;
}

int ofi_link_on_request(void *arg, struct fare_request *request)
{
	struct ofi_domain *domain = arg;
	const struct ofi_greeting own = own_greeting(domain);
	int err = ofi_link_check_greeting(domain, request->data, request->bytes);

	if (err)
		return err;
	/* it asks again: what it sends would be for nobody, and lost */
	if (!has_endpoint(domain))
		return -EHOSTUNREACH;
	if (peers_are_full(domain, &request->peer))
		return -EUSERS;
	ofi_greeting_encode(&own, request->reply);
	request->reply_bytes = OFI_GREETING_BYTES;
	return 0;
}
