/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule.h"

#include <string.h>

#include "health_limits.h"
#include "schedule_internal.h"

bool schedule_is_seldom(const struct schedule *s)
{
	return s->interval_ns > s->options->interval_ns;
}

/* ---- what is merely bad ---------------------------------------------------- */

/* What a full queue takes, as fared allows for it. */
static uint64_t queue_ns(const struct schedule *s, unsigned plane)
{
	uint64_t full = HEALTH_QUEUE_BATCHES * s->burst_ns[plane];

	return full < HEALTH_QUEUE_MAX_NS ? full : HEALTH_QUEUE_MAX_NS;
}

/* Its data passes that plane. */
static bool has_data(const struct schedule *s, unsigned host, unsigned plane)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].is_on && schedule_faults_stops(s, &s->faults[i], host, plane))
			return false;
	return net_live(&s->net, host, plane);
}

/* One that it sends to, or that sends to it; NET_HOSTS: there is none. */
static unsigned draw_other(struct schedule *s, unsigned host, unsigned plane)
{
	unsigned n = s->net.n_hosts, first = (unsigned)prng_below(&s->net.prng, n);

	for (unsigned i = 0; i < n; i++) {
		unsigned other = (first + i) % n;

		if (other != host && has_data(s, other, plane))
			return other;
	}
	return NET_HOSTS;
}

/*
 * A queue of that server's cable fills, stands, and drains; one of a plane at a time, for it takes
 * the leaf's memory.
 */
static void fill_queue(struct schedule *s, unsigned host)
{
	struct prng *prng = &s->net.prng;
	unsigned plane = (unsigned)prng_below(prng, s->net.n_planes);
	unsigned other = draw_other(s, host, plane);
	struct port *port = &s->net.port[host][plane][prng_below(prng, s->net.n_sub_ports)];
	struct link *link = prng_chance(prng, 500) ? &port->up : &port->down;
	uint64_t now = s->net.loop.now_ns, most = queue_ns(s, plane), until;

	if (other == NET_HOSTS || !port->has_carrier || link->is_black ||
	    !has_data(s, host, plane) ||
	    now < (s->options->is_harsh ? link->queue_to_ns + link->queue_ns
					: s->queue[plane].until_ns))
		return;
	/* one of less than a half cannot be known from a fault */
	link->queue_ns = prng_between(prng, most * 85 / 100, most * 95 / 100);
	link->queue_from_ns = now;
	link->batch_ns = s->options->has_no_band ? 0 : s->burst_ns[plane];
	/* two to 65 servers send at once */
	link->queue_full_ns = now + link->queue_ns / prng_log(prng, 1, 64);
	link->queue_to_ns = link->queue_full_ns + prng_log(prng, 20 * LOOP_MS, LOOP_S);
	link->saw_ns = prng_chance(prng, 500) ? prng_log(prng, 4, 40) * link->queue_ns : 0;
	/* at its peaks it drops more */
	link->drop_per_mille = (uint32_t)prng_below(prng, link->saw_ns ? 200 : 50);
	until = link->queue_to_ns + link->queue_ns;
	s->queue[plane] = (struct full_queue){link, host, other, until};
	TRACE(s,
	      "%s queue of %u, plane %u, takes %.1f ms, is full after %.1f ms and for "
	      "%.1f ms, and drops %u in 1000",
	      link == &port->up ? "an outward" : "an inward", host, plane,
	      (double)link->queue_ns / 1e6, (double)(link->queue_full_ns - now) / 1e6,
	      (double)(link->queue_to_ns - link->queue_full_ns) / 1e6, link->drop_per_mille);
}

/* Queues fill at any time, and in some schedules just before their server goes away. */
static void fill_queues(struct schedule *s)
{
	struct prng *prng = &s->net.prng;
	uint64_t now = s->net.loop.now_ns;

	if (now > LOOP_START_NS + WARM_UP_NS && prng_chance(prng, s->queues_per_mille))
		fill_queue(s, (unsigned)prng_below(prng, s->net.n_hosts));
	for (unsigned i = 0; i < s->n_faults; i++) {
		struct fault *f = &s->faults[i];

		if (f->kind == FAULT_RESTART && !f->is_on && now < f->from_ns &&
		    now + queue_ns(s, f->plane) / 2 >= f->from_ns && prng_mix(s->seed + 4) % 2)
			fill_queue(s, f->host);
	}
}

static void stall(struct schedule *s, unsigned host, uint64_t ns)
{
	struct server *server = &s->servers[host];

	server->blocked_ns = s->net.loop.now_ns + ns;
	TRACE(s, "%u gets no CPU time for %.1f ms", host, (double)ns / 1e6);
}

/* One server gets no CPU time, or all of them do not: a hypervisor took it. */
static void stall_some(struct schedule *s)
{
	struct prng *prng = &s->net.prng;
	bool all = prng_chance(prng, 200);
	uint64_t ns = prng_log(prng, LOOP_MS, (s->options->is_harsh ? 400 : 90) * LOOP_MS);

	for (unsigned h = 0; h < s->net.n_hosts; h++)
		if (all || prng_chance(prng, 300))
			stall(s, h, ns - prng_below(prng, ns / 4));
}

/* A client says that data was acknowledged just now, on all paths. */
static void lie(struct schedule *s, struct server *server)
{
	uint64_t now = s->net.loop.now_ns;

	for (unsigned to = 0; server->runs && to < s->net.n_hosts; to++)
		for (unsigned p = 0; to != server->index && p < s->net.n_planes; p++) {
			struct in6_addr peer = net_address(to);

			prober_traffic(server->prober, 0, &peer, p, now, now, now);
		}
}

/* Applications say where they send. */
static void post(struct schedule *s, struct server *server)
{
	uint64_t now = s->net.loop.now_ns;

	for (unsigned p = 0; server->runs && p < s->net.n_planes; p++)
		prober_set_traffic_known(server->prober, 0, p, true, now);
	for (unsigned to = 0; server->runs && to < s->net.n_hosts; to++) {
		struct in6_addr peer = net_address(to);

		if (to != server->index && s->is_active[server->index][to])
			prober_traffic(server->prober, 0, &peer, 0, now, 0, now);
	}
}

static bool has_queue(const struct schedule *s, unsigned host, unsigned plane)
{
	for (unsigned i = 0; i < s->net.n_sub_ports; i++) {
		const struct port *port = &s->net.port[host][plane][i];

		if (s->net.loop.now_ns < port->up.queue_to_ns + port->up.queue_ns ||
		    s->net.loop.now_ns < port->down.queue_to_ns + port->down.queue_ns)
			return true;
	}
	return false;
}

/* Paths of which one end has a queue, or is late. */
static void count_bad(struct schedule *s)
{
	unsigned n = s->net.n_hosts, n_paths = 0;

	for (unsigned p = 0; p < s->net.n_planes; p++) {
		unsigned good = 0;

		for (unsigned h = 0; h < n; h++)
			good += s->net.loop.now_ns >= s->servers[h].blocked_ns &&
				!has_queue(s, h, p);
		n_paths += n * (n - 1) - good * (good ? good - 1 : 0);
	}
	s->stats->bad_hours += n_paths * (double)STEP_NS / 3.6e12;
}

/* ---- time ------------------------------------------------------------------ */

static void step(struct schedule *s)
{
	uint64_t now = s->net.loop.now_ns;
	bool is_bad = now < LOOP_START_NS + FAULTS_NS + 2 * LOOP_S;

	for (unsigned i = 0; i < s->n_faults; i++) {
		struct fault *f = &s->faults[i];

		if (!f->is_on && now >= f->from_ns && now < f->to_ns)
			schedule_faults_set(s, f, true);
		schedule_faults_flap(s, f);
		schedule_checks_fault(s, f);
		if (f->is_on && now >= f->to_ns) {
			schedule_checks_fault_end(s, f);
			schedule_faults_set(s, f, false);
		}
	}
	if (s->has_queues && is_bad)
		fill_queues(s);
	if (s->has_stalls && is_bad && prng_chance(&s->net.prng, 30))
		stall_some(s);
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		server_step(&s->servers[h]);
		if (s->has_idle)
			post(s, &s->servers[h]);
		if (s->has_lies)
			lie(s, &s->servers[h]);
	}
	count_bad(s);
	loop_add(&s->net.loop, now + STEP_NS, LOOP_STEP, 0, 0, NULL);
}

static unsigned draw_n_hosts(uint64_t seed, struct prng *prng)
{
	unsigned few = (unsigned)prng_between(prng, 2, HOSTS_FEW);

	if (seed % 200 == 101) /* more paths than the budget of probes pays for, in most cases */
		return HOSTS_TICK + 1 + (unsigned)(prng_mix(seed) % (NET_HOSTS - HOSTS_TICK));
	return seed % 20 == 0 ? HOSTS_TICK : few;
}

/* n_hosts: 0: as the seed has it. */
static void begin_net(struct schedule *s, unsigned n_hosts)
{
	struct net *net = &s->net;
	struct prng *prng = &net->prng;
	unsigned drawn;

	prng->state = prng_mix(s->seed);
	drawn = draw_n_hosts(s->seed, prng);
	net->n_hosts = n_hosts ? n_hosts : drawn;
	net->n_planes = (unsigned)prng_between(prng, 2, NET_PLANES);
	if (net->n_hosts >= HOSTS_TICK)
		net->n_planes = NET_PLANES;
	net->n_sub_ports = (unsigned)prng_between(prng, 1, SUB_PORTS_MOST);
	net->salt = (uint32_t)prng_next(prng);
	sockets_init(net);
	for (unsigned h = 0; h < HOSTS_TICK || h < net->n_hosts; h++)
		for (unsigned p = 0; p < NET_PLANES; p++)
			for (unsigned i = 0; i < SUB_PORTS_MOST; i++) {
				struct port *port = &net->port[h][p][i];

				port->up.delay_ns = prng_between(prng, 1, 8) * LOOP_US;
				port->down.delay_ns = prng_between(prng, 1, 8) * LOOP_US;
			}
}

/* 800 to 1.3 Gb/s: of all planes, or, in three of ten schedules, of each. */
static void draw_speeds(struct schedule *s)
{
	struct prng *prng = &s->net.prng;
	bool is_mixed = prng_chance(prng, 300);

	for (unsigned p = 0; p < s->net.n_planes; p++)
		s->burst_ns[p] =
			p && !is_mixed ? s->burst_ns[0] : prng_log(prng, 650, 400 * LOOP_US);
}

static void begin(struct schedule *s)
{
	struct prng *prng = &s->net.prng;
	uint32_t max_loss_ppm = 20000;

	s->has_queues = prng_chance(prng, 500);
	s->queues_per_mille = (unsigned)prng_log(prng, 2, 200);
	s->has_stalls = prng_chance(prng, s->has_queues ? 300 : 600);
	s->has_lies = prng_chance(prng, 200);
	s->has_loss = prng_chance(prng, 300);
	s->has_idle = !s->has_lies && prng_chance(prng, 500);
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			s->is_active[from][to] = !s->has_idle || prng_chance(prng, 500);
	if (s->options->is_alone)
		s->has_queues = s->has_stalls = s->has_lies = s->has_loss = false;
	draw_speeds(s);
	s->n_faults = (unsigned)prng_below(prng, MAX_FAULTS + 1);
	for (unsigned i = 0; i < s->n_faults; i++)
		schedule_faults_draw(s, &s->faults[i]);
	schedule_faults_draw_mtu(s);
	if (s->options->is_unrouted)
		schedule_faults_draw_unrouted(s);
	/* where all losses are tolerated, silence alone tells of a dead path */
	if (s->has_lies && prng_chance(prng, 500))
		max_loss_ppm = 1000000;
	TRACE(s, "%s%s%s%s%slosses up to %u ppm are tolerated",
	      s->has_queues ? "queues fill; " : "", s->has_stalls ? "servers stall; " : "",
	      s->has_lies ? "false claims; " : "", s->has_loss ? "one in 1000 is lost; " : "",
	      s->has_idle ? "idle peers; " : "", max_loss_ppm);
	bgp_init(&s->bgp, &s->net, s->seed, LOOP_START_NS + WARM_UP_NS, LOOP_START_NS + FAULTS_NS);
	if (s->options->is_alone)
		s->bgp.n = 0;
	for (unsigned i = 0; i < s->bgp.n; i++)
		TRACE(s, "route event: %s, host %u to %u plane %u, %.3f to %.3f ms",
		      bgp_event_name(s->bgp.events[i].kind), s->bgp.events[i].host,
		      s->bgp.events[i].to, s->bgp.events[i].plane,
		      (double)(s->bgp.events[i].from_ns - LOOP_START_NS) / 1e6,
		      (double)(s->bgp.events[i].to_ns - LOOP_START_NS) / 1e6);
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		struct server *server = &s->servers[h];

		*server = (struct server){.net = &s->net,
					  .index = h,
					  .arg = s,
					  .bgp = &s->bgp,
					  .max_loss_ppm = max_loss_ppm,
					  .interval_ns = s->options->interval_ns,
					  .multiplier = s->options->multiplier,
					  .queue_max_ns =
						  s->options->has_no_band ? HEALTH_QUEUE_MAX_NS : 0,
					  .on_change = schedule_checks_change,
					  .on_gray = schedule_checks_gray,
					  .on_mtu = schedule_checks_mtu,
					  .on_route = schedule_checks_route,
					  .on_publish = schedule_checks_publish};
		memset(server->held_bps, 0xff, sizeof(server->held_bps));
		for (unsigned p = 0; p < s->net.n_planes; p++)
			server->ports.gpus[0].burst_ns[p] = s->burst_ns[p];
		server_start(server);
	}
	schedule_faults_links(s);
	loop_add(&s->net.loop, s->net.loop.now_ns, LOOP_STEP, 0, 0, NULL);
}

static void run(struct schedule *s)
{
	/* where a window of probes takes longer, a fault is found longer after its end */
	uint64_t end_ns = LOOP_START_NS + (schedule_is_seldom(s) ? 2 : 1) * END_NS;

	struct loop_event e;

	while (s->net.loop.now_ns < end_ns && !s->trace->is_violated &&
	       loop_next(&s->net.loop, &e)) {
		switch (e.kind) {
		case LOOP_PACKET:
			sockets_deliver(e.object);
			server_wake(&s->servers[e.index],
				    e.at_ns + prng_between(&s->net.prng, 5, 60) * LOOP_US);
			break;
		case LOOP_HOST:
			server_run(&s->servers[e.index]);
			break;
		case LOOP_STEP:
			step(s);
			break;
		default:
			break;
		}
	}
}

/* The budget stretches it. */
static uint64_t interval_ns(const struct schedule *s)
{
	uint64_t n_paths = (s->net.n_hosts - 1) * s->net.n_planes;
	uint64_t least = n_paths * LOOP_S / PROBER_MAX_PROBES_PER_S;

	return least > s->options->interval_ns ? least : s->options->interval_ns;
}

uint64_t schedule_run(struct sim_trace *trace, const struct schedule_options *options,
		      struct schedule_stats *stats)
{
	static struct schedule s;
	double hours;
	uint64_t digest;

	memset(&s, 0, sizeof(s));
	s.trace = trace;
	trace->loop = &s.net.loop;
	s.seed = trace->seed;
	s.options = options;
	s.stats = stats;
	begin_net(&s, options->n_servers);
	s.interval_ns = interval_ns(&s);
	begin(&s);
	run(&s);
	if (!trace->is_violated)
		schedule_checks_end(&s);
	hours = (double)(s.net.loop.now_ns - LOOP_START_NS) / 3.6e12;
	stats->path_hours[schedule_is_seldom(&s)] +=
		hours * s.net.n_hosts * (s.net.n_hosts - 1) * s.net.n_planes;
	digest = s.net.loop.digest;
	for (unsigned h = 0; h < s.net.n_hosts; h++)
		server_stop(&s.servers[h]);
	net_fini(&s.net);
	return digest;
}
