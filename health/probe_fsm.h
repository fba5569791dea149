/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_fsm.h - whether one path works, judged by its probes alone.
 *
 * Solely owns: the state of one path, why it is so, and its back-off. In: replies,
 * evidence (prober_judge.c), and `now`. Out: the state, the share of its bandwidth that may be
 * used, and one call per transition. Thread: any, one at a time. Pure.
 *
 *   unproven --reply--> up <--reply-- suspect            usable in full
 *      |                 \--silence--> suspect
 *      \--- proven lost, or too lossy (any of the above) ---> down        not usable
 *   down --k replies in a row, hold-down over--> recovering --ramp--> up  usable in part
 *   recovering --a loss proven--> down, and the next hold-down is twice as long (capped, for ever)
 *
 * What proves a loss is in docs/health.md; here are its consequences.
 */
#ifndef PROBE_FSM_H
#define PROBE_FSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_state {
	PROBE_UNPROVEN, /* never answered, or its peer has fallen silent on all planes */
	PROBE_UP,
	PROBE_SUSPECT,
	PROBE_DOWN,
	PROBE_RECOVERING,
};

/* Where the fault is thought to be. */
enum probe_where {
	PROBE_NOWHERE,
	PROBE_LOCAL,	 /* our own ports or route toward the plane */
	PROBE_REMOTE,	 /* the peer's ports toward the plane */
	PROBE_IN_FABRIC, /* the leaf: several peers are silent on it */
	PROBE_UNLOCATED, /* no second peer to tell remote from in-fabric */
};

struct probe_fsm_times {
	uint64_t interval_ns;
	uint32_t detect_multiplier;
	uint32_t recover_probes;
	uint64_t hold_ns, hold_max_ns; /* back-off: first, and largest */
	uint64_t ramp_ns;
	uint64_t unproven_ns;  /* so long a path not yet answered is not down for its silence */
	uint32_t max_loss_ppm; /* of a window of probes */
};

/* What a path went down on: silence, or losses. */
struct probe_numbers {
	bool by_peer;	    /* of our packets, as the peer reports; else of the peer's */
	uint32_t n_missing; /* in a row */
	uint64_t silent_ns, allowance_ns;
	uint32_t n_lost, n_sent;
};

struct probe_fsm {
	struct probe_numbers last; /* it went down on these last */
	enum probe_state state;
	bool was_up; /* ever */
	enum probe_where where;
	const char *reason; /* static */
	uint64_t since_ns;
	uint64_t hold_until_ns, backoff_ns;
	uint64_t recovered_ns; /* probes passed again, last */
	uint32_t passes;       /* replies in a row while down */
	uint32_t punctual;     /* ... since the newest that is overdue */
	uint32_t passes_wanted;
	uint64_t n_downs;
};

/* What is known of a path at a moment (prober_judge.c). */
struct probe_evidence {
	bool dead;    /* docs/health.md, rule 1 */
	bool lossy;   /* rule 2 */
	bool overdue; /* a reply takes an interval longer than any of late */
	bool silent;  /* ... so much longer that answers are in a row no more */
	enum probe_where where;
	struct probe_numbers numbers;
};

struct probe_fsm_change {
	enum probe_state old_state, new_state;
	const char *reason;
	struct probe_numbers numbers; /* of one to down; otherwise all 0 */
};

/* starts_down: it was down before a restart, and has to pass as after any fault. */
void probe_fsm_init(struct probe_fsm *f, const struct probe_fsm_times *t, bool starts_down,
		    uint64_t now);
/*
 * Each returns true if the state changed; *change then says how. clean_run, punctual_run: how many
 * probes were answered since the newest that is missing, and since the newest that is overdue
 * (loss_rtt_clean_run()); looked at where the path is down. A reply that comes late breaks no row,
 * only one that does not come: else a busy machine would keep planes down that are whole. But while
 * one is overdue it is not known which it will be, and the path stays down.
 */
bool probe_fsm_answered(struct probe_fsm *f, const struct probe_fsm_times *t, uint64_t now,
			uint32_t clean_run, uint32_t punctual_run, struct probe_fsm_change *change);
bool probe_fsm_tick(struct probe_fsm *f, const struct probe_fsm_times *t, uint64_t now,
		    const struct probe_evidence *e, struct probe_fsm_change *change);
/* The route or the local ports went away: when they return, replies come first. */
bool probe_fsm_cut(struct probe_fsm *f, const struct probe_fsm_times *t, uint64_t now,
		   struct probe_fsm_change *change);
/* What took it down is located only now. true: it was not, and is. */
bool probe_fsm_locate(struct probe_fsm *f, enum probe_where where);
/* The peer is silent on every plane since then: nothing is known any more. */
bool probe_fsm_blind(struct probe_fsm *f, uint64_t silent_since_ns, uint64_t now,
		     struct probe_fsm_change *change);

/*
 * How often to probe: a lossy path has a long row to show, and once it has begun one it is asked
 * more often.
 */
uint64_t probe_fsm_interval(const struct probe_fsm *f, const struct probe_fsm_times *t);

/* 0..1000 of the path's bandwidth. */
uint32_t probe_fsm_permille(const struct probe_fsm *f, const struct probe_fsm_times *t,
			    uint64_t now);
/* Why a path went down, in figures; "": because of our own ports or route. */
void probe_numbers_text(const struct probe_numbers *n, char *out, size_t size);
const char *probe_state_name(enum probe_state state);
const char *probe_where_name(enum probe_where where);

#endif
