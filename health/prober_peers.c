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

static uint32_t *locate(const struct prober *p, uint32_t gpu, const struct in6_addr *address)
{
	uint64_t words[2], h;
	uint32_t at;

	memcpy(words, address, sizeof(words));
	h = (words[0] ^ (words[1] * UINT64_C(0x9e3779b97f4a7c15))) + gpu;
	h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	for (at = (uint32_t)(h >> 32) % PROBER_INDEX_SIZE;; at = (at + 1) % PROBER_INDEX_SIZE) {
		uint32_t entry = p->index[at];

		if (!entry || (p->peers[entry - 1]->gpu == gpu &&
			       IN6_ARE_ADDR_EQUAL(&p->peers[entry - 1]->address, address)))
			return (uint32_t *)&p->index[at];
	}
}

struct prober_peer *prober_peer_find(const struct prober *p, uint32_t gpu,
				     const struct in6_addr *address)
{
	uint32_t entry = *locate(p, gpu, address);

	return entry ? p->peers[entry - 1] : NULL;
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
	port_map_init(&path->map);
	loss_rtt_init(&path->loss);
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
		peer->n_planes = n_planes;
		for (uint32_t i = 0; i < n_planes; i++)
			init_path(p, &peer->paths[i], prober_place(peer, i));
		p->peers[p->n_peers++] = peer;
		*entry = p->n_peers;
	}
	*out = p->peers[*entry - 1];
	return 0;
}

struct prober_peer *prober_peer_of(const struct prober *p, uint32_t discriminator, uint32_t *plane)
{
	uint32_t place = discriminator & PLACE_MASK, i = place >> PLANE_BITS;

	*plane = place & (SUB_PORTS_MAX_PLANES - 1);
	if (i >= p->n_peers || *plane >= p->peers[i]->n_planes ||
	    p->peers[i]->paths[*plane].discriminator != discriminator)
		return NULL;
	return p->peers[i];
}
