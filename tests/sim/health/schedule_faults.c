/* SPDX-License-Identifier: BSD-2-Clause */
/* schedule_faults.c - see schedule_internal.h: cables, leaves and daemons that fail */
#include "schedule_internal.h"

const char *schedule_fault_name(enum fault_kind kind)
{
	static const char *const names[] = {"leaf-gray",     "one-way",	      "leaf-lossy",
					    "sub-port-gray", "sub-port-down", "restart",
					    "mtu",	     "unrouted"};

	return names[kind];
}

bool schedule_faults_concern(const struct fault *f, unsigned from, unsigned to, unsigned plane)
{
	if (f->kind == FAULT_RESTART || f->kind == FAULT_MTU || f->plane != plane)
		return false;
	return f->kind == FAULT_LEAF_GRAY || f->kind == FAULT_LEAF_LOSSY || f->host == from ||
	       f->host == to;
}

/* A cable that passes nothing, for seconds and often from the start, and nothing else fails. */
static void make_lasting(struct schedule *s, struct fault *f)
{
	s->n_faults = 1;
	f->kind = FAULT_SUB_PORT_GRAY;
	f->is_lasting = true;
	f->flap_ns = 0;
	f->per_mille = 1000;
	if (prng_mix(s->seed + 6) % 2)
		f->from_ns = LOOP_START_NS;
	f->to_ns = LOOP_START_NS + LASTING_NS;
}

void schedule_faults_draw(struct schedule *s, struct fault *f)
{
	struct prng *prng = &s->net.prng;
	uint64_t length = prng_log(prng, 200 * LOOP_MS, 2 * LOOP_S);

	*f = (struct fault){
		.kind = (enum fault_kind)prng_below(prng, FAULT_MTU),
		.plane = (unsigned)prng_below(prng, s->net.n_planes),
		.host = (unsigned)prng_below(prng, s->net.n_hosts),
		.sub_port = (unsigned)prng_below(prng, s->net.n_sub_ports),
		.outward = prng_chance(prng, 500),
		.per_mille = (uint32_t)prng_between(prng, 600, 900),
		.from_ns = LOOP_START_NS + prng_between(prng, WARM_UP_NS, FAULTS_NS),
	};
	f->to_ns = f->from_ns + length;
	if (f->kind == FAULT_LEAF_LOSSY && prng_chance(prng, 300))
		f->per_mille = (uint32_t)prng_between(prng, 50, FAULT_MILD_PER_MILLE);
	/* of two faults both might hold that carrier */
	if (f->kind == FAULT_SUB_PORT_DOWN && s->n_faults == 1 && prng_mix(s->seed + 1) % 2)
		f->flap_ns = (20 + prng_mix(s->seed + 2) % 180) * LOOP_MS;
	if (s->net.n_sub_ports > 1 && prng_mix(s->seed + 5) % 8 == 0)
		make_lasting(s, f);
}

void schedule_faults_draw_unrouted(struct schedule *s)
{
	uint64_t drawn = prng_mix(s->seed + 9);

	s->n_faults = s->net.n_sub_ports > 1;
	s->faults[0] = (struct fault){
		.kind = FAULT_UNROUTED,
		.plane = (unsigned)(drawn / 8 % s->net.n_planes),
		.host = (unsigned)(drawn / 64 % s->net.n_hosts),
		.sub_port = (unsigned)(drawn / 8192 % s->net.n_sub_ports),
		.outward = drawn % 4 > 0,
		.inward = drawn % 4 < 2,
		.is_known = drawn & 4,
		.from_ns = LOOP_START_NS + WARM_UP_NS + prng_mix(s->seed + 10) % LOOP_S,
	};
	s->faults[0].to_ns = s->faults[0].from_ns + LASTING_NS - LOOP_S;
}

void schedule_faults_draw_mtu(struct schedule *s)
{
	static const uint32_t sizes[] = {1500, 1500, 900, 2200, 4000, 576};
	uint64_t drawn = prng_mix(s->seed + 7);

	if (drawn % 4)
		return;
	s->faults[s->n_faults++] = (struct fault){
		.kind = FAULT_MTU,
		.plane = (unsigned)(drawn / 4 % s->net.n_planes),
		.host = (unsigned)(drawn / 64 % s->net.n_hosts),
		.sub_port = (unsigned)(drawn / 8192 % s->net.n_sub_ports),
		.most_bytes = sizes[drawn / 65536 % (sizeof(sizes) / sizeof(sizes[0]))],
		.is_of_leaf = drawn / (1 << 24) % 4 == 0,
		.from_ns = LOOP_START_NS + WARM_UP_NS +
			   prng_mix(s->seed + 8) % (FAULTS_NS - WARM_UP_NS),
	};
	s->faults[s->n_faults - 1].to_ns = s->faults[s->n_faults - 1].from_ns + MTU_LASTS_NS;
}

static void spoil(struct link *link, uint32_t per_mille)
{
	link->is_black |= !per_mille;
	link->loss_per_mille = link->loss_per_mille > per_mille ? link->loss_per_mille : per_mille;
}

/* What that fault does to the sub-ports of a server. */
static void spoil_ports(struct schedule *s, const struct fault *f, unsigned host)
{
	struct port *port = s->net.port[host][f->plane];

	for (unsigned p = 0; p < s->net.n_sub_ports; p++)
		switch (f->kind) {
		case FAULT_LEAF_GRAY:
			spoil(&port[p].up, 0);
			break;
		case FAULT_LEAF_LOSSY:
			spoil(&port[p].up, f->per_mille);
			break;
		case FAULT_ONE_WAY:
			if (host == f->host)
				spoil(f->outward ? &port[p].up : &port[p].down, 0);
			break;
		case FAULT_SUB_PORT_GRAY:
			if (host == f->host && p == f->sub_port) {
				spoil(&port[p].up, f->per_mille);
				spoil(&port[p].down, f->per_mille);
			}
			break;
		case FAULT_UNROUTED:
			if (host == f->host && p == f->sub_port) {
				port[p].is_unrouted_out = f->outward;
				port[p].is_unrouted_in = f->inward;
			}
			break;
		case FAULT_MTU:
			if (f->is_of_leaf || (host == f->host && p == f->sub_port))
				port[p].up.most_bytes = port[p].down.most_bytes = f->most_bytes;
			break;
		default:
			break;
		}
}

/* All links as the faults that are on have them. */
void schedule_faults_links(struct schedule *s)
{
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		for (unsigned p = 0; p < s->net.n_planes; p++)
			for (unsigned i = 0; i < s->net.n_sub_ports; i++) {
				struct port *port = &s->net.port[h][p][i];

				port->up.is_black = port->down.is_black = false;
				port->up.most_bytes = port->down.most_bytes = 0;
				port->is_unrouted_out = port->is_unrouted_in = false;
				/* one in a thousand is no fault */
				port->up.loss_per_mille = s->has_loss;
				port->down.loss_per_mille = 0;
			}
		for (unsigned i = 0; i < s->n_faults; i++)
			if (s->faults[i].is_on)
				spoil_ports(s, &s->faults[i], h);
	}
}

/* Two faults may take the carrier of one sub-port: the last to end gives it back. */
static bool is_unplugged(const struct schedule *s, const struct fault *like)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].is_on && s->faults[i].kind == FAULT_SUB_PORT_DOWN &&
		    s->faults[i].host == like->host && s->faults[i].plane == like->plane &&
		    s->faults[i].sub_port == like->sub_port)
			return true;
	return false;
}

/* Restarts of one server may overlap: the last to end starts it. */
static bool is_away(const struct schedule *s, unsigned host)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].is_on && s->faults[i].kind == FAULT_RESTART &&
		    s->faults[i].host == host)
			return true;
	return false;
}

/* Nobody fills it any more: what it holds goes out. */
static void drain_queue(struct schedule *s, unsigned plane)
{
	struct full_queue *q = &s->queue[plane];
	uint64_t now = s->net.loop.now_ns;
	struct link *link = q->link;

	if (now >= link->queue_to_ns) /* it does already */
		return;
	if (now < link->queue_full_ns)
		link->queue_ns =
			(uint64_t)((double)link->queue_ns * (double)(now - link->queue_from_ns) /
				   (double)(link->queue_full_ns - link->queue_from_ns));
	link->queue_from_ns = link->queue_full_ns = link->queue_to_ns = now;
	q->until_ns = now + link->queue_ns;
}

bool schedule_faults_stops(const struct schedule *s, const struct fault *f, unsigned host,
			   unsigned plane)
{
	if (f->plane != plane)
		return false;
	return f->kind == FAULT_LEAF_GRAY ||
	       (f->host == host && (f->kind == FAULT_ONE_WAY || ((f->kind == FAULT_SUB_PORT_GRAY ||
								  f->kind == FAULT_SUB_PORT_DOWN) &&
								 s->net.n_sub_ports == 1)));
}

/* The queue of data that it stops, or of a cable that is cut, drains. */
static void stop_data(struct schedule *s, const struct fault *f)
{
	const struct full_queue *q = &s->queue[f->plane];
	const struct port *port = &s->net.port[f->host][f->plane][f->sub_port];
	bool is_its = q->link == &port->up || q->link == &port->down;

	if (s->net.loop.now_ns < q->until_ns &&
	    (schedule_faults_stops(s, f, q->host, f->plane) ||
	     schedule_faults_stops(s, f, q->other, f->plane) ||
	     (is_its && (f->kind == FAULT_SUB_PORT_GRAY || f->kind == FAULT_SUB_PORT_DOWN))))
		drain_queue(s, f->plane);
}

void schedule_faults_flap(struct schedule *s, struct fault *f)
{
	struct port *port = &s->net.port[f->host][f->plane][f->sub_port];

	if (!f->is_on || !f->flap_ns || s->net.loop.now_ns < f->next_flap_ns)
		return;
	f->next_flap_ns = s->net.loop.now_ns + f->flap_ns;
	port->has_carrier = !port->has_carrier;
	server_links(&s->servers[f->host], f->plane, f->sub_port);
}

/* Its clock is set while it is away, by up to a quarter of an hour, in half of the schedules. */
static void set_clock(struct schedule *s, struct server *server)
{
	uint64_t drawn = prng_mix(s->seed + 3);

	if (drawn % 2 == 0)
		return;
	server->clock_ns = (int64_t)(drawn / 2 % (1800 * LOOP_S)) - (int64_t)(900 * LOOP_S);
	TRACE(s, "the clock of %u is set by %.0f s", server->index, (double)server->clock_ns / 1e9);
}

void schedule_faults_set(struct schedule *s, struct fault *f, bool on)
{
	struct port *port = s->net.port[f->host][f->plane];

	f->is_on = on;
	f->next_flap_ns = s->net.loop.now_ns + f->flap_ns;
	*(on ? &f->from_ns : &f->to_ns) =
		s->net.loop.now_ns; /* steps are coarser than what was drawn */
	TRACE(s, "%s %s plane %u host %u sub-port %u", schedule_fault_name(f->kind),
	      on ? "begins" : "ends", f->plane, f->host, f->sub_port);
	schedule_faults_links(s);
	if (on && f->kind != FAULT_RESTART && f->kind != FAULT_MTU)
		stop_data(s, f);
	if (f->kind == FAULT_UNROUTED && f->outward && f->is_known)
		server_routes(&s->servers[f->host], f->plane, on ? 1u << f->sub_port : 0);
	if (f->kind == FAULT_SUB_PORT_DOWN) {
		port[f->sub_port].has_carrier = !is_unplugged(s, f);
		server_links(&s->servers[f->host], f->plane, f->sub_port);
		/* and what tells of it may be lost */
		if (prng_chance(&s->net.prng, 300))
			sockets_all.lost_until_ns[f->host] =
				s->net.loop.now_ns + prng_between(&s->net.prng, 1, 8) * LOOP_MS;
	}
	if (f->kind == FAULT_RESTART && on) {
		server_stop(&s->servers[f->host]);
		set_clock(s, &s->servers[f->host]);
	}
	if (f->kind == FAULT_RESTART && !on && !is_away(s, f->host))
		server_start(&s->servers[f->host]);
}
