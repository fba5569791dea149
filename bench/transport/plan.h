/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - what `farebench transport` measures: a list of points, each method beside the others,
 * and what came out.
 *
 * Owns: the points and their samples. In: lists of methods, sizes, numbers of QPs. Out: JSON and
 * tables. Thread: one.
 */
#ifndef TRANSPORT_PLAN_H
#define TRANSPORT_PLAN_H

#include <jansson.h>

#include "end.h"
#include "progress.h"

#define PLAN_MAX_POINTS 512
#define PLAN_MAX_N	25
#define PLAN_PATIENCE_S 300 /* in all, for cores that are too far apart */

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
	/*
	 * cores farther apart than that are waited for, and a sample taken again; 0: whatever they
	 * are
	 */
	double max_handover_ns;
	/* left; while there is none, they may be as far apart as they like */
	double patience_s;
	unsigned n_again; /* samples taken again */
	struct plan_point point[PLAN_MAX_POINTS];
};

const char *plan_part_name(enum plan_part part);
/* Adds a point; -E2BIG. */
int plan_add(struct plan *plan, enum plan_part part, const struct transport_case *c);
/*
 * One repetition of every point, in turns, so that a slow moment of the machine meets neighbours
 * alike. While the cores are too far apart nothing is measured, and a sample during which they were
 * is taken again, for PLAN_PATIENCE_S in all. A peer's library that fails is marked, with its
 * reason, and left out from then on; -EREMOTEIO: one of our own or a socket method failed.
 */
int plan_run(struct plan *plan, struct transport_net *net, struct progress *progress);

/*
 * Medians over repetitions:
 *
 *	goodput, qps, cpu  [{method, bytes, qps, n, gbps, gbps_min, gbps_max, of_ceiling,
 *			     cpu_s_per_gb, handover_ns, why}...]
 *	latency            [{method, bytes, n, p50_us, p50_us_min, p50_us_max, p99_us, p999_us,
 *			     worst_us, handover_ns, why}...]
 *	handover           {n, ns, ns_min, ns_max, taken_again}
 *
 * why: the reason, where not all repetitions ran.
 */
json_t *plan_json(const struct plan *plan);

#endif
