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
		prober_tell_links(p, peer, i, now);
	}
}

static void note_change(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	prober_tell_links(p, peer, plane, now);
	compare_planes(p, peer, now);
}

/* ---- rounds -------------------------------------------------------------- */

static void send_one(struct prober *p, const struct prober_peer *peer, uint32_t plane,
		     const struct mtu_round *r, uint32_t k)
{
	const struct prober_socket *s = &p->sockets[peer->gpu][is_v6(peer)][r->port];
	struct notice_trailer t = {
		.has_stamp = true, .has_size = true, .stamp = {r->sequence + k, r->nonce}};
	struct notice_ends ends = {s->address, peer->address};
	struct sbfd_packet bfd = {
		.state = SBFD_UP,
		.demand = true,
		.detect_multiplier = (uint8_t)p->times.detect_multiplier,
		.my_discriminator = peer->paths[plane].discriminator,
		.your_discriminator = sbfd_wire_discriminator(&peer->address),
		.desired_min_tx_us = (uint32_t)(p->times.interval_ns / 1000),
	};
	struct udp_packet *out = udp_next(p->udp);

	sbfd_wire_encode(&bfd, out->bytes);
	out->length = notice_wire_encode(&t, &p->keys->own, &ends, out->bytes);
	if (k == MTU_PADDED)
		out->length = notice_wire_pad(out->bytes, out->length,
					      path_mtu_datagram_bytes(r->number));
	out->from = s->address;
	out->from_port = s->port;
	out->to = peer->address;
	out->to_port = SBFD_WIRE_PORT;
	out->ifindex = p->ports->gpus[peer->gpu].ifindex[plane][r->local];
	p->planes[peer->gpu][plane].n_sent++;
	p->counters.mtu_sent++;
}

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
	struct mtu_ways ways = {.live = g->live[plane] &
					~(path->returning | prober_unrouted(path, now)),
				.remote = path->remote,
				.n_ports = PROBER_PORTS};
	struct mtu_round r;

	for (uint32_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++)
		if (g->ifindex[plane][s] <= 0)
			ways.live &= ~(1u << s);
	if (!mtu_next(&path->mtu, &ways, now, nonces_next(&p->nonces), &r) ||
	    !p->sockets[peer->gpu][is_v6(peer)][r.port].udp)
		return;
	for (uint32_t k = 0; k < MTU_PROBES; k++)
		if (k == MTU_PADDED ? r.number : r.has_short)
			send_one(p, peer, plane, &r, k);
}

uint64_t prober_mtu_run(struct prober *p, struct prober_peer *peer, uint32_t plane,
			uint64_t interval_ns, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[peer->gpu];
	struct prober_path *path = &peer->paths[plane];
	uint64_t due;

	if (mtu_settle(&path->mtu, now - HEALTH_SETTLE_NS - path->loss.rtt_peak_ns, now))
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

void prober_mtu_view(const struct prober_path *path, struct prober_view *out)
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
