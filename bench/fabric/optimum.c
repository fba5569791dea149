/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/optimum.h"

#include <math.h>

static uint64_t min_bps(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t optimum_path_bps(const struct topo *topo, unsigned src, unsigned dst, unsigned plane)
{
	uint64_t ends =
		min_bps(topo_capacity_bps(topo, src, plane), topo_capacity_bps(topo, dst, plane));

	if (topo_same_leaf(topo, src, dst, plane))
		return ends;
	return min_bps(ends, topo_spines_bps(topo, topo->gpus[src].plane[plane].leaf,
					     topo->gpus[dst].plane[plane].leaf));
}

uint64_t optimum_announced_bps(const struct topo *topo, unsigned src, unsigned dst, unsigned plane)
{
	uint64_t bps = topo_capacity_bps(topo, dst, plane);

	if (topo_same_leaf(topo, src, dst, plane))
		return bps;
	return (uint64_t)((double)bps * topo_spines_share(topo, topo->gpus[src].plane[plane].leaf,
							  topo->gpus[dst].plane[plane].leaf));
}

uint64_t optimum_usable_bps(const struct topo *topo, unsigned src, unsigned dst, unsigned plane)
{
	return min_bps(topo_capacity_bps(topo, src, plane),
		       optimum_announced_bps(topo, src, dst, plane));
}

uint64_t optimum_pair_bps(const struct topo *topo, unsigned src, unsigned dst)
{
	uint64_t sum = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		sum += optimum_path_bps(topo, src, dst, plane);
	return sum;
}

/* Out of the leaves that this GPU's server is at, or into them, over their links to spines. */
static double optimum_leaves_s(const struct topo *topo, const uint64_t *bytes, unsigned gpu)
{
	unsigned n = topo->n_gpus;
	double out = 0, in = 0, capacity = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		capacity += (double)topo_uplinks_bps(topo, topo->gpus[gpu].plane[plane].leaf);
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; topo_same_leaf(topo, a, gpu, 0) && b < n; b++) {
			if (topo_same_leaf(topo, a, b, 0))
				continue;
			out += (double)bytes[(size_t)a * n + b];
			in += (double)bytes[(size_t)b * n + a];
		}
	return out + in > 0 ? fmax(out, in) * 8 / capacity : 0;
}

double optimum_uplinks_s(const struct topo *topo, const uint64_t *bytes)
{
	double longest = 0;

	for (unsigned gpu = 0; topo->n_spines && gpu < topo->n_gpus; gpu++)
		longest = fmax(longest, optimum_leaves_s(topo, bytes, gpu));
	return longest;
}

double optimum_all_to_all_s(const struct topo *topo, const uint64_t *bytes)
{
	unsigned n = topo->n_gpus;
	double longest = optimum_uplinks_s(topo, bytes);

	for (unsigned gpu = 0; gpu < n; gpu++) {
		uint64_t capacity = 0, tx = 0, rx = 0;

		for (unsigned plane = 0; plane < topo->n_planes; plane++)
			capacity += topo_capacity_bps(topo, gpu, plane);
		for (unsigned other = 0; other < n; other++) {
			uint64_t pair = bytes[(size_t)gpu * n + other];

			tx += pair;
			rx += bytes[(size_t)other * n + gpu];
			if (pair)
				longest = fmax(longest,
					       (double)pair * 8 /
						       (double)optimum_pair_bps(topo, gpu, other));
		}
		if (tx || rx)
			longest = fmax(longest, (double)(tx > rx ? tx : rx) * 8 / (double)capacity);
	}
	return longest;
}

double optimum_goodput_factor(const struct topo *topo)
{
	bool ipv6 = !topo->gpus[0].ipv4[0];

	return topo_goodput_factor(topo_path_mtu(topo->mtu_bytes, ipv6), ipv6);
}

double optimum_write_factor(const struct topo *topo, double bytes)
{
	bool ipv6 = !topo->gpus[0].ipv4[0];

	return topo_write_factor(topo_path_mtu(topo->mtu_bytes, ipv6), ipv6, bytes);
}

double optimum_bucket_bytes(const struct topo *topo, unsigned gpu)
{
	unsigned ports = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		ports += topo->gpus[gpu].plane[plane].n_sub_ports;
	return (double)ports * topo->bucket_bytes * optimum_goodput_factor(topo);
}

bool optimum_short(const struct topo *topo, unsigned gpu, double bytes)
{
	return bytes < 10 * optimum_bucket_bytes(topo, gpu);
}
