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
/* Runs it and adds them. meanwhile as of serving_run(). */
int service_run(struct trial *t, const struct serving_options *o,
		int (*meanwhile)(void *arg, uint64_t now_ns), void *arg);

/* A mid model, pools of the fabric's size, short outputs; the rates of tests differ. */
struct serving_options service_usual(const struct trial *t);
/* Requests a second that its prefill workers can compute at most. */
double service_capacity(const struct serving_options *o);
/* The rate that test 11.1 found for this strategy; false: none, in these rows. */
bool service_bound(const struct trial *t, double *per_s);
/* A share of that; where there is none, of 70% of the capacity. The KPI Offered_rate has it. */
double service_load(const struct trial *t, const struct serving_options *o, double share);

/* What must come out on an ideal fabric (ideal.h): means. Beyond the capacity ttft_s is infinite.
 */
struct service_ideal {
	double tokens_per_s, kv_bytes_per_s, step_s, ttft_s;
};

struct service_ideal service_ideal(const struct trial *t, const struct serving_options *o);

#endif
