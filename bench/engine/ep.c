/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/ep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/measure.h"
#include "fabric/optimum.h"

#define EP_SLOTS       2  /* one per round in flight */
#define EP_PERIOD      64 /* rounds that differ */
#define EP_WARM_ROUNDS 4  /* left out, as the optimum takes: filling is no steady state */
/* strategies that reach half of the optimum end four in so many, with a part at either end */
#define EP_MORE_ROUNDS 5
#define EP_MAX_S       60.

/* A round's matrix, without what stays inside a server. */
static void ep_round(const struct topo *topo, const struct moe *moe, uint64_t round,
		     uint64_t *bytes)
{
	moe_round(moe, round % moe->period, bytes);
	for (unsigned i = 0; i < moe->gpus * moe->gpus; i++)
		if (topo->gpus[i / moe->gpus].server == topo->gpus[i % moe->gpus].server)
			bytes[i] = 0;
}

/*
 * A pair's share of a round is a sum of many small choices: its mean, and five standard deviations
 * above, rounded up to 4 KiB. Workers check that the actual matrices stay below.
 */
static uint64_t ep_slot_bytes(const struct moe *moe)
{
	double copies = (double)moe->tokens * moe->top_k / moe->gpus, root = 1;
	uint64_t bytes;

	while (root * root < copies)
		root++;
	bytes = (uint64_t)(copies + 5 * root + 1) * moe->hidden * moe->element_bytes;
	return (bytes + 4095) & ~UINT64_C(4095);
}

uint64_t ep_arena_bytes(const struct topo *topo, const struct ep_options *ep)
{
	struct moe moe = ep->moe;

	moe.gpus = topo->n_gpus;
	return ep_slot_bytes(&moe) * EP_SLOTS * topo->n_gpus;
}

struct moe ep_default_moe(void)
{
	return (struct moe){.tokens = 256,
			    .top_k = 8,
			    .experts = 64,
			    .hidden = 7168,
			    .element_bytes = 1,
			    .seed = 1};
}

void ep_plan(const struct topo *topo, const struct ep_options *ep, struct plan *plan,
	     struct moe *moe)
{
	struct traffic_load load = {.name = "ep",
				    .options = ep->traffic,
				    .moe = moe,
				    .rounds = TRAFFIC_ROUNDS,
				    .overlap = EP_SLOTS};

	*moe = ep->moe;
	moe->gpus = topo->n_gpus;
	moe->period = EP_PERIOD;
	plan_all_to_all(plan, topo, plan_load(plan, &load), 0, topo->n_gpus, EP_SLOTS,
			ep_slot_bytes(moe));
}

/*
 * -ERANGE: fewer than two rounds ended. The optimum is that of those that ended inside, in bit/s.
 * The matrix of the bytes moved would not do: what queues and shapers hold at the edges makes every
 * GPU's sum a little too large or too small, and the cut bound would pick the largest.
 */
static int ep_evaluate(const struct topo *topo, const struct moe *moe, const struct measured *m,
		       struct traffic_result *result)
{
	const struct measured_load *load = &m->load[0];
	size_t cells = (size_t)topo->n_gpus * topo->n_gpus;
	uint64_t *planned = calloc(2 * cells, sizeof(*planned)), first = 0, last,
		 base_ns = m->from_ns / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS;
	double sum = 0, moved;

	if (!planned)
		return -ENOMEM;
	while (first < load->n_rounds && load->round_end[first] < m->from_ns)
		first++;
	for (last = first; last + 1 < load->n_rounds && load->round_end[last + 1] < m->to_ns;) {
		ep_round(topo, moe, ++last, planned + cells);
		for (size_t i = 0; i < cells; i++) {
			planned[i] += planned[cells + i];
			sum += (double)planned[cells + i];
		}
	}
	if (last == first) {
		free(planned);
		return -ERANGE;
	}
	moved = traffic_bins_bytes(load->bin_bytes, m->n_bins, base_ns, load->round_end[first],
				   load->round_end[last]);
	result->goodput_bps =
		moved * 8e9 / (double)(load->round_end[last] - load->round_end[first]);
	result->optimum_bps =
		sum * 8 / optimum_all_to_all_s(topo, planned) * optimum_goodput_factor(topo);
	free(planned);
	return 0;
}

/* How long a round takes at best. */
static double ep_round_s(const struct topo *topo, const struct moe *moe)
{
	uint64_t *bytes = calloc((size_t)moe->gpus * moe->gpus, sizeof(*bytes));
	double seconds = 0;

	if (bytes) {
		ep_round(topo, moe, 0, bytes);
		seconds = optimum_all_to_all_s(topo, bytes);
	}
	free(bytes);
	return seconds;
}

static int ep_measure(struct cluster *cluster, const struct topo *topo, const struct plan *plan,
		      double warm_s, double seconds, const struct moe *moe,
		      struct traffic_result *result)
{
	const struct measure measure = {.cluster = cluster,
					.topo = topo,
					.plan = plan,
					.warm_s = warm_s,
					.seconds = seconds,
					.bins = true};
	struct measured m;
	int err = measure_run(&measure, &m);

	if (err)
		return err;
	*result = m.books;
	result->idle = m.idle;
	err = ep_evaluate(topo, moe, &m, result);
	measured_fini(&m);
	return err;
}

int ep_run(struct cluster *cluster, const struct topo *topo, const struct ep_options *ep,
	   unsigned repetition, struct traffic_result *result)
{
	struct ep_options own = *ep;
	struct plan plan = {0};
	struct moe moe;
	double round_s, seconds;
	int err;

	own.moe.seed += repetition;
	ep_plan(topo, &own, &plan, &moe);
	if (moe_check(&moe)) {
		fprintf(stderr, "farebench: ep: %u experts do not fit %u GPUs and top-%u\n",
			moe.experts, moe.gpus, moe.top_k);
		plan_fini(&plan);
		return -EINVAL;
	}
	round_s = ep_round_s(topo, &moe);
	seconds = ep->measure_s + EP_MORE_ROUNDS * round_s;
	/* a machine that is slower than its links needs longer for as many rounds */
	for (;; seconds *= 3) {
		err = plan.err ? plan.err
			       : ep_measure(cluster, topo, &plan, EP_WARM_ROUNDS * round_s, seconds,
					    &moe, result);
		if (err != -ERANGE || seconds * 3 >= EP_MAX_S)
			break;
	}
	if (err == -ERANGE)
		fprintf(stderr, "farebench: ep: fewer than two rounds ended in %.1f s\n", seconds);
	plan_fini(&plan);
	return err;
}
