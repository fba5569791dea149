/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/fluid/fluid_fabric.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "data_file.h"
#include "topology.h"

int fluid_fabric_load(const char *name, struct fluid_fabric *out, char why[FLUID_FABRIC_WHY_MAX])
{
	char path[PATH_MAX], error[TOPOLOGY_ERROR_MAX], missing[DATA_FILE_ERROR_MAX];
	struct topology t;

	if (data_file_find(data_file_topologies(), name, path, missing)) {
		snprintf(why, FLUID_FABRIC_WHY_MAX, "%.500s", missing);
		return -EINVAL;
	}
	if (topology_load(path, &t, error)) {
		snprintf(why, FLUID_FABRIC_WHY_MAX, "%.500s", error);
		return -EINVAL;
	}
	if (!t.rate_mbps) {
		snprintf(why, FLUID_FABRIC_WHY_MAX, "rate_mbps is 0: links have no bandwidth");
		return -EINVAL;
	}
	*out = (struct fluid_fabric){.servers = t.servers,
				     .gpus_per_server = t.gpus_per_server,
				     .planes = t.planes,
				     .sub_ports = t.sub_ports,
				     .plane_bps = (uint64_t)t.rate_mbps * 1000000 * t.sub_ports};
	return 0;
}
