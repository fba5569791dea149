/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover_trial.h - one fault under traffic, from a healthy fabric to a healthy fabric.
 *
 * Owns: nothing between trials. In: a lab that is well, an observer, a scenario. Out: a trial's
 * figures, and its goodput over time. Every wait is for a condition and has an end. Thread:
 * the coordinator's.
 *
 * Clocks start at the injection, or at the end of healing. Milliseconds; negative: not due, or (for
 * what is seen later) not seen.
 */
#ifndef FAILOVER_TRIAL_H
#define FAILOVER_TRIAL_H

#include "engine/cluster.h"
#include "fabric/undo_guard.h"
#include "resilience/failover_scenario.h"
#include "fabric/lab.h"
#include "resilience/observe.h"
#include "procedure/recovery.h"
#include "resilience/stalls.h"
#include "engine/strategy.h"
#include "engine/ep.h"

#define FAILOVER_KV_BYTES (128u << 10) /* of a transfer; */
#define FAILOVER_KV_DEPTH 32	       /* so many under way */

#define FAILOVER_BEFORE_MS 100	/* of a curve, before the injection or the heal */
#define FAILOVER_FAULT_MS  600	/* and after the injection, */
#define FAILOVER_HEAL_MS   3000 /* and after the heal */
#define FAILOVER_FAULT_BIN 20	/* milliseconds of a point */
#define FAILOVER_HEAL_BIN  100

#define FAILOVER_FAULT_POINTS ((FAILOVER_BEFORE_MS + FAILOVER_FAULT_MS) / FAILOVER_FAULT_BIN)
#define FAILOVER_HEAL_POINTS  ((FAILOVER_BEFORE_MS + FAILOVER_HEAL_MS) / FAILOVER_HEAL_BIN)

/* Goodput around the injection and around the heal, of the healthy one; NAN: not recorded. */
struct failover_curves {
	double fault[FAILOVER_FAULT_POINTS], heal[FAILOVER_HEAL_POINTS];
};

struct failover_trial {
	/* injection -> the kernel notified the server that lost its link */
	double kernel_ms;
	/* injection -> new weights are there for applications, on all servers concerned */
	double decide_ms;
	/* the same from the kernel's event; until healing, if either was not seen */
	double decide_after_kernel_ms;
	double move_ms;	      /* injection -> goodput is what it settles at (recovery.h) */
	double gap_ms;	      /* longest time without a byte acknowledged */
	double settled_ratio; /* goodput under the fault over the healthy one */
	/* healed -> links and kernel routes are as before: BGP's share */
	double back_ms;
	/* then, until the first of the weight is back: the hold-down's share */
	double hold_ms;
	double ramp_ms;		      /* then, until all of it is: the ramp's */
	double weights_ms;	      /* healed -> all weights are back */
	double restore_after_back_ms; /* links and routes back -> goodput is back; at least 0 */
	double after_ratio;	      /* goodput at the end of the trial over the healthy one */
	/* the same of traffic begun anew after a trial that did not come back; -1: it did */
	double control_ratio;
	/* of the machine's time, by a hypervisor, while there was traffic; -1: unknown */
	double stolen_percent;
	/*
	 * a core stalled at most, from just before the injection until the decision, if one was
	 * due; -1: unknown, not due
	 */
	double stalled_ms;
	/* due, and never there: decide_ms is how long the fault lasted */
	bool undecided;
	bool backoff;	  /* a path went down more than once: flap back-off */
	bool back_at_all; /* weights and goodput */
	struct failover_curves curves;
	uint64_t messages, lost, replayed;
	unsigned needless; /* weights and flows */
};

struct failover_bench {
	struct lab lab;
	struct topo *topo;
	struct cluster *cluster;
	struct observe *observe;
	struct undo_guard *guard; /* undoes the scenario in force, however the run ends */
	struct stalls *stalls;	  /* NULL: none watches */
	bool equal;		  /* the kernel's weights are */
	unsigned src, dst;	  /* of the transfers */
	struct ep_options ep;	  /* the exchange among all */
	/* needless weights of the trial, each an observe_change(), seconds since the injection */
	json_t *lowered;
	uint64_t carrier_ns; /* the last time that a link went or came */
	/* until when a plane's next fault would be taken for flapping, because of the last one */
	uint64_t quiet_ns[FARE_MAX_PLANES];
};

/*
 * Weights, links and routes came back, goodput did not, and traffic begun anew is no faster: the
 * machine has become slower since the trial began, which says nothing of recovery.
 */
static inline bool failover_trial_slowed(const struct failover_trial *t)
{
	return !t->back_at_all && t->control_ratio >= 0 &&
	       t->after_ratio >= RECOVERY_BACK * t->control_ratio;
}

/* When things were; 0: never. What was looked for was looked for until heal_ns. */
struct failover_decision {
	uint64_t inject_ns, kernel_ns, decided_ns, heal_ns;
};

/*
 * Fills in kernel_ms, decide_ms, decide_after_kernel_ms (all -1 before) and undecided. What was due
 * and was not seen counts as long as it was waited for: no figure passes by a miss. Pure.
 */
void failover_trial_decide(const struct failover_scenario *s, const struct failover_decision *d,
			   struct failover_trial *t);

/*
 * Runs it. 0, or -errno after saying why: the run is over then, and what it broke is the guard's to
 * undo. -EINTR: a signal is pending (interrupt.h).
 */
int failover_trial_run(struct failover_bench *b, const struct failover_scenario *s,
		       enum strategy strategy, bool is_kv, struct failover_trial *out);

#endif
