/* SPDX-License-Identifier: BSD-2-Clause */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path_probe.h"

static const struct notice_keys keys = {.own = {"the key of all servers", 22}};

static void on_path(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		    const struct prober_view *view, const struct probe_fsm_change *change)
{
	struct server *s = arg;
	struct path_probe *probe = &s->probe[net_host_of(peer)][plane];

	*probe = path_probe_of(view);
	path_table_probe(s->table, gpu, peer, plane, probe);
	s->is_said = true;
	if (probe->small_local || probe->small_remote || probe->mtu_is_small)
		s->on_mtu(s->arg, s->index, net_host_of(peer), plane);
	if (change)
		s->on_change(s->arg, s->index, net_host_of(peer), plane, change);
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
		s->on_gray(s->arg, s->index, net_host_of(peer), plane);
}

static void on_drain(void *arg)
{
	struct server *s = arg;

	for (uint32_t i = 0; i < reflector_n_sockets(s->reflector); i++)
		reflector_read(s->reflector, i, s->net->loop.now_ns);
}

static bool on_capacity(void *arg, uint32_t gpu, const struct in6_addr *peer,
			const struct notice_capacity *c, struct notice_ack *held)
{
	struct server *s = arg;
	unsigned from = net_host_of(peer);
	struct notice_ack *mine = &s->held[from];
	struct path_notice known,
		notice = {.incarnation = c->incarnation,
			  .sequence = c->sequence,
			  .expires_ns = s->net->loop.now_ns + c->expiry_ms * LOOP_MS,
			  .n_planes = c->n_planes};

	memcpy(notice.bps, c->bps, sizeof(notice.bps));
	if (path_table_notice(s->table, gpu, peer, &notice, &known) == -ENOENT)
		return false;
	s->is_said = true;
	if (c->incarnation > mine->incarnation ||
	    (c->incarnation == mine->incarnation && c->sequence > mine->sequence)) {
		*mine = (struct notice_ack){c->incarnation, c->sequence};
		s->held_till_ns[from] = notice.expires_ns;
		memcpy(s->held_bps[from], c->bps, sizeof(s->held_bps[from]));
	}
	*held = (struct notice_ack){known.incarnation, known.sequence};
	return true;
}

static void on_peer_seen(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
			 const struct notice_trailer *t, uint64_t waited_ns)
{
	struct server *s = arg;

	prober_received(s->prober, gpu, peer, plane, t->has_received,
			t->has_report ? &t->report : NULL, t->authentic, waited_ns,
			s->net->loop.now_ns);
}

static bool on_report(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		      uint32_t sub_port, bool is_try, struct report_wire *out)
{
	struct server *s = arg;

	return prober_report(s->prober, gpu, peer, plane, sub_port, is_try, s->net->loop.now_ns,
			     out);
}

static uint32_t avoided(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane)
{
	struct server *s = arg;

	return prober_avoided(s->prober, gpu, peer, plane);
}

static void on_route(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		     bool routed, bool was_down)
{
	struct server *s = arg;

	if (prober_want(s->prober, gpu, peer, plane, routed, was_down, s->net->loop.now_ns))
		abort();
	s->on_route(s->arg, s->index, net_host_of(peer), plane, routed);
}

static void on_pair(void *arg, uint32_t pair, uint32_t n_planes)
{
	struct server *s = arg;
	struct in6_addr peer;
	uint32_t gpu;

	path_table_pair(s->table, pair, &gpu, &peer);
	for (uint32_t p = 0; p < n_planes; p++)
		s->on_publish(s->arg, s->index, net_host_of(&peer), p);
}

/* If something was said, or is due: otherwise there is nothing to do, and many pairs. */
static void evaluate(struct server *s)
{
	static const struct path_table_handlers handlers = {.on_pair = on_pair};
	uint64_t now = s->net->loop.now_ns;

	if (!s->is_said && (!s->evaluate_ns || now < s->evaluate_ns))
		return;
	s->is_said = false;
	s->evaluate_ns = path_table_evaluate(s->table, now, &handlers, s);
}

static const struct prober_handlers on_prober = {
	.on_path = on_path, .on_log = on_log, .on_gray = on_gray, .on_drain = on_drain};
static const struct reflector_handlers on_reflector = {.on_capacity = on_capacity,
						       .on_received = on_peer_seen,
						       .report = on_report,
						       .avoided = avoided};

/* The defaults of fared.yaml(5), but for what the schedule says. */
static struct prober_options options_of(struct server *s)
{
	return (struct prober_options){
		.incarnation = (uint64_t)((int64_t)s->started_ns + s->clock_ns),
		.seed = prng_next(&s->net->prng),
		.times = {.interval_ns = s->interval_ns,
			  .detect_multiplier = s->multiplier,
			  .recover_probes = 10,
			  .hold_ns = 50 * LOOP_MS,
			  .hold_max_ns = 10 * LOOP_S,
			  .ramp_ns = 200 * LOOP_MS,
			  .unproven_ns = LOOP_S,
			  .max_loss_ppm = s->max_loss_ppm},
		.slow_interval_ns = LOOP_S,
		.max_probes_per_s = PROBER_MAX_PROBES_PER_S,
		.queue_max_ns = s->queue_max_ns,
	};
}

static void look_at_port(struct server *s, unsigned plane, unsigned sub_port)
{
	struct sub_ports_gpu *g = &s->ports.gpus[0];
	uint32_t bit = 1u << sub_port;

	g->ifindex[plane][sub_port] = sockets_ifindex(s->index, plane, sub_port);
	g->live[plane] &= ~bit;
	if (s->net->port[s->index][plane][sub_port].has_carrier)
		g->live[plane] |= bit;
	if (s->table)
		path_table_link(s->table, 0, plane, sub_port, g->live[plane] & bit, BGP_PORT_BPS);
	s->is_said = true;
}

static void tell_capacity(struct server *s)
{
	uint64_t bps[NET_PLANES];

	for (unsigned p = 0; p < s->net->n_planes; p++)
		bps[p] = s->ports.gpus[0].live[p] == (1u << s->net->n_sub_ports) - 1
				 ? NOTICE_WIRE_ANY
				 : (unsigned)__builtin_popcount(s->ports.gpus[0].live[p]) *
					   BGP_PORT_BPS;
	prober_set_capacity(s->prober, 0, bps, s->net->n_planes, s->net->loop.now_ns);
}

void server_links(struct server *s, unsigned plane, unsigned sub_port)
{
	look_at_port(s, plane, sub_port);
	if (!s->runs)
		return;
	prober_link_changed(s->prober, 0, plane, sub_port, s->net->loop.now_ns);
	tell_capacity(s);
	evaluate(s);
	server_wake(s, s->net->loop.now_ns);
}

void server_routes(struct server *s, unsigned plane, uint32_t without)
{
	uint32_t all = (1u << s->net->n_sub_ports) - 1;

	for (unsigned to = 0; s->runs && to < s->net->n_hosts; to++) {
		struct in6_addr peer = net_address(to);

		prober_routed(s->prober, 0, &peer, plane, all & ~without, s->net->loop.now_ns);
	}
}

/* ---- the path table, and what outlives it ----------------------------------- */

/* What readers see goes on: the next incarnation adopts it. */
static void keep_segment(struct server *s)
{
	struct path_view v;
	uint32_t pair;

	memset(s->adopted_bps, 0, sizeof(s->adopted_bps));
	for (unsigned to = 0; to < s->net->n_hosts; to++)
		for (unsigned p = 0; p < s->net->n_planes; p++) {
			struct in6_addr peer = net_address(to);

			s->adopted_verdict[to][p] = FARE_VERDICT_NO_ROUTE;
			if (!path_table_find(s->table, 0, &peer, &pair) ||
			    !path_table_view(s->table, pair, p, &v))
				continue;
			s->adopted_bps[to][p] = v.usable_bps;
			s->adopted_verdict[to][p] = v.verdict;
		}
	s->has_segment = true;
}

static void adopt_segment(struct server *s)
{
	for (unsigned to = 0; to < s->net->n_hosts; to++)
		for (unsigned p = 0; to != s->index && p < s->net->n_planes; p++) {
			struct in6_addr peer = net_address(to);

			if (path_table_adopt(s->table, 0, &peer, p, s->adopted_verdict[to][p],
					     s->adopted_bps[to][p], s->net->loop.now_ns))
				abort();
		}
}

/* The times of fared.yaml(5)'s defaults. */
static void make_table(struct server *s)
{
	const struct path_table_times times = {.stale_ns = 120 * LOOP_S,
					       .installed_ns = PATH_INSTALLED_NS,
					       .restart_ns = PATH_RESTART_NS,
					       .fallback_ns = PATH_FALLBACK_NS,
					       .forget_ns = PATH_FORGET_NS};
	struct path_table_gpu gpu = {.n_planes = s->net->n_planes};

	for (unsigned p = 0; p < s->net->n_planes; p++)
		gpu.n_sub_ports[p] = s->net->n_sub_ports;
	if (path_table_create(&s->table, &gpu, 1, &times))
		abort();
	path_table_set_probing(s->table, on_route, s);
	memset(s->probe, 0, sizeof(s->probe));
	if (s->has_segment)
		adopt_segment(s);
}

void server_step(struct server *s)
{
	if (!s->runs)
		return;
	for (int i = 0; i < PATH_SOURCE_COUNT; i++)
		bgp_feed_step(s->bgp, &s->feeds[i], s->index, s->table);
	s->is_said = true; /* perhaps */
	evaluate(s);
}

/* ---- its process ------------------------------------------------------------- */

void server_start(struct server *s)
{
	struct net *net = s->net;
	struct sub_ports_gpu *g = &s->ports.gpus[0];
	struct prober_options options;

	s->runs = true;
	s->started_ns = net->loop.now_ns;
	s->ports.n_gpus = 1;
	make_table(s);
	g->address[0] = net_address(s->index);
	g->n_planes = net->n_planes;
	for (unsigned p = 0; p < net->n_planes; p++) {
		g->n_sub_ports[p] = net->n_sub_ports;
		for (unsigned port = 0; port < net->n_sub_ports; port++)
			look_at_port(s, p, port);
	}
	for (unsigned p = 0; p < net->n_planes; p++)
		for (unsigned port = 0; port < net->n_sub_ports; port++)
			sub_ports_set_mtu(&s->ports, 0, p, port, SERVER_MTU);
	options = options_of(s);
	s->udp = sockets_udp(s->index);
	if (reflector_create(&s->reflector, s->udp, &s->ports, &keys, &on_reflector, s) ||
	    prober_create(&s->prober, s->udp, &options, &s->ports, &keys, &on_prober, s,
			  net->loop.now_ns))
		abort();
	for (int i = 0; i < PATH_SOURCE_COUNT; i++)
		bgp_feed_start(s->bgp, &s->feeds[i], (enum path_source)i, s->index, s->table,
			       !s->has_segment);
	tell_capacity(s);
	s->is_said = true;
	evaluate(s);
	server_wake(s, net->loop.now_ns);
}

void server_stop(struct server *s)
{
	if (!s->runs)
		return;
	s->runs = false;
	s->wake_ns = 0;
	keep_segment(s);
	path_table_destroy(s->table);
	s->table = NULL;
	prober_destroy(s->prober);
	reflector_destroy(s->reflector);
	udp_destroy(s->udp);
	memset(s->held, 0, sizeof(s->held));
	memset(s->held_till_ns, 0, sizeof(s->held_till_ns));
	memset(s->held_bps, 0xff, sizeof(s->held_bps));
}

void server_wake(struct server *s, uint64_t at_ns)
{
	if (at_ns < s->blocked_ns)
		at_ns = s->blocked_ns;
	if (!s->runs || (s->wake_ns && s->wake_ns <= at_ns))
		return;
	s->wake_ns = at_ns;
	loop_add(&s->net->loop, at_ns, LOOP_HOST, s->index, 0, NULL);
}

static void read_all(struct server *s, uint64_t now)
{
	if (!sockets_all.n_waiting[s->index])
		return;
	on_drain(s);
	if (prober_reads_by_tick(s->prober))
		return; /* the loop leaves its replies to prober_run() */
	for (uint32_t i = 0; i < prober_n_sockets(s->prober); i++)
		prober_read(s->prober, i, now);
}

void server_run(struct server *s)
{
	uint64_t now = s->net->loop.now_ns, next;
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
	evaluate(s);
	next = prober_next_ns(s->prober, now);
	if (next)
		server_wake(s, (next > now ? next : now) +
				       prng_between(&s->net->prng, 5, 60) * LOOP_US);
}

enum probe_state server_state(const struct server *s, unsigned to, unsigned plane)
{
	struct in6_addr peer = net_address(to);
	struct prober_view v;

	return prober_path(s->prober, 0, &peer, plane, s->net->loop.now_ns, &v) ? v.state
										: PROBE_UNPROVEN;
}

bool server_is_whole(const struct server *s, unsigned to, unsigned plane)
{
	const struct path_probe *probe = &s->probe[to][plane];
	struct in6_addr peer = net_address(to);
	enum fare_verdict verdict;
	uint64_t bps;
	uint32_t pair;

	return path_table_find(s->table, 0, &peer, &pair) &&
	       path_table_verdict(s->table, pair, plane, &verdict, &bps) &&
	       (verdict == FARE_VERDICT_OK || verdict == FARE_VERDICT_MTU) &&
	       (probe->gray_local || probe->gray_remote || probe->small_local ||
		probe->small_remote || probe->mtu_is_small ||
		bps == s->net->n_sub_ports * BGP_PORT_BPS);
}
