/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * result.h - what a benchmark found: entries of repetitions, as tables and as JSON.
 *
 * Owns: the JSON document that grows. In: repetitions, shifts, chaos; out: {"runs":[...],
 * "shift":[...], "chaos":[...], "environment":{...}}. Every entry has n, its median and its spread.
 * Thread: one.
 */
#ifndef RESULT_H
#define RESULT_H

#include <jansson.h>
#include <stdint.h>

#include "engine/strategy.h"
#include "topo.h"
#include "engine/traffic.h"

#define RESULT_MAX_N 100

struct result;

/* Repetitions of one thing. The first four members are the caller's; result_sample() fills the
 * others. */
struct result_entry {
	const char *scenario, *test;
	enum strategy strategy;
	uint64_t size_bytes;
	unsigned qps;
	unsigned n;
	double goodput_bps[RESULT_MAX_N], ratio[RESULT_MAX_N];
	double idle_percent[RESULT_MAX_N], busiest_idle_percent[RESULT_MAX_N],
		stolen_percent[RESULT_MAX_N];
	double optimum_bps;
	struct traffic_result sum;
};

int result_create(struct result **out);
void result_destroy(struct result *result); /* NULL is fine */

int result_sample(struct result_entry *entry, const struct traffic_result *one); /* -E2BIG */
int result_add_run(struct result *result, const struct result_entry *entry);

/*
 * How long a strategy took to shift after a fault: n trials; shift_ms < 0: it never came back.
 * settled: what it reached afterwards over the new optimum.
 */
int result_add_shift(struct result *result, const char *scenario, enum strategy strategy,
		     const double *shift_ms, const double *gap_ms, const double *settled_ratio,
		     unsigned n);

/* Sets a member of the document, or of its "environment" (value taken). */
int result_set(struct result *result, const char *key, json_t *value);
int result_set_environment(struct result *result, const char *key, json_t *value);
/* Appends an object (taken) to the array of that name. */
int result_append(struct result *result, const char *array, json_t *object);

/* Puts runs in the order of scenario (as first seen), test, strategy. */
int result_sort_runs(struct result *result);

/* What figures stand on, for people. */
struct result_basis {
	const char *observation_point, *real, *emulated;
};

/*
 * Version, command, kernel, processor, cores and basis into "environment", instead of what it held.
 */
int result_describe_basis(struct result *result, const struct result_basis *basis);
/* The same for traffic in a lab, whose basis is always the same, and the fabric. */
int result_describe(struct result *result, const struct topo *topo);

const json_t *result_root(const struct result *result);

int result_write(const struct result *result, const char *path); /* "-": stdout */

#endif
