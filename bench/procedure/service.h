/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service.h - an inference service of the usual shape, and its rows.
 *
 * Owns: nothing. In: a trial, options of a service; out: rows. Thread: the coordinator's.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include "suite/trial.h"
#include "workload/serving.h"

/* The rows of those KPIs of a service that the test declares, by their names. */
void service_add(struct trial *t, const struct serving_result *r);
/* Rate and concurrency alone, for tests that have KPIs of their own. */
void service_add_offered(struct trial *t, const struct serving_result *r);
/* Runs it, adds them, and the model of that KPI (service_model()); NULL: none. */
int service_run(struct trial *t, const struct serving_options *o, const char *kpi);

/* What a router that looks at prefixes gains over one that does not: the same requests below the
 * capacity by both, then beyond it. NaN where nothing was looked up. Pure. */
struct service_prefix {
	double hit_percent, hit_unaware_percent; /* of look-ups */
	double saved_percent;			 /* bytes of cache that were not sent */
	double ttft_saved_ms;			 /* of the mean */
	double tokens_more_percent;		 /* beyond the capacity */
};

struct service_prefix service_prefix(const struct serving_result *unaware,
				     const struct serving_result *aware,
				     const struct serving_result *over_unaware,
				     const struct serving_result *over_aware);

/*
 * What a fault at that moment did to a service: the P99 of TTFT of who had a first token before it
 * (of few it is next to the largest), the worst of who had one within a second after it (NaN:
 * nobody had); and by how much output tokens of that second are fewer than those before, after the
 * warm-up, in percent (NaN: none came). Pure.
 */
struct service_change {
	double before_s, after_s;
	unsigned n_before, n_after;
	double tokens_fewer_percent;
};

struct service_change service_change(const struct serving_result *r, double at_s);

/* A mid model, pools of the fabric's size, short outputs; the rates of tests differ. */
struct serving_options service_usual(const struct trial *t);
/* Requests a second that its prefill workers can compute at most. */
double service_capacity(const struct serving_options *o);
/* A share of the least bound of all strategies (bound_common()); where there is none, of 70% of the
 * capacity: the same for all. The KPI Offered_rate has it. */
double service_load(const struct trial *t, const struct serving_options *o, double share);

/*
 * What must come out on an ideal fabric (ideal.h) of the requests that came: a few of a wide law
 * are not the law. Of the KPI "TTFT" the mean; of "KV_BW" bytes of caches a second; of any other
 * output tokens a second.
 */
void service_model(struct trial *t, const char *kpi, const struct serving_options *o,
		   const struct serving_result *r);
/* Payload a second between two GPUs of both pools, less what other traffic takes. */
double service_line_bps(const struct trial *t, const struct serving_options *o);
/* The sums of the two models, pure: line_bps and bucket_bytes as of ideal_transfer_s(). NaN: no
 * memory. */
double service_ideal_tokens(const struct serving_options *o, const struct serving_result *r,
			    double line_bps, double bucket_bytes);
double service_ideal_kv(const struct serving_result *r, double line_bps, double bucket_bytes);

#endif
