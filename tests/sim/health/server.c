/* SPDX-License-Identifier: BSD-2-Clause */
#include "server.h"

#include <stdlib.h>
#include <string.h>

static const struct notice_keys keys = {.own = {"the key of all servers", 22}};

static unsigned host_of(const struct in6_addr *a)
{
	return a->s6_addr[15] - 1u;
}

static void on_path(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		    const struct prober_view *view, const struct probe_fsm_change *change)
{
	struct server *s = arg;

	(void)gpu;
	(void)view;
	if (change)
		s->on_change(s->arg, s->index, host_of(peer), plane, change);
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	(void)line;
}

static void on_gray(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		    bool is_local, uint32_t sub_port, bool gray)
{
	struct server *s = arg;

	(void)gpu;
	(void)is_local;
	(void)sub_port;
	if (gray)
		s->on_gray(s->arg, s->index, host_of(peer), plane);
}

static void on_drain(void *arg)
{
	struct server *s = arg;

	for (uint32_t i = 0; i < reflector_n_sockets(s->reflector); i++)
		reflector_read(s->reflector, i, s->net->now_ns);
}

static bool on_capacity(void *arg, uint32_t gpu, const struct in6_addr *peer,
			const struct notice_capacity *c, struct notice_ack *held)
{
	struct server *s = arg;
	unsigned from = host_of(peer);
	struct notice_ack *mine = &s->held[from];

	(void)gpu;
	if (c->boot > mine->boot || (c->boot == mine->boot && c->sequence > mine->sequence)) {
		*mine = (struct notice_ack){c->boot, c->sequence};
		memcpy(s->held_bps[from], c->bps, sizeof(s->held_bps[from]));
	}
	*held = *mine;
	return true;
}

static void on_heard(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		     bool hears_us)
{
	struct server *s = arg;

	prober_heard(s->prober, gpu, peer, plane, hears_us, s->net->now_ns);
}

static uint32_t avoided(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane)
{
	struct server *s = arg;

	return prober_avoided(s->prober, gpu, peer, plane);
}

static const struct prober_handlers on_prober = {
	.on_path = on_path, .on_log = on_log, .on_gray = on_gray, .on_drain = on_drain};
static const struct reflector_handlers on_reflector = {on_capacity, on_heard, avoided};

/* The defaults of fared.yaml(5). */
static struct prober_options options_of(struct server *s)
{
	return (struct prober_options){
		.boot = s->boot,
		.seed = prng_next(&s->net->prng),
		.times = {.interval_ns = 3 * NET_MS,
			  .detect_multiplier = 3,
			  .recover_probes = 10,
			  .hold_ns = 50 * NET_MS,
			  .hold_max_ns = 10 * NET_S,
			  .ramp_ns = 200 * NET_MS,
			  .unproven_ns = NET_S,
			  .max_loss_ppm = 20000},
		.slow_interval_ns = NET_S,
		.max_probes_per_s = PROBER_MAX_PROBES_PER_S,
	};
}

static void look_at_port(struct server *s, unsigned plane, unsigned sub_port)
{
	struct sub_ports_gpu *g = &s->ports.gpus[0];
	uint32_t bit = 1u << sub_port;

	g->ifindex[plane][sub_port] = net_ifindex(s->index, plane, sub_port);
	g->live[plane] &= ~bit;
	if (s->net->port[s->index][plane][sub_port].has_carrier)
		g->live[plane] |= bit;
}

static void tell_capacity(struct server *s)
{
	uint64_t bps[NET_PLANES];

	for (unsigned p = 0; p < s->net->n_planes; p++)
		bps[p] = s->ports.gpus[0].live[p] == (1u << s->net->n_sub_ports) - 1
				 ? NOTICE_WIRE_ANY
				 : 1000;
	prober_tell_capacity(s->prober, 0, bps, s->net->n_planes, s->net->now_ns);
}

void server_links(struct server *s, unsigned plane, unsigned sub_port)
{
	look_at_port(s, plane, sub_port);
	if (!s->runs)
		return;
	prober_link_changed(s->prober, 0, plane, sub_port, s->net->now_ns);
	tell_capacity(s);
	server_wake(s, s->net->now_ns);
}

void server_start(struct server *s)
{
	struct net *net = s->net;
	struct sub_ports_gpu *g = &s->ports.gpus[0];
	struct prober_options options;

	s->runs = true;
	s->boot = net->now_ns;
	s->ports.n_gpus = 1;
	g->address[0] = net_address(s->index);
	g->n_planes = net->n_planes;
	for (unsigned p = 0; p < net->n_planes; p++) {
		g->n_sub_ports[p] = net->n_sub_ports;
		for (unsigned port = 0; port < net->n_sub_ports; port++)
			look_at_port(s, p, port);
	}
	options = options_of(s);
	s->udp = net_udp(s->index);
	if (reflector_create(&s->reflector, s->udp, &s->ports, &keys, &on_reflector, s) ||
	    prober_create(&s->prober, s->udp, &options, &s->ports, &keys, &on_prober, s,
			  net->now_ns))
		abort();
	for (unsigned to = 0; to < net->n_hosts; to++)
		for (unsigned p = 0; to != s->index && p < net->n_planes; p++) {
			struct in6_addr peer = net_address(to);

			prober_want(s->prober, 0, &peer, p, true, false, net->now_ns);
		}
	tell_capacity(s);
	server_wake(s, net->now_ns);
}

void server_stop(struct server *s)
{
	if (!s->runs)
		return;
	s->runs = false;
	s->wake_ns = 0;
	prober_destroy(s->prober);
	reflector_destroy(s->reflector);
	udp_destroy(s->udp);
	memset(s->held, 0, sizeof(s->held));
	memset(s->held_bps, 0xff, sizeof(s->held_bps));
}

void server_wake(struct server *s, uint64_t at_ns)
{
	if (at_ns < s->blocked_ns)
		at_ns = s->blocked_ns;
	if (!s->runs || (s->wake_ns && s->wake_ns <= at_ns))
		return;
	s->wake_ns = at_ns;
	net_add(s->net, at_ns, EVENT_WAKE, s->index, NULL);
}

static void read_all(struct server *s, uint64_t now)
{
	if (!s->net->n_waiting[s->index])
		return;
	on_drain(s);
	for (uint32_t i = 0; i < prober_n_sockets(s->prober); i++)
		prober_read(s->prober, i, now);
}

void server_run(struct server *s)
{
	uint64_t now = s->net->now_ns, next;
	bool is_due, timer_first = prng_chance(&s->net->prng, 100);

	if (!s->runs || now != s->wake_ns)
		return;
	s->wake_ns = 0;
	if (now < s->blocked_ns) {
		server_wake(s, s->blocked_ns);
		return;
	}
	next = prober_next_ns(s->prober, now);
	is_due = next && next <= now;
	/* what came in after the loop asked is read by the run, or afterwards */
	if (!is_due || !timer_first)
		read_all(s, now);
	if (is_due)
		prober_run(s->prober, now);
	if (is_due && timer_first)
		read_all(s, now);
	next = prober_next_ns(s->prober, now);
	if (next)
		server_wake(s, (next > now ? next : now) +
				       prng_between(&s->net->prng, 5, 60) * NET_US);
}

enum probe_state server_state(const struct server *s, unsigned to, unsigned plane)
{
	struct in6_addr peer = net_address(to);
	struct prober_view v;

	return prober_path(s->prober, 0, &peer, plane, s->net->now_ns, &v) ? v.state
									   : PROBE_UNPROVEN;
}
