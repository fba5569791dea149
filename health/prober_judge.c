/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_judge.c - see prober_internal.h: what is known of a path, and what follows from it */
#include <string.h>

#include "prober_internal.h"

/* ---- evidence ------------------------------------------------------------ */

/* So long unanswered is missing, where answers are to be in a row. */
static uint64_t patience_ns(const struct prober *p, const struct prober_peer *peer, uint32_t plane)
{
	return p->times.interval_ns * p->times.detect_multiplier +
	       2 * prober_limits(p, peer, plane).allowance_ns;
}

/* Answered since the newest probe that is missing, and since the newest that is overdue. */
static void count_runs(struct prober *p, const struct prober_peer *peer, uint32_t plane,
		       uint64_t now, uint32_t *clean, uint32_t *punctual)
{
	const struct loss_rtt *l = &peer->paths[plane].loss;

	*clean = loss_rtt_clean_run(l, now, patience_ns(p, peer, plane), p->tick_ns);
	*punctual = loss_rtt_clean_run(l, now, p->times.interval_ns + l->rtt_peak_ns, p->tick_ns);
}

/*
 * Losses count while they go on: after one of them a path is asked at full pace, but what a fault
 * did that is over stays in the window of an idle one for very long.
 */
static bool is_going_on(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	uint64_t known_ns =
		HEALTH_QUEUE_MAX_NS + path->loss.rtt_peak_ns +
		prober_larger(HEALTH_ACTIVE_NS, LOSS_RTT_WINDOW / 4 * p->times.interval_ns);

	return now < known_ns || loss_rtt_lost_since(&path->loss, now - known_ns) > 2;
}

/* A probe of that path that was sent since then was answered. */
static bool is_answered_since(const struct prober_path *path, uint64_t since_ns)
{
	const struct loss_rtt *l = &path->loss;

	return l->ring[l->newest_answered % LOSS_RTT_WINDOW].sent_ns >= since_ns;
}

static bool is_suffering(const struct prober *p, const struct prober_path *path, bool is_lossy,
			 uint64_t now)
{
	return path->fsm.state == PROBE_DOWN || prober_is_overdue(p, path, now) ||
	       (is_lossy && path->loss.n_lost > 1 &&
		loss_rtt_ppm(&path->loss) > p->times.max_loss_ppm);
}

/*
 * Do the other peers of this plane suffer alike? Only those tell that were asked over it since the
 * fault (spread() asks all). Of very many, some are looked at: a thousand paths that go
 * down at once must not each look at a thousand.
 */
static enum probe_where locate(const struct prober *p, const struct prober_peer *peer,
			       uint32_t plane, bool is_lossy, uint64_t now)
{
	uint64_t since_ns = peer->paths[plane].silent_since_ns;
	uint32_t others = 0, suffering = 0;

	if (is_lossy || !since_ns)
		since_ns = now - 2 * p->times.interval_ns;
	for (uint32_t i = 1;
	     i < p->n_peers && i <= HEALTH_SEARCH_MAX && others < HEALTH_SEARCH_MAX / 8; i++) {
		const struct prober_peer *other = p->peers[(peer->index + i) % p->n_peers];
		const struct prober_path *path = &other->paths[plane];
		bool suffers = is_suffering(p, path, is_lossy, now);

		if (other->gpu != peer->gpu || !path->wanted || !path->answered_ever ||
		    path->sent_ns < since_ns || (!suffers && !is_answered_since(path, since_ns)))
			continue;
		others++;
		suffering += suffers;
	}
	if (!others)
		return PROBE_UNLOCATED;
	return 2 * suffering >= others ? PROBE_IN_FABRIC : PROBE_REMOTE;
}

/* Rule 1 of docs/health.md, by our own counts or by the peer's. */
static bool is_dead(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		    struct probe_numbers *out)
{
	const struct judge_plane *j = &peer->judge.planes[plane];

	if (judge_decide(&peer->judge, plane, now)) {
		*out = (struct probe_numbers){
			.n_missing = j->n_missing,
			.silent_ns = j->received_ns ? now - j->received_ns : 0,
			.allowance_ns = prober_limits(p, peer, plane).allowance_ns};
		return true;
	}
	*out = (struct probe_numbers){.by_peer = true, .silent_ns = j->reported_age_ns};
	return judge_is_reported_dead(&peer->judge, plane, now);
}

/*
 * Rule 3 comes first, and by the round trips of as many lost probes: a path that is seldom probed
 * is asked for them.
 */
static bool is_searched(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];

	peer->active_until_ns = prober_larger(peer->active_until_ns, now + HEALTH_ACTIVE_NS);
	prober_ask(p, peer, plane, now + p->times.interval_ns, now);
	return path->loss.n_lost >= HEALTH_LOST_MIN && !path->suspicion;
}

/* Rule 2, by our own counts or by the peer's. */
static bool is_lossy(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		     struct probe_numbers *out)
{
	struct prober_path *path = &peer->paths[plane];
	struct judge_limits limits = prober_limits(p, peer, plane);
	struct judge_times times = prober_judge_times(p);
	uint8_t news = judge_take_news(&peer->judge, plane);
	struct judge_losses losses;

	if (news & REPORT_GRAY) /* what the peer's sub-port lost says nothing of the others */
		judge_forget(&peer->judge, plane);
	losses = judge_losses(&peer->judge, plane, &limits);
	/* what avoids a gray sub-port here need not yet do so at the other end */
	if (!path->gray.mask[GRAY_LOCAL] && !path->gray.mask[GRAY_REMOTE] &&
	    judge_is_lossy(&losses, &times))
		path->is_lossy |= is_searched(p, peer, plane, now);
	*out = (struct probe_numbers){.n_lost = losses.lost, .n_sent = losses.sent};
	if (path->is_lossy)
		return true;
	*out = (struct probe_numbers){.by_peer = true,
				      .n_lost = peer->judge.planes[plane].reported_lost,
				      .n_sent = UINT8_MAX};
	return news & REPORT_LOSSY;
}

static struct probe_evidence gather(struct prober *p, struct prober_peer *peer, uint32_t plane,
				    uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];
	uint64_t late_ns = p->times.interval_ns + prober_limits(p, peer, plane).allowance_ns;
	struct probe_evidence e = {0};

	if (path->silent_since_ns) {
		e.overdue = now >= path->silent_since_ns + late_ns;
		e.silent = now >= path->silent_since_ns + patience_ns(p, peer, plane);
	}
	if (path->fsm.state == PROBE_DOWN) {
		judge_decide(&peer->judge, plane, now); /* the peer has to know, all the same */
		return e;
	}
	e.dead = is_dead(p, peer, plane, now, &e.numbers);
	e.lossy = !e.dead && is_lossy(p, peer, plane, now, &e.numbers);
	if (e.dead || e.lossy)
		e.where = locate(p, peer, plane, e.lossy, now);
	return e;
}

/* ---- judgement ----------------------------------------------------------- */

/* A probe is lost if the peer was received so long after it, over whatever plane. */
static void prober_judge_settle(struct prober_peer *peer, struct prober_path *path, uint64_t now)
{
	uint64_t patience_ns = HEALTH_QUEUE_MAX_NS + path->loss.rtt_peak_ns;
	uint64_t known_ns = HEALTH_PLANTED(absence_counts) ? now : judge_received_ns(&peer->judge);

	if (known_ns > patience_ns)
		loss_rtt_settle(&path->loss, known_ns - patience_ns);
}

/*
 * Losses that one sub-port explains take that sub-port out, and not the plane. A foreign reflector
 * does not say which probe it answers: nothing follows from which it does not.
 */
static bool find_gray(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	enum gray_finding finding;
	enum gray_side side;
	uint64_t queue_ns;
	uint32_t sub_port;

	if (path->third_party || path->loss.n_lost < HEALTH_LOST_MIN ||
	    path->searched_at == path->loss.settled)
		return false;
	path->searched_at = path->loss.settled;
	if (!is_going_on(p, path, now))
		return false;
	queue_ns = prober_limits(p, peer, plane).queue_ns;
	finding = gray_find(&path->gray, &path->loss, p->times.max_loss_ppm,
			    queue_ns && path->loss.rtt_peak_ns > queue_ns, now, &side, &sub_port);
	path->suspicion = finding == GRAY_SUSPICION;
	if (finding != GRAY_FOUND)
		return false;
	path->gray_ns = now;
	loss_rtt_forget(&path->loss);
	judge_forget(&peer->judge, plane);
	path->silent_since_ns = 0;
	prober_show_gray(p, peer, plane, now, side, sub_port);
	return true;
}

/* What the other end does not know yet is sent to it at once, and idle peers are asked. */
static void spread(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_plane *s = &p->planes[peer->gpu][plane];

	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (i != plane && peer->paths[i].wanted)
			prober_io_probe(p, peer, i, now);
	/* once an interval: when many paths fall one by one, not for each of them */
	if (s->hurry_until_ns >= now + HEALTH_ACTIVE_NS - p->times.interval_ns)
		return;
	s->hurry_until_ns = now + HEALTH_ACTIVE_NS;
	prober_wake_idle(p, peer->gpu, plane, now);
}

void prober_judge(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change;
	struct probe_evidence e;

	prober_judge_settle(peer, path, now);
	if (find_gray(p, peer, plane, now))
		return;
	if (path->fsm.state == PROBE_DOWN && path->fsm.where == PROBE_UNLOCATED &&
	    !HEALTH_PLANTED(located_once) &&
	    probe_fsm_locate(&path->fsm, locate(p, peer, plane, path->fsm.last.n_sent, now)))
		prober_show_links(p, peer, plane, now); /* others have answered since */
	e = gather(p, peer, plane, now);
	if (!probe_fsm_tick(&path->fsm, &p->times, now, &e, &change))
		return;
	if (change.new_state == PROBE_DOWN) {
		loss_rtt_forget(&path->loss);
		path->silent_since_ns = 0;
	}
	prober_show(p, peer, plane, now, &change);
	if (change.new_state == PROBE_DOWN)
		spread(p, peer, plane, now);
}

void prober_answered(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change;
	uint32_t clean_run = 0, punctual_run = 0;

	path->answered_ever = true;
	path->silent_since_ns = loss_rtt_silent_since(&path->loss);
	if (path->fsm.state == PROBE_DOWN)
		count_runs(p, peer, plane, now, &clean_run, &punctual_run);
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
		judge_forget(&peer->judge, plane);
		path->is_lossy = false;
		path->silent_since_ns = 0;
	}
	prober_show(p, peer, plane, now, &change);
}

/* Nothing is known of a peer that answers nowhere; what it does not say takes nothing down. */
void prober_judge_blindness(struct prober *p, struct prober_peer *peer, uint64_t now)
{
	struct probe_fsm_change change;
	uint64_t since = 0;

	for (uint32_t i = 0; i < peer->n_planes; i++) {
		const struct prober_path *path = &peer->paths[i];

		if (!path->wanted)
			continue;
		if (!path->silent_since_ns || now < path->silent_since_ns + HEALTH_BLIND_NS)
			return;
		if (path->silent_since_ns > since)
			since = path->silent_since_ns;
	}
	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (peer->paths[i].wanted &&
		    probe_fsm_blind(&peer->paths[i].fsm, since, now, &change))
			prober_show(p, peer, i, now, &change);
}
