/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_peers.c - see prober_internal.h: sessions by (local GPU, peer) and by discriminator */
#include "prober_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A discriminator is 16 random bits and the session's place. */
#define PLANE_BITS 4u
#define PLACE_MASK 0xffffu

_Static_assert(PROBER_MAX_PEERS << PLANE_BITS == PLACE_MASK + 1, "places fit 16 bits");
_Static_assert(SUB_PORTS_MAX_PLANES == 1u << PLANE_BITS, "planes fit 4 bits");

/* Where the search for it begins. */
static uint32_t home(uint32_t gpu, const struct in6_addr *address)
{
	uint64_t halves[2], h;

	memcpy(halves, address, sizeof(halves));
	h = (halves[0] ^ (halves[1] * UINT64_C(0x9e3779b97f4a7c15))) + gpu;
	h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(h >> 32) % PROBER_INDEX_SIZE;
}

static uint32_t *locate(const struct prober *p, uint32_t gpu, const struct in6_addr *address)
{
	for (uint32_t at = home(gpu, address);; at = (at + 1) % PROBER_INDEX_SIZE) {
		const struct prober_peer *peer = p->index[at] ? p->places[p->index[at] - 1] : NULL;

		if (!peer || (peer->gpu == gpu && IN6_ARE_ADDR_EQUAL(&peer->address, address)))
			return (uint32_t *)&p->index[at];
	}
}

/* Those behind it move up, as far as that does not take one before its home. */
static void index_remove(struct prober *p, uint32_t hole)
{
	uint32_t at = hole;

	for (;;) {
		const struct prober_peer *peer;
		uint32_t begin;

		at = (at + 1) % PROBER_INDEX_SIZE;
		if (!p->index[at])
			break;
		peer = p->places[p->index[at] - 1];
		begin = home(peer->gpu, &peer->address);
		if ((at - begin) % PROBER_INDEX_SIZE < (at - hole) % PROBER_INDEX_SIZE)
			continue;
		p->index[hole] = p->index[at];
		hole = at;
	}
	p->index[hole] = 0;
}

struct prober_peer *prober_peer_find(const struct prober *p, uint32_t gpu,
				     const struct in6_addr *address)
{
	uint32_t entry = *locate(p, gpu, address);

	return entry ? p->places[entry - 1] : NULL;
}

static void init_path(struct prober *p, struct prober_path *path, uint32_t place)
{
	uint32_t high;

	do
		high = (uint32_t)(nonces_next(&p->nonces) >> 48);
	while (!high);
	path->discriminator = high << 16 | place;
	path->permille = 1000;
	memset(path->remote, 0xff, sizeof(path->remote));
	memset(path->back, 0xff, sizeof(path->back));
	loss_rtt_init(&path->loss);
}

/* There is one: there are as many places as peers at most. One just left is not taken at once. */
static uint32_t free_place(struct prober *p)
{
	while (p->places[p->place_turn % PROBER_MAX_PEERS])
		p->place_turn++;
	return p->place_turn++ % PROBER_MAX_PEERS;
}

int prober_peer_get(struct prober *p, uint32_t gpu, const struct in6_addr *address,
		    struct prober_peer **out)
{
	uint32_t *entry = locate(p, gpu, address), n_planes = p->ports->gpus[gpu].n_planes;
	struct prober_peer *peer;

	if (!*entry) {
		if (p->n_peers == PROBER_MAX_PEERS)
			return -ENOSPC;
		peer = calloc(1, sizeof(*peer) + n_planes * sizeof(peer->paths[0]));
		if (!peer)
			return -ENOMEM;
		peer->address = *address;
		peer->gpu = gpu;
		peer->index = p->n_peers;
		peer->place = free_place(p);
		peer->n_planes = n_planes;
		peer->cookie = nonces_next(&p->nonces) | 1;
		for (uint32_t i = 0; i < n_planes; i++)
			init_path(p, &peer->paths[i], prober_place(peer, i));
		p->peers[p->n_peers++] = peer;
		p->places[peer->place] = peer;
		*entry = peer->place + 1;
	}
	*out = p->places[*entry - 1];
	return 0;
}

static void add_totals(struct prober_totals *to, const struct prober_path *path)
{
	to->n_sent += path->loss.n_sent_ever;
	to->n_lost += path->loss.n_lost_ever;
	to->n_downs += path->fsm.n_downs;
}

void prober_totals(const struct prober *p, uint32_t gpu, uint32_t plane, struct prober_totals *out)
{
	*out = p->planes[gpu][plane].forgotten;
	for (uint32_t i = 0; i < p->n_peers; i++)
		if (p->peers[i]->gpu == gpu)
			add_totals(out, &p->peers[i]->paths[plane]);
}

void prober_forget(struct prober *p, uint32_t gpu, const struct in6_addr *address)
{
	uint32_t *entry = locate(p, gpu, address);
	struct prober_peer *peer = *entry ? p->places[*entry - 1] : NULL;

	if (!peer)
		return;
	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (peer->paths[i].wanted)
			return;
	for (uint32_t i = 0; i < peer->n_planes; i++) {
		wheel_clear(p->wheel, prober_place(peer, i));
		add_totals(&p->planes[gpu][i].forgotten, &peer->paths[i]);
	}
	if (p->traced == peer)
		prober_trace_end(p);
	index_remove(p, (uint32_t)(entry - p->index));
	p->places[peer->place] = NULL;
	p->peers[peer->index] = p->peers[--p->n_peers];
	p->peers[peer->index]->index = peer->index;
	free(peer);
}

struct prober_peer *prober_peer_of(const struct prober *p, uint32_t discriminator, uint32_t *plane)
{
	uint32_t place = discriminator & PLACE_MASK;
	struct prober_peer *peer = p->places[place >> PLANE_BITS];

	*plane = place & (SUB_PORTS_MAX_PLANES - 1);
	if (!peer || *plane >= peer->n_planes || peer->paths[*plane].discriminator != discriminator)
		return NULL;
	return peer;
}
