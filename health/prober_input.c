/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_input.c - see prober_internal.h: what the daemon says of routes, links, capacity and
 * traffic
 */
#include <errno.h>

#include "prober_internal.h"

/* Does the peer reflect at all, as far as we have seen? */
static bool reflects(const struct prober_peer *peer)
{
	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (peer->paths[i].answered_ever)
			return true;
	return false;
}

/* Over some plane, and of late: not one whose prober is gone, or that has not been heard yet. */
static bool answers(const struct prober_peer *peer)
{
	for (uint32_t i = 0; i < peer->n_planes; i++)
		if (peer->paths[i].wanted && peer->paths[i].fsm.state == PROBE_UP)
			return true;
	return false;
}

static void start_path(struct prober *p, struct prober_peer *peer, uint32_t plane, bool was_down,
		       uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change, *cut = NULL;

	path->wanted = true;
	path->crossed = 0;
	path->next_ns = prober_soon(p, now);
	path->silent_since_ns = 0;
	prober_schedule(p, peer, plane, now);
	if (!path->fsm.reason) {
		probe_fsm_init(&path->fsm, &p->times, was_down, now);
		/*
		 * a route of ours says nothing of the way back, and a peer that answers elsewhere
		 * tells within a few probes
		 */
		if (!was_down && answers(peer) &&
		    probe_fsm_cut(&path->fsm, &p->times, now, &change))
			cut = &change;
	}
	/* probes of before the break say nothing */
	path->loss.newest_answered = path->loss.next - 1;
	loss_rtt_settle(&path->loss, UINT64_MAX);
	loss_rtt_forget(&path->loss);
	judge_forget(&peer->judge, plane);
	prober_show(p, peer, plane, now, cut);
}

/* When the path returns, probes have to pass on it first: it is not usable from now on. */
static void stop_path(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct probe_fsm_change change;

	path->wanted = false;
	wheel_clear(p->wheel, prober_place(peer, plane));
	path->silent_since_ns = 0;
	if (path->fsm.state != PROBE_UNPROVEN && reflects(peer) &&
	    probe_fsm_cut(&path->fsm, &p->times, now, &change))
		prober_show(p, peer, plane, now, &change);
}

int prober_want(struct prober *p, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		bool wanted, bool was_down, uint64_t now)
{
	struct prober_peer *peer;
	int rc;

	if (gpu >= p->ports->n_gpus || plane >= p->ports->gpus[gpu].n_planes)
		return -EINVAL;
	if (!wanted) {
		peer = prober_peer_find(p, gpu, address);
		if (peer && peer->paths[plane].wanted)
			stop_path(p, peer, plane, now);
		return 0;
	}
	rc = prober_peer_get(p, gpu, address, &peer);
	if (!rc && !peer->paths[plane].wanted)
		start_path(p, peer, plane, was_down, now);
	return rc;
}

/* What was sent out of those sub-ports (bit s) and is not answered yet says nothing of the path. */
static void disregard(struct prober_path *path, uint32_t sub_ports)
{
	for (uint8_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++)
		if (sub_ports >> s & 1)
			loss_rtt_void(&path->loss, s);
	path->silent_since_ns = loss_rtt_silent_since(&path->loss);
}

void prober_link_changed(struct prober *p, uint32_t gpu, uint32_t plane, uint32_t sub_port,
			 uint64_t now)
{
	bool up = p->ports->gpus[gpu].live[plane] >> sub_port & 1;

	for (uint32_t i = 0; i < p->n_peers; i++) {
		struct prober_peer *peer = p->peers[i];
		struct prober_path *path;

		if (peer->gpu != gpu || plane >= peer->n_planes)
			continue;
		path = &peer->paths[plane];
		path->returning &= (uint8_t) ~(1u << sub_port);
		path->crossed &= (uint8_t) ~(1u << sub_port);
		if (up && path->fsm.state != PROBE_UNPROVEN)
			path->returning |= (uint8_t)(1u << sub_port);
		if (path->fsm.state != PROBE_UNPROVEN)
			prober_show_links(p, peer, plane, now);
		path->proven &= ~(1u << sub_port);
		if (gray_forget(&path->gray, GRAY_LOCAL, sub_port))
			prober_show_gray(p, peer, plane, now, GRAY_LOCAL, sub_port);
		disregard(path, 1u << sub_port);
		mtu_void(&path->mtu, sub_port);
	}
}

void prober_routed(struct prober *p, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		   uint32_t sub_ports, uint64_t now)
{
	struct prober_peer *peer = prober_peer_find(p, gpu, address);
	struct prober_path *path;
	uint8_t unrouted, either;

	if (!peer || plane >= peer->n_planes)
		return;
	path = &peer->paths[plane];
	unrouted = (uint8_t)(sub_ports ? ((1u << p->ports->gpus[gpu].n_sub_ports[plane]) - 1) &
						 ~sub_ports
				       : 0);
	if (unrouted == path->unrouted)
		return;
	either = unrouted | path->unrouted;
	path->unrouted = unrouted;
	/* routes that come and go for ever are a fault, too */
	if (now >= path->unrouted_until_ns + HEALTH_UNROUTED_NS)
		path->unrouted_until_ns = now + HEALTH_UNROUTED_NS;
	disregard(path, now < path->unrouted_until_ns ? either : 0);
}

void prober_routes_unknown(struct prober *p)
{
	for (uint32_t i = 0; i < p->n_peers; i++)
		for (uint32_t plane = 0; plane < p->peers[i]->n_planes; plane++)
			p->peers[i]->paths[plane].unrouted = 0;
}

void prober_set_capacity(struct prober *p, uint32_t gpu, const uint64_t *bps, uint32_t n_planes,
			 uint64_t now)
{
	struct prober_notice *n = &p->notices[gpu];

	if (!p->keys->own.length || n_planes > NOTICE_WIRE_MAX_PLANES)
		return;
	n->limited = false;
	for (uint32_t i = 0; i < n_planes; i++) {
		n->capacity.bps[i] = bps[i];
		n->limited |= bps[i] != NOTICE_WIRE_ANY;
	}
	n->capacity.n_planes = (uint8_t)n_planes;
	n->capacity.incarnation = p->options.incarnation;
	n->capacity.sequence++;
	n->until_ns = now + HEALTH_EXPIRY_NS;
	n->refresh_ns = now + HEALTH_EXPIRY_NS / 4;
	for (uint32_t i = 0; i < p->n_peers; i++)
		for (uint32_t plane = 0; plane < p->peers[i]->n_planes; plane++)
			if (p->peers[i]->gpu == gpu && p->peers[i]->paths[plane].wanted)
				prober_io_probe(p, p->peers[i], plane, now);
	udp_send(p->udp);
}

/*
 * A client writes while its rows are read: what it stamps may be a moment later than now, and is of
 * now. 0: a stamp of the future, which is not used.
 */
static uint64_t stamp_of(const struct prober *p, uint64_t stamp_ns, uint64_t now)
{
	if (stamp_ns > now + p->times.interval_ns)
		return 0;
	return stamp_ns < now ? stamp_ns : now;
}

void prober_traffic(struct prober *p, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		    uint64_t posted_ns, uint64_t acked_ns, uint64_t now)
{
	struct prober_peer *peer = prober_peer_find(p, gpu, address);

	if (!peer || plane >= peer->n_planes)
		return;
	posted_ns = stamp_of(p, posted_ns, now);
	acked_ns = stamp_of(p, acked_ns, now);
	peer->paths[plane].acked_ns = prober_larger(peer->paths[plane].acked_ns, acked_ns);
	if (posted_ns + HEALTH_ACTIVE_NS <= prober_larger(now, peer->active_until_ns))
		return;
	if (now >= peer->active_until_ns)
		for (uint32_t i = 0; i < peer->n_planes; i++)
			prober_ask(p, peer, i, prober_soon(p, now), now);
	peer->active_until_ns = posted_ns + HEALTH_ACTIVE_NS;
}

void prober_set_traffic_known(struct prober *p, uint32_t gpu, uint32_t plane, bool traffic_known,
			      uint64_t now)
{
	bool was_known = p->planes[gpu][plane].traffic_known;

	p->planes[gpu][plane].traffic_known = traffic_known;
	if (was_known && !traffic_known)
		prober_wake_idle(p, gpu, plane, now);
}

uint64_t prober_sent(const struct prober *p, uint32_t gpu, uint32_t plane)
{
	return p->planes[gpu][plane].n_sent;
}
