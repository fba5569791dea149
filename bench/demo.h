/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo.h - the demonstration: four scenarios, two tests, four strategies (or others), side by side
 * in one run.
 *
 * Owns: the order of things. In: a lab that is up; out: tables, and the document of result.h with
 * "shift", "chaos", "why", "duration_s" and, if there are runs, "idle_cpu_percent". A wrong byte, a
 * lost or a repeated message ends it with status 1. Thread: the process has one.
 */
#ifndef DEMO_H
#define DEMO_H

#include "cluster.h"
#include "lab.h"
#include "progress.h"
#include "report.h"
#include "result.h"
#include "tests/ep.h"
#include "tests/kv.h"

#define DEMO_SCENARIOS 4 /* chaos is one by itself */

struct demo_scenario {
	const char *name;  /* as in the JSON */
	const char *title; /* as people read it */
	char fault[128];   /* farelab fail|heal ...; "" for healthy */
};

struct demo {
	struct lab lab;
	struct cluster *cluster;
	struct topo *topo; /* as it is now */
	struct result *result;
	struct progress progress;
	struct demo_scenario scenario[DEMO_SCENARIOS];
	struct kv_options kv, shift_kv;
	struct ep_options ep;
	unsigned plane; /* the one that suffers */
	unsigned n, n_shift;
	int weights;	  /* in force: 1 equal, 0 by bandwidth */
	const char *only; /* a scenario's name, or NULL */
	bool wanted[STRATEGY_COUNT];
};

/* Fault in, or healed; then waits until lab, daemons and libfare agree with it, and reads the
 * topology again. */
int demo_fault(struct demo *demo, const struct demo_scenario *scenario, bool fail);
/* Makes the kernel's weights those that the strategy is about. */
int demo_weights(struct demo *demo, enum strategy strategy);

/* The parts. */
int demo_steady(struct demo *demo); /* goodput of everything, and what farectl says why */
int demo_shifts(struct demo *demo); /* time to shift */
int demo_chaos(struct demo *demo);  /* daemons killed in mid-transfer */

/* The least idle share of all runs into the result, if there are any; -ENOMEM. */
int demo_idle(struct result *result);

/* What was found, on the terminal and on a page. -errno: no memory, or no picture. */
int demo_print(const struct demo *demo);
int demo_page(const struct demo *demo, struct report *report);

/* `farebench demo ...` */
int demo_main(int argc, char **argv);

#endif
