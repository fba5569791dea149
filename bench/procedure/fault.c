/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/fault.h"

struct fault {
	struct fabric *fabric;
	const char *spec;
	double share;
	uint64_t inject_ns;
};

static int fault_strike(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct fault *f = arg;
	uint64_t at_ns = from_ns + (uint64_t)((double)(to_ns - from_ns) * f->share);
	int err = cluster_sleep_until(f->fabric->cluster, at_ns);

	return err ? err : fabric_fail(f->fabric, f->spec, &f->inject_ns);
}

bool fault_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec, size_t size)
{
	unsigned leaf = topo->gpus[gpu].plane[plane].leaf;

	for (unsigned i = 0; i < topo->n_uplinks; i++)
		if (topo->uplinks[i].leaf == leaf) {
			snprintf(spec, size, "uplink %.40s %.40s", topo->leaves[leaf].name,
				 topo->spines[topo->uplinks[i].spine].name);
			return true;
		}
	return false;
}

struct recovery fault_goodput(const struct measured *m)
{
	return (struct recovery){.from_ns = m->from_ns / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS,
				 .n = m->n_bins,
				 .bytes = m->load[0].bin_bytes};
}

int fault_measure(struct trial *t, const struct plan *plan, const char *spec, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput)
{
	struct fault f = {.fabric = t->fabric, .spec = spec, .share = share};
	int err;

	t->bins = true;
	t->is_fault_planned = true;
	err = trial_measure(t, plan, fault_strike, &f, m);
	if (err)
		return err;
	*inject_ns = f.inject_ns;
	*goodput = fault_goodput(m);
	return 0;
}
