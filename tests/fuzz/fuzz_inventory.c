/* links: bench_core; parses: bench/launch/inventory.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "launch/inventory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An inventory that is taken has no address outside of its limits, and every fault has a GPU. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[INVENTORY_ERROR_MAX];
	struct inventory *inventory;
	int err = inventory_parse(&inventory, "f", (const char *)data, size, error);

	if (err == -EINVAL) /* libcyaml refuses what our own check let pass */
		abort();
	if (err)
		return 0;
	for (unsigned gpu = 0; gpu < inventory->topo->n_gpus; gpu++) {
		struct in6_addr address;

		if (address_parse(topo_gpu_address(inventory->topo, gpu), &address) ||
		    !limits_allow(&inventory->limits, &address))
			abort();
		if (topo_capacity_bps(inventory->topo, gpu, inventory->topo->n_planes - 1) == 0)
			abort();
	}
	if (!inventory->limits.max_bps || !inventory->limits.max_run_ns)
		abort();
	for (unsigned h = 0; h < inventory->topo->n_servers; h++)
		for (unsigned f = 0; f < inventory->host[h].n_faults; f++)
			if (inventory->host[h].fault[f].plane >= inventory->topo->n_planes)
				abort();
	inventory_destroy(inventory);
	return 0;
}
