/* SPDX-License-Identifier: BSD-2-Clause */
#include "sub_ports.h"

#include "path_mtu.h"

bool sub_ports_find(const struct sub_ports *ports, uint32_t gpu, int ifindex, uint32_t *plane,
		    uint32_t *sub_port)
{
	const struct sub_ports_gpu *g = &ports->gpus[gpu];

	if (ifindex <= 0 || gpu >= ports->n_gpus)
		return false;
	for (uint32_t p = 0; p < g->n_planes; p++)
		for (uint32_t s = 0; s < g->n_sub_ports[p]; s++)
			if (g->ifindex[p][s] == ifindex) {
				*plane = p;
				*sub_port = s;
				return true;
			}
	return false;
}

uint64_t sub_ports_diagonal(uint64_t turn, uint32_t n_local, uint32_t n_remote)
{
	uint32_t a = n_local, b = n_remote;

	if (!n_local || !n_remote)
		return 0;
	while (b) { /* the greatest common divisor: as often both lists begin together */
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return (turn + turn / (n_local / a * n_remote)) % n_remote;
}

void sub_ports_set_mtu(struct sub_ports *ports, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		       uint32_t mtu)
{
	struct sub_ports_gpu *g = &ports->gpus[gpu];

	g->mtu[plane][sub_port] = mtu;
	for (int v6 = 0; v6 < 2; v6++) {
		uint32_t n_fitting[PATH_MTU_SIZES + 1] = {0};

		for (uint32_t p = 0; p < g->n_planes; p++)
			for (uint32_t s = 0; s < g->n_sub_ports[p]; s++)
				if (g->mtu[p][s])
					n_fitting[path_mtu_fitting(g->mtu[p][s], v6)]++;
		g->path_mtu[v6] = path_mtu_of_most(n_fitting);
	}
}
