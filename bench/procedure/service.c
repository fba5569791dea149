/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/service.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "fabric/optimum.h"
#include "procedure/bound.h"
#include "procedure/ideal.h"
#include "procedure/recovery.h"
#include "workload/custom.h"

#define SERVICE_DRAWS	    4096 /* of a law, for its mean */
#define SERVICE_UNBOUND	    0.7	 /* of what prefill computes, where test 11.1 found no bound */
#define SERVICE_PAGE_TOKENS 16	 /* of a page of cache, as engines have them */
#define SERVICE_OVER_LINE   1.02 /* more than that was not the links' rate */

static double service_tps(const struct serving_result *r)
{
	return (double)r->output_tokens / r->seconds;
}

/* Those of one server's clock, or of no clock: whatever the hosts' clocks differ by. */
static void service_add_values(struct trial *t, const struct serving_result *r)
{
	double output_per_s = service_tps(r), good_per_s = (double)r->good_tokens / r->seconds;
	const struct {
		const char *kpi;
		double value;
		uint64_t n;
	} values[] = {
		{"TPS_output", output_per_s, r->output_tokens},
		{"TPS_per_GPU", output_per_s / r->decode_gpus, r->output_tokens},
		{"TPS_input", (double)r->input_tokens / r->seconds, r->requests},
		{"Inference_Goodput", good_per_s, r->good},
		{"efficiency", r->output_tokens ? good_per_s / output_per_s : 0, r->output_tokens},
		{"unfinished", r->requests ? 100.0 * (double)r->tokenless / (double)r->requests : 0,
		 r->requests},
		{"KV_BW", r->kv_bps / 8e6, r->arrived},
		{"fabric_bandwidth", r->fabric_bps / 8e6, r->requests},
		{"Link_utilization", r->fabric_bps / r->all_lines_bps * 100, 1},
		{"KV_pages", ceil(r->cache_tokens / SERVICE_PAGE_TOKENS), 1},
		{"memory_regions", (double)r->books.regions, 1},
		{"registered_memory", (double)r->books.region_bytes / 1024, 1},
		{"peak_transfers", r->peak_transfers, 1},
		{"peak_shards", r->peak_messages, 1},
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
		trial_value_asked(t, values[i].kpi, values[i].value, values[i].n);
}

void service_add_offered(struct trial *t, const struct serving_result *r)
{
	trial_value_asked(t, "Offered_rate", r->per_s, 1);
	trial_value_asked(t, "Concurrent_requests", r->concurrent, 1);
}

/* Why no figure may stand for transfers: where none ended, the shortest time would look best. */
static bool service_lacks_transfers(const struct serving_result *r, char *why, size_t size)
{
	if (r->transfers && !r->arrived)
		snprintf(why, size,
			 "%llu caches were sent, and none had arrived when the trial ended",
			 (unsigned long long)r->transfers);
	else if (r->arrived && r->largest_cache <= r->bucket_bytes)
		snprintf(why, size,
			 "caches of %.0f KB at most pass through token buckets of %.0f KB at once: "
			 "the links' rate is never met (a smaller --scale makes caches larger)",
			 r->largest_cache / 1e3, r->bucket_bytes / 1e3);
	else
		return false;
	return true;
}

static bool service_lacks_tokens(const struct serving_result *r, char *why, size_t size)
{
	if (!r->requests || r->tokenless < r->requests)
		return false;
	snprintf(why, size, "%llu requests came, and none had a token when the trial ended",
		 (unsigned long long)r->requests);
	return true;
}

static void service_add_transfers(struct trial *t, const struct serving_result *r)
{
	static const char *const kpis[] = {"T_transfer", "TTFT_fabric", "fabric_fraction"};
	char why[256];
	bool lacks = service_lacks_transfers(r, why, sizeof(why));

	for (size_t i = 0; i < sizeof(kpis) / sizeof(kpis[0]); i++) {
		if (!test_kpi(t->test, kpis[i]))
			continue;
		if (lacks)
			trial_missing(t, kpis[i], "%s", why);
		else if (i < 2)
			trial_one_way(t, kpis[i], &r->transfer);
		else
			trial_one_way_value(t, kpis[i], r->fabric_part_s / r->fabric_of_s,
					    r->fabric_requests, hist_mean(&r->transfer));
	}
	if (r->peak_bps > r->line_bps * SERVICE_OVER_LINE)
		trial_missing(t, "peak_bandwidth",
			      "%.1f MB/s in the busiest 10 ms, and the links carry %.1f: token "
			      "buckets passed the rest at once",
			      r->peak_bps / 8e6, r->line_bps / 8e6);
	else
		trial_value_asked(t, "peak_bandwidth", r->peak_bps / 8e6, 1);
}

void service_add(struct trial *t, const struct serving_result *r)
{
	static const struct {
		const char *kpi;
		size_t at;
		bool token; /* ends with a token */
	} hists[] = {{"TTFT", offsetof(struct serving_result, ttft), true},
		     {"ITL", offsetof(struct serving_result, itl), true},
		     {"E2E_latency", offsetof(struct serving_result, e2e), true},
		     {"T_prefill", offsetof(struct serving_result, prefill), true},
		     {"T_decode_init", offsetof(struct serving_result, decode_init), true},
		     {"ITL_fabric", offsetof(struct serving_result, itl_fabric), false},
		     {"KV_xfer_latency", offsetof(struct serving_result, kv_latency), false},
		     {"burst_duration", offsetof(struct serving_result, burst_ns), false},
		     {"burst_gap", offsetof(struct serving_result, burst_gap_ns), false}};
	char why[128];
	bool lacks = service_lacks_tokens(r, why, sizeof(why));

	for (size_t i = 0; i < sizeof(hists) / sizeof(hists[0]); i++) {
		if (!test_kpi(t->test, hists[i].kpi))
			continue;
		if (lacks && hists[i].token)
			trial_missing(t, hists[i].kpi, "%s", why);
		else
			trial_one_way(t, hists[i].kpi,
				      (const struct hist *)((const char *)r + hists[i].at));
	}
	if (test_kpi(t->test, "burst_size"))
		trial_hist(t, "burst_size", &r->burst_bytes);
	if (test_kpi(t->test, "TTFT_median") && lacks)
		trial_missing(t, "TTFT_median", "%s", why);
	else if (test_kpi(t->test, "TTFT_median"))
		trial_one_way_value(t, "TTFT_median", hist_quantile(&r->ttft, 0.5) / 1e6, r->ttft.n,
				    hist_quantile(&r->ttft, 0.5));
	if (test_kpi(t->test, "TTFT_p99") && lacks)
		trial_missing(t, "TTFT_p99", "%s", why);
	else if (test_kpi(t->test, "TTFT_p99"))
		trial_p99(t, "TTFT_p99", &r->ttft, 1e-6);
	if (test_kpi(t->test, "TTFT_judged") && lacks)
		trial_missing(t, "TTFT_judged", "%s", why);
	else if (test_kpi(t->test, "TTFT_judged"))
		trial_one_way_value(t, "TTFT_judged", bound_p99_ms(&r->ttft), r->ttft.n,
				    hist_quantile(&r->ttft, 0.5));
	if (test_kpi(t->test, "Objectives"))
		trial_set_text(t, "Objectives",
			       bound_text(bound_judge(r, BOUND_TTFT_MS, BOUND_ITL_MS)));
	service_add_transfers(t, r);
	service_add_values(t, r);
	service_add_offered(t, r);
}

static double service_hits(const struct serving_result *r)
{
	return r->prefix_lookups ? 100. * (double)r->prefix_hits / (double)r->prefix_lookups : NAN;
}

struct service_prefix service_prefix(const struct serving_result *unaware,
				     const struct serving_result *aware,
				     const struct serving_result *over_unaware,
				     const struct serving_result *over_aware)
{
	return (struct service_prefix){
		.hit_percent = service_hits(aware),
		.hit_unaware_percent = service_hits(unaware),
		.saved_percent = 100 * (1 - aware->sent_bytes / unaware->sent_bytes),
		.ttft_saved_ms = (hist_mean(&unaware->ttft) - hist_mean(&aware->ttft)) / 1e6,
		.tokens_more_percent =
			100 * (service_tps(over_aware) / service_tps(over_unaware) - 1)};
}

struct service_change service_change(const struct serving_result *r, double at_s)
{
	size_t at = (size_t)(at_s * 1e3), counted = (size_t)(r->seconds * 1e3),
	       warm = r->n_bins > counted ? r->n_bins - counted : 0;
	struct service_change change = {
		.before_s = NAN, .after_s = NAN, .tokens_fewer_percent = NAN};
	double *before = calloc(r->n_done + 1, sizeof(*before));

	for (unsigned i = 0; before && i < r->n_done; i++) {
		if (r->done_s[i] < at_s) {
			before[change.n_before++] = r->done_ttft_s[i];
		} else if (r->done_s[i] < at_s + 1) {
			change.n_after++;
			change.after_s = fmax(change.after_s, r->done_ttft_s[i]);
		}
	}
	if (change.n_before) {
		qsort(before, change.n_before, sizeof(*before), stats_ascending);
		change.before_s = stats_quantile(before, change.n_before, 0.99);
	}
	free(before);
	if (at > warm && at + 1000 <= r->n_bins)
		change.tokens_fewer_percent =
			100 * (1 - recovery_bins_mean(r->bin_tokens, at, 1000) /
					   recovery_bins_mean(r->bin_tokens, warm, at - warm));
	return change;
}

struct serving_options service_usual(const struct trial *t)
{
	unsigned prefill = trial_prefill(t);

	struct serving_options o = {
		.model = model_find("CFG-B"),
		.experts = moe_config_find("M3"),
		.n_prefill = prefill,
		.n_decode = trial_gpus(t) - prefill,
		.prompt = lengths_usual_prompt,
		.output = lengths_usual_output,
		.trace = custom_trace(),
		.router = ROUTER_KV_AWARE,
		.batch = 64,
	};

	custom_requests(&o.prompt, &o.output, &o.burst);
	return o;
}

double service_capacity(const struct serving_options *o)
{
	size_t n = o->trace ? o->trace->n : SERVICE_DRAWS;
	uint64_t random = 1;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += model_prefill_s(o->model, o->trace ? o->trace->request[i].prompt
							  : lengths_draw(&o->prompt, &random));
	return o->n_prefill * (double)n / sum;
}

double service_line_bps(const struct trial *t, const struct serving_options *o)
{
	return fabric_pair_bps(t->fabric, 0, trial_prefill(t)) * (1 - o->background);
}

static double service_ready_s(const struct serving_came *q, double line_bps, double bucket_bytes)
{
	return q->computed_s + ideal_transfer_s(q->cache_bytes, line_bps, bucket_bytes);
}

double service_ideal_tokens(const struct serving_options *o, const struct serving_result *r,
			    double line_bps, double bucket_bytes)
{
	struct ideal_request *request = calloc(r->n_came + 1, sizeof(*request));
	double tokens;

	if (!request)
		return NAN;
	for (unsigned i = 0; i < r->n_came; i++)
		request[i] = (struct ideal_request){
			.ready_s = service_ready_s(&r->came[i], line_bps, bucket_bytes),
			.worker = r->came[i].decode,
			.output = r->came[i].output};
	tokens = ideal_tokens(request, r->n_came, o->batch ? o->batch : 64, o->static_batch,
			      o->model->step_s, r->warm_s, r->warm_s + r->seconds);
	free(request);
	return tokens < 0 ? NAN : tokens / r->seconds;
}

double service_ideal_kv(const struct serving_result *r, double line_bps, double bucket_bytes)
{
	double bytes = 0;

	for (unsigned i = 0; i < r->n_came; i++) {
		double ready_s = service_ready_s(&r->came[i], line_bps, bucket_bytes);

		if (ready_s >= r->warm_s && ready_s < r->warm_s + r->seconds)
			bytes += r->came[i].cache_bytes;
	}
	return bytes / r->seconds;
}

static void service_model_ttft(struct trial *t, const struct serving_options *o,
			       const struct serving_result *r)
{
	double n = (double)r->requests,
	       bytes = model_kv_bytes(o->model, r->prompt_tokens / n) / t->scale,
	       transfer_s = ideal_transfer_s(bytes, service_line_bps(t, o),
					     optimum_bucket_bytes(t->fabric->topo, 0)),
	       step_s = o->model->step_s;

	if (o->pieces > 1)
		trial_model(t, "TTFT", NAN, "pieces cross while the next are computed");
	else if (o->per_s == 0)
		trial_model(t, "TTFT",
			    1e3 * ideal_ttft_alone_s(r->prefill_s / n, transfer_s, step_s),
			    "no request came");
	else if (o->per_s < service_capacity(o))
		trial_model(t, "TTFT",
			    1e3 * ideal_ttft_s(r->wait_s / n, r->prefill_s / n, transfer_s, step_s),
			    "no request came");
	else
		trial_model(t, "TTFT", NAN, "more requests than prefill can compute");
}

void service_model(struct trial *t, const char *kpi, const struct serving_options *o,
		   const struct serving_result *r)
{
	double line_bps = service_line_bps(t, o),
	       bucket_bytes = optimum_bucket_bytes(t->fabric->topo, 0);

	if (strcmp(kpi, "TTFT") == 0)
		service_model_ttft(t, o, r);
	else if (strcmp(kpi, "KV_BW") == 0)
		trial_model(t, kpi, service_ideal_kv(r, line_bps, bucket_bytes) / 1e6, "");
	else
		trial_model(t, kpi, service_ideal_tokens(o, r, line_bps, bucket_bytes),
			    "no memory");
}

int service_run(struct trial *t, const struct serving_options *o, const char *kpi)
{
	struct serving_result r;
	int err = serving_run(t, o, NULL, NULL, &r);

	if (!err)
		service_add(t, &r);
	if (!err && kpi)
		service_model(t, kpi, o, &r);
	serving_fini(&r);
	return err;
}

double service_load(const struct trial *t, const struct serving_options *o, double share)
{
	double per_s;

	return (bound_common(t->rows, false, &per_s) ? per_s
						     : service_capacity(o) * SERVICE_UNBOUND) *
	       share;
}
