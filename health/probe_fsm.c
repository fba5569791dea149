/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe_fsm.h"

#include <stdio.h>

#include "health_limits.h"
#include "health_planted.h"

static const char *down_reason(enum probe_where where, bool lossy)
{
	if (lossy)
		switch (where) {
		case PROBE_IN_FABRIC:
			return "in-fabric: probes toward several peers of this plane are lost";
		case PROBE_REMOTE:
			return "remote: probes toward this peer are lost, other peers' are not";
		case PROBE_LOCAL:
			return "local: probes over one of our sub-ports are lost";
		default:
			return "remote or in-fabric: too many probes are lost";
		}
	switch (where) {
	case PROBE_IN_FABRIC:
		return "in-fabric: several peers are silent on this plane and answer on others";
	case PROBE_REMOTE:
		return "remote: this peer alone is silent on this plane; it answers on others";
	case PROBE_LOCAL:
		return "local: our ports or our route toward this plane went away";
	default:
		return "remote or in-fabric: silent on this plane, answers on others";
	}
}

/* The only place where a state changes. */
static bool set(struct probe_fsm *f, enum probe_state state, enum probe_where where,
		const char *reason, uint64_t now, struct probe_fsm_change *change)
{
	*change = (struct probe_fsm_change){
		.old_state = f->state, .new_state = state, .reason = reason};
	f->state = state;
	f->where = where;
	f->reason = reason;
	f->since_ns = now;
	f->was_up |= state == PROBE_UP;
	return true;
}

static bool go_down(struct probe_fsm *f, const struct probe_fsm_times *t, enum probe_where where,
		    const char *reason, const struct probe_numbers *numbers, uint64_t now,
		    struct probe_fsm_change *change)
{
	bool steady = f->state != PROBE_RECOVERING &&
		      now >= f->recovered_ns + HEALTH_BGP_HOLD_NS + 2 * f->backoff_ns;

	if (!f->n_downs || steady)
		f->backoff_ns = t->hold_ns;
	else if (f->backoff_ns < t->hold_max_ns / 2)
		f->backoff_ns *= 2;
	else
		f->backoff_ns = t->hold_max_ns;
	f->hold_until_ns = now + f->backoff_ns;
	f->passes = f->punctual = 0;
	f->passes_wanted = t->recover_probes;
	f->n_downs++;
	f->last = *numbers;
	set(f, PROBE_DOWN, where, reason, now, change);
	change->numbers = *numbers;
	return true;
}

void probe_fsm_init(struct probe_fsm *f, const struct probe_fsm_times *t, bool starts_down,
		    uint64_t now)
{
	*f = (struct probe_fsm){
		.state = starts_down ? PROBE_DOWN : PROBE_UNPROVEN,
		.reason = starts_down ? "down before this daemon restarted, not answered since"
				      : "not answered yet",
		.since_ns = now,
		.passes_wanted = t->recover_probes,
		.backoff_ns = t->hold_ns,
	};
}

bool probe_fsm_answered(struct probe_fsm *f, const struct probe_fsm_times *t, uint64_t now,
			uint32_t clean_run, uint32_t punctual_run, struct probe_fsm_change *change)
{
	switch (f->state) {
	case PROBE_UNPROVEN:
	case PROBE_SUSPECT:
		return set(f, PROBE_UP, PROBE_NOWHERE, "probes are answered", now, change);
	case PROBE_DOWN:
		f->passes = f->passes < clean_run ? f->passes + 1 : clean_run;
		f->punctual = f->passes < punctual_run ? f->passes : punctual_run;
		if (HEALTH_PLANTED(recovers_at_once))
			f->punctual = f->passes_wanted;
		if (f->punctual < f->passes_wanted || now < f->hold_until_ns)
			return false;
		f->recovered_ns = now;
		return t->ramp_ns
			       ? set(f, PROBE_RECOVERING, f->where,
				     "probes pass again; bandwidth is given back in steps", now,
				     change)
			       : set(f, PROBE_UP, PROBE_NOWHERE, "probes pass again", now, change);
	case PROBE_UP:
	case PROBE_RECOVERING:
		break;
	}
	return false;
}

/* A path that loses one probe in twenty passes a short run of replies by chance. */
static uint32_t run_wanted(const struct probe_fsm_times *t)
{
	uint64_t n = t->interval_ns ? HEALTH_CLEAN_NS / t->interval_ns : HEALTH_CLEAN_MAX;

	return n < HEALTH_RUN ? HEALTH_RUN : n > HEALTH_CLEAN_MAX ? HEALTH_CLEAN_MAX : (uint32_t)n;
}

uint64_t probe_fsm_interval(const struct probe_fsm *f, const struct probe_fsm_times *t)
{
	bool eager = f->state == PROBE_DOWN && f->passes_wanted > t->recover_probes &&
		     f->punctual >= HEALTH_RUN;

	return eager ? t->interval_ns / HEALTH_TICKS : t->interval_ns;
}

bool probe_fsm_tick(struct probe_fsm *f, const struct probe_fsm_times *t, uint64_t now,
		    const struct probe_evidence *e, struct probe_fsm_change *change)
{
	bool is_new =
		!f->was_up && f->state == PROBE_UNPROVEN && now < f->since_ns + t->unproven_ns;

	if (f->state == PROBE_DOWN) {
		if (e->silent)
			f->passes = f->punctual = 0;
		return false;
	}
	if (e->dead && !is_new)
		return go_down(f, t, e->where, down_reason(e->where, false), &e->numbers, now,
			       change);
	if (e->lossy && f->state != PROBE_UNPROVEN) {
		go_down(f, t, e->where, down_reason(e->where, true), &e->numbers, now, change);
		if (f->passes_wanted < run_wanted(t))
			f->passes_wanted = run_wanted(t);
		return true;
	}
	if (f->state == PROBE_UP && e->overdue)
		return set(f, PROBE_SUSPECT, e->where, "a reply is overdue", now, change);
	if (f->state == PROBE_RECOVERING && now >= f->since_ns + t->ramp_ns)
		return set(f, PROBE_UP, PROBE_NOWHERE, "recovered", now, change);
	return false;
}

bool probe_fsm_locate(struct probe_fsm *f, enum probe_where where)
{
	if (f->state != PROBE_DOWN || f->where != PROBE_UNLOCATED || where == PROBE_UNLOCATED)
		return false;
	f->where = where;
	f->reason = down_reason(where, f->last.n_sent);
	return true;
}

bool probe_fsm_cut(struct probe_fsm *f, const struct probe_fsm_times *t, uint64_t now,
		   struct probe_fsm_change *change)
{
	static const struct probe_numbers none;

	if (f->state == PROBE_DOWN) {
		f->passes = f->punctual = 0;
		return false;
	}
	return go_down(f, t, PROBE_LOCAL,
		       "our ports or the route were away; waiting until probes pass", &none, now,
		       change);
}

bool probe_fsm_blind(struct probe_fsm *f, uint64_t silent_since_ns, uint64_t now,
		     struct probe_fsm_change *change)
{
	/* a path that waits for its first reply after a break: the peer's reflector may be gone
	 */
	bool waits_in_vain = f->state == PROBE_DOWN && f->where == PROBE_LOCAL &&
			     now >= silent_since_ns + HEALTH_BGP_HOLD_NS;

	if (f->state != PROBE_UP && f->state != PROBE_SUSPECT && !waits_in_vain)
		return false;
	return set(f, PROBE_UNPROVEN, PROBE_NOWHERE,
		   "the peer answers on no plane: its prober is away; not judged by probes", now,
		   change);
}

uint32_t probe_fsm_permille(const struct probe_fsm *f, const struct probe_fsm_times *t,
			    uint64_t now)
{
	uint64_t step;

	switch (f->state) {
	case PROBE_DOWN:
		return 0;
	case PROBE_RECOVERING:
		step = t->ramp_ns ? (now - f->since_ns) * HEALTH_RAMP_STEPS / t->ramp_ns
				  : HEALTH_RAMP_STEPS;
		return (uint32_t)((step < HEALTH_RAMP_STEPS ? step + 1 : HEALTH_RAMP_STEPS) * 1000 /
				  HEALTH_RAMP_STEPS);
	case PROBE_UNPROVEN:
	case PROBE_UP:
	case PROBE_SUSPECT:
		break;
	}
	return 1000;
}

void probe_numbers_text(const struct probe_numbers *n, char *out, size_t size)
{
	const char *whose = n->by_peer ? "of ours, as the peer reports" : "of the peer's";

	out[0] = '\0';
	if (n->n_sent)
		snprintf(out, size, "%u of %u packets lost, %s", n->n_lost, n->n_sent, whose);
	else if (n->by_peer)
		snprintf(out, size, "no packet for %.1f ms, %s", (double)n->silent_ns / 1e6, whose);
	else if (n->n_missing)
		snprintf(out, size,
			 "%u packets in a row missing, none for %.1f ms, %s; %.1f ms allowed",
			 n->n_missing, (double)n->silent_ns / 1e6, whose,
			 (double)n->allowance_ns / 1e6);
}

const char *probe_state_name(enum probe_state state)
{
	static const char *const names[] = {[PROBE_UNPROVEN] = "unproven",
					    [PROBE_UP] = "up",
					    [PROBE_SUSPECT] = "suspect",
					    [PROBE_DOWN] = "down",
					    [PROBE_RECOVERING] = "recovering"};

	return names[state];
}

const char *probe_where_name(enum probe_where where)
{
	static const char *const names[] = {[PROBE_NOWHERE] = "nowhere",
					    [PROBE_LOCAL] = "local",
					    [PROBE_REMOTE] = "remote",
					    [PROBE_IN_FABRIC] = "in-fabric",
					    [PROBE_UNLOCATED] = "remote or in-fabric"};

	return names[where];
}
