/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_fsm.h - whether one path works, judged by its probes alone.
 *
 * Solely owns: the state of one path, why it is so, and its back-off. In: replies, silence with
 * what else is known of the peer, and `now`. Out: the state, the share of its bandwidth that may be
 * used, and one call per transition. Thread: any, one at a time. Pure.
 *
 *   unproven --reply--> up <--reply-- suspect            usable in full
 *      |                 \--silence--> suspect
 *      \--- proven lost, or too lossy (any of the above) ---> down        not usable
 *   down --k replies in a row, hold-down over--> recovering --ramp--> up  usable in part
 *   recovering --a loss proven--> down, and the next hold-down is twice as long (capped, for ever)
 *
 * How long is long enough: the schedule (probe_fsm_silence()), if the whole plane has fallen
 * silent; with an allowance for full queues, if packets of others still come in over it.
 *
 * A path goes down only on evidence: `detect_multiplier` probes in a row unanswered for long
 * enough, and the same peer has answered, over another plane, a probe sent after the last of them.
 * So neither a prober nor a reflector that was late, stopped or restarted takes anything down: its
 * silence is the same on all planes, and then there is no plane left to move to either.
 */
#ifndef PROBE_FSM_H
#define PROBE_FSM_H

#include <stdbool.h>
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

struct probe_fsm {
	enum probe_state state;
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

/* What is known when a path has not been heard for a while, or loses probes. */
struct probe_evidence {
	uint64_t silent_since_ns; /* oldest probe later than the newest answered one; 0: none */
	uint32_t n_silent;
	uint64_t margin_ns;	/* what replies may take beyond the schedule */
	uint64_t burst_ns;	/* what one batch of data takes on the slowest link of the plane */
	bool answers_elsewhere; /* ... a probe sent after the last silent one, over another plane */
	bool lossy;		/* beyond max_loss_ppm, and another plane is clean */
	uint32_t n_lost, n_window; /* lost, of those whose outcome is known */
	enum probe_where where;
};

struct probe_fsm_change {
	enum probe_state old_state, new_state;
	const char *reason;
	/* what a path went down on: silence, or losses; otherwise all 0 */
	uint32_t n_silent;
	uint64_t silent_ns, margin_ns;
	uint32_t n_lost, n_window;
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
/* The peer is silent on every plane since then: nothing is known any more. */
bool probe_fsm_blind(struct probe_fsm *f, uint64_t silent_since_ns, uint64_t now,
		     struct probe_fsm_change *change);

/*
 * Silence that says something where nothing at all comes in any more: the time in which
 * detect_multiplier probes go out at least, 75% of an interval apart, and an interval for the last
 * one's reply; or, on slow links, an interval and two batches of data, for a probe may wait behind
 * one out of our port and behind another out of the leaf's.
 */
uint64_t probe_fsm_silence(const struct probe_fsm_times *t, uint64_t burst_ns);
/*
 * How long full queues may keep a reply back: 256 batches (16 MiB) in one of a switch's ports; 5 to
 * 100 ms. 0: a slow link.
 */
uint64_t probe_fsm_queue(uint64_t burst_ns);

/*
 * How often to probe: a lossy path has a long row to show, and once it has begun one it is asked
 * more often.
 */
uint64_t probe_fsm_interval(const struct probe_fsm *f, const struct probe_fsm_times *t);

/* 0..1000 of the path's bandwidth. */
uint32_t probe_fsm_permille(const struct probe_fsm *f, const struct probe_fsm_times *t,
			    uint64_t now);
const char *probe_state_name(enum probe_state state);
const char *probe_where_name(enum probe_where where);

#endif
