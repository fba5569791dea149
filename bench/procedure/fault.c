/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/fault.h"

struct fault {
	struct fabric *fabric;
	const char *words;
	double share;
	uint64_t inject_ns;
};

static int fault_strike(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct fault *f = arg;
	uint64_t at_ns = from_ns + (uint64_t)((double)(to_ns - from_ns) * f->share);
	int err = cluster_sleep_until(f->fabric->cluster, at_ns);

	return err ? err : fabric_fail(f->fabric, f->words, &f->inject_ns);
}

struct recovery fault_goodput(const struct measured *m)
{
	return (struct recovery){.from_ns = m->from_ns / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS,
				 .n = m->n_bins,
				 .bytes = m->load[0].bin_bytes};
}

int fault_measure(struct trial *t, const struct plan *plan, const char *words, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput)
{
	struct fault f = {.fabric = t->fabric, .words = words, .share = share};
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
