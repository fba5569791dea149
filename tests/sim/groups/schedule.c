/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A schedule has five parts: faults and writes; everything is mended; all that was begun must end
 * within QUIET_NS; groups and domains are closed; nothing may be left.
 */
#include "schedule.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "daemon.h"
#include "fabric.h"
#include "heap.h"
#include "host.h"
#include "nic.h"

#define MAX_FAULTS 16
#define REPLAYS	   24
#define LOOKS	   12 /* times that the applications write, whatever happens */
/* several times 10 s, which a handshake that nobody answers takes, and back-offs */
#define QUIET_NS     (40 * LOOP_S)
#define FREEZE_NS    (60 * LOOP_S)
#define FREEZE_LOOKS 8
#define LATE_NS	     (6 * LOOP_S)   /* the longest that a packet is held */
#define SETTLE_NS    (30 * LOOP_MS) /* an idle process looks at what the daemon says every 20 ms */
#define CLOSE_NS     (15 * LOOP_S)  /* until a peer's end is known to be closed */
#define EMPTY_NS     (4 * LOOP_S)   /* longer than HALT_NS of nic.c */
#define EVENTS_MOST  3000000	    /* more is a loop */

enum fault_kind {
	FAULT_CARRIER,	   /* a sub-port is down */
	FAULT_BLACK,	   /* a link delivers nothing in one direction */
	FAULT_BLACK_PLANE, /* all links of a host on a plane, in one direction */
	FAULT_HOLD,	   /* a link delivers late */
	FAULT_HOLD_PLANE,
	FAULT_LOSS,
	FAULT_COPIES, /* packets arrive twice, the copy late */
	FAULT_JITTER,
	FAULT_REHASH,
	FAULT_DAEMON_AWAY,
	FAULT_DAEMON_LIES,
	FAULT_WEIGHT,
	FAULT_STOP, /* the process is not scheduled */
	FAULT_KILL,
	FAULT_CLOSE,	  /* the application closes a group */
	FAULT_BREAK,	  /* a QP fails by itself */
	FAULT_REPLAY,	  /* recorded control messages are sent again */
	FAULT_MTU,	  /* a link drops packets of data above some length, and says nothing */
	FAULT_DEVICE_MTU, /* a host's own device refuses them */
	FAULT_SWALLOW,	  /* a device's QP does nothing with its work, and says nothing */
	FAULT_FREEZE,	  /* the process is not scheduled for FREEZE_NS */
	FAULT_RELEASE,	  /* memory that peers use is deregistered, and used for other things */
	FAULT_KINDS,
};

static const char *const fault_names[] = {
	"carrier lost",	  "black link",	     "black plane",	"held link",  "held plane",
	"loss",		  "copies",	     "jitter",		"rehash",     "daemon away",
	"daemon lies",	  "weight",	     "process stopped", "kill",	      "group closed",
	"QP broken",	  "replay",	     "path MTU",	"device MTU", "QP swallows",
	"process frozen", "memory released",
};

struct fault {
	enum fault_kind kind;
	unsigned host, plane, sub_port, direction;
	uint64_t length_ns;
};

enum { STEP_END = 0x100, STEP_LOOK = 0x200, STEP_HEAL = 0x300 };

struct schedule {
	struct sim sim;
	struct fault faults[MAX_FAULTS];
	unsigned n_faults;
};

/* ---- faults ---- */

static void set_plane(struct sim *sim, const struct fault *f, bool is_black, uint64_t hold_ns)
{
	for (unsigned s = 0; s < sim->net.n_sub_ports; s++) {
		struct link *link = fabric_link(&sim->net.port[f->host][f->plane][s], f->direction);

		link->is_black = is_black;
		link->hold_until_ns = hold_ns;
	}
}

static void set_carrier(struct sim *sim, const struct fault *f, bool has_carrier)
{
	struct port *port = &sim->net.port[f->host][f->plane][f->sub_port];

	port->has_carrier = has_carrier;
	port->is_lingering = !has_carrier && prng_chance(&sim->prng, 300);
	daemon_changed(sim);
}

static unsigned other_host(struct sim *sim, unsigned host)
{
	unsigned n = sim->net.n_hosts;

	return (host + 1 + (unsigned)prng_below(&sim->prng, n - 1)) % n;
}

static void begin_fault(struct sim *sim, const struct fault *f)
{
	struct link *link =
		fabric_link(&sim->net.port[f->host][f->plane][f->sub_port], f->direction);
	struct fare *fare = &sim->daemon[f->host].fare;
	struct prng *p = &sim->prng;
	uint64_t until_ns = sim_now_ns(sim) + f->length_ns;

	TRACE(sim, "fault: %s, host %u plane %u sub-port %u direction %u for %.3f ms",
	      fault_names[f->kind], f->host, f->plane, f->sub_port, f->direction,
	      (double)f->length_ns / 1e6);
	switch (f->kind) {
	case FAULT_CARRIER:
		set_carrier(sim, f, false);
		break;
	case FAULT_BLACK:
		link->is_black = true;
		break;
	case FAULT_BLACK_PLANE:
		set_plane(sim, f, true, 0);
		break;
	case FAULT_HOLD:
		link->hold_until_ns = until_ns;
		break;
	case FAULT_HOLD_PLANE:
		set_plane(sim, f, false, until_ns);
		if (!prng_chance(p, 600))
			break;
		/* and one end's daemon is quick to find out: what is held is of dead QPs then */
		fare = &sim->daemon[prng_chance(p, 500) ? f->host : other_host(sim, f->host)].fare;
		fare->is_lying[f->plane] = true;
		loop_add(&sim->net.loop, sim_now_ns(sim) + prng_log(p, 5 * LOOP_US, 5 * LOOP_MS),
			 LOOP_DAEMON, fare->host, 0, NULL);
		break;
	case FAULT_LOSS:
		link->loss_per_mille = (uint32_t)prng_log(p, 5, 500);
		break;
	case FAULT_COPIES:
		link->copy_per_mille = (uint32_t)prng_log(p, 20, 500);
		link->copy_late_ns = prng_log(p, LOOP_US, 3 * LOOP_S);
		break;
	case FAULT_JITTER:
		link->jitter_ns = prng_log(p, 1000, 3 * LOOP_MS);
		break;
	case FAULT_REHASH:
		sim->net.salt = (uint32_t)prng_next(p);
		break;
	case FAULT_DAEMON_AWAY:
		fare->frozen_until_ns = until_ns;
		break;
	case FAULT_DAEMON_LIES:
		fare->is_lying[f->plane] = true;
		daemon_changed(sim);
		break;
	case FAULT_WEIGHT:
		fare->bps[f->plane] = prng_between(p, 1, 8) * UINT64_C(50000000000);
		daemon_changed(sim);
		break;
	case FAULT_STOP:
		sim->host[f->host].stopped_until_ns = until_ns;
		break;
	case FAULT_KILL:
		host_kill(sim, f->host);
		break;
	case FAULT_CLOSE:
		app_close_some(sim, f->host);
		break;
	case FAULT_BREAK:
		if (sim->host[f->host].nic)
			nic_break_qp(sim->host[f->host].nic);
		break;
	case FAULT_REPLAY:
		for (unsigned i = 0; i < REPLAYS; i++)
			loop_add(&sim->net.loop, sim_now_ns(sim) + prng_below(p, f->length_ns),
				 LOOP_REPLAY, 0, 0, NULL);
		break;
	case FAULT_MTU:
		link->most_bytes = (uint32_t)prng_between(p, 1, SIM_MTU - 1);
		break;
	case FAULT_DEVICE_MTU:
		sim->net.port[f->host][f->plane][f->sub_port].device_mtu =
			(uint32_t)prng_below(p, SIM_MTU);
		break;
	case FAULT_SWALLOW:
		if (sim->host[f->host].nic)
			nic_swallow(sim->host[f->host].nic);
		break;
	case FAULT_FREEZE:
		sim->host[f->host].stopped_until_ns = sim_now_ns(sim) + FREEZE_NS;
		break;
	case FAULT_RELEASE:
		app_release_memory(sim, f->host);
		break;
	case FAULT_KINDS:
		break;
	}
}

static void end_fault(struct sim *sim, const struct fault *f)
{
	struct link *link =
		fabric_link(&sim->net.port[f->host][f->plane][f->sub_port], f->direction);

	if (sim->is_healed)
		return;
	TRACE(sim, "fault over: %s, host %u plane %u sub-port %u", fault_names[f->kind], f->host,
	      f->plane, f->sub_port);
	switch (f->kind) {
	case FAULT_CARRIER:
		set_carrier(sim, f, true);
		break;
	case FAULT_BLACK:
		link->is_black = false;
		break;
	case FAULT_BLACK_PLANE:
		set_plane(sim, f, false, 0);
		break;
	case FAULT_LOSS:
		link->loss_per_mille = 0;
		break;
	case FAULT_COPIES:
		link->copy_per_mille = 0;
		break;
	case FAULT_JITTER:
		link->jitter_ns = 0;
		break;
	case FAULT_MTU:
		link->most_bytes = 0;
		break;
	case FAULT_DEVICE_MTU:
		sim->net.port[f->host][f->plane][f->sub_port].device_mtu = SIM_MTU;
		break;
	case FAULT_HOLD_PLANE:
	case FAULT_DAEMON_LIES:
		for (unsigned h = 0; h < sim->net.n_hosts; h++)
			sim->daemon[h].fare.is_lying[f->plane] = false;
		daemon_changed(sim);
		break;
	case FAULT_KILL:
		if (!host_is_up(sim, f->host))
			host_start(sim, f->host);
		break;
	default:
		break;
	}
}

static void heal(struct sim *sim)
{
	TRACE(sim, "everything is mended");
	sim->is_healed = true;
	fabric_heal(sim);
	for (unsigned h = 0; h < sim->net.n_hosts; h++) {
		sim->daemon[h].fare.frozen_until_ns = 0;
		memset(sim->daemon[h].fare.is_lying, 0, sizeof(sim->daemon[h].fare.is_lying));
		sim->host[h].stopped_until_ns = 0;
		if (!host_is_up(sim, h))
			host_start(sim, h);
		host_wake(sim, h);
	}
	daemon_changed(sim);
}

/* ---- what the seed chooses ---- */

static void choose_config(struct sim *sim)
{
	struct sim_config *c = &sim->config;
	struct prng *p = &sim->prng;

	*c = (struct sim_config){0};
	sim->net.n_hosts = prng_chance(p, 700) ? 2 : 3 + (unsigned)prng_below(p, 2);
	sim->net.n_planes = prng_chance(p, 150) ? 1 : 2 + (unsigned)prng_below(p, NET_PLANES - 1);
	c->is_device = prng_chance(p, 350);
	c->is_multi_device = prng_chance(p, 500);
	sim->net.n_sub_ports = 1 + (unsigned)prng_below(p, prng_chance(p, 100) ? NET_SUB_PORTS : 2);
	c->fault_ns = prng_log(p, 2 * LOOP_MS, 5 * LOOP_S);
}

/* The host is drawn before the time: of two draws in one call, compilers choose the first. */
static void add_look(struct sim *sim, unsigned host, uint64_t at_ns)
{
	loop_add(&sim->net.loop, at_ns, LOOP_STEP, STEP_LOOK | host, 0, NULL);
}

/* Nothing is mended before the process goes on. Meanwhile others write. */
static void choose_freeze(struct sim *sim, uint64_t at_ns)
{
	uint64_t end_ns = at_ns + FREEZE_NS - sim_now_ns(sim);

	if (end_ns > sim->config.fault_ns)
		sim->config.fault_ns = end_ns;
	for (unsigned i = 0; i < FREEZE_LOOKS; i++) {
		unsigned host = (unsigned)prng_below(&sim->prng, sim->net.n_hosts);

		add_look(sim, host, at_ns + prng_log(&sim->prng, LOOP_MS, FREEZE_NS));
	}
}

static void choose_faults(struct schedule *s)
{
	struct sim *sim = &s->sim;
	struct prng *p = &sim->prng;
	uint64_t length_ns = sim->config.fault_ns;

	s->n_faults = prng_chance(p, 100) ? 0 : (unsigned)prng_log(p, 1, MAX_FAULTS);
	for (unsigned i = 0; i < s->n_faults; i++) {
		struct fault *f = &s->faults[i];
		uint64_t at_ns = sim_now_ns(sim) + prng_below(p, length_ns);

		/* stale packets need it */
		f->kind = prng_chance(p, 200) ? FAULT_HOLD_PLANE
					      : (enum fault_kind)prng_below(p, FAULT_KINDS);
		f->host = (unsigned)prng_below(p, sim->net.n_hosts);
		f->plane = (unsigned)prng_below(p, sim->net.n_planes);
		f->sub_port = (unsigned)prng_below(p, sim->net.n_sub_ports);
		f->direction = (unsigned)prng_below(p, FABRIC_DIRECTIONS);
		f->length_ns = prng_log(p, 50 * LOOP_US, length_ns);
		/* these end groups, and with them most of what there is to see */
		if ((f->kind == FAULT_KILL || f->kind == FAULT_CLOSE) && prng_chance(p, 500))
			f->kind = FAULT_HOLD_PLANE;
		/* it makes a schedule many times as long */
		if (f->kind == FAULT_FREEZE && prng_chance(p, 800))
			f->kind = FAULT_STOP;
		if (f->kind == FAULT_FREEZE)
			choose_freeze(sim, at_ns);
		sim->fabric->is_recording |= f->kind == FAULT_REPLAY;
		loop_add(&sim->net.loop, at_ns, LOOP_STEP, i, 0, NULL);
		/* writes are under way when it begins, and are begun while it lasts */
		for (unsigned k = 0; k < 3; k++) {
			unsigned host = k ? f->host : other_host(sim, f->host);

			add_look(sim, host, at_ns - 20 * LOOP_US + prng_below(p, 60 * LOOP_US));
		}
		loop_add(&sim->net.loop, at_ns + f->length_ns, LOOP_STEP, STEP_END | i, 0, NULL);
	}
	for (unsigned i = 0; i < LOOKS; i++) {
		unsigned host = (unsigned)prng_below(p, sim->net.n_hosts);

		add_look(sim, host, sim_now_ns(sim) + prng_below(p, length_ns));
	}
	loop_add(&sim->net.loop, sim_now_ns(sim) + sim->config.fault_ns, LOOP_STEP, STEP_HEAL, 0,
		 NULL);
}

/* ---- running ---- */

static void step(struct schedule *s, uint32_t index)
{
	struct sim *sim = &s->sim;

	switch (index & 0x300) {
	case 0:
		if (!sim->is_healed)
			begin_fault(sim, &s->faults[index]);
		break;
	case STEP_END:
		end_fault(sim, &s->faults[index & 0xff]);
		break;
	case STEP_LOOK:
		app_want(sim, index & 0xff);
		break;
	case STEP_HEAL:
		heal(sim);
		break;
	}
}

static void handle(struct schedule *s, const struct loop_event *e)
{
	struct sim *sim = &s->sim;

	switch (e->kind) {
	case LOOP_PACKET:
		if (sim->host[e->index].nic)
			nic_receive(sim->host[e->index].nic, e->object);
		else
			net_free(&sim->net, e->object);
		break;
	case LOOP_HOST:
		host_run(sim, e->index, e->token);
		break;
	case LOOP_DEVICE:
		if (sim->host[e->index].nic)
			nic_device_event(sim->host[e->index].nic, e->token);
		break;
	case LOOP_DAEMON:
		daemon_publish(sim, e->index);
		break;
	case LOOP_REPLAY:
		fabric_replay(sim);
		break;
	case LOOP_STEP:
		step(s, e->index);
		break;
	case LOOP_KINDS:
		break;
	}
}

/* Until it is true, looked at whenever a process ran; false: not within that time. */
static bool run_until(struct schedule *s, bool (*done)(const struct sim *), uint64_t within_ns)
{
	struct sim *sim = &s->sim;
	uint64_t end_ns = sim_now_ns(sim) + within_ns;
	struct loop_event e;

	while (!sim->trace->is_violated && sim_now_ns(sim) < end_ns &&
	       loop_next(&sim->net.loop, &e)) {
		handle(s, &e);
		if (++sim->n_events % 64 == 0 && sim->n_events > EVENTS_MOST)
			VIOLATION(sim, "events: there is no end of them");
		if (e.kind == LOOP_HOST && done(sim))
			return true;
	}
	return false;
}

static bool is_quiet(const struct sim *sim)
{
	return sim->is_healed && !sim->net.loop.n_of[LOOP_DAEMON] && app_is_quiet(sim);
}

/* Nothing is under way but what was sent a moment ago. */
static bool is_nothing_late(const struct sim *sim)
{
	return sim->net.loop.n_of[LOOP_PACKET] == 0;
}

static bool is_never(const struct sim *sim)
{
	(void)sim;
	return false;
}

static bool is_closed(const struct sim *sim)
{
	const struct shadow *sh = &sim->app->shadow;

	for (unsigned i = 0; i < sh->n_ends; i++)
		if (sh->ends[i].group)
			return false;
	return true;
}

static bool is_empty(const struct sim *sim)
{
	for (unsigned h = 0; h < sim->net.n_hosts; h++)
		if (sim->host[h].nic && nic_n_qps(sim->host[h].nic))
			return false;
	return true;
}

/* Where nothing went wrong, no lane may end. */
static void check_calm(const struct schedule *s)
{
	const struct sim *sim = &s->sim;
	const struct shadow *sh = &sim->app->shadow;
	struct fare_group_stats stats;

	for (unsigned i = 0; !s->n_faults && i < sh->n_ends; i++) {
		if (!sh->ends[i].group || sim->app->bad_key_per_mille)
			continue;
		fare_group_stats(sh->ends[i].group, &stats);
		if (stats.path_deaths || stats.duplicate_notifications)
			VIOLATION(sim, "calm: end %u: a lane ended, and nothing is broken", i);
	}
}

/* One end of each group is closed, and the other must hear of it. */
static void close_groups(struct schedule *s)
{
	struct sim *sim = &s->sim;
	struct shadow *sh = &sim->app->shadow;

	sim->app->is_ending = true;
	for (unsigned i = 0; i < sh->n_ends; i++) {
		const struct shadow_end *end = &sh->ends[i];
		bool has_other = end->other >= 0 && sh->ends[end->other].group;

		if (!end->group || (has_other && !end->is_opener))
			continue;
		app_close_end(sim, has_other && prng_chance(&sim->prng, 500) ? end->other : (int)i);
	}
	if (!is_closed(sim) && !run_until(s, is_closed, CLOSE_NS) && !is_closed(sim))
		VIOLATION(sim, "close: a peer's end was closed, and CLOSED does not come");
	if (!sim->trace->is_violated && !is_empty(sim) && !run_until(s, is_empty, EMPTY_NS) &&
	    !is_empty(sim))
		for (unsigned h = 0; h < sim->net.n_hosts; h++)
			if (sim->host[h].nic && nic_n_qps(sim->host[h].nic) &&
			    !host_n_groups(sim, h))
				VIOLATION(sim, "leak: host %u: %u QPs are left", h,
					  nic_n_qps(sim->host[h].nic));
}

static void clean_up(struct sim *sim)
{
	for (unsigned h = 0; h < sim->net.n_hosts; h++)
		host_close(sim, h);
	net_drain(&sim->net);
}

struct seeds_schedule schedule_run(struct sim *sim, struct sim_trace *trace)
{
	struct schedule *s = (struct schedule *)sim;
	long blocks = heap_blocks() - sim->net.n_packets;

	sim->trace = trace;
	trace->loop = &sim->net.loop;
	sim->prng.state = prng_mix(trace->seed + 1);
	sim->is_healed = false;
	sim->n_events = 0;
	choose_config(sim);
	net_init(&sim->net, sizeof(struct fabric_packet));
	TRACE(sim, "seed %llu: %u hosts, %u planes of %u sub-ports, %s",
	      (unsigned long long)trace->seed, sim->net.n_hosts, sim->net.n_planes,
	      sim->net.n_sub_ports, sim->config.is_device ? "devices" : "soft");
	fabric_init(sim);
	app_init(sim);
	TRACE(sim, "mode %u, %u QPs a sub-port, chunks of %u, %u messages, back-off %u ms",
	      sim->app->options.mode, sim->app->options.qps_per_sub_port,
	      sim->app->options.chunk_bytes, sim->app->options.max_messages,
	      sim->app->options.backoff_max_ms);
	for (unsigned h = 0; h < sim->net.n_hosts; h++) {
		daemon_init(sim, h);
		host_init(sim, h);
	}
	for (unsigned h = 0; h < sim->net.n_hosts; h++)
		host_start(sim, h);
	choose_faults(s);
	if (!run_until(s, is_quiet, sim->config.fault_ns + QUIET_NS))
		VIOLATION(sim, "liveness: all was mended %.1f s ago, and %s",
			  (double)(sim_now_ns(sim) - LOOP_START_NS - sim->config.fault_ns) / 1e9,
			  app_unrest(sim) ? app_unrest(sim) : "it is well only now");
	run_until(s, is_nothing_late, LATE_NS);
	run_until(s, is_never, SETTLE_NS);
	check_calm(s);
	if (!sim->trace->is_violated)
		close_groups(s);
	clean_up(sim);
	blocks = heap_blocks() - sim->net.n_packets - blocks;
	if (blocks)
		VIOLATION(sim, "leak: %ld blocks of memory are left", blocks);
	return (struct seeds_schedule){sim->n_events, sim->net.loop.digest};
}

void schedule_create(struct sim **out)
{
	struct schedule *s = calloc(1, sizeof(*s));

	s->sim.fabric = calloc(1, sizeof(*s->sim.fabric));
	s->sim.daemon = calloc(SIM_HOSTS, sizeof(*s->sim.daemon));
	s->sim.host = calloc(SIM_HOSTS, sizeof(*s->sim.host));
	s->sim.app = calloc(1, sizeof(*s->sim.app));
	net_init(&s->sim.net, 0); /* now it takes what heap_blocks() is not to count */
	*out = &s->sim;
}

void schedule_destroy(struct sim *sim)
{
	net_fini(&sim->net);
	free(sim->fabric);
	free(sim->daemon);
	free(sim->host);
	free(sim->app);
	free(sim);
}
