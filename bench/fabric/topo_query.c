/* SPDX-License-Identifier: BSD-2-Clause */
/* topo_query.c - what a fabric can carry, and where its parts are: the pure half of topo.h. */
#include "fabric/topo.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOPO_HEADERS_V4 (14 + 20 + 8 + 12 + 4)
#define TOPO_HEADERS_V6 (14 + 40 + 8 + 12 + 4)
#define TOPO_RETH	16
/* RETH with immediate is the longest that precedes payload; the link MTU leaves Ethernet out */
#define TOPO_LONGEST_V4 (20 + 8 + 12 + 16 + 4 + 4)
#define TOPO_LONGEST_V6 (40 + 8 + 12 + 16 + 4 + 4)

int topo_find_gpu(const struct topo *topo, const char *name)
{
	const char *slash = strchr(name, '/');
	size_t length = slash ? (size_t)(slash - name) : strlen(name);
	char *end;
	unsigned long index = strtoul(name, &end, 10);

	if (name[0] >= '0' && name[0] <= '9' && *end == '\0')
		return index < topo->n_gpus ? (int)index : -ENOENT;
	for (unsigned i = 0; i < topo->n_gpus; i++) {
		const struct topo_gpu *gpu = &topo->gpus[i];
		const char *server = topo->servers[gpu->server].name;

		if (strlen(server) != length || strncmp(server, name, length) != 0)
			continue;
		if (slash ? strcmp(slash + 1, gpu->name) == 0 : gpu->index == 0)
			return (int)i;
	}
	return -ENOENT;
}

int topo_find_sub_port(const struct topo *topo, unsigned server, const char *dev, unsigned *plane,
		       unsigned *sub_port)
{
	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
		for (unsigned p = 0; topo->gpus[gpu].server == server && p < topo->n_planes; p++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[p].n_sub_ports; s++) {
				if (strcmp(topo->gpus[gpu].plane[p].sub_port[s].dev, dev) != 0)
					continue;
				*plane = p;
				*sub_port = s;
				return (int)gpu;
			}
	return -ENOENT;
}

int topo_find_leaf(const struct topo *topo, const char *name)
{
	for (unsigned i = 0; i < topo->n_leaves; i++)
		if (strcmp(topo->leaves[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

int topo_find_spine(const struct topo *topo, const char *name)
{
	for (unsigned i = 0; i < topo->n_spines; i++)
		if (strcmp(topo->spines[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

void topo_gpu_label(const struct topo *topo, unsigned gpu, char *out, size_t size)
{
	snprintf(out, size, "%s/%s", topo->servers[topo->gpus[gpu].server].name,
		 topo->gpus[gpu].name);
}

const char *topo_gpu_address(const struct topo *topo, unsigned gpu)
{
	return topo->gpus[gpu].ipv4[0] ? topo->gpus[gpu].ipv4 : topo->gpus[gpu].ipv6;
}

uint32_t topo_live_sub_ports(const struct topo *topo, unsigned gpu, unsigned plane)
{
	const struct topo_plane *p = &topo->gpus[gpu].plane[plane];
	uint32_t live = 0;

	for (unsigned i = 0; i < p->n_sub_ports; i++)
		live |= (uint32_t)p->sub_port[i].up << i;
	return live;
}

uint64_t topo_capacity_bps(const struct topo *topo, unsigned gpu, unsigned plane)
{
	const struct topo_plane *p = &topo->gpus[gpu].plane[plane];
	uint64_t sum = 0;

	if (p->n_sub_ports == 0 || !topo->leaves[p->leaf].up)
		return 0;
	for (unsigned i = 0; i < p->n_sub_ports; i++)
		if (p->sub_port[i].up)
			sum += p->sub_port[i].rate_bps;
	return sum;
}

bool topo_same_leaf(const struct topo *topo, unsigned src, unsigned dst, unsigned plane)
{
	return topo->gpus[src].plane[plane].leaf == topo->gpus[dst].plane[plane].leaf;
}

/* The live link of a leaf to a spine; NULL: there is none. */
static const struct topo_uplink *topo_uplink(const struct topo *topo, unsigned leaf, unsigned spine)
{
	for (unsigned i = 0; topo->spines[spine].up && i < topo->n_uplinks; i++)
		if (topo->uplinks[i].leaf == leaf && topo->uplinks[i].spine == spine)
			return topo->uplinks[i].up ? &topo->uplinks[i] : NULL;
	return NULL;
}

static uint64_t topo_query_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What is carried by that spine above from_leaf; 0: it does not lead to the other leaf. */
static uint64_t spine_bps(const struct topo *topo, unsigned from_leaf, unsigned spine,
			  unsigned to_leaf)
{
	const struct topo_uplink *up = topo_uplink(topo, from_leaf, spine);
	const struct topo_spine *here = &topo->spines[spine];

	for (unsigned other = 0; up && other < topo->n_spines; other++) {
		const struct topo_uplink *down = topo_uplink(topo, to_leaf, other);
		const struct topo_spine *there = &topo->spines[other];

		if (down && other == spine)
			return topo_query_smaller(up->rate_bps, down->rate_bps);
		if (down && here->superspine >= 0 && here->superspine == there->superspine)
			return topo_query_smaller(
				topo_query_smaller(up->rate_bps, here->uplink_bps),
				topo_query_smaller(there->uplink_bps, down->rate_bps));
	}
	return 0;
}

uint64_t topo_spines_bps(const struct topo *topo, unsigned from_leaf, unsigned to_leaf)
{
	uint64_t sum = 0;

	for (unsigned spine = 0; spine < topo->n_spines; spine++)
		sum += spine_bps(topo, from_leaf, spine, to_leaf);
	return sum;
}

double topo_spines_share(const struct topo *topo, unsigned from_leaf, unsigned to_leaf)
{
	unsigned all = 0, live = 0;

	for (unsigned i = 0; i < topo->n_uplinks; i++)
		all += topo->uplinks[i].leaf == from_leaf;
	for (unsigned spine = 0; spine < topo->n_spines; spine++)
		live += spine_bps(topo, from_leaf, spine, to_leaf) > 0;
	return all ? (double)live / all : 0;
}

uint64_t topo_uplinks_bps(const struct topo *topo, unsigned leaf)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < topo->n_uplinks; i++)
		if (topo->uplinks[i].leaf == leaf && topo->uplinks[i].up &&
		    topo->spines[topo->uplinks[i].spine].up)
			sum += topo->uplinks[i].rate_bps;
	return sum;
}

double topo_oversubscription(const struct topo *topo)
{
	double worst = 0;

	for (unsigned leaf = 0; leaf < topo->n_leaves; leaf++) {
		unsigned plane = topo->leaves[leaf].plane;
		double servers = 0, uplinks = (double)topo_uplinks_bps(topo, leaf);

		for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
			if (topo->gpus[gpu].plane[plane].leaf == leaf)
				servers += (double)topo_capacity_bps(topo, gpu, plane);
		if (uplinks > 0)
			worst = fmax(worst, servers / uplinks);
	}
	return worst;
}

unsigned topo_path_mtu(unsigned link_mtu_bytes, bool ipv6)
{
	for (unsigned mtu = 4096; mtu >= 256; mtu /= 2)
		if (mtu + (ipv6 ? TOPO_LONGEST_V6 : TOPO_LONGEST_V4) <= link_mtu_bytes)
			return mtu;
	return 0;
}

double topo_goodput_factor(unsigned path_mtu, bool ipv6)
{
	return (double)path_mtu / (path_mtu + (ipv6 ? TOPO_HEADERS_V6 : TOPO_HEADERS_V4));
}

double topo_write_factor(unsigned path_mtu, bool ipv6, double bytes)
{
	double headers = ipv6 ? TOPO_HEADERS_V6 : TOPO_HEADERS_V4;

	return bytes / (bytes + headers * ceil(bytes / path_mtu) + TOPO_RETH);
}
