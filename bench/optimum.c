/* SPDX-License-Identifier: BSD-2-Clause */
#include "optimum.h"

#include <errno.h>
#include <math.h>

#include "micro/fluid/fluid.h"

uint64_t optimum_path_bps(const struct topo *topo, unsigned src, unsigned dst, unsigned plane)
{
	uint64_t tx = topo_capacity_bps(topo, src, plane);
	uint64_t rx = topo_capacity_bps(topo, dst, plane);

	return tx < rx ? tx : rx;
}

uint64_t optimum_pair_bps(const struct topo *topo, unsigned src, unsigned dst)
{
	uint64_t sum = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		sum += optimum_path_bps(topo, src, dst, plane);
	return sum;
}

double optimum_all_to_all_s(const struct topo *topo, const uint64_t *bytes)
{
	unsigned n = topo->n_gpus;
	double longest = 0;

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

/* Links 2k and 2k+1 of the fluid: GPU k / n_planes, plane k % n_planes, out and in. */
static int optimum_add_pair(const struct topo *topo, struct fluid *fluid, unsigned src,
			    unsigned dst, double bytes)
{
	double total = (double)optimum_pair_bps(topo, src, dst);

	if (total <= 0)
		return -ENETUNREACH;
	for (unsigned plane = 0; plane < topo->n_planes; plane++) {
		double share = (double)optimum_path_bps(topo, src, dst, plane);
		int links[2] = {(int)(2 * (src * topo->n_planes + plane)),
				(int)(2 * (dst * topo->n_planes + plane) + 1)};
		int flow;

		if (share <= 0)
			continue;
		flow = fluid_add_flow(fluid, share, bytes * share / total, links, 2);
		if (flow < 0)
			return flow;
	}
	return 0;
}

int optimum_proportional_s(const struct topo *topo, const uint64_t *bytes, double *seconds)
{
	struct fluid *fluid;
	int err = fluid_create(&fluid);

	for (unsigned i = 0; !err && i < topo->n_gpus * topo->n_planes * 2; i++) {
		unsigned port = i / 2;
		int link =
			fluid_add_link(fluid, (double)topo_capacity_bps(topo, port / topo->n_planes,
									port % topo->n_planes));

		err = link < 0 ? link : 0;
	}
	for (unsigned i = 0; !err && i < topo->n_gpus * topo->n_gpus; i++)
		if (bytes[i])
			err = optimum_add_pair(topo, fluid, i / topo->n_gpus, i % topo->n_gpus,
					       (double)bytes[i]);
	if (!err)
		err = fluid_run(fluid, seconds);
	fluid_destroy(fluid);
	return err;
}

double optimum_goodput_factor(const struct topo *topo)
{
	bool ipv6 = !topo->gpus[0].ipv4[0];

	return topo_goodput_factor(topo_path_mtu(topo->mtu_bytes, ipv6), ipv6);
}
