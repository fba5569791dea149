/* SPDX-License-Identifier: BSD-2-Clause */
/* failover_trial.c - one fault under traffic, from healthy fabric to healthy fabric (failover.h) */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/cpu.h"
#include "engine/audit.h"
#include "resilience/failover.h"
#include "procedure/recovery.h"

#define MS	      UINT64_C(1000000)
#define WARM_NS	      (100 * MS)
#define KV_HEALTHY_NS (400 * MS)
/* an exchange among all comes in rounds: two windows of it tell too little of how they vary */
#define EP_HEALTHY_NS (1000 * MS)
#define DECIDE_NS     (10000 * MS) /* longest wait for a decision */
/* from the decision on, until goodput under the fault is counted, for: */
#define MOVE_NS	     (200 * MS)
#define KV_SETTLE_NS (200 * MS)
/* five rounds in a fifth of a second tell it no better than to a fifth */
#define EP_SETTLE_NS (800 * MS)
/* a strategy that does not follow decisions is given so much longer */
#define BASELINE_NS (200 * MS)
#define BACK_NS	    (40000 * MS) /* longest wait for what was healed */
/*
 * once weights are back: half as long again as the goal grants goodput; its second half is compared
 */
#define AFTER_NS (1500 * MS)
#define STEP_NS	 (5 * MS)
/* what a stall leaves behind in queues is gone by then, and a daemon's regard for it */
#define STALL_BEFORE_NS (50 * MS)
/* the kernel tells a carrier event late within a second of another */
#define CARRIER_GAP_NS (1300 * MS)
#define QUIET_NS       (3200 * MS) /* fared's memory of a flap, beyond twice the hold-down */
#define CONVERGE_MS    30000

static uint64_t healthy_ns(bool is_kv)
{
	return is_kv ? KV_HEALTHY_NS : EP_HEALTHY_NS;
}

static uint64_t settle_ns(bool is_kv)
{
	return is_kv ? KV_SETTLE_NS : EP_SETTLE_NS;
}

/* ---- traffic --------------------------------------------------------------------------------- */

static int traffic_begin(struct failover_bench *b, enum strategy strategy, bool is_kv)
{
	struct traffic_load kv = {.name = "kv", .options = {.strategy = strategy}};
	struct plan plan = {0};
	struct moe moe;

	b->ep.traffic.strategy = strategy;
	if (is_kv)
		plan_stream(&plan, plan_load(&plan, &kv), b->src, b->dst, FAILOVER_KV_DEPTH,
			    FAILOVER_KV_BYTES);
	else
		ep_plan(b->topo, &b->ep, &plan, &moe);
	return plan_begin(&plan, b->cluster, b->topo);
}

/*
 * Stops, lets everything arrive, and counts. What a worker does not find as it should be ends the
 * run by itself.
 */
static int traffic_end(struct failover_bench *b, struct failover_trial *trial, struct recovery *r,
		       double *bins)
{
	struct traffic_result sums = {0};
	int err = traffic_stop(b->cluster, TRAFFIC_TIMEOUT_MS);

	for (unsigned gpu = 0; !err && gpu < cluster_size(b->cluster); gpu++)
		err = traffic_report(b->cluster, gpu, &sums);
	for (unsigned gpu = 0; !err && gpu < cluster_size(b->cluster); gpu++)
		err = traffic_bins(b->cluster, gpu, -1, r->from_ns, bins, r->n);
	trial->messages = sums.messages;
	trial->lost = sums.posted > sums.messages ? sums.posted - sums.messages : 0;
	trial->replayed = sums.replayed;
	trial->needless += (unsigned)sums.needless_moves;
	if (!err && !trial->lost)
		err = audit_books(&sums);
	return err ? err : traffic_close(b->cluster);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int pause_for(struct failover_bench *b, uint64_t ns)
{
	return cluster_sleep_until(b->cluster, clock_now_ns() + ns);
}

/*
 * Until the fabric is as it was when the observer began, and a fault would be the first for a
 * while.
 */
static int await_well(struct failover_bench *b, const struct failover_scenario *s)
{
	uint64_t end = clock_now_ns() + CONVERGE_MS * MS, quiet_ns = b->carrier_ns + CARRIER_GAP_NS;
	int err = 0;

	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->fault[i].kind != FAILOVER_KILL && b->quiet_ns[s->fault[i].plane] > quiet_ns)
			quiet_ns = b->quiet_ns[s->fault[i].plane];
	for (;;) {
		bool well = !observe_links_away(b->observe) && !observe_routes_away(b->observe) &&
			    observe_weights_are_first(b->observe, b->topo);

		if (err || (well && clock_now_ns() >= quiet_ns))
			return err;
		if (!well && clock_now_ns() > end) {
			fprintf(stderr,
				"farebench failover: %u links and %u routes are not what they "
				"were, or a weight is not\n",
				observe_links_away(b->observe), observe_routes_away(b->observe));
			return -ETIMEDOUT;
		}
		err = pause_for(b, STEP_NS);
	}
}

struct moments {
	uint64_t healthy_ns, inject_ns, kernel_ns, decided_ns, heal_ns, healed_ns, links_ns,
		routes_ns, back_ns, first_ns, weights_ns, end_ns;
	uint32_t from, healed_n; /* events */
};

static int inject(struct failover_bench *b, const struct failover_scenario *s, struct moments *m)
{
	uint64_t done, over;
	int err = observe_n(b->observe, &m->from);

	m->healed_ns = 0;
	memcpy(undo_guard_state(b->guard), s, sizeof(*s));
	if (!err)
		err = undo_guard_begin(b->guard);
	for (unsigned i = 0; !err && i < s->n_faults; i++) {
		err = failover_fault_do(&s->fault[i], &b->lab, true, &done, &over);
		if (!i)
			m->inject_ns = done;
		if (s->fault[i].cycles)
			m->healed_ns = over;
	}
	return err;
}

static int await_decision(struct failover_bench *b, const struct failover_scenario *s,
			  const struct failover_concern *concern, enum strategy strategy,
			  struct moments *m)
{
	bool due = failover_weights_due(s), kernel = strategy_mode(strategy) == FARE_MODE_KERNEL;
	uint64_t end = m->inject_ns + DECIDE_NS;
	uint32_t n;
	int err = 0;

	while (!err && due && !m->decided_ns && !m->healed_ns && clock_now_ns() < end) {
		err = observe_n(b->observe, &n);
		if (!err)
			m->decided_ns =
				failover_weights_decided(b->observe, m->from, n, s, concern);
		if (!err && !m->decided_ns)
			err = pause_for(b, STEP_NS);
	}
	if (!err && m->healed_ns) /* it healed itself: did it decide meanwhile? */
		err = observe_n(b->observe, &n);
	if (!err && m->healed_ns)
		m->decided_ns = failover_weights_decided(b->observe, m->from, n, s, concern);
	return err || m->healed_ns ? err
				   : pause_for(b, MOVE_NS + settle_ns(!concern->all) +
							  (kernel || !due ? BASELINE_NS : 0));
}

/*
 * A bgpd that was started anew has read its file: what vtysh set of weights in the former one has
 * to be set again.
 */
static int send_weights(struct failover_bench *b, const struct failover_scenario *s)
{
	struct topo *topo;
	int err;

	if (!b->equal || strncmp(s->fault[0].spec_off, "heal bgpd", 9))
		return 0;
	err = lab_status(&b->lab, CONVERGE_MS / 1000, &topo); /* it may not listen yet */
	if (err)
		return err;
	topo_destroy(topo);
	return lab_weights(&b->lab, b->topo, true);
}

static int heal(struct failover_bench *b, const struct failover_scenario *s, struct moments *m)
{
	uint64_t done, over;
	int err = observe_n(b->observe, &m->healed_n);

	m->heal_ns = m->healed_ns ? m->healed_ns : clock_now_ns();
	for (unsigned i = 0; !err && i < s->n_faults; i++)
		err = failover_fault_do(&s->fault[i], &b->lab, false, &done, &over);
	if (!err)
		undo_guard_end(b->guard);
	if (!err)
		err = send_weights(b, s);
	/* links and forwarding are back now; a daemon that farelab starts, from before it was */
	if (!m->healed_ns)
		m->healed_ns = s->fault[0].spec_off[0] ? m->heal_ns : clock_now_ns();
	return err;
}

static int await_back(struct failover_bench *b, const struct failover_scenario *s,
		      const struct failover_concern *concern, struct moments *m,
		      struct failover_trial *trial)
{
	uint64_t end = m->healed_ns + BACK_NS, settled = 0;
	uint32_t n;
	int err = 0;

	while (!err && clock_now_ns() < end) {
		bool back;

		err = observe_n(b->observe, &n);
		back = !observe_links_away(b->observe) && !observe_routes_away(b->observe) &&
		       observe_weights_are_first(b->observe, b->topo);
		if (!back)
			settled = 0;
		else if (!settled)
			settled = clock_now_ns();
		if (!err && settled && clock_now_ns() >= settled + AFTER_NS)
			break;
		if (!err)
			err = pause_for(b, STEP_NS);
	}
	trial->back_at_all = settled;
	m->end_ns = clock_now_ns();
	if (err)
		return err;
	m->links_ns = observe_last(b->observe, n, OBSERVE_LINK, m->healed_ns);
	m->routes_ns = observe_last(b->observe, n, OBSERVE_ROUTES, m->healed_ns);
	if (s->carrier)
		b->carrier_ns = m->links_ns;
	m->back_ns = m->healed_ns;
	if (m->links_ns > m->back_ns)
		m->back_ns = m->links_ns;
	if (m->routes_ns > m->back_ns)
		m->back_ns = m->routes_ns;
	failover_weights_returned(b->observe, m->healed_n, n, s, concern, m->healed_ns,
				  &m->first_ns, &m->weights_ns);
	for (unsigned i = 0; i < s->n_faults; i++)
		b->quiet_ns[s->fault[i].plane] =
			m->end_ns + QUIET_NS +
			(m->first_ns > m->healed_ns ? 2 * (m->first_ns - m->healed_ns) : 0);
	trial->backoff = failover_weights_falls(b->observe, m->from, n, s, concern) > 1;
	trial->needless = failover_weights_needless(b->observe, m->from, n, s, b->topo,
						    m->inject_ns, b->lowered);
	m->kernel_ns = failover_weights_kernel(b->observe, m->from, n, s, concern);
	return 0;
}

/* ---- figures --------------------------------------------------------------------------------- */

static double ms(uint64_t from_ns, uint64_t to_ns)
{
	return ((double)to_ns - (double)from_ns) / 1e6;
}

static double share(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? ms(from_ns, to_ns) : 0;
}

/* Goodput from FAILOVER_BEFORE_MS before a moment on, of the healthy one. */
static void curve(const struct recovery *r, double healthy, uint64_t at_ns, uint64_t until_ns,
		  unsigned bin_ms, unsigned n, double *out)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t from = at_ns + i * bin_ms * MS - FAILOVER_BEFORE_MS * MS,
			 to = from + bin_ms * MS;

		out[i] = from < r->from_ns || to > until_ns ? NAN
							    : recovery_mean(r, from, to) / healthy;
	}
}

void failover_trial_decide(const struct failover_scenario *s, const struct failover_decision *d,
			   struct failover_trial *t)
{
	bool due = failover_weights_due(s), notified = d->kernel_ns && d->kernel_ns < d->heal_ns;

	t->undecided = due && !d->decided_ns && !s->may_not_see;
	if (t->undecided)
		t->decide_ms = ms(d->inject_ns, d->heal_ns);
	else if (due && d->decided_ns)
		t->decide_ms = ms(d->inject_ns, d->decided_ns);
	if (!s->carrier)
		return;
	if (d->kernel_ns)
		t->kernel_ms = ms(d->inject_ns, d->kernel_ns);
	if (t->undecided || (due && !d->kernel_ns))
		t->decide_after_kernel_ms = ms(notified ? d->kernel_ns : d->inject_ns, d->heal_ns);
	else if (d->kernel_ns && d->decided_ns)
		t->decide_after_kernel_ms = fmax(0, ms(d->kernel_ns, d->decided_ns));
}

static void figures(const struct failover_scenario *s, const struct moments *m,
		    const struct recovery *r, uint64_t restored, bool is_kv,
		    struct failover_trial *t)
{
	const struct failover_decision decision = {m->inject_ns, m->kernel_ns, m->decided_ns,
						   m->heal_ns};
	double healthy = recovery_mean(r, m->healthy_ns, m->inject_ns);
	bool cycles = s->fault[0].cycles;

	failover_trial_decide(s, &decision, t);
	if (!cycles) {
		uint64_t settle = m->heal_ns - settle_ns(is_kv);

		t->move_ms = recovery_moved_ms(r, m->inject_ns, settle, m->heal_ns);
		t->settled_ratio = recovery_mean(r, settle, m->heal_ns) / healthy;
	}
	t->gap_ms = recovery_gap_ms(r, m->inject_ns, m->end_ns);
	t->back_ms = ms(m->healed_ns, m->back_ns);
	if (m->weights_ns) {
		t->hold_ms = share(m->back_ns, m->first_ns);
		t->ramp_ms =
			share(m->first_ns > m->back_ns ? m->first_ns : m->back_ns, m->weights_ns);
		t->weights_ms = share(m->healed_ns, m->weights_ns);
	}
	t->after_ratio = recovery_mean(r, m->end_ns - AFTER_NS / 2, m->end_ns) / healthy;
	t->restore_after_back_ms = share(m->back_ns, restored ? restored : m->end_ns);
}

/* Goodput of traffic begun anew, bytes per millisecond. Its messages count, too. */
static int control(struct failover_bench *b, enum strategy strategy, bool is_kv,
		   struct failover_trial *trial, double *bytes)
{
	double bins[(WARM_NS + EP_HEALTHY_NS) / MS + 1] = {0};
	struct failover_trial run = {0};
	struct recovery r = {.n = sizeof(bins) / sizeof(*bins) - 1, .bytes = bins};
	int err = traffic_begin(b, strategy, is_kv);

	r.from_ns = clock_now_ns();
	if (!err)
		err = cluster_sleep_until(b->cluster, r.from_ns + WARM_NS + healthy_ns(is_kv));
	if (!err)
		err = traffic_end(b, &run, &r, bins);
	*bytes = recovery_mean(&r, r.from_ns + WARM_NS, r.from_ns + WARM_NS + healthy_ns(is_kv));
	trial->messages += run.messages;
	trial->lost += run.lost;
	trial->needless += run.needless;
	return err;
}

static int evaluate(struct failover_bench *b, const struct failover_scenario *s,
		    const struct moments *m, uint64_t begin_ns, enum strategy strategy, bool is_kv,
		    struct failover_trial *trial)
{
	size_t n = (size_t)((m->end_ns - begin_ns) / MS);
	double *bins = calloc(n + 1, sizeof(*bins)), anew, healthy;
	struct recovery r = {.from_ns = begin_ns, .n = n, .bytes = bins};
	int err = bins ? traffic_end(b, trial, &r, bins) : -ENOMEM;
	uint64_t restored;

	if (!err) {
		restored = recovery_restored_ns(&r, m->healthy_ns, m->inject_ns, m->healed_ns);
		figures(s, m, &r, restored, is_kv, trial);
		healthy = recovery_mean(&r, m->healthy_ns, m->inject_ns);
		curve(&r, healthy, m->inject_ns, m->heal_ns, FAILOVER_FAULT_BIN,
		      FAILOVER_FAULT_POINTS, trial->curves.fault);
		curve(&r, healthy, m->healed_ns, m->end_ns, FAILOVER_HEAL_BIN, FAILOVER_HEAL_POINTS,
		      trial->curves.heal);
		if (trial->back_at_all && !restored) {
			trial->back_at_all = false;
			err = control(b, strategy, is_kv, trial, &anew);
			trial->control_ratio = anew / healthy;
		}
	}
	free(bins);
	return err;
}

int failover_trial_run(struct failover_bench *b, const struct failover_scenario *s,
		       enum strategy strategy, bool is_kv, struct failover_trial *out)
{
	struct failover_concern concern = {
		.topo = b->topo, .all = !is_kv, .src = b->src, .dst = b->dst};
	struct moments m = {0};
	struct cpu_times before;
	uint64_t begin_ns;
	bool known;
	int err = await_well(b, s);

	*out = (struct failover_trial){.kernel_ms = -1,
				       .decide_ms = -1,
				       .decide_after_kernel_ms = -1,
				       .move_ms = -1,
				       .gap_ms = -1,
				       .settled_ratio = -1,
				       .back_ms = -1,
				       .hold_ms = -1,
				       .ramp_ms = -1,
				       .weights_ms = -1,
				       .restore_after_back_ms = -1,
				       .after_ratio = -1,
				       .control_ratio = -1,
				       .stolen_percent = -1,
				       .stalled_ms = -1};
	json_decref(b->lowered);
	b->lowered = json_array();
	if (!b->lowered && !err)
		err = -ENOMEM;
	known = cpu_read(&before) == 0;
	if (!err)
		err = traffic_begin(b, strategy, is_kv);
	begin_ns = clock_now_ns();
	m.healthy_ns = begin_ns + WARM_NS;
	if (!err)
		err = cluster_sleep_until(b->cluster, m.healthy_ns + healthy_ns(is_kv));
	if (!err)
		err = inject(b, s, &m);
	if (!err)
		err = await_decision(b, s, &concern, strategy, &m);
	if (!err)
		err = heal(b, s, &m);
	if (!err)
		err = await_back(b, s, &concern, &m, out);
	if (known)
		out->stolen_percent = cpu_stolen_percent(&before);
	if (!err && b->stalls && m.decided_ns)
		out->stalled_ms = (double)stalls_longest_ns(
					  b->stalls, m.inject_ns - STALL_BEFORE_NS, m.decided_ns) /
				  1e6;
	return err ? err : evaluate(b, s, &m, begin_ns, strategy, is_kv, out);
}
