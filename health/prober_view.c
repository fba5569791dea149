/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_view.c - see prober_internal.h: what the daemon is shown of paths */
#include "prober_internal.h"

static void view_trial(const struct gray *g, struct prober_view *out)
{
	enum gray_side side = g->mask[GRAY_LOCAL] ? GRAY_LOCAL : GRAY_REMOTE;
	const struct gray_trial *trial;

	if (!g->mask[side])
		return;
	trial = &g->trials[side][__builtin_ctz(g->mask[side])];
	out->trial_passes = trial->passes;
	out->trial_wanted = trial->wanted;
}

static void view_mtu(const struct prober_path *path, struct prober_view *out)
{
	const struct mtu *m = &path->mtu;

	out->mtu_is_small = path->mtu_is_small;
	out->mtu_wanted = path_mtu_bytes(m->wanted);
	out->mtu_carried = path_mtu_bytes(mtu_carried(m, &out->mtu_is_proven));
	out->small_local = (uint8_t)mtu_small(m, GRAY_LOCAL);
	out->small_remote = (uint8_t)mtu_small(m, GRAY_REMOTE);
	for (uint32_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++) {
		out->mtu_local[s] = (uint16_t)path_mtu_bytes(m->parts[GRAY_LOCAL][s].passes);
		out->mtu_remote[s] = (uint16_t)path_mtu_bytes(m->parts[GRAY_REMOTE][s].passes);
	}
}

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
		.last_down = path->fsm.last,
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
	view_trial(&path->gray, out);
	out->returning_local = returning(path);
	out->crossed = path->crossed;
	out->crossed_plane = path->crossed_plane;
	out->is_crossed_there = path->is_crossed_there;
	out->gray_remote = path->gray.mask[GRAY_REMOTE];
	out->n_remote = path->n_remote;
	view_mtu(path, out);
}

void prober_show(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
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

void prober_show_links(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_view v;

	view(p, peer, plane, now, &v);
	p->handlers->on_path(p->arg, peer->gpu, &peer->address, plane, &v, NULL);
}

void prober_show_gray(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		      enum gray_side side, uint32_t sub_port)
{
	bool gray = peer->paths[plane].gray.mask[side] >> sub_port & 1;

	prober_show_links(p, peer, plane, now);
	if (p->handlers->on_gray)
		p->handlers->on_gray(p->arg, peer->gpu, &peer->address, plane, side == GRAY_LOCAL,
				     sub_port, gray);
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
