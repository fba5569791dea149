/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/ep.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "optimum.h"
#include "options.h"
#include "result.h"
#include "result_show.h"

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
		fprintf(stderr, "farebench ep: %u experts do not fit %u GPUs and top-%u\n",
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

/* ---- farebench ep
 * --------------------------------------------------------------------------------------- */

struct ep_command {
	struct ep_options ep;
	const char *lab_name, *json_path, *html_path;
	uint64_t strategies[STRATEGY_COUNT];
	int n_strategies;
	unsigned n;
};

static const struct options_entry ep_table[] = {
	{"lab", 'l', "NAME", "the lab to run in ($FARELAB_NAME)"},
	{"tokens", 'T', "N", "tokens per GPU and round (256)"},
	{"top-k", 'k', "N", "experts that a token chooses (8)"},
	{"experts", 'E', "N", "experts in all, a multiple of the GPUs (64)"},
	{"hidden", 'H', "N", "elements of a token (7168)"},
	{"element-bytes", 'e', "N", "bytes of an element (1)"},
	{"seed", 'x', "N", "of the routing; each repetition adds one (1)"},
	{"qps", 'q', "N", "QPs per pair, all planes together (one per sub-port)"},
	{"seconds", 't', "S", "how long the optimum would take per repetition (1)"},
	{"strategy", 'S', "NAMES",
	 "of ecmp-stripe,wecmp-stripe,fare-flow,fare-spray,fare-packet (all but the last),\n"
	 "ecmp-flow,ecmp-pull,wecmp-flow,wecmp-pull"},
	{"n", 'n', "N", "repetitions, each with fresh QPs (5)"},
	{"flows", 'f', "N", "stripes of a message in fare-flow (libfare's default)"},
	{"window", 'w', "BYTES", "unacknowledged bytes per sub-port (libfare's default)"},
	{"random-ports", 'r', NULL, "leave source ports to chance for fare strategies too"},
	{"json", 'j', "FILE", "write all results there ('-': standard output)"},
	{"html", 'P', "FILE", "write them there as a page with pictures"},
	{NULL, 0, NULL, NULL},
};

static int ep_number(struct ep_command *c, int option, const char *text)
{
	struct moe *moe = &c->ep.moe;
	uint64_t number;
	int err = options_number("value", text, option == 'x' ? 0 : 1, 1u << 30, &number);

	if (err)
		return err;
	switch (option) {
	case 'T':
		moe->tokens = (uint32_t)number;
		break;
	case 'k':
		moe->top_k = (uint32_t)number;
		break;
	case 'E':
		moe->experts = (uint32_t)number;
		break;
	case 'H':
		moe->hidden = (uint32_t)number;
		break;
	case 'e':
		moe->element_bytes = (uint32_t)number;
		break;
	case 'x':
		moe->seed = number;
		break;
	case 'q':
		c->ep.traffic.qps = (unsigned)number;
		break;
	case 'w':
		c->ep.traffic.window_bytes = (uint32_t)number;
		break;
	case 'f':
		c->ep.traffic.flows = (unsigned)number;
		break;
	default:
		c->n = (unsigned)number;
		return number <= RESULT_MAX_N ? 0 : -EINVAL;
	}
	return 0;
}

static int ep_parse(struct ep_command *c, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option, err = 0;

	options_getopt(ep_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 'l':
			c->lab_name = optarg;
			break;
		case 'j':
			c->json_path = optarg;
			break;
		case 'P':
			c->html_path = optarg;
			break;
		case 'r':
			c->ep.traffic.random_ports = true;
			break;
		case 't':
			err = options_seconds("seconds", optarg, &c->ep.measure_s);
			break;
		case 'S':
			c->n_strategies = options_strategies(optarg, c->strategies, STRATEGY_COUNT);
			err = c->n_strategies < 0 ? c->n_strategies : 0;
			break;
		case 'h':
			options_help("farebench ep", ep_table);
			return 1;
		case '?':
			return -EINVAL;
		default:
			err = ep_number(c, option, optarg);
			break;
		}
	}
	return err ? err : options_lab("farebench ep", argc, c->lab_name);
}

static int ep_strategy(struct cluster *cluster, const struct topo *topo, struct ep_command *c,
		       struct result *out)
{
	struct result_entry entry = {.scenario = "as-is", .test = "ep"};
	unsigned per_sub_port;
	int err = traffic_qps(topo, &c->ep.traffic, &entry.qps, &per_sub_port);

	entry.strategy = c->ep.traffic.strategy;
	for (unsigned i = 0; !err && i < c->n; i++) {
		struct traffic_result one;

		err = ep_run(cluster, topo, &c->ep, i, &one);
		if (!err)
			err = result_sample(&entry, &one);
	}
	return err ? err : result_add_run(out, &entry);
}

static int ep_all(struct ep_command *c, struct result *out)
{
	struct cluster *cluster = NULL;
	struct topo *topo = NULL;
	struct lab lab;
	int err, weights = -1;

	lab_init(&lab, c->lab_name);
	err = lab_status(&lab, 30, &topo);
	if (!err)
		err = result_describe(out, topo);
	if (!err)
		err = cluster_create(&cluster, topo, ep_arena_bytes(topo, &c->ep));
	if (!err)
		err = cluster_await_paths(cluster, topo, 20000);
	for (int s = 0; !err && s < c->n_strategies; s++) {
		bool equal = strategy_equal_weights((enum strategy)c->strategies[s]);

		c->ep.traffic.strategy = (enum strategy)c->strategies[s];
		if (weights != equal)
			err = lab_weights(&lab, topo, equal);
		weights = equal;
		if (!err)
			err = ep_strategy(cluster, topo, c, out);
	}
	if (weights == 1 && lab_weights(&lab, topo, false) && !err)
		err = -EREMOTEIO;
	cluster_destroy(cluster);
	topo_destroy(topo);
	return err;
}

int ep_main(int argc, char **argv)
{
	struct ep_command c = {
		.ep = {.moe = ep_default_moe(), .measure_s = 1},
		.lab_name = getenv("FARELAB_NAME"),
		.strategies = {STRATEGY_ECMP, STRATEGY_WECMP_KERNEL, STRATEGY_FARE_FLOW,
			       STRATEGY_FARE_SPRAY},
		.n_strategies = STRATEGY_COMPARED,
		.n = 5,
	};
	int err = ep_parse(&c, argc, argv);
	struct result *result;

	if (err)
		return err > 0 ? 0 : 2;
	if (result_create(&result))
		return 1;
	err = ep_all(&c, result);
	if (!err)
		err = result_show_all(result, "Expert-parallel all-to-all among all GPUs",
				      c.html_path, c.json_path);
	result_destroy(result);
	return err ? 1 : 0;
}
