/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/service.h"

#include <math.h>
#include <stddef.h>

#include "suite/derive.h"
#include "workload/custom.h"

/* Those of one server's clock, or of no clock: whatever the hosts' clocks differ by. */
static void service_add_values(struct trial *t, const struct serving_result *r)
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

void service_add(struct trial *t, const struct serving_result *r)
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
	service_add_values(t, r);
}

int service_run(struct trial *t, const struct serving_options *o,
		int (*meanwhile)(void *arg, uint64_t now_ns), void *arg)
{
	struct serving_result r;
	int err = serving_run(t, o, meanwhile, arg, &r);

	if (!err)
		service_add(t, &r);
	serving_fini(&r);
	return err;
}

struct serving_options service_usual(const struct trial *t)
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
	double found =
		derive_median(t->rows, "11.1", t->strategy_name, "Request_Rate", 0, NULL, 0.5);

	return (isfinite(found) && found > 0 ? found : service_capacity(o) * 0.7) * share;
}
