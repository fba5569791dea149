/* SPDX-License-Identifier: BSD-2-Clause */
/* prober.c - see prober.h: sessions and their timing */
#include "prober.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prober_internal.h"

/* ---- telling ------------------------------------------------------------- */

/* Of a peer that answers nothing, nothing can be waited for. */
static uint8_t returning(const struct prober_path *path)
{
	return path->fsm.state == PROBE_UNPROVEN ? 0 : path->returning;
}

static void view(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		 uint64_t now, struct prober_view *out)
{
	const struct prober_path *path = &peer->paths[plane];
	bool v6 = !IN6_IS_ADDR_V4MAPPED(&peer->address);

	*out = (struct prober_view){
		.wanted = path->wanted,
		.state = path->fsm.state,
		.where = path->fsm.where,
		.reason = path->fsm.reason,
		.since_ns = path->fsm.since_ns,
		.permille = probe_fsm_permille(&path->fsm, &p->times, now),
		.loss_ppm = loss_rtt_ppm(&path->loss),
		.n_window = path->loss.n_decided,
		.n_sent = path->loss.n_sent_ever,
		.n_lost = path->loss.n_lost_ever,
		.n_downs = path->fsm.n_downs,
		.rtt_p50_ns = loss_rtt_percentile_ns(&path->loss, 50),
		.rtt_p99_ns = loss_rtt_percentile_ns(&path->loss, 99),
		.third_party = path->third_party,
	};
	if (path->fsm.state == PROBE_DOWN && path->fsm.hold_until_ns > now)
		out->hold_ms = (uint32_t)((path->fsm.hold_until_ns - now) / HEALTH_MS_NS);
	for (unsigned i = 0; i < PROBER_PORTS; i++) {
		out->remote_sub_port[i] = path->remote[i];
		out->source_port[i] = p->sockets[peer->gpu][v6][i].port;
	}
	out->gray_local = path->gray.mask[GRAY_LOCAL];
	out->returning_local = returning(path);
	out->crossed = path->crossed;
	out->crossed_plane = path->crossed_plane;
	out->is_crossed_there = path->is_crossed_there;
	out->gray_remote = path->gray.mask[GRAY_REMOTE];
	out->n_remote = path->n_remote;
	prober_mtu_view(path, out);
}

/* Tells of a transition (change), or of a step of the ramp if there was one. */
void prober_tell(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		 const struct probe_fsm_change *change)
{
	struct prober_path *path = &peer->paths[plane];
	uint32_t permille = probe_fsm_permille(&path->fsm, &p->times, now);
	struct prober_view v;

	if (!change && permille == path->permille)
		return;
	path->permille = permille;
	view(p, peer, plane, now, &v);
	p->handlers->on_path(p->arg, peer->gpu, &peer->address, plane, &v, change);
}

void prober_tell_gray(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		      enum gray_side side, uint32_t sub_port)
{
	bool gray = peer->paths[plane].gray.mask[side] >> sub_port & 1;
	struct prober_view v;

	view(p, peer, plane, now, &v);
	p->handlers->on_path(p->arg, peer->gpu, &peer->address, plane, &v, NULL);
	if (p->handlers->on_gray)
		p->handlers->on_gray(p->arg, peer->gpu, &peer->address, plane, side == GRAY_LOCAL,
				     sub_port, gray);
}

void prober_tell_links(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_view v;

	view(p, peer, plane, now, &v);
	p->handlers->on_path(p->arg, peer->gpu, &peer->address, plane, &v, NULL);
}

/* ---- when ----------------------------------------------------------------- */

/* When the path is to be looked at again: for its next probe, or because a reply is overdue. */
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
	if (path->mtu_ns)
		due = prober_smaller(due, prober_larger(path->mtu_ns, now));
	wheel_set(p->wheel, prober_place(peer, plane), other < due ? other : due);
}

uint64_t prober_soon(struct prober *p, uint64_t now)
{
	return now + prober_random(p) % p->times.interval_ns;
}

void prober_ask(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t at_ns,
		uint64_t now)
{
	if (!peer->paths[plane].wanted || peer->paths[plane].next_ns <= at_ns)
		return;
	peer->paths[plane].next_ns = at_ns;
	prober_schedule(p, peer, plane, now);
}

static void ask_all(struct prober *p, struct prober_peer *peer, uint64_t now)
{
	for (uint32_t plane = 0; plane < peer->n_planes; plane++)
		prober_ask(p, peer, plane, now, now);
}

/*
 * It is we who are late, and the reply may wait with us: a thousand idle peers whose replies do so
 * would all be asked faster, and make us later still. But not what is unanswered for longer than
 * until it counts as lost, and for as long as we were late.
 */
static bool may_wait_here(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	uint64_t late = now < p->late_until_ns ? p->late_until_ns - p->late_ns : 0;

	return (late || now < p->full_until_ns) &&
	       now < path->silent_since_ns + HEALTH_SETTLE_NS + path->loss.rtt_peak_ns + late;
}

/* A reply is overdue: this peer's other planes are to say whether it is the peer. */
static void note_overdue(struct prober *p, struct prober_peer *peer, uint32_t silent, uint64_t now)
{
	bool idle = now >= peer->active_until_ns;

	p->overdue_ns = peer->overdue_ns = now;
	if (idle && may_wait_here(p, &peer->paths[silent], now))
		return;
	peer->active_until_ns = prober_larger(peer->active_until_ns, now + HEALTH_ACTIVE_NS);
	if (idle)
		ask_all(p, peer, now);
}

static void ask_elsewhere(struct prober *p, struct prober_peer *peer, uint32_t silent, uint64_t now)
{
	for (uint32_t plane = 0; plane < peer->n_planes; plane++)
		if (prober_is_to_tell(p, peer, silent, plane, now))
			prober_ask(p, peer, plane, now, now);
}

/*
 * Nothing has come in over the plane for an interval: it may be dead, or a full queue before this
 * one peer keeps all that we would hear. Others tell: they have ports of their own; and what they
 * answer over other planes, whether they are there.
 */
static void ask_witnesses(struct prober *p, const struct prober_peer *silent, uint32_t plane,
			  uint64_t now)
{
	struct prober_plane *s = &p->planes[silent->gpu][plane];
	uint32_t n = 0;

	if (now < s->witnessed_ns + p->times.interval_ns || HEALTH_PLANTED(witness_unasked))
		return;
	s->witnessed_ns = now;
	for (uint32_t i = 1; i < p->n_peers && n < HEALTH_WITNESSES; i++) {
		struct prober_peer *peer = p->peers[(silent->index + i) % p->n_peers];
		const struct prober_path *path = &peer->paths[plane];

		if (peer->gpu != silent->gpu || !path->wanted || path->fsm.state != PROBE_UP ||
		    path->silent_since_ns)
			continue;
		n++;
		peer->overdue_ns = now; /* what it says that it hears makes no probe needless now */
		ask_all(p, peer, now);
	}
}

static void run_path(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	uint64_t detect = p->times.interval_ns * p->times.detect_multiplier;
	bool overdue = prober_is_overdue(p, path, now), quiet;

	path->loss.full_ns = HEALTH_QUEUE_BATCHES * p->ports->gpus[peer->gpu].burst_ns[plane];
	prober_note_usual(peer, now);
	loss_rtt_settle(&path->loss, now - HEALTH_SETTLE_NS - path->loss.rtt_peak_ns);
	if (path->fsm.state != PROBE_DOWN && overdue) {
		note_overdue(p, peer, plane, now);
		/* again and again: the first reading was prober_plane_due()'s */
		prober_sample_plane(p, peer->gpu, plane, now);
	}
	if (overdue || path->fsm.state == PROBE_RECOVERING || prober_has_losses(path))
		prober_judge(p, peer, plane, now);
	if (path->silent_since_ns && now >= path->silent_since_ns + detect + HEALTH_BLIND_NS)
		prober_judge_blindness(p, peer, now);
	prober_tell(p, peer, plane, now, NULL);
	quiet = prober_is_quiet(p, peer, plane, now);
	if (quiet) {
		ask_elsewhere(p, peer, plane, now);
		if (path->fsm.state != PROBE_UNPROVEN) /* what may never have reflected */
			ask_witnesses(p, peer, plane, now);
	}
	if (now >= path->next_ns) {
		if (prober_pace_skips(p, peer, plane, now)) {
			path->n_skipped++;
			p->counters.skipped++;
			path->next_ns = prober_pace_skipped_ns(p, path);
		} else {
			path->n_skipped = 0;
			prober_io_probe(p, peer, plane, now);
			path->next_ns = prober_pace_next_ns(p, peer, plane, now);
			if (quiet)
				path->next_ns -= p->tick_ns; /* the wheel rounds up */
		}
	}
	path->mtu_ns = prober_mtu_run(p, peer, plane, prober_pace_ns(p, peer, plane, now), now);
	prober_schedule(p, peer, plane, now);
}

void prober_wake_idle(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	for (uint32_t i = 0; i < p->n_peers; i++)
		if (p->peers[i]->gpu == gpu)
			prober_ask(p, p->peers[i], plane, prober_soon(p, now), now);
}

/*
 * Something may have become due sooner than was said after the last run. While nothing was, the
 * wheel did not turn, and what is put on it before it turns again may look long due: this does not
 * mean that the loop is late.
 */
uint64_t prober_next_ns(struct prober *p, uint64_t now)
{
	uint64_t next = wheel_next_ns(p->wheel);

	if (next && (!p->armed_ns || next < p->armed_ns))
		p->armed_ns = prober_larger(next, now);
	return p->armed_ns;
}

void prober_heard(struct prober *p, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		  bool hears_us, uint64_t now)
{
	struct prober_peer *peer = hears_us ? prober_peer_find(p, gpu, address) : NULL;

	prober_plane_heard(p, gpu, plane, now);
	p->planes[gpu][plane].n_sent++; /* the reply */
	if (peer && plane < peer->n_planes)
		peer->paths[plane].acked_ns = now;
}

/* ---- replies ------------------------------------------------------------- */

void prober_answered(struct prober *p, struct prober_peer *peer, uint32_t plane,
		     uint32_t answered_before, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change;
	uint32_t n, clean_run = 0, punctual_run = 0;
	uint64_t nth;

	path->answered_ever = true;
	if (path->loss.newest_answered - answered_before > HEALTH_STRAY_MAX + 1)
		path->answering_since_ns = path->loss.newest_answered_sent_ns;
	path->silent_since_ns = loss_rtt_silent_since(&path->loss, 0, 1, &n, &nth);
	if (path->fsm.state == PROBE_DOWN)
		prober_runs(p, peer, plane, now, &clean_run, &punctual_run);
	if (!path->wanted)
		return;
	if (!probe_fsm_answered(&path->fsm, &p->times, now, clean_run, punctual_run, &change)) {
		if (path->fsm.state == PROBE_DOWN) /* more such replies, and it returns */
			path->next_ns = prober_smaller(path->next_ns, now + p->times.interval_ns);
		if (!path->silent_since_ns || path->fsm.state == PROBE_DOWN)
			prober_schedule(p, peer, plane, now);
		return;
	}
	path->next_ns = now; /* no more slow probing */
	prober_schedule(p, peer, plane, now);
	if (change.old_state == PROBE_UNPROVEN) {
		path->returning = 0; /* all were in use, for want of knowledge, and work */
		peer->acked = 0;     /* it may have restarted, and know nothing */
	}
	path->n_to_answer = HEALTH_RUN; /* by which sub-ports? */
	memset(path->tries, 0, sizeof(path->tries));
	if (change.old_state == PROBE_DOWN || change.old_state == PROBE_UNPROVEN) {
		loss_rtt_forget(&path->loss); /* what was lost before says nothing of now */
		path->silent_since_ns = 0;
	}
	prober_tell(p, peer, plane, now, &change);
}

/* ---- the clock ----------------------------------------------------------- */

static void refresh_notices(struct prober *p, uint64_t now)
{
	for (uint32_t g = 0; g < p->ports->n_gpus; g++) {
		struct prober_notice *n = &p->notices[g];

		if (!n->limited || now < n->refresh_ns)
			continue;
		n->refresh_ns = now + HEALTH_REFRESH_NS;
		n->capacity.sequence++;
	}
}

void prober_run(struct prober *p, uint64_t now)
{
	uint32_t place;

	/*
	 * What came in while we were away is heard before anything is judged; what the loop has
	 * just found is, by its priority.
	 */
	if ((p->by_tick || now > p->armed_ns + 2 * p->tick_ns) && !HEALTH_PLANTED(late_undrained))
		prober_io_drain(p, now);
	p->counters.late_ticks += now > p->armed_ns + 2 * p->tick_ns;
	/*
	 * so late that replies may be stuck as we were (a core, or all of them, taken away by a
	 * hypervisor)
	 */
	if (now > p->armed_ns + p->times.interval_ns) {
		p->late_ns = now;
		p->late_until_ns =
			prober_larger(p->late_until_ns,
				      now + 2 * (now - p->armed_ns) +
					      p->times.interval_ns * p->times.detect_multiplier);
	}
	refresh_notices(p, now);
	prober_pace_share(p, now);
	while (wheel_take(p->wheel, now, &place)) {
		if (place >= PROBER_PLANE_PLACE)
			prober_plane_due(p, place, now);
		else
			run_path(p, p->places[place / SUB_PORTS_MAX_PLANES],
				 place % SUB_PORTS_MAX_PLANES, now);
	}
	udp_send(p->udp);
	p->armed_ns = wheel_next_ns(p->wheel);
}

/* A quarter of the interval: fine enough for detection, coarse enough to send several at a time. */
static int start_clock(struct prober *p, uint64_t now)
{
	p->tick_ns = p->times.interval_ns / HEALTH_TICKS;
	if (p->tick_ns < HEALTH_TICK_MIN_NS)
		p->tick_ns = HEALTH_TICK_MIN_NS;
	if (p->tick_ns > HEALTH_TICK_MAX_NS)
		p->tick_ns = HEALTH_TICK_MAX_NS;
	return wheel_create(&p->wheel, PROBER_PLACES, p->tick_ns, now);
}

/* ---- what the daemon asks -------------------------------------------------- */

uint64_t prober_tick_ns(const struct prober *p)
{
	return p->tick_ns;
}

bool prober_path(const struct prober *p, uint32_t gpu, const struct in6_addr *address,
		 uint32_t plane, uint64_t now, struct prober_view *out)
{
	const struct prober_peer *peer = prober_peer_find(p, gpu, address);

	if (!peer || plane >= peer->n_planes || !peer->paths[plane].fsm.reason)
		return false;
	view(p, peer, plane, now, out);
	return true;
}

uint32_t prober_avoided(const struct prober *p, uint32_t gpu, const struct in6_addr *address,
			uint32_t plane)
{
	const struct prober_peer *peer = prober_peer_find(p, gpu, address);

	return peer && plane < peer->n_planes
		       ? returning(&peer->paths[plane]) | peer->paths[plane].unrouted
		       : 0;
}

void prober_counters(const struct prober *p, struct prober_counters *out)
{
	*out = p->counters;
	out->refused = udp_refused(p->udp);
}

/* ---- life ---------------------------------------------------------------- */

int prober_create(struct prober **out, struct udp *udp, const struct prober_options *options,
		  const struct sub_ports *ports, const struct notice_keys *keys,
		  const struct prober_handlers *handlers, void *arg, uint64_t now)
{
	struct prober *p = calloc(1, sizeof(*p));
	int rc;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->udp = udp;
	p->options = *options;
	p->times = options->times;
	p->perhaps_ns = p->times.interval_ns;
	p->ports = ports;
	p->keys = keys;
	p->handlers = handlers;
	p->arg = arg;
	p->random = options->seed;
	rc = nonces_init(&p->nonces);
	if (!rc)
		rc = prober_io_open(p);
	if (!rc)
		rc = start_clock(p, now);
	if (rc) {
		prober_destroy(p);
		return rc;
	}
	*out = p;
	return 0;
}

void prober_destroy(struct prober *p)
{
	if (!p)
		return;
	prober_io_close(p);
	prober_rx_close(p);
	for (uint32_t i = 0; i < p->n_peers; i++)
		free(p->peers[i]);
	wheel_destroy(p->wheel);
	free(p);
}
