/* SPDX-License-Identifier: BSD-2-Clause */
#include "result.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "optimum.h"
#include "stats.h"

struct result {
	json_t *root;
};

int result_create(struct result **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->root =
		json_pack("{s:[], s:[], s:[], s:{}}", "runs", "shift", "chaos", "environment");
	if ((*out)->root)
		return 0;
	free(*out);
	return -ENOMEM;
}

void result_destroy(struct result *result)
{
	if (!result)
		return;
	json_decref(result->root);
	free(result);
}

const json_t *result_root(const struct result *result)
{
	return result->root;
}

int result_set(struct result *result, const char *key, json_t *value)
{
	return value && !json_object_set_new(result->root, key, value) ? 0 : -ENOMEM;
}

int result_set_environment(struct result *result, const char *key, json_t *value)
{
	json_t *environment = json_object_get(result->root, "environment");

	return value && !json_object_set_new(environment, key, value) ? 0 : -ENOMEM;
}

int result_append(struct result *result, const char *array, json_t *object)
{
	json_t *list = json_object_get(result->root, array);

	if (!list) {
		list = json_array();
		json_object_set_new(result->root, array, list);
	}
	return object && !json_array_append_new(list, object) ? 0 : -ENOMEM;
}

int result_sample(struct result_entry *entry, const struct traffic_result *one)
{
	if (entry->n == RESULT_MAX_N)
		return -E2BIG;
	entry->goodput_bps[entry->n] = one->goodput_bps;
	entry->ratio[entry->n] = one->optimum_bps > 0 ? one->goodput_bps / one->optimum_bps : 0;
	entry->idle_percent[entry->n] = one->idle.mean_percent;
	entry->busiest_idle_percent[entry->n] = one->idle.busiest_core_percent;
	entry->stolen_percent[entry->n] = one->idle.stolen_percent;
	entry->n++;
	entry->optimum_bps = one->optimum_bps;
	entry->sum.messages += one->messages;
	entry->sum.bytes += one->bytes;
	entry->sum.retransmitted += one->retransmitted;
	entry->sum.replayed += one->replayed;
	entry->sum.path_deaths += one->path_deaths;
	entry->sum.path_rebuilds += one->path_rebuilds;
	entry->sum.needless_moves += one->needless_moves;
	return 0;
}

int result_add_run(struct result *result, const struct result_entry *e)
{
	struct stats_summary ratio, goodput, idle, busiest, stolen;
	json_t *object, *ratios;

	if (stats_summarise(e->ratio, e->n, &ratio) ||
	    stats_summarise(e->goodput_bps, e->n, &goodput) ||
	    stats_summarise(e->idle_percent, e->n, &idle) ||
	    stats_summarise(e->busiest_idle_percent, e->n, &busiest) ||
	    stats_summarise(e->stolen_percent, e->n, &stolen))
		return -EINVAL;
	object = json_pack("{s:s, s:s, s:s, s:I, s:i, s:i, s:f, s:f, s:f}", "scenario", e->scenario,
			   "test", e->test, "strategy", strategy_name(e->strategy), "size_bytes",
			   (json_int_t)e->size_bytes, "qps", (int)e->qps, "n", (int)e->n,
			   "goodput_bps", goodput.median, "optimum_bps", e->optimum_bps, "ratio",
			   ratio.median);
	if (!object)
		return -ENOMEM;
	json_object_update_new(object,
			       json_pack("{s:f, s:f, s:f, s:[f,f], s:f}", "ratio_min", ratio.min,
					 "ratio_max", ratio.max, "spread", ratio.max - ratio.min,
					 "ratio_ci", ratio.ci_low, ratio.ci_high,
					 "ratio_ci_coverage", ratio.ci_coverage));
	json_object_update_new(
		object, json_pack("{s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "idle_cpu_percent",
				  idle.median, "idle_busiest_core_percent", busiest.median,
				  "stolen_percent", stolen.median, "messages",
				  (json_int_t)e->sum.messages, "bytes", (json_int_t)e->sum.bytes,
				  "retransmitted_packets", (json_int_t)e->sum.retransmitted,
				  "replayed_chunks", (json_int_t)e->sum.replayed, "needless_moves",
				  (json_int_t)e->sum.needless_moves));
	ratios = json_array();
	for (unsigned i = 0; i < e->n; i++)
		json_array_append_new(ratios, json_real(e->ratio[i]));
	json_object_set_new(object, "ratios", ratios);
	return result_append(result, "runs", object);
}

int result_add_shift(struct result *result, const char *scenario, enum strategy strategy,
		     const double *shift_ms, const double *gap_ms, const double *settled_ratio,
		     unsigned n)
{
	struct stats_summary shift, gap, settled;
	double finite[RESULT_MAX_N];
	unsigned came_back = 0;

	for (unsigned i = 0; i < n && i < RESULT_MAX_N; i++)
		if (shift_ms[i] >= 0)
			finite[came_back++] = shift_ms[i];
	if (stats_summarise(gap_ms, n, &gap) || stats_summarise(settled_ratio, n, &settled))
		return -EINVAL;
	if (!came_back || stats_summarise(finite, came_back, &shift))
		shift = (struct stats_summary){.min = -1, .median = -1, .max = -1};
	return result_append(
		result, "shift",
		json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "scenario",
			  scenario, "strategy", strategy_name(strategy), "n", (int)n, "never",
			  (int)(n - came_back), "shift_ms", shift.median, "shift_ms_min", shift.min,
			  "shift_ms_max", shift.max, "longest_gap_ms", gap.median,
			  "longest_gap_ms_max", gap.max, "settled_ratio", settled.median));
}

int result_describe_basis(struct result *result, const struct result_basis *basis)
{
	struct machine machine;

	machine_read(&machine);
	return result_set(result, "environment",
			  json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s}", "version",
				    FARE_VERSION, "command", machine.command, "started",
				    machine.started, "kernel", machine.kernel, "processor",
				    machine.processor, "cores", machine.cores, "observation_point",
				    basis->observation_point, "real", basis->real, "emulated",
				    basis->emulated));
}

int result_describe(struct result *result, const struct topo *topo)
{
	static const struct result_basis basis = {
		.observation_point = "endpoint software (c): payload acknowledged in the time "
				     "measured, all of it "
				     "verified at the receiver",
		.real = "FRR's bgpd and zebra, the kernel's routing and multipath hash, the RoCEv2 "
			"wire format",
		.emulated = "links (veth, shaped by tbf), GPUs (processes with host memory), "
			    "switches (namespaces)",
	};
	const struct topo_sub_port *port = &topo->gpus[0].plane[0].sub_port[0];
	int err = result_describe_basis(result, &basis);
	json_t *fabric;

	if (err)
		return err;
	fabric =
		json_pack("{s:i, s:i, s:i, s:I, s:i, s:f}", "gpus", (int)topo->n_gpus, "planes",
			  (int)topo->n_planes, "sub_ports", (int)topo->gpus[0].plane[0].n_sub_ports,
			  "sub_port_rate_bps", (json_int_t)port->rate_bps, "mtu_bytes",
			  (int)topo->mtu_bytes, "goodput_factor", optimum_goodput_factor(topo));
	return fabric && !json_object_update_new(json_object_get(result->root, "environment"),
						 fabric)
		       ? 0
		       : -ENOMEM;
}

/* Where a run belongs: scenario as first seen, kv before ep, then strategies as the enum lists
 * them. */
static int result_rank(json_t *runs, json_t *run)
{
	const char *scenario = json_string_value(json_object_get(run, "scenario"));
	const char *test = json_string_value(json_object_get(run, "test"));
	int strategy = strategy_parse(json_string_value(json_object_get(run, "strategy")));
	json_t *other;
	size_t i;

	json_array_foreach (runs, i, other)
		if (strcmp(json_string_value(json_object_get(other, "scenario")), scenario) == 0)
			break;
	return (int)i * 2 * STRATEGY_COUNT + (strcmp(test, "kv") == 0 ? 0 : STRATEGY_COUNT) +
	       strategy;
}

int result_sort_runs(struct result *result)
{
	json_t *runs = json_object_get(result->root, "runs"), *sorted = json_array();
	size_t n = json_array_size(runs);
	int last = -1;

	if (!sorted)
		return -ENOMEM;
	while (json_array_size(sorted) <
	       n) { /* a few dozen entries: the lowest rank above the last one */
		json_t *best = NULL, *run;
		int lowest = INT_MAX;
		size_t i;

		json_array_foreach (runs, i, run) {
			int rank = result_rank(runs, run);

			if (rank > last && rank < lowest) {
				lowest = rank;
				best = run;
			}
		}
		if (!best || json_array_append(sorted, best))
			break;
		last = lowest;
	}
	if (json_array_size(sorted) < n) {
		json_decref(sorted);
		return -EINVAL;
	}
	return result_set(result, "runs", sorted);
}

int result_write(const struct result *result, const char *path)
{
	size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(9);
	int err;

	if (strcmp(path, "-") == 0)
		err = json_dumpf(result->root, stdout, flags) || putchar('\n') < 0 ? -EIO : 0;
	else
		err = json_dump_file(result->root, path, flags) ? -EIO : 0;
	if (err)
		fprintf(stderr, "farebench: writing %s failed\n", path);
	return err;
}
