/* SPDX-License-Identifier: BSD-2-Clause */
/* uplinks.c - see uplinks.h */
#include "procedure/uplinks.h"

#include <errno.h>
#include <stdlib.h>

int uplinks_init(struct uplinks *u, const struct fabric *fabric)
{
	unsigned n = fabric->topo->n_uplinks;

	*u = (struct uplinks){.fabric = fabric,
			      .from = calloc(2 * (size_t)n + 1, sizeof(*u->from))};
	u->to = u->from ? u->from + n : NULL;
	return u->from ? 0 : -ENOMEM;
}

void uplinks_fini(struct uplinks *u)
{
	free(u->from);
}

int uplinks_meanwhile(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct uplinks *u = arg;
	const struct fabric *fabric = u->fabric;
	int err = cluster_sleep_until(fabric->cluster, from_ns);

	if (!err)
		err = lab_uplinks(&fabric->lab, fabric->topo, u->from, &u->from_ns);
	if (!err)
		err = cluster_sleep_until(fabric->cluster, to_ns);
	return err ? err : lab_uplinks(&fabric->lab, fabric->topo, u->to, &u->to_ns);
}

double uplinks_full_bytes(const struct uplinks *u)
{
	return (double)u->fabric->topo->uplinks[0].rate_bps / 8 * (double)(u->to_ns - u->from_ns) /
	       1e9;
}

struct link_balance uplinks_balance(const struct uplinks *u, const bool *sends)
{
	return link_balance(u->from, u->to, u->fabric->topo->n_uplinks, sends);
}

struct link_balance uplinks_balance_busy(const struct uplinks *u, double share)
{
	const struct topo *topo = u->fabric->topo;
	double *unsent = calloc(topo->n_leaves + 1, sizeof(*unsent)), full = uplinks_full_bytes(u);
	bool *sends = calloc(topo->n_leaves + 1, sizeof(*sends));
	struct link_balance use = {.n = 0};

	for (unsigned i = 0; unsent && i < topo->n_uplinks; i++)
		unsent[u->to[i].leaf] +=
			share * full - (double)(u->to[i].tx_bytes - u->from[i].tx_bytes);
	for (unsigned i = 0; unsent && sends && i < topo->n_uplinks; i++)
		sends[u->to[i].leaf] = unsent[u->to[i].leaf] <= 0;
	if (unsent && sends)
		use = uplinks_balance(u, sends);
	free(unsent);
	free(sends);
	return use;
}
