/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void plan_fini(struct plan *plan)
{
	free(plan->stream);
	memset(plan, 0, sizeof(*plan));
}

unsigned plan_load(struct plan *plan, const struct traffic_load *load)
{
	if (plan->n_loads == PLAN_MAX_LOADS) {
		plan->err = -E2BIG;
		return 0;
	}
	plan->load[plan->n_loads] = *load;
	return plan->n_loads++;
}

static int plan_grow(struct plan *plan)
{
	unsigned room = plan->room ? 2 * plan->room : 64;
	struct traffic_stream *grown = realloc(plan->stream, room * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	plan->stream = grown;
	plan->room = room;
	return 0;
}

unsigned plan_stream(struct plan *plan, unsigned load, unsigned src, unsigned dst, unsigned slots,
		     uint64_t slot_bytes)
{
	uint64_t room = (slot_bytes + 63) & ~UINT64_C(63);

	if (plan->n_streams == plan->room && plan_grow(plan)) {
		plan->err = -ENOMEM;
		return 0;
	}
	plan->stream[plan->n_streams] = (struct traffic_stream){.src = src,
								.dst = dst,
								.slots = slots,
								.slot_bytes = room,
								.tx_offset = plan->tx_bytes[src],
								.rx_offset = plan->rx_bytes[dst],
								.load = load};
	plan->tx_bytes[src] += room * slots;
	plan->rx_bytes[dst] += room * slots;
	return plan->n_streams++;
}

void plan_all_to_all(struct plan *plan, const struct topo *topo, unsigned load, unsigned first,
		     unsigned n, unsigned slots, uint64_t slot_bytes)
{
	for (unsigned i = first; i < first + n; i++)
		for (unsigned j = first; j < first + n; j++)
			if (topo->gpus[i].server != topo->gpus[j].server)
				plan_stream(plan, load, i, j, slots, slot_bytes);
}

uint64_t plan_arena_bytes(const struct plan *plan)
{
	uint64_t most = 0;

	for (unsigned gpu = 0; gpu < TOPO_MAX_GPUS; gpu++) {
		most = plan->tx_bytes[gpu] > most ? plan->tx_bytes[gpu] : most;
		most = plan->rx_bytes[gpu] > most ? plan->rx_bytes[gpu] : most;
	}
	return most;
}

int plan_begin(struct plan *plan, struct cluster *cluster, const struct topo *topo)
{
	int err = plan->err ? plan->err
			    : traffic_open(cluster, topo, plan->load, plan->n_loads, plan->stream,
					   plan->n_streams, true);

	plan_fini(plan);
	return err ? err
		   : cluster_all(cluster, json_pack("{s:s}", "op", "start"), "started",
				 TRAFFIC_TIMEOUT_MS);
}
