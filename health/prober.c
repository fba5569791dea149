/* prober.c - see prober.h: sessions, their timing and judgement */
#include "prober.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "prober_internal.h"
#include "rx_count.h"

#define MS_NS	     UINT64_C(1000000)
#define TICK_MIN_NS  (MS_NS / 2)
#define TICK_MAX_NS  (10 * MS_NS)
#define SETTLE_NS    (100 * MS_NS)  /* a reply later than that counts as lost */
#define SLOW_NS	     (100 * MS_NS)  /* for peers that do not reflect */
#define DOWN_FAST_NS (5000 * MS_NS) /* a path down for longer is probed less often ... */
#define DOWN_SLOW_NS (50 * MS_NS)   /* ... this often, until a reply comes */
#define BLIND_NS     (200 * MS_NS)
#define REFRESH_NS   (1500 * MS_NS)
#define REPEAT_NS    (5000 * MS_NS)
#define QUEUE_NS     (100 * MS_NS) /* full queues that no reply has told of yet */
#define LOST_MIN     8		   /* fewer losses than that in a window are no rate */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t prober_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* SplitMix64 from a random seed: unpredictable enough for 64 bits that are heeded once, for 100 ms.
 */
uint64_t prober_random(struct prober *p)
{
	uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* ---- telling ------------------------------------------------------------- */

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
		out->hold_ms = (uint32_t)((path->fsm.hold_until_ns - now) / MS_NS);
	for (unsigned i = 0; i < PROBER_PORTS; i++) {
		out->remote_sub_port[i] = path->remote[i];
		out->source_port[i] = p->sockets[peer->gpu][v6][i].port;
	}
	out->n_data_ports = path->map.n_told;
	memcpy(out->data_ports, path->map.told, sizeof(out->data_ports));
}

/* Tells of a transition (change), or of a step of the ramp if there was one. */
static void tell(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
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

/* ---- evidence ------------------------------------------------------------ */

static bool is_overdue(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	return path->silent_since_ns && now >= path->silent_since_ns + p->times.interval_ns;
}

/* Looks whether anything at all comes in over a plane. At most once a tick. */
static void sample_plane(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[gpu];
	struct prober_plane *s = &p->planes[gpu][plane];
	uint64_t sum = 0, packets;

	if (s->sampled_ns == now)
		return;
	for (uint32_t i = 0; i < g->n_sub_ports[plane]; i++)
		if (g->ifindex[plane][i] > 0 &&
		    !rx_count_read(p->rx_fd, g->ifindex[plane][i], &packets))
			sum += packets;
	/* after a pause there is nothing to compare with: the benefit of the doubt */
	if (sum != s->packets || now > s->sampled_ns + p->times.interval_ns)
		s->heard_ns = now;
	s->packets = sum;
	s->sampled_ns = now;
}

/*
 * A plane over which nothing comes in any more, whoever sent it, has no full queue to wait for.
 * Otherwise replies may be behind what fills it: an allowance, and twice what they took of late.
 */
static uint64_t margin_of(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
			  uint64_t now)
{
	const struct prober_plane *s = &p->planes[peer->gpu][plane];

	if (now >= s->heard_ns + p->times.interval_ns * 3 / 2)
		return 0;
	return QUEUE_NS + 2 * peer->paths[plane].loss.rtt_peak_ns;
}

static bool is_losing(const struct prober *p, const struct prober_path *path)
{
	return path->loss.n_lost >= LOST_MIN && loss_rtt_ppm(&path->loss) > p->times.max_loss_ppm;
}

/* Do the other peers of this plane suffer alike? Only those that reflect at all can tell. */
static enum probe_where locate(const struct prober *p, const struct prober_peer *peer,
			       uint32_t plane, uint64_t now)
{
	uint32_t others = 0, suffering = 0;

	for (uint32_t i = 0; i < p->n_peers; i++) {
		const struct prober_peer *other = p->peers[i];
		const struct prober_path *path = &other->paths[plane];

		if (other == peer || other->gpu != peer->gpu || !path->wanted ||
		    !path->answered_ever)
			continue;
		others++;
		suffering += path->fsm.state == PROBE_DOWN || is_overdue(p, path, now) ||
			     is_losing(p, path);
	}
	if (!others)
		return PROBE_UNLOCATED;
	return 2 * suffering >= others ? PROBE_IN_FABRIC : PROBE_REMOTE;
}

/*
 * Holds the silence of one path against what the peer has answered over another plane meanwhile.
 * Only probes sent while that plane was answering count: before, the peer may not have been
 * reflecting at all.
 */
static void compare(const struct prober_path *path, const struct prober_path *other,
		    uint32_t multiplier, struct probe_evidence *e)
{
	uint64_t nth_sent, since;
	uint32_t n;

	since = loss_rtt_silent_since(&path->loss, other->answering_since_ns, multiplier, &n,
				      &nth_sent);
	if (!nth_sent || other->loss.newest_answered_sent_ns <= nth_sent)
		return;
	if (e->answers_elsewhere && since >= e->silent_since_ns)
		return; /* another plane already says more */
	e->answers_elsewhere = true;
	e->silent_since_ns = since;
	e->n_silent = n;
}

/* Another plane that carries traffic and loses at most a quarter as much. */
static bool is_clean_elsewhere(const struct prober_peer *peer, uint32_t plane)
{
	for (uint32_t i = 0; i < peer->n_planes; i++) {
		const struct prober_path *path = &peer->paths[i];

		if (i != plane && path->wanted && path->fsm.state == PROBE_UP &&
		    path->loss.n_lost <= peer->paths[plane].loss.n_lost / 4)
			return true;
	}
	return false;
}

static struct probe_evidence gather(struct prober *p, const struct prober_peer *peer,
				    uint32_t plane, uint32_t multiplier, uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];
	struct probe_evidence e = {.margin_ns = margin_of(p, peer, plane, now)};
	uint64_t nth_sent;

	e.silent_since_ns =
		loss_rtt_silent_since(&path->loss, 0, multiplier, &e.n_silent, &nth_sent);
	for (uint32_t i = 0; nth_sent && i < peer->n_planes; i++)
		if (i != plane && peer->paths[i].wanted)
			compare(path, &peer->paths[i], multiplier, &e);
	e.lossy = is_losing(p, path) && is_clean_elsewhere(peer, plane);
	if (e.answers_elsewhere || e.lossy)
		e.where = locate(p, peer, plane, now);
	return e;
}

/* ---- judgement ----------------------------------------------------------- */

static bool judge(struct prober *p, struct prober_peer *peer, uint32_t plane,
		  const struct probe_fsm_times *times, uint64_t now)
{
	struct probe_evidence e = gather(p, peer, plane, times->detect_multiplier, now);
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change;

	if (!probe_fsm_tick(&path->fsm, times, now, &e, &change))
		return false;
	if (change.new_state == PROBE_DOWN) {
		loss_rtt_forget(&path->loss);
		path->silent_since_ns = 0;
	}
	tell(p, peer, plane, now, &change);
	return change.new_state == PROBE_DOWN;
}

/* A leaf that has died shows on its other paths within an interval: one probe less convinces there.
 */
static void judge_companions(struct prober *p, const struct prober_peer *first, uint32_t plane,
			     uint64_t now)
{
	struct probe_fsm_times times = p->times;

	if (times.detect_multiplier > 2)
		times.detect_multiplier--;
	for (uint32_t i = 0; i < p->n_peers; i++) {
		struct prober_peer *peer = p->peers[i];

		if (peer != first && peer->gpu == first->gpu && peer->paths[plane].wanted &&
		    peer->paths[plane].silent_since_ns)
			judge(p, peer, plane, &times, now);
	}
}

/* Nothing is known of a peer that answers nowhere; what it does not say takes nothing down. */
static void judge_blindness(struct prober *p, struct prober_peer *peer, uint64_t now)
{
	struct probe_fsm_change change;
	uint64_t since = 0;

	for (uint32_t i = 0; i < peer->n_planes; i++) {
		const struct prober_path *path = &peer->paths[i];

		if (!path->wanted)
			continue;
		if (!path->silent_since_ns || now < path->silent_since_ns + BLIND_NS)
			return;
		if (path->silent_since_ns > since)
			since = path->silent_since_ns;
	}
	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (peer->paths[i].wanted &&
		    probe_fsm_blind(&peer->paths[i].fsm, since, now, &change))
			tell(p, peer, i, now, &change);
}

static uint64_t interval_of(const struct prober *p, const struct prober_path *path, uint64_t now)
{
	uint64_t interval = p->times.interval_ns, slow = interval;

	if (path->fsm.state == PROBE_UNPROVEN && now > path->fsm.since_ns + 20 * interval)
		slow = SLOW_NS;
	else if (path->fsm.state == PROBE_DOWN && !path->fsm.passes &&
		 now > path->fsm.since_ns + DOWN_FAST_NS)
		slow = DOWN_SLOW_NS;
	return slow > interval ? slow : interval;
}

/* RFC 5880 6.8.7: less than the interval by a random 0 to 25%. */
static uint64_t jittered(struct prober *p, uint64_t interval)
{
	return interval - (interval / 4 * (prober_random(p) >> 54) >> 10);
}

static void run_path(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	uint64_t detect = p->times.interval_ns * p->times.detect_multiplier;

	loss_rtt_settle(&path->loss, now - SETTLE_NS - path->loss.rtt_peak_ns);
	if (path->fsm.state != PROBE_DOWN && is_overdue(p, path, now))
		sample_plane(p, peer->gpu, plane, now);
	if ((is_overdue(p, path, now) || path->fsm.state == PROBE_RECOVERING ||
	     is_losing(p, path)) &&
	    judge(p, peer, plane, &p->times, now) && path->fsm.where == PROBE_IN_FABRIC)
		judge_companions(p, peer, plane, now);
	if (path->silent_since_ns && now >= path->silent_since_ns + detect + BLIND_NS)
		judge_blindness(p, peer, now);
	tell(p, peer, plane, now, NULL);
	if (now < path->next_ns)
		return;
	prober_io_probe(p, peer, plane, now);
	path->next_ns = now + jittered(p, interval_of(p, path, now));
}

void prober_answered(struct prober *p, struct prober_peer *peer, uint32_t plane,
		     uint64_t answered_before_ns, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change;
	uint64_t nth;
	uint32_t n;

	path->answered_ever = true;
	if (path->loss.newest_answered_sent_ns > answered_before_ns + p->times.interval_ns * 5 / 2)
		path->answering_since_ns = path->loss.newest_answered_sent_ns;
	path->silent_since_ns = loss_rtt_silent_since(&path->loss, 0, 1, &n, &nth);
	if (!path->wanted || !probe_fsm_answered(&path->fsm, &p->times, now, &change))
		return;
	path->next_ns = 0; /* no more slow probing */
	if (change.old_state == PROBE_DOWN || change.old_state == PROBE_UNPROVEN) {
		loss_rtt_forget(&path->loss); /* what was lost before says nothing of now */
		path->silent_since_ns = 0;
	}
	tell(p, peer, plane, now, &change);
}

/* ---- the clock ----------------------------------------------------------- */

static void refresh_notices(struct prober *p, uint64_t now)
{
	for (uint32_t g = 0; g < p->ports->n_gpus; g++) {
		struct prober_notice *n = &p->notices[g];

		if (!n->limited || now < n->refresh_ns)
			continue;
		n->refresh_ns = now + REFRESH_NS;
		n->capacity.sequence++;
	}
}

static void run(struct prober *p, uint64_t now)
{
	/* late: what has been waiting in the sockets is heard before anything is judged */
	if (now > p->last_tick_ns + 3 * p->tick_ns) {
		p->counters.late_ticks++;
		prober_io_drain(p);
	}
	p->last_tick_ns = now;
	refresh_notices(p, now);
	for (uint32_t i = 0; i < p->n_peers; i++)
		for (uint32_t plane = 0; plane < p->peers[i]->n_planes; plane++)
			if (p->peers[i]->paths[plane].wanted)
				run_path(p, p->peers[i], plane, now);
	prober_io_flush(p);
}

static void on_tick(struct ev_loop *loop, ev_io *w, int revents)
{
	struct prober *p = w->data;
	uint64_t ticks;

	(void)loop;
	(void)revents;
	if (read(p->timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks))
		run(p, prober_now_ns());
}

/* A quarter of the interval: fine enough for detection, coarse enough to send several at a time. */
static int start_clock(struct prober *p)
{
	struct itimerspec every;

	p->tick_ns = p->times.interval_ns / 4;
	if (p->tick_ns < TICK_MIN_NS)
		p->tick_ns = TICK_MIN_NS;
	if (p->tick_ns > TICK_MAX_NS)
		p->tick_ns = TICK_MAX_NS;
	every.it_value.tv_sec = 0;
	every.it_value.tv_nsec = (long)p->tick_ns;
	every.it_interval = every.it_value;
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (p->timer_fd < 0 || timerfd_settime(p->timer_fd, 0, &every, NULL))
		return -errno;
	p->last_tick_ns = prober_now_ns();
	ev_io_init(&p->timer, on_tick, p->timer_fd, EV_READ);
	p->timer.data = p;
	ev_io_start(p->loop, &p->timer);
	return 0;
}

/* ---- what the daemon says ------------------------------------------------ */

/* Does the peer reflect at all, as far as we have seen? */
static bool reflects(const struct prober_peer *peer)
{
	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (peer->paths[i].answered_ever)
			return true;
	return false;
}

static void start_path(struct prober *p, struct prober_peer *peer, uint32_t plane, bool was_down,
		       uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];

	path->wanted = true;
	path->next_ns = now + prober_random(p) % p->times.interval_ns;
	path->silent_since_ns = 0;
	if (!path->fsm.reason)
		probe_fsm_init(&path->fsm, &p->times, was_down, now);
	/* probes of before the break say nothing */
	path->loss.newest_answered = path->loss.next - 1;
	loss_rtt_settle(&path->loss, UINT64_MAX);
	loss_rtt_forget(&path->loss);
	tell(p, peer, plane, now, NULL);
}

/* When the path returns, probes have to pass on it first: it is not usable from now on. */
static void stop_path(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change;

	path->wanted = false;
	path->silent_since_ns = 0;
	if (path->fsm.state != PROBE_UNPROVEN && reflects(peer) &&
	    probe_fsm_cut(&path->fsm, &p->times, now, &change))
		tell(p, peer, plane, now, &change);
}

int prober_want(struct prober *p, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		bool wanted, bool was_down)
{
	struct prober_peer *peer;
	int rc;

	if (gpu >= p->ports->n_gpus || plane >= p->ports->gpus[gpu].n_planes)
		return -EINVAL;
	if (!wanted) {
		peer = prober_peer_find(p, gpu, address);
		if (peer && peer->paths[plane].wanted)
			stop_path(p, peer, plane, prober_now_ns());
		return 0;
	}
	rc = prober_peer_get(p, gpu, address, &peer);
	if (!rc && !peer->paths[plane].wanted)
		start_path(p, peer, plane, was_down, prober_now_ns());
	return rc;
}

void prober_link_changed(struct prober *p, uint32_t gpu, uint32_t plane, uint32_t sub_port)
{
	for (uint32_t i = 0; i < p->n_peers; i++) {
		struct prober_peer *peer = p->peers[i];
		uint64_t nth;
		uint32_t n;

		if (peer->gpu != gpu || plane >= peer->n_planes)
			continue;
		loss_rtt_void(&peer->paths[plane].loss, (uint8_t)sub_port);
		peer->paths[plane].proven &= ~(1u << sub_port);
		peer->paths[plane].silent_since_ns =
			loss_rtt_silent_since(&peer->paths[plane].loss, 0, 1, &n, &nth);
	}
}

void prober_tell_capacity(struct prober *p, uint32_t gpu, const uint64_t *bps, uint32_t n_planes)
{
	struct prober_notice *n = &p->notices[gpu];
	uint64_t now = prober_now_ns();

	if (!p->key->length || n_planes > NOTICE_WIRE_MAX_PLANES)
		return;
	n->limited = false;
	for (uint32_t i = 0; i < n_planes; i++) {
		n->capacity.bps[i] = bps[i];
		n->limited |= bps[i] != NOTICE_WIRE_ANY;
	}
	n->capacity.n_planes = (uint8_t)n_planes;
	n->capacity.boot = p->boot;
	n->capacity.sequence++;
	n->until_ns = now + REPEAT_NS;
	n->refresh_ns = now + REFRESH_NS;
	for (uint32_t i = 0; i < p->n_peers; i++)
		for (uint32_t plane = 0; plane < p->peers[i]->n_planes; plane++)
			if (p->peers[i]->gpu == gpu && p->peers[i]->paths[plane].wanted)
				prober_io_probe(p, p->peers[i], plane, now);
	prober_io_flush(p);
}

bool prober_path(const struct prober *p, uint32_t gpu, const struct in6_addr *address,
		 uint32_t plane, struct prober_view *out)
{
	const struct prober_peer *peer = prober_peer_find(p, gpu, address);

	if (!peer || plane >= peer->n_planes || !peer->paths[plane].fsm.reason)
		return false;
	view(p, peer, plane, prober_now_ns(), out);
	return true;
}

void prober_counters(const struct prober *p, struct prober_counters *out)
{
	*out = p->counters;
}

/* ---- life ---------------------------------------------------------------- */

int prober_create(struct prober **out, struct ev_loop *loop, const struct probe_fsm_times *times,
		  const struct sub_ports *ports, const struct notice_key *key, uint8_t dscp,
		  const struct prober_handlers *handlers, void *arg)
{
	struct prober *p = calloc(1, sizeof(*p));
	int rc;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->loop = loop;
	p->times = *times;
	p->ports = ports;
	p->key = key;
	p->handlers = handlers;
	p->arg = arg;
	p->timer_fd = p->rx_fd = -1;
	p->boot = clock_ns(CLOCK_REALTIME); /* later lives have larger numbers */
	rc = getrandom(&p->random, sizeof(p->random), 0) == sizeof(p->random) ? 0 : -EIO;
	if (!rc)
		rc = udp_batch_create(&p->in);
	if (!rc) {
		p->rx_fd = rx_count_open();
		rc = p->rx_fd < 0 ? p->rx_fd : 0;
	}
	if (!rc)
		rc = prober_io_open(p, dscp);
	if (!rc)
		rc = prober_ports_open(p, dscp);
	if (!rc)
		rc = start_clock(p);
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
	prober_ports_close(p);
	if (p->rx_fd >= 0)
		close(p->rx_fd);
	if (p->timer_fd >= 0) {
		ev_io_stop(p->loop, &p->timer);
		close(p->timer_fd);
	}
	for (uint32_t i = 0; i < p->n_peers; i++)
		free(p->peers[i]);
	udp_batch_destroy(p->in);
	free(p);
}
