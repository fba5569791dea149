/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_pace.c - see prober_internal.h: how often a path is probed, which probe need not be sent,
 * and when a path is looked at
 */
#include "prober_internal.h"

/* SplitMix64: spreads times. Who sees one can compute all: not for what others must not guess. */
static uint64_t random_of(struct prober *p)
{
	uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

bool prober_is_overdue(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	return path->silent_since_ns && now >= path->silent_since_ns + p->times.interval_ns;
}

/* When the path is quiet, unless a packet comes over it; 0: none ever did. */
static uint64_t quiet_ns(const struct prober *p, const struct prober_peer *peer, uint32_t plane)
{
	uint64_t received_ns = peer->judge.planes[plane].received_ns;

	return received_ns ? received_ns + p->times.interval_ns * 9 / 8 : 0;
}

bool prober_is_quiet(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		     uint64_t now)
{
	uint64_t since_ns = quiet_ns(p, peer, plane);

	return since_ns && now > since_ns && now < since_ns + HEALTH_ACTIVE_NS;
}

uint32_t prober_unrouted(const struct prober_path *path, uint64_t now)
{
	return now < path->unrouted_until_ns ? path->unrouted : 0;
}

/* ---- how often ----------------------------------------------------------- */

static bool is_active(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		      uint64_t now)
{
	return now < peer->active_until_ns || now < p->planes[peer->gpu][plane].hurry_until_ns;
}

/* Of a path that works and has no traffic that we know of. */
static uint64_t idle_ns(const struct prober *p, const struct prober_peer *peer, uint32_t plane)
{
	return p->planes[peer->gpu][plane].traffic_known ? p->options.slow_interval_ns
							 : p->perhaps_ns;
}

uint64_t prober_pace_ns(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
			uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];
	uint64_t interval = probe_fsm_interval(&path->fsm, &p->times);

	if (path->fsm.state == PROBE_UNPROVEN && now > path->fsm.since_ns + HEALTH_RUN * interval)
		interval = prober_larger(interval, HEALTH_DOUBTFUL_NS);
	else if (path->fsm.state == PROBE_DOWN && !path->fsm.passes &&
		 now > path->fsm.since_ns + HEALTH_DOWN_FAST_NS)
		interval = prober_larger(interval, HEALTH_DOUBTFUL_NS);
	if ((path->fsm.state == PROBE_UP || path->fsm.state == PROBE_UNPROVEN) &&
	    !is_active(p, peer, plane, now))
		interval = prober_larger(interval, idle_ns(p, peer, plane));
	else if (path->fsm.state != PROBE_DOWN && prober_is_quiet(p, peer, plane, now))
		interval /= HEALTH_TICKS; /* more packets that may be missing, sooner */
	return interval;
}

/*
 * Thousands of sessions answer several times within a tick: then they are all heard at its end,
 * with one waking up.
 */
static void choose_reading(struct prober *p, uint64_t elapsed_ns)
{
	uint64_t n = p->counters.answered - p->answered_before;

	p->answered_before = p->counters.answered;
	p->by_tick = n * UINT64_C(1000000000) / elapsed_ns > HEALTH_BY_TICK_PER_S;
}

bool prober_reads_by_tick(const struct prober *p)
{
	return p->by_tick;
}

/* What fast paths leave of the budget is shared out among those that perhaps have traffic. */
static uint64_t perhaps_ns(const struct prober *p, uint64_t milli_fast, uint64_t n_perhaps)
{
	uint64_t used = milli_fast * 1000000 / p->times.interval_ns,
		 left = p->options.max_probes_per_s > used ? p->options.max_probes_per_s - used : 0,
		 fair = left ? n_perhaps * UINT64_C(1000000000) / left : UINT64_MAX;

	return prober_smaller(prober_larger(fair, p->times.interval_ns),
			      p->options.slow_interval_ns);
}

void prober_pace_share(struct prober *p, uint64_t now)
{
	uint64_t milli_fast = 0, n_perhaps = 0, fair;

	if (now < p->counted_ns + HEALTH_DOUBTFUL_NS)
		return;
	choose_reading(p, now - p->counted_ns);
	p->counted_ns = now;
	p->perhaps_ns = p->options.slow_interval_ns; /* which counts as nothing */
	/* a slow one counts nothing, a doubtful one as part of a path, an eager one as several */
	for (uint32_t i = 0; i < p->n_peers; i++)
		for (uint32_t plane = 0; plane < p->peers[i]->n_planes; plane++) {
			uint64_t interval;

			if (!p->peers[i]->paths[plane].wanted)
				continue;
			interval = prober_pace_ns(p, p->peers[i], plane, now);
			if (interval < p->options.slow_interval_ns)
				milli_fast += 1000 * p->times.interval_ns / interval;
			n_perhaps += !is_active(p, p->peers[i], plane, now) &&
				     !p->planes[p->peers[i]->gpu][plane].traffic_known;
		}
	fair = milli_fast * 1000000 / p->options.max_probes_per_s;
	p->times.interval_ns = prober_larger(p->options.times.interval_ns, fair);
	p->perhaps_ns = perhaps_ns(p, milli_fast, n_perhaps);
}

/* RFC 5880 6.8.7: less than the interval by a random 0 to 25%. */
static uint64_t jittered(struct prober *p, uint64_t interval)
{
	return interval - (interval / 4 * (random_of(p) >> 54) >> 10);
}

bool prober_pace_skips(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		       uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];

	return path->fsm.state == PROBE_UP && !path->returning &&
	       path->n_skipped < HEALTH_SKIP_MAX && !path->silent_since_ns &&
	       path->loss.n_lost < 2 && /* is one sub-port at fault? */
	       now < path->acked_ns + p->times.interval_ns &&
	       now > peer->overdue_ns + 2 * p->times.interval_ns * p->times.detect_multiplier;
}

uint64_t prober_pace_skipped_ns(const struct prober *p, const struct prober_path *path)
{
	return path->acked_ns + p->times.interval_ns;
}

uint64_t prober_pace_next_ns(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			     uint64_t now)
{
	return now + jittered(p, prober_pace_ns(p, peer, plane, now));
}

/* ---- when ---------------------------------------------------------------- */

/* When a verdict of the reports is due; 0: none is. */
static uint64_t judged_ns(const struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	const struct judge_plane *j = &peer->judge.planes[plane];

	if (peer->paths[plane].fsm.state == PROBE_DOWN)
		return 0;
	return j->news || judge_is_reported_dead(&peer->judge, plane, now) ? now : j->decide_ns;
}

void prober_schedule(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];
	uint64_t due = path->next_ns, other = due;

	if (path->silent_since_ns && path->fsm.state != PROBE_DOWN &&
	    path->fsm.state != PROBE_UNPROVEN) {
		other = path->silent_since_ns + p->times.interval_ns;
		if (other <= now)
			other = now; /* the next tick: what comes after that comes late */
	}
	if (quiet_ns(p, peer, plane) >= now && is_active(p, peer, plane, now) &&
	    path->fsm.state != PROBE_DOWN)
		other = prober_smaller(other, quiet_ns(p, peer, plane) + 1);
	if (judged_ns(peer, plane, now))
		other = prober_smaller(other, prober_larger(judged_ns(peer, plane, now), now));
	if (path->mtu_ns)
		due = prober_smaller(due, prober_larger(path->mtu_ns, now));
	wheel_set(p->wheel, prober_place(peer, plane), other < due ? other : due);
}

uint64_t prober_soon(struct prober *p, uint64_t now)
{
	return now + random_of(p) % p->times.interval_ns;
}

void prober_ask(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t at_ns,
		uint64_t now)
{
	if (!peer->paths[plane].wanted || peer->paths[plane].next_ns <= at_ns)
		return;
	peer->paths[plane].next_ns = at_ns;
	prober_schedule(p, peer, plane, now);
}

void prober_wake_idle(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	for (uint32_t i = 0; i < p->n_peers; i++)
		if (p->peers[i]->gpu == gpu)
			prober_ask(p, p->peers[i], plane, prober_soon(p, now), now);
}
