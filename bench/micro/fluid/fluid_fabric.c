/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/fluid/fluid_fabric.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "data_file.h"
#include "topology.h"

/* What each GPU has toward a plane; the model knows no GPU with other ports than the rest. */
static int fluid_fabric_planes(const struct topology *t, struct fluid_fabric *out,
			       char why[FLUID_FABRIC_WHY_MAX])
{
	for (unsigned i = 0; i < t->n_rates; i++)
		if (t->rates[i].server != TOPOLOGY_EVERY || t->rates[i].gpu != TOPOLOGY_EVERY) {
			snprintf(why, FLUID_FABRIC_WHY_MAX,
				 "rates[%u] is of one server or GPU; rates of planes and sub-ports "
				 "are expected",
				 i);
			return -EINVAL;
		}
	for (unsigned plane = 0; plane < t->planes; plane++)
		for (unsigned sub = 0; sub < t->sub_ports; sub++)
			out->plane_bps[plane] +=
				(uint64_t)(topology_rate(t, 0, 0, plane, sub) * 1e6);
	return 0;
}

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
				     .sub_ports = t.sub_ports};
	return fluid_fabric_planes(&t, out, why);
}
