/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_named.h"

#include <string.h>
#include <utlist.h>

#include "ofi/ofi_av.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_name.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_queue.h"

static struct ofi_peer *find_up(const struct ofi_domain *domain, const struct fare_address *name)
{
	struct ofi_peer *peer;

	HASH_FIND(hh_name, domain->peers.by_name, name, sizeof(*name), peer);
	return peer;
}

struct ofi_peer *ofi_named_get(struct ofi_domain *domain, const struct fare_address *name)
{
	struct ofi_peer *peer = find_up(domain, name);
	struct fare_address own;

	if (peer)
		return peer;
	ofi_name_of(&domain->address, &own);
	return ofi_peer_get(domain, memcmp(&own, name, sizeof(own)) ? name : &domain->address);
}

void ofi_named_up(struct ofi_peer *peer)
{
	struct ofi_domain *domain = peer->domain;
	struct ofi_peer *other;

	if (peer->is_up)
		return;
	ofi_name_of(&peer->address, &peer->name);
	other = find_up(domain, &peer->name);
	if (other) /* it is gone, and its links do not know it yet */
		ofi_named_down(other);
	HASH_ADD(hh_name, domain->peers.by_name, name, sizeof(peer->name), peer);
	if (!peer->hh_name.tbl)
		return;
	peer->is_up = true;
	HASH_FIND(hh, domain->peers.by_address, &peer->name, sizeof(peer->name), other);
	if (!other)
		return;
	ofi_avs_move(domain, other, peer);
	ofi_queue_move(other, peer);
}

void ofi_named_down(struct ofi_peer *peer)
{
	struct ofi_peer *nobody;

	if (!peer->is_up)
		return;
	HASH_DELETE(hh_name, peer->domain->peers.by_name, peer);
	peer->is_up = false;
	nobody = peer->n_names ? ofi_peer_get(peer->domain, &peer->name) : NULL;
	if (nobody)
		ofi_avs_move(peer->domain, peer, nobody);
}

bool ofi_named_connected(struct ofi_link *link)
{
	struct ofi_peer *nobody = link->peer, *peer = NULL;
	struct fare_address address;

	if (!fare_group_peer_address(link->group, &address))
		peer = ofi_peer_get(nobody->domain, &address);
	if (!peer)
		return false;
	DL_DELETE(nobody->links, link);
	if (nobody->tx == link)
		nobody->tx = NULL;
	link->peer = peer;
	peer->gpu = nobody->gpu;
	DL_APPEND(peer->links, link);
	if (!peer->tx)
		peer->tx = link;
	ofi_peer_changed(nobody);
	ofi_peer_changed(peer);
	ofi_named_up(peer);
	return true;
}
