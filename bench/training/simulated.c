/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/simulated.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "fabric/optimum.h"
#include "training/common.h"

static const char *const placed[] = {"", "_scattered"};

static void simulated_missing(struct trial *t, const char *why)
{
	for (const struct kpi *k = t->test->kpis; k->name; k++)
		if (kpi_is_simulated(k->name))
			trial_missing(t, k->name, "%s", why);
}

/* NULL: so many ranks, that state of the fabric and that mode of leaves are modelled. */
static const char *simulated_lacks(const struct trial *t, unsigned ranks, enum clos_balance *leaves)
{
	const char *mode = test_param(t->test, "balance") ? trial_text(t, "balance") : BALANCE_BASE;

	if (t->fabric->topo->n_gpus != t->fabric->topo->n_servers)
		return "servers with several GPUs are not simulated";
	if (ranks > 1 && ranks <= SIMULATED_LEAF_RANKS)
		return "so few ranks are at one leaf of those simulated: nothing crosses an uplink";
	*leaves = strcmp(mode, "spray") == 0 ? CLOS_SPRAY : CLOS_ECMP;
	if (test_param(t->test, "fabric") && strcmp(trial_text(t, "fabric"), "healthy") != 0)
		return "faults are not simulated";
	if (*leaves != CLOS_SPRAY && strcmp(mode, BALANCE_BASE) != 0)
		return "this mode of leaves is not simulated";
	return NULL;
}

/* TCP has a connection for each pair, which the kernel hashes to a sub-port; fare uses all. */
static struct clos simulated_fabric(const struct trial *t, unsigned ranks)
{
	const struct topo *topo = t->fabric->topo;
	struct clos c = {.ranks = ranks,
			 .leaf_ranks = SIMULATED_LEAF_RANKS,
			 .spines = SIMULATED_LEAF_RANKS,
			 .uplinks = 1,
			 .spine_left = 1,
			 .hosts =
				 strcmp(t->strategy_name, "mpi-fare") == 0 ? CLOS_SPRAY : CLOS_ECMP,
			 .qps = 1,
			 .seed = t->seed};
	double factor = optimum_goodput_factor(topo);

	for (unsigned p = 0; p < topo->n_planes; p++)
		for (unsigned s = 0; s < topo->gpus[0].plane[p].n_sub_ports; s++)
			c.plane_bps[c.planes++] =
				(double)topo->gpus[0].plane[p].sub_port[s].rate_bps * factor;
	return c;
}

/* why: if it is no number. */
static void simulated_value(struct trial *t, const char *kpi, const char *where, double value,
			    const char *why)
{
	char name[ROW_NAME_MAX];

	snprintf(name, sizeof(name), KPI_SIMULATED "%s%s", kpi, where);
	if (isfinite(value))
		trial_value(t, name, value, 1);
	else
		trial_missing(t, name, "%s", why);
}

static void simulated_uplinks(struct trial *t, const struct clos_uplinks *use)
{
	static const char none[] = "nothing crosses an uplink";

	simulated_value(t, "uplinks_JFI", "", use->jfi, none);
	simulated_value(t, "uplinks_MMR", "", use->mmr, none);
}

void simulated_add_leaves(struct trial *t, unsigned leaves, unsigned qps, const char *mode)
{
	const struct topo *topo = t->fabric->topo;
	const struct clos clos = {.ranks = leaves,
				  .leaf_ranks = 1,
				  .planes = 1,
				  .spines = topo->n_spines / topo->n_planes,
				  .plane_bps = {1}, /* of equal links */
				  .uplinks = 1,
				  .spine_left = 1,
				  .qps = qps,
				  .seed = t->seed};
	struct clos_uplinks use;
	struct clos_load *load;
	int err;

	if (strcmp(mode, BALANCE_BASE) != 0) {
		simulated_missing(t, "any hash of leaves is simulated as " BALANCE_BASE
				     ": the same draws");
		return;
	}
	err = clos_load_create(&load, &clos);
	if (err == -ENOMEM)
		t->err = err;
	if (err) {
		simulated_missing(t, "2 to 4,096 leaves, 64 spines and 64 QPs are simulated");
		return;
	}
	for (unsigned r = 0; r < leaves; r++)
		clos_load_add(load, r, (r + 1) % leaves, qps);
	use = clos_load_uplinks(load);
	clos_load_destroy(load);
	simulated_uplinks(t, &use);
}

void simulated_add(struct trial *t, enum collective c, unsigned ranks, uint64_t bytes,
		   double compute_s)
{
	struct clos clos = simulated_fabric(t, ranks);
	const char *lacks = simulated_lacks(t, ranks, &clos.leaves);
	struct simfab_result r;

	for (unsigned i = 0; !lacks && i < 2; i++) {
		clos.is_scattered = i;
		switch (simfab_collective(&clos, c, bytes, training_line_bps(t), &r)) {
		case 0:
			simulated_value(t, "BusBW", placed[i], r.busbw_bps / 1e9,
					"nothing crosses an uplink");
			simulated_value(t, "JCT_ratio", placed[i],
					(compute_s + r.seconds) /
						(compute_s + r.seconds / r.jct_ratio),
					"a collective beside the compute is not simulated");
			break;
		case -ENOMEM:
			t->err = -ENOMEM;
			return;
		default:
			lacks = "2 to 4,096 ranks are simulated";
		}
	}
	if (lacks) {
		simulated_missing(t, lacks);
		return;
	}
	simulated_uplinks(t, &r.uplinks);
}
