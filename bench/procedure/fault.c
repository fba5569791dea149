/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/fault.h"

#include <stdio.h>
#include <string.h>

struct fault {
	struct fabric *fabric;
	const char *spec; /* NULL: of links */
	struct fault_links *links;
	double share;
	uint64_t inject_ns;
};

static int fault_strike(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct fault *f = arg;
	uint64_t at_ns = from_ns + (uint64_t)((double)(to_ns - from_ns) * f->share);
	int err = 0;

	if (f->links) {
		err = cluster_sleep_until(f->fabric->cluster, at_ns - FAULT_COUNT_NS);
		if (!err)
			err = fault_links_count(f->links, f->fabric);
	}
	if (!err)
		err = cluster_sleep_until(f->fabric->cluster, at_ns);
	if (!err && f->links) {
		err = fault_links_count(f->links, f->fabric);
		fault_links_choose(f->links);
	}
	return err ? err
		   : fabric_fail(f->fabric, f->links ? f->links->spec : f->spec, &f->inject_ns);
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

bool fault_spine_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec,
			size_t size)
{
	unsigned leaf = topo->gpus[gpu].plane[plane].leaf;

	for (unsigned i = 0; i < topo->n_uplinks; i++) {
		const struct topo_spine *spine = &topo->spines[topo->uplinks[i].spine];

		if (topo->uplinks[i].leaf != leaf || spine->superspine < 0)
			continue;
		snprintf(spec, size, "uplink %.40s %.40s", spine->name, spine->superspine_name);
		return true;
	}
	return false;
}

int fault_settle(struct trial *t, const struct observe *observe, uint64_t healed_ns,
		 const char *kpi)
{
	uint64_t last_ns = 0;
	uint32_t n;
	int err = fabric_settle(t->fabric);

	if (!err && observe)
		err = observe_n(observe, &n);
	if (err)
		return err;
	if (observe)
		last_ns = observe_last(observe, n, OBSERVE_WEIGHTS, healed_ns);
	if (!observe)
		trial_missing(t, kpi, "published weights are watched in labs alone");
	else if (!last_ns || !observe_weights_are_first(observe, t->fabric->topo))
		trial_missing(t, kpi, "no weight was lowered, or not all came back");
	else
		trial_value(t, kpi, (double)(last_ns - healed_ns) / 1e6, 1);
	return 0;
}

struct recovery fault_goodput(const struct measured *m)
{
	return (struct recovery){.from_ns = m->from_ns / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS,
				 .n = m->n_bins,
				 .bytes = m->load[0].bin_bytes};
}

static int fault_measure_any(struct trial *t, const struct plan *plan, struct fault f,
			     uint64_t *inject_ns, struct measured *m, struct recovery *goodput)
{
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

int fault_measure(struct trial *t, const struct plan *plan, const char *spec, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput)
{
	const struct fault f = {.fabric = t->fabric, .spec = spec, .share = share};

	return fault_measure_any(t, plan, f, inject_ns, m, goodput);
}

int fault_measure_busiest(struct trial *t, const struct plan *plan, struct fault_links *links,
			  double share, uint64_t *inject_ns, struct measured *m,
			  struct recovery *goodput)
{
	const struct fault f = {.fabric = t->fabric, .links = links, .share = share};

	return fault_measure_any(t, plan, f, inject_ns, m, goodput);
}
