/* SPDX-License-Identifier: BSD-2-Clause */
/* prober.c - see prober.h: sessions and their timing */
#include "prober.h"

#include <errno.h>
#include <stdlib.h>

#include "prober_internal.h"

/* ---- when ----------------------------------------------------------------- */

static void ask_all(struct prober *p, struct prober_peer *peer, uint64_t now)
{
	for (uint32_t plane = 0; plane < peer->n_planes; plane++)
		prober_ask(p, peer, plane, now, now);
}

/* A reply is overdue: this peer's other planes are to say whether it is the peer. */
static void note_overdue(struct prober *p, struct prober_peer *peer, uint64_t now)
{
	bool idle = now >= peer->active_until_ns;

	peer->overdue_ns = now;
	peer->active_until_ns = prober_larger(peer->active_until_ns, now + HEALTH_ACTIVE_NS);
	if (idle)
		ask_all(p, peer, now);
}

static void ask_others(struct prober *p, struct prober_peer *peer, uint32_t silent, uint64_t now)
{
	for (uint32_t plane = 0; plane < peer->n_planes; plane++)
		if (plane != silent && !prober_is_quiet(p, peer, plane, now))
			prober_ask(p, peer, plane, now, now);
}

static void run_path(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	uint64_t detect = p->times.interval_ns * p->times.detect_multiplier, pace_ns;
	bool overdue = prober_is_overdue(p, path, now), quiet;

	if (path->fsm.state != PROBE_DOWN && overdue)
		note_overdue(p, peer, now);
	prober_judge(p, peer, plane, now);
	if (path->silent_since_ns && now >= path->silent_since_ns + detect + HEALTH_BLIND_NS)
		prober_judge_blindness(p, peer, now);
	prober_show(p, peer, plane, now, NULL);
	quiet = path->fsm.state != PROBE_DOWN && prober_is_quiet(p, peer, plane, now);
	if (quiet) {
		peer->overdue_ns = now; /* it is asked over all planes */
		path->next_ns = prober_smaller(
			path->next_ns,
			prober_larger(now, path->sent_ns + p->times.interval_ns / HEALTH_TICKS));
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
			if (quiet) /* other planes say at once that it was sent */
				ask_others(p, peer, plane, now);
		}
	}
	pace_ns = prober_pace_ns(p, peer, plane, now);
	path->mtu_ns = prober_mtu_run(p, peer, plane, pace_ns, now);
	prober_extra_want_pair(p, peer, plane, pace_ns, now);
	prober_schedule(p, peer, plane, now);
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

void prober_received(struct prober *p, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		     bool is_received, const struct report_wire *report, bool authentic,
		     uint64_t waited_ns, uint64_t now)
{
	struct prober_peer *peer = prober_peer_find(p, gpu, address);

	if (!peer || plane >= peer->n_planes)
		return;
	if (is_received)
		peer->paths[plane].acked_ns = now;
	if (report)
		prober_report_take(p, peer, plane, report, false, authentic, waited_ns, now);
}

/* ---- the clock ----------------------------------------------------------- */

static void refresh_notices(struct prober *p, uint64_t now)
{
	for (uint32_t g = 0; g < p->ports->n_gpus; g++) {
		struct prober_notice *n = &p->notices[g];

		if (!n->limited || now < n->refresh_ns)
			continue;
		n->refresh_ns = now + HEALTH_EXPIRY_NS / 4;
		n->capacity.sequence++;
	}
}

void prober_run(struct prober *p, uint64_t now)
{
	uint64_t late_ns = now > p->armed_ns ? now - p->armed_ns : 0;
	uint32_t place;

	prober_extra_send_pair(p, now);
	/* what has come in is read before anything is judged (judge.h) */
	if (!HEALTH_PLANTED(late_undrained))
		prober_io_drain(p, now);
	p->counters.late_ticks += late_ns > 2 * p->tick_ns;
	if (late_ns >= p->longest_ns || now >= p->longest_until_ns) {
		p->longest_ns = late_ns;
		p->longest_until_ns = now + HEALTH_ACTIVE_NS;
	}
	refresh_notices(p, now);
	prober_pace_share(p, now);
	while (wheel_take(p->wheel, now, &place))
		run_path(p, p->places[place / SUB_PORTS_MAX_PLANES], place % SUB_PORTS_MAX_PLANES,
			 now);
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
	if (!rc) {
		p->report_incarnation = (uint32_t)nonces_next(&p->nonces) | 1;
		rc = prober_io_open(p);
	}
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
	for (uint32_t i = 0; i < p->n_peers; i++)
		free(p->peers[i]);
	wheel_destroy(p->wheel);
	free(p);
}
