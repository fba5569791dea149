/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_mtu.c - see prober_internal.h: which path MTU paths carry (mtu.h) */
#include "prober_internal.h"

static bool is_v6(const struct prober_peer *peer)
{
	return !IN6_IS_ADDR_V4MAPPED(&peer->address);
}

static bool is_due(const struct prober_path *path)
{
	return path->wanted && path->mtu.wanted && path->fsm.state == PROBE_UP &&
	       path->answered_ever && !path->third_party;
}

/* ---- what follows -------------------------------------------------------- */

/* The largest path MTU that some plane of the peer is known to carry. */
static unsigned best_plane(const struct prober_peer *peer)
{
	unsigned best = 0;

	for (uint32_t i = 0; i < peer->n_planes; i++) {
		const struct prober_path *path = &peer->paths[i];
		bool proven;
		unsigned number = mtu_carried(&path->mtu, &proven);

		if (path->wanted && path->fsm.state != PROBE_DOWN && proven && number > best)
			best = number;
	}
	return best;
}

/*
 * A plane that carries less than another is out of use. If all carry less than what is wanted, none
 * is: they carry what they do.
 */
static void compare_planes(struct prober *p, struct prober_peer *peer, uint64_t now)
{
	unsigned best = best_plane(peer);

	for (uint32_t i = 0; i < peer->n_planes; i++) {
		struct prober_path *path = &peer->paths[i];
		bool proven, is_small = path->mtu.wanted && mtu_carried(&path->mtu, &proven) < best;

		if (is_small == path->mtu_is_small)
			continue;
		path->mtu_is_small = is_small;
		prober_show_links(p, peer, i, now);
	}
}

static void note_change(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	prober_show_links(p, peer, plane, now);
	compare_planes(p, peer, now);
}

/* ---- rounds -------------------------------------------------------------- */

static bool take_limits(struct prober_path *path, const struct sub_ports_gpu *g, uint32_t plane,
			bool v6)
{
	bool changed = false;

	if (path->mtu.wanted != g->path_mtu[v6]) {
		mtu_init(&path->mtu, g->path_mtu[v6]);
		changed = true;
	}
	for (uint32_t s = 0; s < g->n_sub_ports[plane]; s++)
		if (g->mtu[plane][s])
			changed |= mtu_limit(&path->mtu, s, path_mtu_fitting(g->mtu[plane][s], v6));
	return changed;
}

static void send_round(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[peer->gpu];
	struct prober_path *path = &peer->paths[plane];
	struct mtu_routes routes = {.live = g->live[plane] &
					    ~(path->returning | prober_unrouted(path, now)),
				    .remote = path->remote,
				    .n_ports = PROBER_PORTS};
	struct mtu_round r;

	for (uint32_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++)
		if (g->ifindex[plane][s] <= 0)
			routes.live &= ~(1u << s);
	if (!mtu_next(&path->mtu, &routes, now, nonces_next(&p->nonces), &r) ||
	    !p->sockets[peer->gpu][is_v6(peer)][r.port].udp)
		return;
	for (uint32_t k = 0; k < MTU_PROBES; k++) {
		struct prober_extra e = {
			.local = r.local,
			.port = r.port,
			.is_sized = true,
			.bytes = k == MTU_PADDED ? path_mtu_datagram_bytes(r.number) : 0,
			.stamp = {r.sequence + k, r.nonce}};

		if (k == MTU_PADDED ? !r.number : !r.has_short)
			continue;
		prober_extra_send(p, peer, plane, &e);
		p->counters.mtu_sent++;
	}
}

uint64_t prober_mtu_run(struct prober *p, struct prober_peer *peer, uint32_t plane,
			uint64_t interval_ns, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[peer->gpu];
	struct prober_path *path = &peer->paths[plane];
	uint64_t due;

	if (mtu_settle(&path->mtu, now - HEALTH_QUEUE_MAX_NS - path->loss.rtt_peak_ns, now))
		note_change(p, peer, plane, now);
	due = mtu_due_ns(&path->mtu, HEALTH_MTU_SLOWER * interval_ns);
	if (now < due)
		return is_due(path) ? due : 0;
	if (take_limits(path, g, plane, is_v6(peer)))
		note_change(p, peer, plane, now);
	else
		compare_planes(p, peer, now); /* one of them may have gone down */
	if (!is_due(path)) {
		path->mtu.sent_ns = now; /* it is looked at again after as long as between rounds */
		return 0;
	}
	send_round(p, peer, plane, now);
	return mtu_due_ns(&path->mtu, HEALTH_MTU_SLOWER * interval_ns);
}

void prober_mtu_arrived(struct prober *p, struct prober_peer *peer, uint32_t plane,
			const struct notice_trailer *t, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	bool changed;

	if (!t->has_stamp || !t->has_arrival ||
	    !mtu_answered(&path->mtu, t->stamp.sequence, t->stamp.nonce,
			  (int8_t)t->arrival.sub_port, t->size.bytes, now, &changed)) {
		p->counters.unknown++;
		return;
	}
	p->counters.mtu_answered++;
	if (changed)
		note_change(p, peer, plane, now);
}
