/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "health_limits.h"
#include "server.h"

#define STEP_NS	   (5 * NET_MS)
#define WARM_UP_NS (500 * NET_MS)
#define FAULTS_NS  (3500 * NET_MS) /* all begin before */
#define END_NS	   (9 * NET_S)	   /* and are long mended by then */
#define MAX_FAULTS 2u
/* what a fault did may be found so long after it: a window of probes that skip, and some */
#define GRACE_NS (2 * NET_S)
/* a dead plane is found within: the allowance of a late server, stalls, claims of clients */
#define FOUND_NS  (600 * NET_MS)
#define NOTICE_NS (1000 * NET_MS)

struct fault {
	enum fault_kind kind;
	unsigned plane, host, sub_port;
	bool outward; /* one-way: what the server sends */
	uint32_t per_mille;
	uint64_t from_ns, to_ns;
	bool is_on, is_checked;
};

struct schedule {
	struct net net;
	struct server servers[NET_HOSTS];
	uint64_t seed, start_ns;
	struct fault faults[MAX_FAULTS];
	unsigned n_faults;
	/* what else is bad in this schedule */
	bool has_queues, has_stalls, has_lies, has_loss;
	bool has_idle;			      /* pairs without traffic, and that is known */
	bool is_active[NET_HOSTS][NET_HOSTS]; /* has traffic */
	uint64_t burst_ns;
	uint64_t down_ns[NET_HOSTS][NET_HOSTS][NET_PLANES]; /* went down last; 0: is not down */
	bool is_traced, is_violated;
	struct schedule_stats *stats;
};

const char *schedule_fault_name(enum fault_kind kind)
{
	static const char *const names[] = {"leaf-gray",     "one-way",	      "leaf-lossy",
					    "sub-port-gray", "sub-port-down", "restart"};

	return names[kind];
}

static double at_ms(const struct schedule *s)
{
	return (double)(s->net.now_ns - s->start_ns) / 1e6;
}

__attribute__((format(printf, 3, 4))) static void say(struct schedule *s, bool violation,
						      const char *format, ...)
{
	va_list args;

	if (violation && !s->is_violated)
		printf("violation: seed %llu: ", (unsigned long long)s->seed);
	else if (!s->is_traced)
		return;
	s->is_violated |= violation;
	printf("%9.3f ms ", at_ms(s));
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* ---- faults --------------------------------------------------------------- */

static bool concerns(const struct fault *f, unsigned from, unsigned to, unsigned plane)
{
	if (f->kind == FAULT_RESTART || f->plane != plane)
		return false;
	return f->kind == FAULT_LEAF_GRAY || f->kind == FAULT_LEAF_LOSSY || f->host == from ||
	       f->host == to;
}

static bool is_touched(const struct schedule *s, unsigned from, unsigned to, unsigned plane)
{
	uint64_t now = s->net.now_ns;

	for (unsigned i = 0; i < s->n_faults; i++)
		if (concerns(&s->faults[i], from, to, plane) && now >= s->faults[i].from_ns &&
		    now < s->faults[i].to_ns + GRACE_NS)
			return true;
	return false;
}

static void draw_fault(struct schedule *s, struct fault *f)
{
	struct prng *prng = &s->net.prng;
	uint64_t length = prng_log(prng, 200 * NET_MS, 2 * NET_S);

	*f = (struct fault){
		.kind = (enum fault_kind)prng_below(prng, FAULT_KINDS),
		.plane = (unsigned)prng_below(prng, s->net.n_planes),
		.host = (unsigned)prng_below(prng, s->net.n_hosts),
		.sub_port = (unsigned)prng_below(prng, s->net.n_sub_ports),
		.outward = prng_chance(prng, 500),
		.per_mille = (uint32_t)prng_between(prng, 600, 900),
		.from_ns = s->start_ns + prng_between(prng, WARM_UP_NS, FAULTS_NS),
	};
	f->to_ns = f->from_ns + length;
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
		default:
			break;
		}
}

/* All links as the faults that are on have them. */
static void set_links(struct schedule *s)
{
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		for (unsigned p = 0; p < s->net.n_planes; p++)
			for (unsigned i = 0; i < s->net.n_sub_ports; i++) {
				struct port *port = &s->net.port[h][p][i];

				port->up.is_black = port->down.is_black = false;
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

/* Of all servers, or of the one whose cables it is. */
static void stop_data(struct schedule *s, const struct fault *f)
{
	bool all = f->kind == FAULT_LEAF_GRAY || f->kind == FAULT_LEAF_LOSSY;

	for (unsigned h = 0; h < s->net.n_hosts; h++)
		if (all || h == f->host)
			s->net.busy_until_ns[h][f->plane] = 0;
}

static void set_fault(struct schedule *s, struct fault *f, bool on)
{
	struct port *port = s->net.port[f->host][f->plane];

	f->is_on = on;
	*(on ? &f->from_ns : &f->to_ns) = s->net.now_ns; /* steps are coarser than what was drawn */
	say(s, false, "%s %s plane %u host %u sub-port %u", schedule_fault_name(f->kind),
	    on ? "begins" : "ends", f->plane, f->host, f->sub_port);
	set_links(s);
	if (f->kind != FAULT_RESTART)
		stop_data(s, f);
	if (f->kind == FAULT_SUB_PORT_DOWN) {
		port[f->sub_port].has_carrier = !is_unplugged(s, f);
		server_links(&s->servers[f->host], f->plane, f->sub_port);
	}
	if (f->kind == FAULT_RESTART && on)
		server_stop(&s->servers[f->host]);
	else if (f->kind == FAULT_RESTART && !is_away(s, f->host))
		server_start(&s->servers[f->host]);
}

/* ---- what is merely bad ---------------------------------------------------- */

/* One queue of a plane is full for a while: no longer than fared allows for. */
static void fill_queue(struct schedule *s)
{
	struct prng *prng = &s->net.prng;
	unsigned plane = (unsigned)prng_below(prng, s->net.n_planes);
	struct port *port = &s->net.port[prng_below(prng, s->net.n_hosts)][plane]
					[prng_below(prng, s->net.n_sub_ports)];
	struct link *link = prng_chance(prng, 500) ? &port->up : &port->down;
	uint64_t now = s->net.now_ns, most = HEALTH_QUEUE_BATCHES * s->burst_ns;

	if (most > HEALTH_QUEUE_MAX_NS)
		most = HEALTH_QUEUE_MAX_NS;
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].is_on && s->faults[i].plane == plane)
			return; /* nothing fills a plane that passes nothing */
	for (unsigned h = 0; h < s->net.n_hosts; h++)
		if (now < s->net.busy_until_ns[h][plane])
			return;
	link->queue_from_ns = now;
	link->queue_to_ns = now + prng_log(prng, 20 * NET_MS, NET_S);
	/* one of less than a half is not told from a fault: HEALTH_CONGESTED_NS */
	link->queue_ns = prng_between(prng, most * 85 / 100, most * 95 / 100);
	link->drop_per_mille = (uint32_t)prng_below(prng, 50);
	for (unsigned h = 0; h < s->net.n_hosts; h++)
		s->net.busy_until_ns[h][plane] = link->queue_to_ns + link->queue_ns;
	say(s, false, "a queue of plane %u takes %.1f ms for %.1f ms, and drops %u in 1000", plane,
	    (double)link->queue_ns / 1e6, (double)(link->queue_to_ns - now) / 1e6,
	    link->drop_per_mille);
}

static void stall(struct schedule *s, unsigned host, uint64_t ns)
{
	struct server *server = &s->servers[host];

	server->blocked_ns = s->net.now_ns + ns;
	say(s, false, "%u gets no CPU time for %.1f ms", host, (double)ns / 1e6);
}

/* One server gets no CPU time, or all of them do not: a hypervisor took it. */
static void stall_some(struct schedule *s)
{
	struct prng *prng = &s->net.prng;
	bool all = prng_chance(prng, 200);
	uint64_t ns = prng_log(prng, NET_MS, 90 * NET_MS);

	for (unsigned h = 0; h < s->net.n_hosts; h++)
		if (all || prng_chance(prng, 300))
			stall(s, h, ns - prng_below(prng, ns / 4));
}

/* A client says that data was acknowledged just now, on all paths. */
static void lie(struct schedule *s, struct server *server)
{
	uint64_t now = s->net.now_ns;

	for (unsigned to = 0; server->runs && to < s->net.n_hosts; to++)
		for (unsigned p = 0; to != server->index && p < s->net.n_planes; p++) {
			struct in6_addr peer = net_address(to);

			prober_traffic(server->prober, 0, &peer, p, now, now, now);
		}
}

/* Applications say where they send. */
static void post(struct schedule *s, struct server *server)
{
	uint64_t now = s->net.now_ns;

	for (unsigned p = 0; server->runs && p < s->net.n_planes; p++)
		prober_traffic_told(server->prober, 0, p, true, now);
	for (unsigned to = 0; server->runs && to < s->net.n_hosts; to++) {
		struct in6_addr peer = net_address(to);

		if (to != server->index && s->is_active[server->index][to])
			prober_traffic(server->prober, 0, &peer, 0, now, 0, now);
	}
}

/* ---- checks ---------------------------------------------------------------- */

/* No fault but this one in the time that counts: other planes can tell. */
static bool is_alone(const struct schedule *s, const struct fault *f)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (&s->faults[i] != f && s->faults[i].from_ns < f->to_ns &&
		    f->from_ns < s->faults[i].to_ns + GRACE_NS)
			return false;
	return true;
}

static bool is_calm(const struct schedule *s)
{
	return !s->has_queues && !s->has_stalls && !s->has_lies && !s->has_loss;
}

static void note_time(struct schedule *s, struct schedule_times times[2], uint64_t ns)
{
	struct schedule_times *t = &times[!is_calm(s)];

	t->ms[t->n++ % SCHEDULE_TIMES] = (float)((double)ns / 1e6);
}

/* Of a fault that cuts the path, and is the only one. */
static void note_found(struct schedule *s, unsigned from, unsigned to, unsigned plane)
{
	for (unsigned i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->faults[i];

		if ((f->kind == FAULT_LEAF_GRAY || f->kind == FAULT_ONE_WAY) && f->is_on &&
		    concerns(f, from, to, plane) && is_alone(s, f) && s->is_active[from][to] &&
		    s->down_ns[from][to][plane] < f->from_ns)
			note_time(s, s->stats->found[f->kind], s->net.now_ns - f->from_ns);
	}
}

static void on_change(void *arg, unsigned from, unsigned to, unsigned plane,
		      const struct probe_fsm_change *change)
{
	struct schedule *s = arg;
	bool local = strstr(change->reason, "our ports or the route") != NULL;

	say(s, false, "%u->%u plane %u: %s -> %s, %s (%u silent for %.1f ms, %u of %u lost)", from,
	    to, plane, probe_state_name(change->old_state), probe_state_name(change->new_state),
	    change->reason, change->n_silent, (double)change->silent_ns / 1e6, change->n_lost,
	    change->n_window);
	if (change->new_state == PROBE_DOWN) {
		note_found(s, from, to, plane);
		s->down_ns[from][to][plane] = s->net.now_ns;
		if (local || is_touched(s, from, to, plane))
			return;
		s->stats->false_downs++;
		say(s, true, "false down %u->%u plane %u: %s", from, to, plane, change->reason);
		return;
	}
	if (change->old_state != PROBE_DOWN)
		return;
	s->down_ns[from][to][plane] = 0;
	for (unsigned i = 0; i < s->n_faults; i++)
		if (concerns(&s->faults[i], from, to, plane) && is_alone(s, &s->faults[i]) &&
		    s->is_active[from][to] && s->net.now_ns > s->faults[i].to_ns)
			note_time(s, s->stats->recovered, s->net.now_ns - s->faults[i].to_ns);
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_LEAF_LOSSY && s->faults[i].is_on &&
		    concerns(&s->faults[i], from, to, plane) &&
		    change->new_state == PROBE_RECOVERING &&
		    s->net.now_ns > s->faults[i].from_ns + 100 * NET_MS)
			say(s, true, "%u->%u plane %u recovers while %u in 1000 are lost each way",
			    from, to, plane, s->faults[i].per_mille);
}

/* What waited in one cable's queue when the peer went away looks like that cable's loss. */
static bool is_restarting(const struct schedule *s, unsigned from, unsigned to)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_RESTART && s->net.now_ns >= s->faults[i].from_ns &&
		    (s->faults[i].host == from || s->faults[i].host == to))
			return true;
	return false;
}

static void on_gray(void *arg, unsigned from, unsigned to, unsigned plane)
{
	struct schedule *s = arg;

	say(s, false, "%u->%u plane %u: a sub-port is gray", from, to, plane);
	if (!is_touched(s, from, to, plane) && !is_restarting(s, from, to))
		say(s, true, "a healthy sub-port is gray: %u->%u plane %u", from, to, plane);
}

/* At its end: every path that it cut was down by then. Idle ones are found when they are asked. */
static void check_found(struct schedule *s, const struct fault *f)
{
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++) {
			uint64_t down = s->down_ns[from][to][f->plane];

			if (from == to || !concerns(f, from, to, f->plane) ||
			    !s->is_active[from][to])
				continue;
			if (down < f->from_ns || down > f->from_ns + FOUND_NS)
				say(s, true, "%s: %u->%u plane %u is not down",
				    schedule_fault_name(f->kind), from, to, f->plane);
		}
}

/* Every peer knows that the sub-port carries nothing, or that all do again. */
static void check_notices(struct schedule *s, const struct fault *f, bool limited)
{
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		const struct server *peer = &s->servers[h];

		/* one that has just started is told with the next slow probe */
		if (s->net.now_ns < peer->boot + NET_S + NOTICE_NS)
			continue;
		if (h != f->host && peer->runs && s->servers[f->host].runs &&
		    (peer->held_bps[f->host][f->plane] != NOTICE_WIRE_ANY) != limited)
			say(s, true, "%u has not heard that plane %u of %u is %s", h, f->plane,
			    f->host, limited ? "limited" : "whole");
	}
}

static void check_fault(struct schedule *s, struct fault *f)
{
	uint64_t now = s->net.now_ns;

	if (f->is_checked || !f->is_on || now < f->from_ns + NOTICE_NS)
		return;
	f->is_checked = true;
	if (f->kind == FAULT_SUB_PORT_DOWN)
		check_notices(s, f, true);
	else if ((f->kind == FAULT_LEAF_GRAY || f->kind == FAULT_ONE_WAY) && is_alone(s, f))
		check_found(s, f);
}

static void check_end(struct schedule *s)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_SUB_PORT_DOWN)
			check_notices(s, &s->faults[i], false);
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			for (unsigned p = 0; from != to && p < s->net.n_planes; p++) {
				enum probe_state state = server_state(&s->servers[from], to, p);

				if (state != PROBE_UP && state != PROBE_SUSPECT)
					say(s, true, "%u->%u plane %u is %s in the end", from, to,
					    p, probe_state_name(state));
			}
}

/* ---- time ------------------------------------------------------------------ */

static void step(struct schedule *s)
{
	uint64_t now = s->net.now_ns;
	bool is_bad = now < s->start_ns + FAULTS_NS + 2 * NET_S;

	for (unsigned i = 0; i < s->n_faults; i++) {
		struct fault *f = &s->faults[i];

		if (!f->is_on && now >= f->from_ns && now < f->to_ns)
			set_fault(s, f, true);
		check_fault(s, f);
		if (f->is_on && now >= f->to_ns)
			set_fault(s, f, false);
	}
	if (s->has_queues && is_bad && now > s->start_ns + WARM_UP_NS &&
	    prng_chance(&s->net.prng, 100))
		fill_queue(s);
	if (s->has_stalls && is_bad && prng_chance(&s->net.prng, 30))
		stall_some(s);
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		if (s->has_idle)
			post(s, &s->servers[h]);
		if (s->has_lies)
			lie(s, &s->servers[h]);
	}
	net_add(&s->net, now + STEP_NS, EVENT_STEP, 0, NULL);
}

static void begin(struct schedule *s)
{
	struct prng *prng = &s->net.prng;

	s->start_ns = s->net.now_ns;
	s->has_queues = prng_chance(prng, 500);
	s->has_stalls = !s->has_queues && prng_chance(prng, 600);
	s->has_lies = prng_chance(prng, 200);
	s->has_loss = prng_chance(prng, 300);
	s->has_idle = !s->has_lies && prng_chance(prng, 500);
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			s->is_active[from][to] = !s->has_idle || prng_chance(prng, 500);
	s->burst_ns = prng_log(prng, 2 * NET_US, 400 * NET_US); /* 260 to 1.3 Gb/s */
	s->n_faults = (unsigned)prng_below(prng, MAX_FAULTS + 1);
	for (unsigned i = 0; i < s->n_faults; i++)
		draw_fault(s, &s->faults[i]);
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		struct server *server = &s->servers[h];

		*server = (struct server){.net = &s->net,
					  .index = h,
					  .arg = s,
					  .on_change = on_change,
					  .on_gray = on_gray};
		memset(server->held_bps, 0xff, sizeof(server->held_bps));
		for (unsigned p = 0; p < s->net.n_planes; p++)
			server->ports.gpus[0].burst_ns[p] = s->burst_ns;
		server_start(server);
	}
	set_links(s);
	net_add(&s->net, s->net.now_ns, EVENT_STEP, 0, NULL);
}

static void run(struct schedule *s)
{
	while (s->net.now_ns < s->start_ns + END_NS && !s->is_violated) {
		struct event e = net_next(&s->net);

		switch (e.kind) {
		case EVENT_PACKET:
			net_deliver(&s->net, e.packet);
			server_wake(&s->servers[e.index],
				    e.at_ns + prng_between(&s->net.prng, 5, 60) * NET_US);
			break;
		case EVENT_WAKE:
			server_run(&s->servers[e.index]);
			break;
		case EVENT_STEP:
			step(s);
			break;
		}
	}
}

bool schedule_run(uint64_t seed, bool is_traced, struct schedule_stats *stats)
{
	static struct schedule s;
	double hours;

	memset(&s, 0, sizeof(s));
	s.seed = seed;
	s.is_traced = is_traced;
	s.stats = stats;
	net_init(&s.net, seed);
	begin(&s);
	run(&s);
	if (!s.is_violated)
		check_end(&s);
	hours = at_ms(&s) / 3.6e6;
	stats->schedules++;
	stats->path_hours += hours * s.net.n_hosts * (s.net.n_hosts - 1) * s.net.n_planes;
	stats->violations += s.is_violated;
	for (unsigned h = 0; h < s.net.n_hosts; h++)
		server_stop(&s.servers[h]);
	net_fini(&s.net);
	return !s.is_violated;
}
