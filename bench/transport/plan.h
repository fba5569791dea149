/*
 * plan.h - what `farebench transport` measures: a list of points, each method beside the others, and what came out.
 *
 * Owns: the points and their samples. In: lists of methods, sizes, numbers of QPs. Out: JSON and tables.
 * Thread: one.
 */
#ifndef TRANSPORT_PLAN_H
#define TRANSPORT_PLAN_H

#include <jansson.h>

#include "end.h"
#include "progress.h"

#define PLAN_MAX_POINTS 512
#define PLAN_MAX_N	25

enum plan_part { PLAN_GOODPUT, PLAN_QPS, PLAN_CPU, PLAN_LATENCY, PLAN_PARTS };

struct plan_point {
	enum plan_part part;
	struct transport_case c;
	unsigned n;
	bool absent, failed;
	char why[TRANSPORT_WHY_BYTES]; /* failed */
	struct transport_outcome sample[PLAN_MAX_N];
};

struct plan {
	unsigned n_points;
	struct plan_point point[PLAN_MAX_POINTS];
};

const char *plan_part_name(enum plan_part part);
/* Adds a point; -E2BIG. */
int plan_add(struct plan *plan, enum plan_part part, const struct transport_case *c);
/*
 * One repetition of every point, in turns, so that a slow moment of the machine meets neighbours alike. A peer's library that
 * fails is marked, with its reason, and left out from then on; -EREMOTEIO: one of our own or a socket method failed.
 */
int plan_run(struct plan *plan, struct transport_net *net, struct progress *progress);

/* {"goodput": [{method, bytes, qps, n, gbps, gbps_min, gbps_max, of_ceiling, cpu_s_per_gb, why}...], "qps": ..., "cpu": ...,
 *  "latency": [{method, bytes, n, p50_us, p50_us_min, p50_us_max, p99_us, p999_us, worst_us, why}...]}; medians over repetitions; why: in words, only where
 * not all of them ran. */
json_t *plan_json(const struct plan *plan);

#endif
