/* SPDX-License-Identifier: BSD-2-Clause */
#include "inference/common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "workload/custom.h"

bool verb_is_read(struct trial *t, bool *can)
{
	bool read = strcmp(trial_text(t, "verb"), "read") == 0;

	if (read && strategy_mode(t->strategy) == FARE_MODE_PACKET) {
		trial_missing(t, NULL,
			      "the answer to a READ comes in order: its packets cannot be spread");
		*can = false;
	}
	return read;
}

static const struct topo_sub_port *sub_port_of(const struct topo *topo,
					       const struct measured_link *link)
{
	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++) {
		if (topo->gpus[gpu].server != link->server)
			continue;
		for (unsigned plane = 0; plane < topo->n_planes; plane++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[plane].n_sub_ports; s++)
				if (strcmp(topo->gpus[gpu].plane[plane].sub_port[s].dev,
					   link->dev) == 0)
					return &topo->gpus[gpu].plane[plane].sub_port[s];
	}
	return NULL;
}

struct link_use link_use(const struct trial *t, const struct measured *m, bool only_busy,
			 int server)
{
	struct link_use use = {.min = INFINITY, .jfi = NAN};
	double *share = calloc(m->n_links + 1, sizeof(*share)), packets = 0, dropped = 0;

	for (unsigned i = 0; share && i < m->n_links; i++) {
		const struct topo_sub_port *port = sub_port_of(t->fabric->topo, &m->link[i]);
		double of = port && port->up ? m->link[i].tx_bps / (double)port->rate_bps : 0;

		if (!port || !port->up || (only_busy && of < 0.02) ||
		    (server >= 0 && m->link[i].server != (unsigned)server))
			continue;
		packets += (double)m->link[i].tx_packets;
		dropped += (double)(m->link[i].tx_dropped + m->link[i].rx_dropped);
		use.max = fmax(use.max, of);
		use.min = fmin(use.min, of);
		use.mean += of;
		share[use.n++] = of;
	}
	if (use.n) {
		use.mean /= use.n;
		use.jfi = stats_jfi(share, use.n);
	}
	use.drop_ppm = packets > 0 ? dropped / packets * 1e6 : 0;
	free(share);
	return use;
}

unsigned plan_pools(const struct trial *t, struct plan *plan, const struct traffic_load *load,
		    unsigned slots, uint64_t bytes)
{
	unsigned first = trial_prefill(t), decode = trial_gpus(t) - first,
		 added = plan_load(plan, load);

	for (unsigned i = 0; i < first; i++)
		plan_stream(plan, added, i, first + i % decode, slots, bytes);
	return added;
}

double bins_mean(const double *bins, size_t from, size_t n)
{
	double sum = 0;

	for (size_t i = from; i < from + n; i++)
		sum += bins[i];
	return sum / (double)n;
}

double bins_settled_ms(const double *bins, size_t n, size_t at, double steady, size_t smooth_ms,
		       double within)
{
	size_t since = at, step = smooth_ms / 4;

	for (size_t i = at; i + smooth_ms <= n; i += step)
		if (fabs(bins_mean(bins, i, smooth_ms) - steady) > within * steady)
			since = i + step;
	return since + smooth_ms <= n ? (double)(since - at) : NAN;
}

void add_settled(struct trial *t, const char *kpi, double ms, size_t smooth_ms, double within)
{
	if (isfinite(ms))
		trial_value(t, kpi, ms, 1);
	else
		trial_missing(t, kpi, "means of %zu ms did not stay within %.0f%%", smooth_ms,
			      within * 100);
}

int restore_fabric(struct trial *t)
{
	uint64_t at_ns;
	int err = fabric_heal(t->fabric, &at_ns);

	return err ? err : fabric_settle(t->fabric);
}

/* Those of one server's clock, or of no clock: whatever the hosts' clocks differ by. */
static void add_service_values(struct trial *t, const struct serving_result *r)
{
	const struct {
		const char *kpi;
		double value;
		uint64_t n;
	} values[] = {
		{"TPS_output", (double)r->output_tokens / r->seconds, r->requests},
		{"TPS_input", (double)r->input_tokens / r->seconds, r->requests},
		{"Goodput", (double)r->good_tokens / r->seconds, r->requests},
		{"efficiency",
		 r->output_tokens ? (double)r->good_tokens / (double)r->output_tokens : 0,
		 r->output_tokens},
		{"fabric_bandwidth", r->fabric_bps / 8e6, r->requests},
		{"peak_bandwidth", r->peak_bps / 8e6, 1},
		{"peak_transfers", r->peak_transfers, 1},
		{"wasted_bandwidth", r->wasted_bytes / r->seconds / 1e6, r->requests},
		{"evictions", (double)r->evictions / r->seconds, r->requests},
		{"preemptions", (double)r->preemptions / r->seconds, r->requests},
		{"memory_CV", r->memory_cv, 1},
		{"stalls", (double)r->stalls, r->itl.n},
		{"ITL_max", (double)r->itl.max / 1e6, r->itl.n},
		{"retransmissions", (double)r->books.retransmitted, r->books.messages},
		{"QP_errors", (double)r->books.path_deaths, 1},
		{"QP_transitions", (double)(r->books.path_deaths + r->books.path_rebuilds), 1}};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (test_kpi(t->test, values[i].kpi))
			trial_value(t, values[i].kpi, values[i].value, values[i].n);
}

void add_service(struct trial *t, const struct serving_result *r)
{
	static const struct {
		const char *kpi;
		size_t at;
	} hists[] = {{"TTFT", offsetof(struct serving_result, ttft)},
		     {"ITL", offsetof(struct serving_result, itl)},
		     {"E2E_latency", offsetof(struct serving_result, e2e)},
		     {"T_prefill", offsetof(struct serving_result, prefill)},
		     {"T_transfer", offsetof(struct serving_result, transfer)},
		     {"T_decode_init", offsetof(struct serving_result, decode_init)},
		     {"KV_xfer_latency", offsetof(struct serving_result, kv_latency)},
		     {"burst_duration", offsetof(struct serving_result, burst_ns)},
		     {"burst_gap", offsetof(struct serving_result, burst_gap_ns)}};

	for (size_t i = 0; i < sizeof(hists) / sizeof(hists[0]); i++)
		if (test_kpi(t->test, hists[i].kpi))
			trial_one_way(t, hists[i].kpi,
				      (const struct hist *)((const char *)r + hists[i].at));
	if (test_kpi(t->test, "burst_size"))
		trial_hist(t, "burst_size", &r->burst_bytes);
	if (test_kpi(t->test, "TTFT_p99"))
		trial_one_way_value(t, "TTFT_p99", hist_quantile(&r->ttft, 0.99) / 1e6, r->ttft.n,
				    hist_quantile(&r->ttft, 0.5));
	if (test_kpi(t->test, "fabric_fraction"))
		trial_one_way_value(t, "fabric_fraction",
				    hist_mean(&r->transfer) / hist_mean(&r->ttft), r->requests,
				    hist_mean(&r->transfer));
	add_service_values(t, r);
}

int run_service(struct trial *t, const struct serving_options *o,
		int (*meanwhile)(void *arg, uint64_t now_ns), void *arg)
{
	struct serving_result r;
	int err = serving_run(t, o, meanwhile, arg, &r);

	if (!err)
		add_service(t, &r);
	serving_fini(&r);
	return err;
}

struct serving_options usual_service(const struct trial *t)
{
	unsigned prefill = trial_prefill(t);

	return (struct serving_options){
		.model = model_find("CFG-B"),
		.experts = moe_config_find("M3"),
		.n_prefill = prefill,
		.n_decode = trial_gpus(t) - prefill,
		.prompt = {LENGTHS_ZIPF, 128, 8192, 1.0},
		.output = {LENGTHS_UNIFORM, 8, 24, 0},
		.trace = custom_trace(),
		.router = ROUTER_KV_AWARE,
		.batch = 64,
		.slo_ttft_s = 0.5,
		.slo_itl_s = 0.05,
	};
}

static double mean_prompt(const struct lengths *l)
{
	uint64_t random = 1;
	double sum = 0;

	for (int i = 0; i < 4096; i++)
		sum += lengths_draw(l, &random);
	return sum / 4096;
}

static double mean_recorded(const struct trace *trace)
{
	double sum = 0;

	for (size_t i = 0; i < trace->n; i++)
		sum += trace->request[i].prompt;
	return sum / (double)trace->n;
}

double service_capacity(const struct serving_options *o)
{
	double prompt = o->trace ? mean_recorded(o->trace) : mean_prompt(&o->prompt);

	return o->n_prefill / model_prefill_s(o->model, prompt);
}

double service_bound(const struct trial *t, const struct serving_options *o, double share)
{
	double found = kpi_median(t->rows, "11.1", t->strategy_name, "Request_Rate", 0, NULL, 0.5);

	return (isfinite(found) && found > 0 ? found : service_capacity(o) * 0.7) * share;
}
