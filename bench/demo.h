/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo.h - the demonstration: four scenarios, two tests, four strategies (or others), side by side
 * in one run, at a link rate that the machine carries with time to spare.
 *
 * Owns: the order of things, and the lab's rate while it runs. In: a lab that is up; out: tables,
 * and the document of result.h with "rate", "rate_steps", "order_seed", "trials_repeated", "shift",
 * "chaos", "why", "duration_s" and, if there are runs, "idle_cpu_percent". A wrong byte, a lost or
 * a repeated message ends it with status 1; a machine that is too slow or too busy with
 * DEMO_EXIT_BUSY, and then there are no figures. Thread: the process has one.
 */
#ifndef DEMO_H
#define DEMO_H

#include "engine/cluster.h"
#include "lab.h"
#include "progress.h"
#include "report/report.h"
#include "result.h"
#include "tests/ep.h"
#include "tests/kv.h"
#include "trial_guard.h"

#define DEMO_SCENARIOS 4 /* chaos is one by itself */
#define DEMO_EXIT_BUSY 3

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
	unsigned n, n_shift, n_chaos;
	unsigned given_mbps;	      /* of a sub-port, as the lab came */
	double unloaded_core_percent; /* idle share of the busiest core without traffic */
	struct trial_guard guard;
	bool even_busy;	       /* measure without idle time, too, and say so in the results */
	uint64_t seed, random; /* of the order of trials; as it is by now */
	int weights;	       /* in force: 1 equal, 0 by bandwidth */
	const char *only;      /* a scenario's name, or NULL */
	bool wanted[STRATEGY_COUNT];
};

/* Fault in, or healed; then waits until lab, daemons and libfare agree with it, and reads the
 * topology again. */
int demo_fault(struct demo *demo, const struct demo_scenario *scenario, bool fail);
/* Makes the kernel's weights those that the strategy is about. */
int demo_weights(struct demo *demo, enum strategy strategy);

/* Reads the topology as it is once lab, daemons and libfare agree with it. */
int demo_refresh(struct demo *demo);
bool demo_wanted(const struct demo *demo, const struct demo_scenario *scenario);
/* What is idle in the next ns, without traffic. -EINTR as cluster_sleep_until(). */
int demo_idle_for(struct demo *demo, uint64_t ns, struct cpu_idle *idle);
/*
 * Does a trial count? If not, it is to be repeated; what kept the core busy is over then, or ten
 * seconds are. -EBUSY: too many in a row did not, after saying so. No traffic may run meanwhile.
 */
int demo_counts(struct demo *demo, const struct cpu_idle *idle, bool *counts);

/*
 * Finds the rate at which the machine has time to spare and puts it in force; "rate" and
 * "rate_steps" into the result. -EBUSY, after saying why: there is none. Then the rate that the lab
 * came with, for a lab that goes on living.
 */
int demo_rate(struct demo *demo);
int demo_rate_restore(const struct demo *demo);
unsigned demo_rate_mbps(const struct topo *topo); /* of a sub-port */

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
