/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_judge.c - see prober_internal.h: what is known of a path, and what follows from it */
#include "prober_internal.h"

_Static_assert(HEALTH_RATE_PROBES == LOSS_RTT_WINDOW / 2, "half a window");

/* ---- evidence ------------------------------------------------------------ */

void prober_note_usual(struct prober_peer *peer, uint64_t now)
{
	uint64_t usual = UINT64_MAX;

	if (now < peer->noted_ns + HEALTH_LOOK_NS)
		return;
	peer->noted_ns = now;
	for (uint32_t i = 0; i < peer->n_planes; i++) {
		uint64_t ns = loss_rtt_percentile_ns(&peer->paths[i].loss, 1);

		if (peer->paths[i].wanted && ns && ns < usual)
			usual = ns;
	}
	for (uint32_t i = 0; usual < UINT64_MAX && i < peer->n_planes; i++)
		peer->paths[i].loss.usual_ns = usual;
}

bool prober_is_overdue(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	return path->silent_since_ns && now >= path->silent_since_ns + p->times.interval_ns;
}

/*
 * A peer that had no CPU time for a while answers over all planes at once, and its replies over one
 * arrive before those over another. So what a reply tells of other planes counts only once it is
 * half a tick old.
 */
static uint64_t skew_ns(const struct prober *p)
{
	return HEALTH_PLANTED(fresh_believed) ? 0 : p->tick_ns / 2;
}

/*
 * Since we were late the peer has answered over another plane what was sent after something that is
 * unanswered here.
 */
static bool is_in_time_elsewhere(const struct prober *p, const struct prober_peer *peer,
				 uint32_t plane, uint64_t now)
{
	uint64_t first_sent;
	uint32_t n;

	loss_rtt_silent_since(&peer->paths[plane].loss, p->late_ns, 1, &n, &first_sent);
	for (uint32_t i = 0; first_sent && i < peer->n_planes; i++)
		if (i != plane && peer->paths[i].wanted &&
		    loss_rtt_answered_by(&peer->paths[i].loss, now - skew_ns(p)) >= first_sent)
			return true;
	return false;
}

/*
 * We were late ourselves, so others may have been: until they are seen to be no longer, or the time
 * for it is over.
 */
static bool is_late(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		    uint64_t now)
{
	return now < p->full_until_ns ||
	       (now < p->late_until_ns && !is_in_time_elsewhere(p, peer, plane, now));
}

/*
 * What fits into an interval passes between two probes. Beyond that a probe and its answer each
 * wait at four ports, behind what is there already: on links of 50 Mb/s, each carrying one of 64
 * KiB at a time, a plane that works is quiet for up to 47 ms.
 */
static uint64_t quiet_ns(const struct prober *p, uint64_t burst_ns)
{
	uint64_t interval = p->times.interval_ns;

	return 2 * interval +
	       (burst_ns > interval ? HEALTH_QUIET_BURSTS * (burst_ns - interval) : 0);
}

/*
 * How long full queues may keep a reply: an allowance for queues that no reply has told of yet, and
 * twice what replies took of late. If we ran late ourselves, no link's speed says how long. No more
 * than half a window: what is older than a window is not known.
 */
static uint64_t queues_ns(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
			  uint64_t now)
{
	uint64_t burst = p->ports->gpus[peer->gpu].burst_ns[plane];

	return prober_smaller(probe_fsm_queue(is_late(p, peer, plane, now) ? 0 : burst) +
				      2 * peer->paths[plane].loss.rtt_peak_ns,
			      LOSS_RTT_WINDOW / 2 * p->times.interval_ns);
}

/* The peer answered over another plane something sent after then. */
static bool answers_elsewhere(const struct prober *p, const struct prober_peer *peer,
			      uint32_t plane, uint64_t after_ns, uint64_t now)
{
	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (i != plane && peer->paths[i].wanted &&
		    loss_rtt_answered_by(&peer->paths[i].loss, now - skew_ns(p)) > after_ns)
			return true;
	return false;
}

/*
 * It was asked over the plane since something came in, and answers over others meanwhile: if the
 * plane worked, it would be heard. Not if its path was down before, nor if its replies may come
 * over any plane.
 */
static bool is_witness(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		       uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];
	uint64_t heard_ns = p->planes[peer->gpu][plane].heard_ns;

	return path->fsm.state != PROBE_UNPROVEN && !path->third_party &&
	       path->sent_ns > heard_ns &&
	       (path->fsm.state != PROBE_DOWN || path->fsm.since_ns > heard_ns) &&
	       answers_elsewhere(p, peer, plane, heard_ns + p->times.interval_ns, now);
}

/* Once for all paths that are judged at that time: two, for one may be the one that is judged. */
static void find_witnesses(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	struct prober_plane *s = &p->planes[gpu][plane];
	uint32_t n = 0, n_asked = 0;

	if (s->searched_ns == now)
		return;
	s->searched_ns = now;
	s->n_peers = 0;
	s->witness[0] = s->witness[1] = NULL;
	for (uint32_t i = 0; i < p->n_peers && n_asked < HEALTH_ASKED_MAX && n < 2; i++) {
		const struct prober_peer *peer = p->peers[i];

		if (peer->gpu != gpu)
			continue;
		s->n_peers++;
		if (!peer->paths[plane].wanted)
			continue;
		n_asked++;
		if (is_witness(p, peer, plane, now))
			s->witness[n++] = peer;
	}
}

/*
 * Whether quiet tells anything of a plane: another peer would be heard over it. If none would, what
 * is quiet may be a full queue before this peer, which they fill. With no other peer, over whatever
 * plane, nobody is known who would fill it. What is down already need not be proven again.
 */
static bool has_witness(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			uint64_t now)
{
	const struct prober_plane *s = &p->planes[peer->gpu][plane];

	if (peer->paths[plane].fsm.state == PROBE_DOWN)
		return true;
	find_witnesses(p, peer->gpu, plane, now);
	return s->n_peers == 1 || (s->witness[0] && s->witness[0] != peer) || s->witness[1];
}

/*
 * The path was silent, for as long as takes one down, while something still came in over its plane:
 * then a queue keeps its replies, or it alone is dead, and what the plane did afterwards tells
 * nothing of it.
 */
static bool was_silent_before(const struct prober *p, const struct prober_peer *peer,
			      uint32_t plane, uint64_t burst_ns)
{
	const struct prober_path *path = &peer->paths[plane];

	return path->silent_since_ns && prober_larger(path->silent_since_ns, path->resumed_ns) +
							probe_fsm_silence(&p->times, burst_ns) <
						p->planes[peer->gpu][plane].received_ns;
}

/*
 * If no packet of any sender comes in over the plane any more, though others were asked, no full
 * queue delays replies. A full queue may by chance drop as many probes in a row as make a silence.
 */
static uint64_t margin_of(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			  uint64_t now)
{
	const struct prober_plane *s = &p->planes[peer->gpu][plane];
	uint64_t burst = p->ports->gpus[peer->gpu].burst_ns[plane];

	if ((!is_late(p, peer, plane, now) && now >= s->heard_ns + quiet_ns(p, burst) &&
	     !was_silent_before(p, peer, plane, burst) && has_witness(p, peer, plane, now)) ||
	    HEALTH_PLANTED(queues_ignored))
		return 0;
	return queues_ns(p, peer, plane, now) + HEALTH_QUEUE_LOSSES * p->times.interval_ns;
}

/*
 * Overdue is what takes an interval longer than any reply of late; missing is what would be
 * silence.
 */
void prober_runs(struct prober *p, const struct prober_peer *peer, uint32_t plane, uint64_t now,
		 uint32_t *clean, uint32_t *punctual)
{
	const struct loss_rtt *l = &peer->paths[plane].loss;

	*clean = loss_rtt_clean_run(
		l, now,
		probe_fsm_silence(&p->times, p->ports->gpus[peer->gpu].burst_ns[plane]) +
			margin_of(p, peer, plane, now),
		p->tick_ns);
	*punctual = loss_rtt_clean_run(l, now, p->times.interval_ns + l->rtt_peak_ns, p->tick_ns);
}

bool prober_has_losses(const struct prober_path *path)
{
	return path->loss.n_lost + path->loss.n_queued >= HEALTH_GRAY_LOST_MIN;
}

/* So many in a row, and the path loses less than is tolerated: its next loss will tell. */
static uint32_t healed_run(const struct prober *p)
{
	return p->times.max_loss_ppm ? 1000000 / p->times.max_loss_ppm : UINT32_MAX;
}

/*
 * Losses count while they go on: after one of them a path is asked at full pace, but what a fault
 * did that is over stays in the window of an idle one for very long.
 */
static bool is_going_on(const struct prober *p, const struct prober_path *path, bool or_queued,
			uint64_t now)
{
	uint64_t known_ns =
		HEALTH_SETTLE_NS + path->loss.rtt_peak_ns +
		prober_larger(HEALTH_ACTIVE_NS, LOSS_RTT_WINDOW / 4 * p->times.interval_ns);

	return now < known_ns ||
	       loss_rtt_lost_since(&path->loss, now - known_ns, or_queued) > HEALTH_RATE_STRAYS;
}

/* Beyond what is tolerated, full queues aside. */
static bool is_losing(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	return path->loss.n_lost >= (path->suspicion ? HEALTH_SUSPICION_MAX : HEALTH_LOST_MIN) &&
	       loss_rtt_ppm(&path->loss) > p->times.max_loss_ppm &&
	       is_going_on(p, path, false, now);
}

/*
 * Since when a path is silent: data that was acknowledged over it is no silence. But who says so is
 * a client, so it counts for no longer than probes may be skipped for it: it delays what probes
 * say, and never prevents it.
 */
static uint64_t silent_since(const struct prober *p, const struct prober_path *path,
			     uint64_t probes_ns)
{
	uint64_t most = probes_ns + HEALTH_SKIP_MAX * p->times.interval_ns;

	if (!probes_ns || path->acked_ns <= probes_ns)
		return probes_ns;
	if (HEALTH_PLANTED(acks_believed))
		return path->acked_ns;
	return path->acked_ns < most ? path->acked_ns : most;
}

static uint64_t last_sent_ns(const struct prober_path *path)
{
	return path->loss.ring[(path->loss.next - 1) % LOSS_RTT_WINDOW].sent_ns;
}

/*
 * Do the other peers of this plane suffer alike? Only those that reflect at all, and were asked of
 * late, can tell; of very many, some: a thousand paths that go down at once must not each look at a
 * thousand.
 */
static enum probe_where locate(const struct prober *p, const struct prober_peer *peer,
			       uint32_t plane, uint64_t now)
{
	uint64_t since = peer->paths[plane].silent_since_ns;
	uint32_t others = 0, suffering = 0;

	for (uint32_t i = 1; i < p->n_peers && i <= HEALTH_SEARCH_MAX && others < HEALTH_ASKED_MAX;
	     i++) {
		const struct prober_peer *other = p->peers[(peer->index + i) % p->n_peers];
		const struct prober_path *path = &other->paths[plane];

		if (other->gpu != peer->gpu || !path->wanted || !path->answered_ever ||
		    last_sent_ns(path) < since)
			continue;
		others++;
		suffering += path->fsm.state == PROBE_DOWN || prober_is_overdue(p, path, now) ||
			     is_losing(p, path, now);
	}
	if (!others)
		return PROBE_UNLOCATED;
	return 2 * suffering >= others ? PROBE_IN_FABRIC : PROBE_REMOTE;
}

/*
 * Not itself silent for longer than its replies have been taking: the peer may have gone away since
 * it answered there last.
 */
static bool is_answering(const struct prober *p, const struct prober_path *path, uint64_t burst_ns,
			 uint64_t now)
{
	return !path->silent_since_ns || now < path->silent_since_ns +
							 probe_fsm_silence(&p->times, burst_ns) +
							 2 * path->loss.rtt_peak_ns;
}

/* What is sent over other planes from then on tells of a silence since since_ns. */
static uint64_t telling_ns(const struct probe_fsm_times *times, uint64_t burst_ns,
			   uint64_t since_ns)
{
	return since_ns + probe_fsm_silence(times, burst_ns) - times->interval_ns;
}

/* How long queues may keep what comes over the path's plane; or from when on it is quiet. */
struct heard {
	uint64_t queues_ns, quiet_since_ns;
};

/* Another plane over which the peer answered what was sent in that time. */
struct answering {
	const struct loss_rtt *loss;
	uint64_t since_ns, until_ns;
};

/*
 * Holds the silence of one path against what the peer has answered over another plane meanwhile.
 * Only probes sent while that plane was answering count: before, the peer may not have been
 * reflecting at all. And it is to answer there one that was sent toward the end of the silence; if
 * nothing comes in over this plane, after that began, for the peers may all be late.
 *
 * Queues may keep a probe on its way there, its answer on the way back, or each for a part of their
 * time. The peer has seen it in between: so it must have been there at any such time. As long as
 * nothing came from it over the other plane, it may not have been.
 */
static void compare(const struct prober_path *path, const struct heard *heard,
		    const struct answering *other, const struct probe_fsm_times *times,
		    uint64_t now, struct probe_evidence *e)
{
	uint64_t nth_sent, since;
	uint32_t n;

	since = loss_rtt_silent_since(&path->loss, prober_larger(other->since_ns, path->resumed_ns),
				      times->detect_multiplier, &n, &nth_sent);
	if (!nth_sent || other->until_ns <= nth_sent || other->until_ns <= heard->quiet_since_ns ||
	    other->until_ns <= telling_ns(times, e->burst_ns, since) ||
	    now < nth_sent + prober_smaller(path->loss.rtt_peak_ns, times->interval_ns))
		return;
	if (heard->queues_ns &&
	    now < nth_sent + heard->queues_ns + loss_rtt_longest_gap_ns(other->loss, since, now))
		return;
	if (e->answers_elsewhere && since >= e->silent_since_ns)
		return; /* another plane already says more */
	e->answers_elsewhere = true;
	e->silent_since_ns = since;
	e->n_silent = n;
}

/* Of what was sent before then over a plane all is known. */
static uint64_t all_known_ns(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	return prober_smaller(loss_rtt_answered_by(&path->loss, now - skew_ns(p)),
			      now - path->loss.rtt_peak_ns - p->times.interval_ns);
}

/*
 * The other plane's newest run of answers, or, where the silence is older, the last run of which
 * all is known: where one cable has a long queue, replies by the others overtake, and some of the
 * newest probes are always unanswered.
 */
static void compare_all(const struct prober *p, const struct prober_path *path,
			const struct heard *heard, const struct prober_path *other,
			const struct probe_fsm_times *times, uint64_t now, struct probe_evidence *e)
{
	struct answering last = {&other->loss, other->answering_since_ns,
				 loss_rtt_answered_by(&other->loss, now - skew_ns(p))},
			 all = {.loss = &other->loss};

	compare(path, heard, &last, times, now, e);
	if (last.since_ns > path->silent_since_ns &&
	    loss_rtt_answering(&other->loss, all_known_ns(p, other, now) + 1, &all.since_ns,
			       &all.until_ns))
		compare(path, heard, &all, times, now, e);
}

/* Part of the time in which a path has lost probes, and what queues may have kept them. */
struct lossy_span {
	uint64_t from_ns, to_ns;
	uint64_t waits_ns;
};

/* Losses within that time may be of one event. */
static uint64_t one_event_ns(const struct prober *p)
{
	return prober_smaller(HEALTH_RATE_PROBES * p->times.interval_ns, HEALTH_RATE_NS);
}

/*
 * One burst of losses is no rate, nor is it one together with a loss or two of another time: of a
 * fault that has healed the window still knows.
 */
static bool is_spread(const struct prober *p, const struct loss_rtt *ours)
{
	uint64_t from_ns, to_ns;

	return loss_rtt_lost_span(ours, HEALTH_RATE_STRAYS, &from_ns, &to_ns) &&
	       to_ns >= from_ns + one_event_ns(p);
}

/*
 * Over that plane of as many probes, sent in the very time in which ours were lost, at most a
 * quarter as many are unanswered. Only of the time that both know of: a plane that is probed more
 * often has forgotten sooner, and one that came up again all of before. And of what came to the
 * peer at that time, which by a queue was sent earlier: the peer was perhaps away then.
 */
static bool loses_less(const struct prober *p, const struct loss_rtt *ours,
		       const struct loss_rtt *other, uint64_t other_queue_ns,
		       const struct lossy_span *span)
{
	uint64_t from_ns;
	uint32_t n, lost, n_ours, lost_ours;

	from_ns = prober_larger(span->from_ns, loss_rtt_known_since_ns(other) + other_queue_ns);
	if (span->to_ns < from_ns + one_event_ns(p))
		return false;
	loss_rtt_between(ours, from_ns, span->to_ns, &n_ours, &lost_ours);
	loss_rtt_between(other, from_ns - other_queue_ns, span->to_ns + span->waits_ns, &n, &lost);
	return lost_ours >= HEALTH_LOST_MIN && n >= n_ours / 2 && lost <= lost_ours / 4;
}

/*
 * Another plane that works, over which the peer answered meanwhile, and afterwards for as long as
 * ours may have waited: what was sent later counts when it says so, too. A peer that was away for a
 * moment has lost alike on all planes; and what one burst loses is found as silence if it lasts.
 */
static bool is_clean_elsewhere(const struct prober *p, const struct prober_peer *peer,
			       uint32_t plane, uint64_t now)
{
	const uint64_t *burst = p->ports->gpus[peer->gpu].burst_ns;
	const struct loss_rtt *ours = &peer->paths[plane].loss;
	struct lossy_span all;

	if (!is_spread(p, ours) || !loss_rtt_lost_span(ours, 0, &all.from_ns, &all.to_ns))
		return false;
	all.waits_ns = probe_fsm_queue(burst[plane]) + ours->rtt_peak_ns;
	for (uint32_t i = 0; i < peer->n_planes; i++) {
		const struct prober_path *path = &peer->paths[i];
		uint64_t known_ns = all_known_ns(p, path, now), queue_ns;
		struct lossy_span span = all;

		if (i == plane || !path->wanted || path->fsm.state != PROBE_UP ||
		    known_ns <= all.from_ns + all.waits_ns)
			continue;
		if (span.to_ns > known_ns - all.waits_ns)
			span.to_ns = known_ns - all.waits_ns;
		queue_ns = prober_smaller(probe_fsm_queue(burst[i]),
					  path->loss.rtt_peak_ns + HEALTH_QUEUE_MIN_NS);
		if (loses_less(p, ours, &path->loss, queue_ns, &span))
			return true;
	}
	return false;
}

static struct probe_evidence gather(struct prober *p, const struct prober_peer *peer,
				    uint32_t plane, const struct probe_fsm_times *times,
				    uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];
	struct probe_evidence e = {.margin_ns = margin_of(p, peer, plane, now),
				   .burst_ns = p->ports->gpus[peer->gpu].burst_ns[plane],
				   .n_lost = path->loss.n_lost,
				   .n_window = path->loss.n_decided};
	struct heard heard = {0};
	uint64_t nth_sent;

	if (path->fsm.state == PROBE_DOWN) { /* more it need not be */
		e.silent_since_ns = silent_since(p, path, path->silent_since_ns);
		return e;
	}
	if (!e.margin_ns)
		heard.quiet_since_ns = p->planes[peer->gpu][plane].heard_ns + p->times.interval_ns;
	else if (!HEALTH_PLANTED(old_word))
		heard.queues_ns = queues_ns(p, peer, plane, now);
	e.silent_since_ns = loss_rtt_silent_since(&path->loss, path->resumed_ns,
						  times->detect_multiplier, &e.n_silent, &nth_sent);
	for (uint32_t i = 0; nth_sent && i < peer->n_planes; i++)
		if (i != plane && peer->paths[i].wanted &&
		    is_answering(p, &peer->paths[i], p->ports->gpus[peer->gpu].burst_ns[i], now))
			compare_all(p, path, &heard, &peer->paths[i], times, now, &e);
	if (HEALTH_PLANTED(elsewhere_unasked))
		e.answers_elsewhere = nth_sent != 0;
	e.lossy = is_losing(p, path, now) &&
		  (HEALTH_PLANTED(rate_alone) ||
		   (loss_rtt_clean_run(&path->loss, now, path->loss.rtt_peak_ns, p->tick_ns) <
			    healed_run(p) &&
		    is_clean_elsewhere(p, peer, plane, now)));
	e.silent_since_ns = silent_since(p, path, e.silent_since_ns);
	if (e.answers_elsewhere || e.lossy)
		e.where = locate(p, peer, plane, now);
	return e;
}

/* ---- judgement ----------------------------------------------------------- */

/*
 * Losses that one sub-port explains take that sub-port out, and not the plane. A foreign reflector
 * does not say which probe it answers: nothing can be told by which it does not.
 */
static bool find_gray(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	enum gray_finding finding;
	enum gray_side side;
	uint32_t sub_port;

	if (path->third_party || !prober_has_losses(path) ||
	    path->searched_at == path->loss.settled)
		return false;
	path->searched_at = path->loss.settled;
	if (!is_going_on(p, path, true, now))
		return false;
	finding = gray_find(&path->gray, &path->loss, p->times.max_loss_ppm, now, &side, &sub_port);
	path->suspicion = finding == GRAY_SUSPICION;
	if (finding != GRAY_FOUND)
		return false;
	loss_rtt_forget(&path->loss);
	path->silent_since_ns = 0;
	prober_tell_gray(p, peer, plane, now, side, sub_port);
	return true;
}

/*
 * multiplier: so many unanswered probes are silence; where none was answered ever, as many as there
 * are source ports, for a cable that passes nothing may be on the way of most of them.
 */
static bool judge_path(struct prober *p, struct prober_peer *peer, uint32_t plane,
		       uint32_t multiplier, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_times times = p->times;
	struct probe_fsm_change change;
	struct probe_evidence e;

	times.detect_multiplier =
		path->answered_ever || multiplier > PROBER_PORTS ? multiplier : PROBER_PORTS;
	if (find_gray(p, peer, plane, now))
		return false;
	e = gather(p, peer, plane, &times, now);
	if (!probe_fsm_tick(&path->fsm, &times, now, &e, &change))
		return false;
	if (change.new_state == PROBE_DOWN) {
		loss_rtt_forget(&path->loss);
		path->silent_since_ns = 0;
	}
	prober_tell(p, peer, plane, now, &change);
	return change.new_state == PROBE_DOWN;
}

/*
 * A leaf that has died shows on its other paths within an interval: one probe less convinces there.
 * What they know does not change within a tick.
 */
static void judge_same_plane(struct prober *p, const struct prober_peer *first, uint32_t plane,
			     uint64_t now)
{
	struct prober_plane *s = &p->planes[first->gpu][plane];
	uint32_t multiplier = p->times.detect_multiplier;

	if (s->plane_judged_ns == now)
		return;
	s->plane_judged_ns = now;
	if (multiplier > 2)
		multiplier--;
	for (uint32_t i = 0; i < p->n_peers; i++) {
		struct prober_peer *peer = p->peers[i];

		if (peer != first && peer->gpu == first->gpu && peer->paths[plane].wanted &&
		    peer->paths[plane].silent_since_ns)
			judge_path(p, peer, plane, multiplier, now);
	}
}

/* It is the plane before it is a queue: what other planes have to tell of it is asked at once. */
bool prober_is_quiet(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		     uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];

	return path->fsm.state != PROBE_DOWN && prober_is_overdue(p, path, now) &&
	       now >= p->planes[peer->gpu][plane].heard_ns + p->times.interval_ns;
}

/* What compare() asks for at least: as many as make a silence were sent; it is late enough. */
bool prober_is_to_tell(const struct prober *p, const struct prober_peer *peer, uint32_t of,
		       uint32_t plane, uint64_t now)
{
	const struct prober_path *silent = &peer->paths[of], *other = &peer->paths[plane];
	uint64_t telling, nth_sent;
	uint32_t n;

	loss_rtt_silent_since(&silent->loss, silent->resumed_ns, p->times.detect_multiplier, &n,
			      &nth_sent);
	telling = prober_larger(nth_sent,
				telling_ns(&p->times, p->ports->gpus[peer->gpu].burst_ns[of],
					   silent->silent_since_ns));
	return plane != of && other->wanted && now > telling && other->sent_ns <= telling;
}

bool prober_judge(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_plane *s = &p->planes[peer->gpu][plane];

	if (!judge_path(p, peer, plane, p->times.detect_multiplier, now))
		return false;
	if (peer->paths[plane].fsm.where == PROBE_IN_FABRIC)
		judge_same_plane(p, peer, plane, now);
	/* once an interval: when many paths fall one by one, not for each of them */
	if (s->hurry_until_ns < now + HEALTH_ACTIVE_NS - p->times.interval_ns) {
		s->hurry_until_ns = now + HEALTH_ACTIVE_NS;
		prober_wake_idle(p, peer->gpu, plane, now);
	}
	return true;
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
			prober_tell(p, peer, i, now, &change);
}
