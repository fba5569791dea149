/* SPDX-License-Identifier: BSD-2-Clause */
/* sub_ports.c - see sub_ports.h */
#include "sub_ports.h"

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
