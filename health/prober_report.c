/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_report.c - see prober_internal.h: what is reported to peers, and what they report */
#include "prober_internal.h"

struct judge_times prober_judge_times(const struct prober *p)
{
	uint32_t n = 2 * p->times.detect_multiplier;

	if (p->options.queue_max_ns)
		n += HEALTH_QUEUE_MISSING;
	return (struct judge_times){.interval_ns = p->times.interval_ns,
				    .n_missing = n,
				    .n_missing_first = n < PROBER_PORTS ? PROBER_PORTS : n,
				    .max_loss_ppm = p->times.max_loss_ppm};
}

/* What a full queue of the plane's slowest port takes; 0: probes' class passes before data. */
static uint64_t queue_ns(const struct prober *p, const struct prober_peer *peer, uint32_t plane)
{
	uint64_t full = HEALTH_QUEUE_BATCHES * p->ports->gpus[peer->gpu].burst_ns[plane];

	return full ? prober_smaller(full, p->options.queue_max_ns) : p->options.queue_max_ns;
}

struct judge_limits prober_limits(const struct prober *p, const struct prober_peer *peer,
				  uint32_t plane)
{
	uint64_t burst = p->ports->gpus[peer->gpu].burst_ns[plane];
	uint64_t queue = HEALTH_PLANTED(queues_ignored) ? 0 : queue_ns(p, peer, plane);

	return (struct judge_limits){.allowance_ns =
					     p->times.interval_ns / 4 + 2 * burst + 2 * queue,
				     .queue_ns = HEALTH_PLANTED(queue_losses) ? 0 : queue / 2};
}

void prober_report_fill(struct prober *p, struct prober_peer *peer, uint32_t plane,
			uint32_t sub_port, bool is_try, uint64_t now, struct report_wire *out)
{
	struct prober_path *path = &peer->paths[plane];
	uint32_t others = p->ports->gpus[peer->gpu].live[plane] & ~(1u << sub_port) &
			  ~(uint32_t)path->gray.mask[GRAY_LOCAL] & ~prober_unrouted(path, now);

	if (path->proven & p->ports->gpus[peer->gpu].live[plane])
		others &= path->proven; /* what leaves by the rest is a try */
	/* packets in a row leave by different sub-ports: one that loses all is no dead plane */
	is_try |= others && path->counted_by == sub_port + 1 && !HEALTH_PLANTED(counts_any);
	if (!is_try)
		path->counted_by = sub_port + 1;
	path->n_counted += !is_try;
	out->incarnation = p->report_incarnation;
	out->clock_us = (uint32_t)(now / 1000);
	out->late = now < p->longest_until_ns ? report_wire_units(p->longest_ns) : 0;
	out->interval = report_wire_units(p->times.interval_ns);
	out->is_try = is_try;
	out->cookie = peer->cookie;
	out->receiver_cookie = peer->peer_cookie;
	out->n_planes = (uint8_t)peer->n_planes;
	for (uint32_t i = 0; i < peer->n_planes; i++) {
		out->planes[i].sent = peer->paths[i].n_counted;
		if (!peer->paths[i].wanted) /* of the others gather() decides */
			judge_decide(&peer->judge, i, now);
		judge_fill(&peer->judge, i, &out->planes[i], now);
		if (peer->paths[i].is_lossy)
			out->planes[i].flags |= REPORT_LOSSY;
		if (peer->paths[i].gray_ns && now < peer->paths[i].gray_ns + HEALTH_ACTIVE_NS &&
		    !HEALTH_PLANTED(gray_unsaid))
			out->planes[i].flags |= REPORT_GRAY;
	}
}

bool prober_report(struct prober *p, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		   uint32_t sub_port, bool is_try, uint64_t now, struct report_wire *out)
{
	struct prober_peer *peer = prober_peer_find(p, gpu, address);

	if (!peer || plane >= peer->n_planes)
		return false;
	prober_report_fill(p, peer, plane, sub_port, is_try, now, out);
	return true;
}

/* Paths that the report, or its absence of packets, may have taken down are looked at. */
static void schedule_doubtful(struct prober *p, struct prober_peer *peer, uint64_t now)
{
	for (uint32_t i = 0; i < peer->n_planes; i++) {
		const struct judge_plane *j = &peer->judge.planes[i];
		const struct prober_path *path = &peer->paths[i];

		if (path->wanted && path->fsm.state != PROBE_DOWN &&
		    (j->decide_ns || j->news || judge_is_reported_dead(&peer->judge, i, now)))
			prober_schedule(p, peer, i, now);
	}
}

static void judge(struct prober *p, struct prober_peer *peer, uint32_t plane,
		  const struct report_wire *r, bool flags_count, uint64_t came_ns, uint64_t now)
{
	struct judge_times times = prober_judge_times(p);
	struct judge_limits limits[REPORT_WIRE_MAX_PLANES];

	for (uint32_t i = 0; i < r->n_planes; i++) /* it may have more planes, or fewer */
		limits[i] = prober_limits(p, peer, i);
	judge_report(&peer->judge, &times, plane, r, flags_count, limits, came_ns, now);
	schedule_doubtful(p, peer, now);
}

void prober_report_take(struct prober *p, struct prober_peer *peer, uint32_t plane,
			const struct report_wire *r, bool is_answer, bool authentic,
			uint64_t waited_ns, uint64_t now)
{
	if (!is_answer && r->receiver_cookie != peer->cookie)
		return;
	peer->peer_cookie = r->cookie;
	peer->report_came_ns = now;
	judge(p, peer, plane, r, authentic || !p->keys->own.length || !report_wire_has_flags(r),
	      now - waited_ns, now);
}

/* Probes that count of a path, sent by then. */
static uint32_t n_sent_by(const struct prober_path *path, uint64_t at_ns)
{
	const struct loss_rtt *l = &path->loss;
	uint32_t n = path->n_probed;

	for (uint32_t i = 1; i <= LOSS_RTT_WINDOW && i <= l->n_sent_ever; i++) {
		const struct loss_rtt_probe *probe = &l->ring[(l->next - i) % LOSS_RTT_WINDOW];

		if (probe->sent_ns <= at_ns)
			break;
		n -= !probe->is_try;
	}
	return n;
}

void prober_report_infer(struct prober *p, struct prober_peer *peer, uint32_t plane,
			 const struct loss_rtt_probe *probe, uint64_t now)
{
	struct report_wire r = {.clock_us = (uint32_t)(probe->sent_ns / 1000),
				.is_try = probe->is_try,
				.n_planes = (uint8_t)peer->n_planes};

	if (peer->report_came_ns && now < peer->report_came_ns + HEALTH_FOREIGN_NS)
		return;
	for (uint32_t i = 0; i < peer->n_planes; i++)
		r.planes[i].sent = n_sent_by(&peer->paths[i], probe->sent_ns);
	judge(p, peer, plane, &r, false, now, now);
}
