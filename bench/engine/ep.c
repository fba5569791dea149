/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/ep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/audit.h"
#include "optimum.h"

#define EP_SLOTS      2 /* one per round in flight */
#define EP_MIN_ROUNDS 4 /* measured */
#define EP_MAX_ROUNDS 20000

/* A round's matrix, without what stays inside a server. */
static void ep_round(const struct topo *topo, const struct moe *moe, uint64_t round,
		     uint64_t *bytes)
{
	moe_round(moe, round, bytes);
	for (unsigned i = 0; i < moe->gpus * moe->gpus; i++)
		if (topo->gpus[i / moe->gpus].server == topo->gpus[i % moe->gpus].server)
			bytes[i] = 0;
}

/*
 * A pair's share of a round is a sum of many small choices: its mean, and five standard deviations
 * above, rounded up to 4 KiB. ep_prepare() checks that the actual matrices stay below.
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

struct ep_plan {
	struct moe moe;
	uint64_t rounds;
	uint64_t *bytes; /* rounds x n_gpus x n_gpus */
	struct traffic_stream *streams;
	unsigned n_streams;
};

int ep_streams(const struct topo *topo, const struct moe *moe, struct traffic_stream **out,
	       unsigned *n_out)
{
	unsigned n = topo->n_gpus;
	uint64_t slot = ep_slot_bytes(moe);
	struct traffic_stream *streams = calloc((size_t)n * n, sizeof(*streams));

	*out = streams;
	*n_out = 0;
	if (!streams)
		return -ENOMEM;
	for (unsigned i = 0; i < n * n; i++) {
		if (topo->gpus[i / n].server == topo->gpus[i % n].server)
			continue;
		streams[(*n_out)++] = (struct traffic_stream){
			.src = i / n,
			.dst = i % n,
			.slots = EP_SLOTS,
			.slot_bytes = slot,
			.tx_offset = (i % n) * slot * EP_SLOTS,
			.rx_offset = (i / n) * slot * EP_SLOTS,
		};
	}
	return 0;
}

/* Adds rounds until the optimum would need measure_s for those that are measured. */
static int ep_plan_rounds(const struct topo *topo, double measure_s, struct ep_plan *plan)
{
	size_t cells = (size_t)topo->n_gpus * topo->n_gpus;
	uint64_t *sum = calloc(cells, sizeof(*sum)), slot = ep_slot_bytes(&plan->moe);
	int err = sum ? 0 : -ENOMEM;

	while (!err && (plan->rounds < 2 * EP_EDGE_ROUNDS + EP_MIN_ROUNDS ||
			optimum_all_to_all_s(topo, sum) < measure_s)) {
		uint64_t *grown = realloc(plan->bytes, (plan->rounds + 1) * cells * sizeof(*grown)),
			 *round;

		if (!grown || plan->rounds == EP_MAX_ROUNDS) {
			err = grown ? -ERANGE : -ENOMEM;
			plan->bytes = grown ? grown : plan->bytes;
			break;
		}
		plan->bytes = grown;
		round = grown + plan->rounds * cells;
		ep_round(topo, &plan->moe, plan->rounds, round);
		for (size_t i = 0; i < cells; i++) {
			sum[i] += plan->rounds >= 2 * EP_EDGE_ROUNDS ? round[i] : 0;
			if (round[i] > slot)
				err = -EOVERFLOW;
		}
		plan->rounds++;
	}
	free(sum);
	return err;
}

/* times[gpu] holds, for each stream into gpu in the order of plan->streams, when each round was
 * verified. */
struct ep_times {
	uint64_t **of_gpu;
	uint64_t from, to;
};

/* When round r was whole everywhere. */
static uint64_t ep_round_end(const struct ep_plan *plan, const struct ep_times *times,
			     uint64_t round)
{
	unsigned per_gpu[TOPO_MAX_GPUS] = {0};
	uint64_t last = 0;

	for (unsigned i = 0; i < plan->n_streams; i++) {
		unsigned dst = plan->streams[i].dst;
		uint64_t at = times->of_gpu[dst][per_gpu[dst]++ * plan->rounds + round];

		last = at > last ? at : last;
	}
	return last;
}

/* Payload of all GPUs acknowledged between from and to. */
static int ep_moved_bytes(struct cluster *cluster, const struct ep_times *times, double *out)
{
	uint64_t base_ns = times->from / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS;
	size_t n = (size_t)((times->to - base_ns) / TRAFFIC_BIN_NS + 1);
	double *bins = calloc(n, sizeof(*bins));
	int err = bins ? 0 : -ENOMEM;

	for (unsigned gpu = 0; !err && gpu < cluster_size(cluster); gpu++)
		err = traffic_bins(cluster, gpu, base_ns, bins, n);
	if (!err)
		*out = traffic_bins_bytes(bins, n, base_ns, times->from, times->to);
	free(bins);
	return err;
}

/*
 * The optimum is that of the rounds that ended inside, in bit/s. The matrix of the bytes moved
 * would not do: what queues and shapers hold at the edges makes every GPU's sum a little too large
 * or too small, and the cut bound would pick the largest.
 */
static int ep_evaluate(struct cluster *cluster, const struct topo *topo, const struct ep_plan *plan,
		       struct ep_times *times, struct traffic_result *result)
{
	size_t cells = (size_t)topo->n_gpus * topo->n_gpus;
	uint64_t *planned = calloc(cells, sizeof(*planned));
	double sum = 0, moved = 0;
	int err;

	if (!planned)
		return -ENOMEM;
	for (uint64_t round = EP_EDGE_ROUNDS + 1; round < plan->rounds - EP_EDGE_ROUNDS; round++) {
		for (size_t i = 0; i < cells; i++) {
			planned[i] += plan->bytes[round * cells + i];
			sum += (double)plan->bytes[round * cells + i];
		}
	}
	times->from = ep_round_end(plan, times, EP_EDGE_ROUNDS);
	times->to = ep_round_end(plan, times, plan->rounds - 1 - EP_EDGE_ROUNDS);
	err = ep_moved_bytes(cluster, times, &moved);
	result->goodput_bps = moved * 8e9 / (double)(times->to - times->from);
	result->optimum_bps =
		sum * 8 / optimum_all_to_all_s(topo, planned) * optimum_goodput_factor(topo);
	free(planned);
	return err;
}

static int ep_collect(struct cluster *cluster, const struct topo *topo, const struct ep_plan *plan,
		      struct traffic_result *result)
{
	struct ep_times times = {.of_gpu = calloc(topo->n_gpus, sizeof(*times.of_gpu))};
	int err = times.of_gpu ? 0 : -ENOMEM;

	for (unsigned gpu = 0; !err && gpu < topo->n_gpus; gpu++) {
		size_t n = 0, want = 0;

		for (unsigned i = 0; i < plan->n_streams; i++)
			want += plan->streams[i].dst == gpu ? plan->rounds : 0;
		err = traffic_report(cluster, gpu, result, &times.of_gpu[gpu], &n);
		if (!err && n != want)
			err = -EBADE;
	}
	if (!err && result->messages != plan->rounds * plan->n_streams)
		err = -EBADE;
	if (err == -EBADE)
		fprintf(stderr, "farebench: ep: %llu messages verified, not %llu\n",
			(unsigned long long)result->messages,
			(unsigned long long)(plan->rounds * plan->n_streams));
	if (!err)
		err = audit_books(result);
	if (!err)
		err = ep_evaluate(cluster, topo, plan, &times, result);
	for (unsigned gpu = 0; times.of_gpu && gpu < topo->n_gpus; gpu++)
		free(times.of_gpu[gpu]);
	free(times.of_gpu);
	return err;
}

static int ep_execute(struct cluster *cluster, const struct topo *topo, const struct ep_options *ep,
		      const struct ep_plan *plan, struct traffic_result *result)
{
	struct traffic_options options = ep->traffic;
	struct cpu_times before, after;
	int err;

	options.bins = true;
	err = traffic_open(cluster, topo, &options, plan->streams, plan->n_streams, &plan->moe,
			   plan->rounds);
	if (!err)
		err = cpu_read(&before);
	if (!err)
		err = cluster_all(cluster, "start", "started", TRAFFIC_TIMEOUT_MS);
	for (unsigned gpu = 0; !err && gpu < topo->n_gpus; gpu++)
		err = cluster_await(cluster, gpu, "done", TRAFFIC_TIMEOUT_MS, NULL);
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = ep_collect(cluster, topo, plan, result);
	if (!err)
		err = traffic_close(cluster);
	return err ? err : cpu_idle(&before, &after, &result->idle);
}

int ep_run(struct cluster *cluster, const struct topo *topo, const struct ep_options *ep,
	   unsigned repetition, struct traffic_result *result)
{
	struct ep_plan plan = {.moe = ep->moe};
	int err;

	plan.moe.gpus = topo->n_gpus;
	plan.moe.seed += repetition;
	memset(result, 0, sizeof(*result));
	err = moe_check(&plan.moe);
	if (err) {
		fprintf(stderr, "farebench: ep: %u experts do not fit %u GPUs and top-%u\n",
			plan.moe.experts, plan.moe.gpus, plan.moe.top_k);
		return err;
	}
	err = ep_plan_rounds(topo, ep->measure_s, &plan);
	if (!err)
		err = ep_streams(topo, &plan.moe, &plan.streams, &plan.n_streams);
	if (!err)
		err = ep_execute(cluster, topo, ep, &plan, result);
	free(plan.streams);
	free(plan.bytes);
	return err;
}
