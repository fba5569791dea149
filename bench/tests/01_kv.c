/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/kv.h"

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
#include "engine/stream.h"

#define KV_MAX_LIST 16

uint64_t kv_arena_bytes(const struct kv_options *kv)
{
	return kv->size_bytes * kv->depth;
}

int kv_begin(struct cluster *cluster, const struct topo *topo, const struct kv_options *kv)
{
	struct traffic_stream stream = {
		.src = kv->src, .dst = kv->dst, .slots = kv->depth, .slot_bytes = kv->size_bytes};
	int err = traffic_open(cluster, topo, &kv->traffic, &stream, 1, NULL, 0);

	return err ? err : cluster_all(cluster, "start", "started", TRAFFIC_TIMEOUT_MS);
}

/* Both ends must have counted the same; the worker has checked each message, this checks the sum.
 */
static int kv_check_counts(const struct traffic_result *rx, size_t n_times,
			   const struct kv_options *kv)
{
	if (rx->messages == n_times && rx->bytes == n_times * kv->size_bytes)
		return 0;
	fprintf(stderr, "farebench: kv: %llu messages verified, %zu seen\n",
		(unsigned long long)rx->messages, n_times);
	return -EBADE;
}

/*
 * Stops, and waits until everything has arrived and both ends have counted the same; groups stay
 * open.
 */
static int kv_stop(struct cluster *cluster, const struct kv_options *kv,
		   struct traffic_result *result, uint64_t **times_ns, size_t *n_times)
{
	int err = cluster_all(cluster, "stop", NULL, 0);

	*times_ns = NULL;
	/* all workers say "done"; the sender only when every message was completed and credited */
	for (unsigned gpu = 0; !err && gpu < cluster_size(cluster); gpu++)
		err = cluster_await(cluster, gpu, "done", TRAFFIC_TIMEOUT_MS, NULL);
	if (!err)
		err = traffic_report(cluster, kv->dst, result, times_ns, n_times);
	if (!err)
		err = kv_check_counts(result, *n_times, kv);
	if (!err)
		err = traffic_report(cluster, kv->src, result, NULL, NULL);
	if (err) {
		free(*times_ns);
		*times_ns = NULL;
	}
	return err;
}

int kv_end(struct cluster *cluster, const struct kv_options *kv, struct traffic_result *result,
	   uint64_t **times_ns, size_t *n_times)
{
	int err = kv_stop(cluster, kv, result, times_ns, n_times);

	if (!err)
		err = traffic_close(cluster);
	if (err) {
		free(*times_ns);
		*times_ns = NULL;
	}
	return err;
}

static void kv_timeline(json_t *timeline, const double *bytes, size_t n, uint64_t base,
			uint64_t from, uint64_t to)
{
	json_t *bins = json_array();

	for (; from + KV_BIN_NS <= to; from += KV_BIN_NS)
		json_array_append_new(
			bins, json_real(traffic_bins_bytes(bytes, n, base, from, from + KV_BIN_NS) *
					8e9 / KV_BIN_NS));
	json_array_append_new(timeline, bins);
}

/*
 * What was acknowledged between the two times; kv_stop() has seen that every byte of it was
 * verified. When messages were verified would not do: those under way together end together, and
 * where they are few and large a window holds all of a row of them or none.
 */
static int kv_evaluate(struct cluster *cluster, const struct kv_options *kv, uint64_t from,
		       uint64_t to, struct traffic_result *result)
{
	uint64_t base = from / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS;
	size_t n = (size_t)((to - base) / TRAFFIC_BIN_NS + 1);
	double *bytes = calloc(n, sizeof(*bytes));
	int err = bytes ? traffic_bins(cluster, kv->src, base, bytes, n) : -ENOMEM;

	if (!err) {
		result->goodput_bps =
			traffic_bins_bytes(bytes, n, base, from, to) * 8e9 / (double)(to - from);
		if (kv->timeline)
			kv_timeline(kv->timeline, bytes, n, base, from, to);
	}
	free(bytes);
	return err;
}

int kv_run(struct cluster *cluster, const struct topo *topo, const struct kv_options *kv,
	   struct traffic_result *result)
{
	struct kv_options binned = *kv;
	uint64_t from, to, *times;
	struct cpu_times before, after;
	size_t n;
	int err;

	binned.traffic.bins = true;
	err = kv_begin(cluster, topo, &binned);
	if (err)
		return err;
	memset(result, 0, sizeof(*result));
	from = cluster_now_ns() + (uint64_t)(kv->warm_s * 1e9);
	to = from + (uint64_t)(kv->measure_s * 1e9);
	err = cluster_sleep_until(cluster, from);
	if (!err)
		err = cpu_read(&before);
	if (!err)
		err = cluster_sleep_until(cluster, to);
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = kv_stop(cluster, &binned, result, &times, &n);
	if (err)
		return err;
	free(times);
	result->optimum_bps =
		(double)optimum_pair_bps(topo, kv->src, kv->dst) * optimum_goodput_factor(topo);
	err = kv_evaluate(cluster, &binned, from, to, result);
	if (!err)
		err = traffic_close(cluster);
	return err ? err : cpu_idle(&before, &after, &result->idle);
}

/* ---- farebench kv
 * --------------------------------------------------------------------------------------- */

struct kv_command {
	struct kv_options kv;
	const char *lab_name, *src, *dst, *json_path, *html_path;
	uint64_t sizes[KV_MAX_LIST], qps[KV_MAX_LIST], strategies[KV_MAX_LIST];
	int n_sizes, n_qps, n_strategies;
	unsigned n;
	bool timeline;
};

static const struct options_entry kv_table[] = {
	{"lab", 'l', "NAME", "the lab to run in ($FARELAB_NAME)"},
	{"src", 's', "GPU", "who sends: SERVER, SERVER/gN or a number (0)"},
	{"dst", 'd', "GPU", "who receives (1)"},
	{"size", 'b', "SIZES", "bytes of a message; a list with commas sweeps (1M)"},
	{"qps", 'q', "QPS",
	 "QPs of the pair, all planes together; a list sweeps (one per sub-port)"},
	{"depth", 'D', "N", "messages in flight (8)"},
	{"seconds", 't', "S", "time measured per repetition (1)"},
	{"strategy", 'S', "NAMES",
	 "of ecmp-stripe,wecmp-stripe,fare-flow,fare-spray,fare-packet (all but the last),\n"
	 "ecmp-flow,ecmp-pull,wecmp-flow,wecmp-pull"},
	{"n", 'n', "N", "repetitions, each with fresh QPs (5)"},
	{"flows", 'f', "N", "stripes of a message in fare-flow (libfare's default)"},
	{"window", 'w', "BYTES", "unacknowledged bytes per sub-port (libfare's default)"},
	{"chunk", 'c', "BYTES", "unit posted at once (libfare's default)"},
	{"random-ports", 'r', NULL, "leave source ports to chance for fare strategies too"},
	{"timeline", 'T', NULL, "with --json: goodput per 10 ms of every repetition too"},
	{"json", 'j', "FILE", "write all results there ('-': standard output)"},
	{"html", 'P', "FILE", "write them there as a page with pictures"},
	{NULL, 0, NULL, NULL},
};

static int kv_parse_number(struct kv_command *c, int option, const char *text)
{
	uint64_t number = 0;
	int err = 0;

	switch (option) {
	case 'b':
		err = c->n_sizes = options_sizes(text, c->sizes, KV_MAX_LIST);
		break;
	case 'q':
		err = c->n_qps = options_sizes(text, c->qps, KV_MAX_LIST);
		break;
	case 'S':
		err = c->n_strategies = options_strategies(text, c->strategies, KV_MAX_LIST);
		break;
	case 'D':
		err = options_number("depth", text, 1, STREAM_MAX_SLOTS, &number);
		break;
	case 'n':
		err = options_number("n", text, 1, RESULT_MAX_N, &number);
		break;
	case 'f':
		err = options_number("flows", text, 1, 65536, &number);
		break;
	case 'w':
		err = options_number("window", text, 4096, 1u << 30, &number);
		break;
	default:
		err = options_number("chunk", text, 4096, 1u << 30, &number);
		break;
	}
	switch (err ? 0 : option) {
	case 'D':
		c->kv.depth = (unsigned)number;
		break;
	case 'n':
		c->n = (unsigned)number;
		break;
	case 'f':
		c->kv.traffic.flows = (unsigned)number;
		break;
	case 'w':
		c->kv.traffic.window_bytes = (uint32_t)number;
		break;
	case 'c':
		c->kv.traffic.chunk_bytes = (uint32_t)number;
		break;
	default:
		break;
	}
	return err < 0 ? err : 0;
}

static int kv_parse(struct kv_command *c, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option, err = 0;

	options_getopt(kv_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 'l':
			c->lab_name = optarg;
			break;
		case 's':
			c->src = optarg;
			break;
		case 'd':
			c->dst = optarg;
			break;
		case 'j':
			c->json_path = optarg;
			break;
		case 'P':
			c->html_path = optarg;
			break;
		case 'T':
			c->timeline = true;
			break;
		case 'r':
			c->kv.traffic.random_ports = true;
			break;
		case 't':
			err = options_seconds("seconds", optarg, &c->kv.measure_s);
			break;
		case 'h':
			options_help("farebench kv", kv_table);
			return 1;
		case '?':
			return -EINVAL;
		default:
			err = kv_parse_number(c, option, optarg);
			break;
		}
	}
	return err ? err : options_lab("farebench kv", argc, c->lab_name);
}

/* All repetitions of one size, number of QPs and strategy. */
static int kv_point(struct cluster *cluster, const struct topo *topo, struct kv_command *c,
		    struct result *out)
{
	struct result_entry entry = {.scenario = "as-is", .test = "kv"};
	unsigned per_sub_port;
	int err = traffic_qps(topo, &c->kv.traffic, &entry.qps, &per_sub_port);

	entry.strategy = c->kv.traffic.strategy;
	entry.size_bytes = c->kv.size_bytes;
	for (unsigned i = 0; !err && i < c->n; i++) {
		struct traffic_result one;

		err = kv_run(cluster, topo, &c->kv, &one);
		if (!err)
			err = result_sample(&entry, &one);
	}
	return err ? err : result_add_run(out, &entry);
}

static int kv_sweep(const struct lab *lab, struct cluster *cluster, const struct topo *topo,
		    struct kv_command *c, struct result *out)
{
	int err = 0, weights = -1;

	for (int s = 0; !err && s < c->n_strategies; s++) {
		bool equal = strategy_equal_weights((enum strategy)c->strategies[s]);

		c->kv.traffic.strategy = (enum strategy)c->strategies[s];
		if (weights != equal)
			err = lab_weights(lab, topo, equal);
		weights = equal;
		for (int i = 0; !err && i < c->n_sizes * c->n_qps; i++) {
			c->kv.size_bytes = c->sizes[i / c->n_qps];
			c->kv.traffic.qps = (unsigned)c->qps[i % c->n_qps];
			err = kv_point(cluster, topo, c, out);
		}
	}
	if (weights == 1 && lab_weights(lab, topo, false) && !err)
		err = -EREMOTEIO;
	return err;
}

static int kv_all(struct kv_command *c, struct result *out)
{
	struct cluster *cluster = NULL;
	struct topo *topo = NULL;
	uint64_t largest = 0;
	struct lab lab;
	int src, dst, err;

	lab_init(&lab, c->lab_name);
	err = lab_status(&lab, 30, &topo);
	if (err)
		return err;
	src = topo_find_gpu(topo, c->src);
	dst = topo_find_gpu(topo, c->dst);
	for (int i = 0; i < c->n_sizes; i++)
		largest = c->sizes[i] > largest ? c->sizes[i] : largest;
	if (src < 0 || dst < 0 || topo->gpus[src].server == topo->gpus[dst].server) {
		fprintf(stderr,
			"farebench kv: %s to %s: two GPUs of different servers are expected\n",
			c->src, c->dst);
		err = -EINVAL;
	}
	c->kv.src = (unsigned)src;
	c->kv.dst = (unsigned)dst;
	if (!err)
		err = result_describe(out, topo);
	if (!err)
		err = cluster_create(&cluster, topo, largest * c->kv.depth);
	if (!err)
		err = cluster_await_paths(cluster, topo, 20000);
	if (!err)
		err = kv_sweep(&lab, cluster, topo, c, out);
	cluster_destroy(cluster);
	topo_destroy(topo);
	return err;
}

int kv_main(int argc, char **argv)
{
	struct kv_command c = {
		.kv = {.depth = 8, .warm_s = 0.3, .measure_s = 1},
		.lab_name = getenv("FARELAB_NAME"),
		.src = "0",
		.dst = "1",
		.sizes = {1 << 20},
		.n_sizes = 1,
		.n_qps = 1, /* 0: one per sub-port */
		.strategies = {STRATEGY_ECMP, STRATEGY_WECMP_KERNEL, STRATEGY_FARE_FLOW,
			       STRATEGY_FARE_SPRAY},
		.n_strategies = STRATEGY_COMPARED,
		.n = 5,
	};
	int err = kv_parse(&c, argc, argv);
	struct result *result;

	if (err)
		return err > 0 ? 0 : 2;
	if (result_create(&result))
		return 1;
	if (c.timeline) {
		c.kv.timeline = json_array();
		result_set(result, "timeline_bps", c.kv.timeline);
	}
	err = kv_all(&c, result);
	if (!err)
		err = result_show_all(result, "KV-cache transfer between two GPUs", c.html_path,
				      c.json_path);
	result_destroy(result);
	return err ? 1 : 0;
}
