/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover.h - what a fault costs: faults that begin at a known moment, what each ought to do, and
 * one of them under traffic, from a healthy fabric to a healthy fabric.
 *
 * Owns: nothing between trials; a child process for the time of an injection. In: a lab that is
 * well, an observer, which GPU sends to which, the plane whose turn it is. Out: a trial's figures,
 * and its goodput over time. Every wait is for a condition and has an end. Thread: the
 * coordinator's.
 */
#ifndef FAILOVER_H
#define FAILOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/cluster.h"
#include "engine/ep.h"
#include "engine/strategy.h"
#include "fabric/lab.h"
#include "fabric/topo.h"
#include "fabric/undo_guard.h"
#include "procedure/recovery.h"
#include "resilience/observe.h"
#include "resilience/stalls.h"

/* ---- failover_fault.c: faults ---- */

/*
 * farelab takes tens of milliseconds to start, longer than what is measured here; so links are
 * taken down, forwarding is stopped and daemons are killed from here, by one system call each. What
 * farelab alone can do (loss, starting daemons) is timed from before its start: its own time is
 * inside. farelab's record (faults.json) has none of what is done from here: an undo_guard sees to
 * it that it is undone.
 */
#define FAILOVER_MAX_DEVICES 256

enum failover_fault_kind {
	FAILOVER_LINKS, /* the leaf's devices go down: carrier is lost at both ends */
	/* the leaf forwards nothing, or (devices) nothing that comes in by those */
	FAILOVER_FORWARDING,
	FAILOVER_KILL, /* a process */
	FAILOVER_SPEC, /* farelab does it */
};

struct failover_fault {
	enum failover_fault_kind kind;
	unsigned plane;	  /* that suffers */
	int gpu;	  /* whose paths over it suffer; -1: everybody's */
	double remaining; /* of their weight; 1: nothing may change */
	char leaf_netns[64];
	unsigned n_devices;
	char device[FAILOVER_MAX_DEVICES][16]; /* on the leaf */
	/* of FAILOVER_FORWARDING: off and on that often; 0: off */
	unsigned cycles;
	uint64_t period_ns;
	pid_t pid;
	/* for farelab, after what is above was done and instead of undoing it; "": nothing */
	char spec_on[96], spec_off[96];
};

/*
 * Does it (on) or undoes it. *done_ns: just before the first system call that matters; *over_ns:
 * just after the last. A fault with cycles heals itself: *over_ns is when it did, and undoing it
 * does nothing. 0 or -errno.
 */
int failover_fault_do(const struct failover_fault *fault, const struct lab *lab, bool on,
		      uint64_t *done_ns, uint64_t *over_ns);

/* Undoes it whether it was done, or half of it, or not, also one that heals itself. 0 or -errno. */
int failover_fault_undo(const struct failover_fault *fault, const struct lab *lab);

/* ---- failover_scenario.c: what breaks, and what may change by it; pure, but for undoing ---- */

enum failover_scenario_id {
	FAILOVER_LOCAL_SUB_PORT,
	FAILOVER_REMOTE_SUB_PORT,
	FAILOVER_REMOTE_PLANE,
	FAILOVER_LEAF_KILLED,
	FAILOVER_LEAF_GRAY,
	FAILOVER_LEAF_GRAY_ONE_WAY,
	FAILOVER_LEAF_LOSS_5,
	FAILOVER_FLAP_1HZ,
	FAILOVER_FLAP_20HZ,
	FAILOVER_BGPD_KILLED,
	FAILOVER_FARED_KILLED,
	FAILOVER_TWO_FAULTS,
	FAILOVER_SCENARIOS
};

struct failover_scenario {
	const char *name, *title;
	bool carrier;	  /* links lose and regain carrier */
	bool may_not_see; /* so short, or so mild, that no decision is due */
	unsigned n_faults;
	struct failover_fault fault[2];
};

const char *failover_scenario_name(enum failover_scenario_id id);

void failover_scenario_make(struct failover_scenario *out, enum failover_scenario_id id,
			    const struct topo *topo, unsigned src, unsigned dst, unsigned plane);

/* What the faults leave of the path's weight; 1: it may not change. */
double failover_scenario_remaining(const struct failover_scenario *s, unsigned src, unsigned dst,
				   unsigned plane);

/* For undo_guard.h: context is the lab, state the scenario in force. The last fault first. */
int failover_scenario_undo(const void *context, const void *state);

/* ---- failover_weights.c: what the observer's record says of a fault ---- */

/* The record may grow meanwhile, hence the bounds: events [from, n). */

/* The pairs whose decisions matter to the traffic: one, or all. */
struct failover_concern {
	const struct topo *topo;
	bool all;
	unsigned src, dst;
};

/* Is any weight to change at all? */
bool failover_weights_due(const struct failover_scenario *s);

/* When the last of the weights that matter was down to what the faults leave; 0: not yet. */
uint64_t failover_weights_decided(const struct observe *o, uint32_t from, uint32_t n,
				  const struct failover_scenario *s,
				  const struct failover_concern *concern);

/*
 * From healing on: when the first of the weights rose, and when the last of them was back for good.
 * Nothing was away: both are healed_ns. *back_ns 0: not all are back.
 */
void failover_weights_returned(const struct observe *o, uint32_t from, uint32_t n,
			       const struct failover_scenario *s,
			       const struct failover_concern *concern, uint64_t healed_ns,
			       uint64_t *first_ns, uint64_t *back_ns);

/* The most often that any path that matters fell to zero. */
unsigned failover_weights_falls(const struct observe *o, uint32_t from, uint32_t n,
				const struct failover_scenario *s,
				const struct failover_concern *concern);

/*
 * Lowerings of paths that nothing happened to, of all pairs. Each is appended to list:
 * observe_change() and routes_away.
 */
unsigned failover_weights_needless(const struct observe *o, uint32_t from, uint32_t n,
				   const struct failover_scenario *s, const struct topo *topo,
				   uint64_t begin_ns, json_t *list);

/*
 * When the kernel first notified the server whose link was lost (any server, if all lost one: the
 * sender's); 0: never.
 */
uint64_t failover_weights_kernel(const struct observe *o, uint32_t from, uint32_t n,
				 const struct failover_scenario *s,
				 const struct failover_concern *concern);

/* ---- failover_trial.c ---- */

/*
 * Clocks start at the injection, or at the end of healing. Milliseconds; negative: not due, or (for
 * what is seen later) not seen.
 */

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
