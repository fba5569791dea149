/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/uplinks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/rng.h"

#define BALANCE_DRAWS 20000 /* the means are within 0.01 */

/* What one leaf's links carried; adds to a sum that is weighted by bytes. */
struct balance_leaf {
	double sum, squares, max;
	unsigned n;
};

static void balance_link(struct balance_leaf *leaf, double bytes)
{
	leaf->sum += bytes;
	leaf->squares += bytes * bytes;
	leaf->max = fmax(leaf->max, bytes);
	leaf->n++;
}

static void balance_add(struct link_balance *all, const struct balance_leaf *leaf)
{
	if (!(leaf->sum > 0))
		return;
	all->mmr += leaf->max * leaf->n;
	all->jfi += leaf->sum * leaf->sum * leaf->sum / (leaf->n * leaf->squares);
	all->max = fmax(all->max, leaf->max);
	all->mean += leaf->sum;
	all->n += leaf->n;
}

static void balance_end(struct link_balance *all)
{
	all->mmr /= all->mean; /* of no bytes: NaN */
	all->jfi /= all->mean;
	all->mean /= all->n;
}

struct link_balance link_balance(const struct lab_uplink *from, const struct lab_uplink *to,
				 unsigned n, const bool *sends)
{
	struct link_balance all = {.min = INFINITY};

	for (unsigned i = 0; i < n; i++) {
		struct balance_leaf leaf = {.n = 0};

		if ((sends && !sends[to[i].leaf]) || (i && to[i - 1].leaf == to[i].leaf))
			continue;
		for (unsigned j = i; j < n && to[j].leaf == to[i].leaf; j++) {
			double bytes = (double)(to[j].tx_bytes - from[j].tx_bytes);

			balance_link(&leaf, bytes);
			all.min = fmin(all.min, bytes);
		}
		balance_add(&all, &leaf);
	}
	balance_end(&all);
	return all;
}

struct link_balance link_balance_hashed(unsigned leaves, unsigned links, unsigned flows,
					uint64_t seed)
{
	unsigned *of = calloc((size_t)leaves * links, sizeof(*of));
	struct link_balance all = {.n = 0};

	for (unsigned draw = 0; of && draw < BALANCE_DRAWS; draw++) {
		for (unsigned i = 0; i < leaves * links; i++)
			of[i] = 0;
		for (unsigned f = 0; f < flows; f++)
			of[rng_below(&seed, leaves * links)]++;
		for (unsigned l = 0; l < leaves; l++) {
			struct balance_leaf leaf = {.n = 0};

			for (unsigned i = 0; i < links; i++)
				balance_link(&leaf, of[l * links + i]);
			balance_add(&all, &leaf);
		}
	}
	free(of);
	balance_end(&all);
	return all;
}

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
