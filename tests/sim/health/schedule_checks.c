/* SPDX-License-Identifier: BSD-2-Clause */
/* schedule_checks.c - see schedule_internal.h: whether verdicts are right, and when they came */
#include <string.h>

#include "health_limits.h"
#include "loss_rtt.h"
#include "path_check.h"
#include "queue_class.h"
#include "roce_ports.h"
#include "sbfd_wire.h"
#include "schedule_internal.h"

/*
 * For so long after its end a fault explains what is found: a window of probes. Where the budget is
 * short, paths that return are asked more often at the cost of all others, so that it is longer.
 */
static uint64_t grace_ns(const struct schedule *s)
{
	uint64_t window = LOSS_RTT_WINDOW * s->interval_ns * (schedule_is_seldom(s) ? 2 : 1);

	return window > GRACE_NS / 2 ? GRACE_NS / 2 + window : GRACE_NS;
}

static bool is_touched_by(const struct schedule *s, const struct fault *f, unsigned from,
			  unsigned to, unsigned plane)
{
	return schedule_faults_concern(f, from, to, plane) && s->net.loop.now_ns >= f->from_ns &&
	       s->net.loop.now_ns < f->to_ns + grace_ns(s);
}

static bool is_touched(const struct schedule *s, unsigned from, unsigned to, unsigned plane)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (is_touched_by(s, &s->faults[i], from, to, plane))
			return true;
	return false;
}

/* It is of a cable of a plane that has another, and the only fault. */
static bool spares_a_cable(const struct schedule *s, const struct fault *f)
{
	return (f->kind == FAULT_SUB_PORT_GRAY || f->kind == FAULT_SUB_PORT_DOWN) &&
	       s->net.n_sub_ports > 1 && s->n_faults == 1;
}

/* No fault but this one in the time that counts: other planes can tell. */
static bool is_alone(const struct schedule *s, const struct fault *f)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (&s->faults[i] != f && s->faults[i].kind != FAULT_MTU &&
		    s->faults[i].from_ns < f->to_ns &&
		    f->from_ns < s->faults[i].to_ns + grace_ns(s))
			return false;
	return true;
}

static bool is_calm(const struct schedule *s)
{
	return !s->has_queues && !s->has_stalls && !s->has_lies && !s->has_loss && !s->bgp.n;
}

static enum schedule_when when_of(const struct schedule *s)
{
	if (schedule_is_seldom(s))
		return SCHEDULE_SELDOM;
	return is_calm(s) ? SCHEDULE_ALONE : SCHEDULE_BESIDE;
}

static void note_time(struct schedule *s, struct schedule_times times[SCHEDULE_WHENS], uint64_t ns)
{
	struct schedule_times *t = &times[when_of(s)];

	t->ms[t->n++ % SCHEDULE_TIMES] = (float)((double)ns / 1e6);
}

/* BGP had all planes between the two when the fault began, and has them: other planes can tell. */
static bool is_routed(const struct schedule *s, const struct fault *f, unsigned a, unsigned b)
{
	for (unsigned p = 0; p < s->net.n_planes; p++)
		if (!s->has_route[a][b][p] || !s->has_route[b][a][p] ||
		    s->route_ns[a][b][p] + grace_ns(s) > f->from_ns ||
		    s->route_ns[b][a][p] + grace_ns(s) > f->from_ns)
			return false;
	return true;
}

/* It is the only fault, and cuts the path or loses much of what it carries. */
static bool is_to_be_found(const struct schedule *s, const struct fault *f, unsigned from,
			   unsigned to, unsigned plane)
{
	return (f->kind == FAULT_LEAF_GRAY || f->kind == FAULT_ONE_WAY ||
		f->kind == FAULT_LEAF_LOSSY) &&
	       schedule_faults_concern(f, from, to, plane) && is_alone(s, f) &&
	       s->is_active[from][to] && is_routed(s, f, from, to) &&
	       s->fell_ns[from][to][plane] < f->from_ns;
}

/* Stalls begin at steps, and this is called at each: one that is not over has lasted since then. */
static void count_stalls(struct schedule *s)
{
	uint64_t since = s->stalls_counted_ns, now = s->net.loop.now_ns;

	s->stalls_counted_ns = now;
	for (unsigned a = 0; a < s->net.n_hosts; a++)
		for (unsigned b = 0; b < s->net.n_hosts; b++) {
			uint64_t until = s->servers[a].blocked_ns > s->servers[b].blocked_ns
						 ? s->servers[a].blocked_ns
						 : s->servers[b].blocked_ns;

			if (until > since)
				s->stalled_ns[a][b] += (until < now ? until : now) - since;
		}
}

static void note_found(struct schedule *s, unsigned from, unsigned to, unsigned plane)
{
	for (unsigned i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->faults[i];
		uint64_t ns = s->net.loop.now_ns - f->from_ns;

		if (!f->is_on || !is_to_be_found(s, f, from, to, plane))
			continue;
		note_time(s, s->stats->found[f->kind], ns);
		if (f->kind != FAULT_LEAF_GRAY)
			continue;
		count_stalls(s);
		note_time(s, s->stats->found_running, ns - s->stalled_ns[from][to]);
	}
}

void schedule_checks_change(void *arg, unsigned from, unsigned to, unsigned plane,
			    const struct probe_fsm_change *change)
{
	struct schedule *s = arg;
	bool local = strstr(change->reason, "our ports or the route") != NULL;
	char numbers[120];

	probe_numbers_text(&change->numbers, numbers, sizeof(numbers));
	TRACE(s, "%u->%u plane %u: %s -> %s, %s (%s)", from, to, plane,
	      probe_state_name(change->old_state), probe_state_name(change->new_state),
	      change->reason, numbers);
	if (change->new_state == PROBE_DOWN) {
		if (!local)
			note_found(s, from, to, plane);
		s->down_ns[from][to][plane] = s->fell_ns[from][to][plane] = s->net.loop.now_ns;
		if (local)
			return;
		if (is_touched(s, from, to, plane) && !s->options->is_unrouted) {
			s->stats->cable_downs += spares_a_cable(s, &s->faults[0]);
			return;
		}
		s->stats->false_downs[schedule_is_seldom(s)]++;
		VIOLATION(s, "false down %u->%u plane %u: %s", from, to, plane, change->reason);
		return;
	}
	if (change->old_state != PROBE_DOWN)
		return;
	s->down_ns[from][to][plane] = 0;
	for (unsigned i = 0; i < s->n_faults; i++)
		if (schedule_faults_concern(&s->faults[i], from, to, plane) &&
		    is_alone(s, &s->faults[i]) && is_routed(s, &s->faults[i], from, to) &&
		    s->is_active[from][to] && s->net.loop.now_ns > s->faults[i].to_ns)
			note_time(s, s->stats->recovered, s->net.loop.now_ns - s->faults[i].to_ns);
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_LEAF_LOSSY && s->faults[i].is_on &&
		    s->faults[i].per_mille > FAULT_MILD_PER_MILLE &&
		    schedule_faults_concern(&s->faults[i], from, to, plane) &&
		    change->new_state == PROBE_RECOVERING &&
		    s->net.loop.now_ns > s->faults[i].from_ns + 100 * LOOP_MS)
			VIOLATION(s, "%u->%u plane %u recovers while %u in 1000 are lost each way",
				  from, to, plane, s->faults[i].per_mille);
}

/* ---- path MTU */

static bool is_mtu_touched(const struct fault *f, unsigned from, unsigned to, unsigned plane)
{
	return f->kind == FAULT_MTU && f->plane == plane &&
	       (f->is_of_leaf || f->host == from || f->host == to);
}

/* Where nothing else fails, that one sub-port and no other is taken for small. */
static bool is_mtu_exact(const struct schedule *s, const struct fault *f, unsigned from,
			 unsigned to)
{
	const struct path_probe *probe = &s->servers[from].probe[to][f->plane];
	uint32_t bit = 1u << f->sub_port;

	if (s->n_faults > 1 || f->is_of_leaf || s->net.n_sub_ports == 1)
		return true;
	return !probe->mtu_is_small && !(probe->small_local & ~(from == f->host ? bit : 0)) &&
	       !(probe->small_remote & ~(to == f->host ? bit : 0));
}

void schedule_checks_mtu(void *arg, unsigned from, unsigned to, unsigned plane)
{
	struct schedule *s = arg;
	const struct path_probe *p = &s->servers[from].probe[to][plane];

	TRACE(s, "%u->%u plane %u carries %u of %u bytes, small local %x remote %x%s", from, to,
	      plane, p->mtu_carried, p->mtu_wanted, p->small_local, p->small_remote,
	      p->mtu_is_small ? ", as a whole" : "");
	for (unsigned i = 0; i < s->n_faults; i++)
		if (is_mtu_touched(&s->faults[i], from, to, plane) &&
		    s->net.loop.now_ns >= s->faults[i].from_ns &&
		    is_mtu_exact(s, &s->faults[i], from, to))
			return;
	VIOLATION(s, "%u->%u plane %u: a path MTU is small that is not", from, to, plane);
}

/* The sub-port at fault is out of use, or the path, where it has no other. */
static bool is_mtu_found(const struct schedule *s, const struct fault *f, unsigned from,
			 unsigned to)
{
	const struct path_probe *probe = &s->servers[from].probe[to][f->plane];

	if (f->is_of_leaf || s->net.n_sub_ports == 1)
		return probe->mtu_is_small;
	return (from == f->host ? probe->small_local : probe->small_remote) >> f->sub_port & 1;
}

/* Nothing else is bad: it is found in time. */
static void check_mtu(struct schedule *s, const struct fault *f)
{
	if (!is_calm(s) || s->n_faults > 1 || schedule_is_seldom(s))
		return;
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			if (from != to && is_mtu_touched(f, from, to, f->plane) &&
			    s->is_active[from][to] && !is_mtu_found(s, f, from, to))
				VIOLATION(s, "%u->%u plane %u passes %u bytes, and is in use", from,
					  to, f->plane, f->most_bytes);
}

/* What waited in one cable's queue when the peer went away looks like that cable's loss. */
static bool is_restarting(const struct schedule *s, unsigned from, unsigned to)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_RESTART &&
		    s->net.loop.now_ns >= s->faults[i].from_ns &&
		    (s->faults[i].host == from || s->faults[i].host == to))
			return true;
	return false;
}

static bool is_lossy(const struct schedule *s, unsigned from, unsigned to, unsigned plane)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_LEAF_LOSSY &&
		    is_touched_by(s, &s->faults[i], from, to, plane))
			return true;
	return false;
}

/* By a fault that is not of all cables alike. */
static bool is_cable_touched(const struct schedule *s, unsigned from, unsigned to, unsigned plane)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind != FAULT_LEAF_LOSSY &&
		    is_touched_by(s, &s->faults[i], from, to, plane))
			return true;
	return false;
}

void schedule_checks_gray(void *arg, unsigned from, unsigned to, unsigned plane)
{
	struct schedule *s = arg;
	unsigned n_paths = s->net.n_hosts * (s->net.n_hosts - 1);

	TRACE(s, "%u->%u plane %u: a sub-port is gray", from, to, plane);
	if (is_cable_touched(s, from, to, plane) || is_restarting(s, from, to))
		return;
	/* what a leaf loses of all makes no cable gray, but by chance */
	if (is_lossy(s, from, to, plane) &&
	    ++s->n_gray_by_chance <= GRAY_BY_CHANCE_MAX + n_paths / GRAY_BY_CHANCE_OF)
		return;
	VIOLATION(s, "a healthy sub-port is gray: %u->%u plane %u", from, to, plane);
}

void schedule_checks_route(void *arg, unsigned from, unsigned to, unsigned plane, bool routed)
{
	struct schedule *s = arg;
	const struct server *server = &s->servers[from];
	uint64_t since;

	if (!routed && server->ports.gpus[0].live[plane] &&
	    !bgp_feed_denies(&server->feeds[PATH_SOURCE_BMP], to, plane, &since) &&
	    !bgp_feed_denies(&server->feeds[PATH_SOURCE_ZSERV], to, plane, &since))
		VIOLATION(s, "%u->%u plane %u is asked no more, and no source denies it", from, to,
			  plane);
	s->has_route[from][to][plane] = routed;
	if (s->net.loop.now_ns > LOOP_START_NS) /* at the start all have one */
		s->route_ns[from][to][plane] = s->net.loop.now_ns;
}

void schedule_checks_publish(void *arg, unsigned from, unsigned to, unsigned plane)
{
	struct schedule *s = arg;
	const char *wrong = path_check(&s->servers[from], to, plane);

	if (wrong)
		VIOLATION(s, "%u->%u plane %u %s", from, to, plane, wrong);
}

/* What takes so long at the defaults takes longer with more probes, or fewer of them a second. */
static uint64_t scaled_ns(const struct schedule *s, uint64_t ns)
{
	uint64_t detect_ns = s->interval_ns * s->options->multiplier;

	return detect_ns > DETECT_NS ? ns * detect_ns / DETECT_NS : ns;
}

/* It has ended: of the paths that it alone harmed, those of which nobody said so. */
static void count_missed(struct schedule *s, const struct fault *f)
{
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			if (from != to && is_to_be_found(s, f, from, to, f->plane))
				s->stats->missed[f->kind][when_of(s)]++;
}

/* Within that a fault is to be found. */
static uint64_t found_ns(const struct schedule *s, const struct fault *f)
{
	bool is_plain = f->kind == FAULT_LEAF_GRAY && !s->has_queues && !s->has_stalls;

	if (f->kind == FAULT_LEAF_LOSSY)
		return scaled_ns(s, FOUND_LOSSY_NS);
	if (is_plain && s->options->has_no_band) /* as two full queues would delay packets */
		return scaled_ns(s, FOUND_GRAY_NS + HEALTH_QUEUE_MAX_NS);
	return scaled_ns(s, is_plain ? FOUND_GRAY_NS : FOUND_NS);
}

/* Every path that it made lossy has been down. */
static void check_lossy(struct schedule *s, const struct fault *f)
{
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			if (from != to && is_to_be_found(s, f, from, to, f->plane))
				VIOLATION(s, "%u->%u plane %u loses %u in 1000 each way and is up",
					  from, to, f->plane, f->per_mille);
}

/* Every path that it cut is down by now. Idle ones are found when they are asked. */
static void check_found(struct schedule *s, const struct fault *f)
{
	uint64_t within = found_ns(s, f);

	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++) {
			uint64_t down = s->down_ns[from][to][f->plane];

			if (from == to || !schedule_faults_concern(f, from, to, f->plane) ||
			    !s->is_active[from][to] || !is_routed(s, f, from, to))
				continue;
			if (down < f->from_ns || down > f->from_ns + within)
				VIOLATION(s, "%s: %u->%u plane %u is not down",
					  schedule_fault_name(f->kind), from, to, f->plane);
		}
}

/*
 * Over some plane that has a route and that no other fault touches: without cables or routes a
 * server tells nobody.
 */
static bool can_tell(const struct schedule *s, const struct fault *f, unsigned to)
{
	for (unsigned p = 0; p < s->net.n_planes; p++) {
		bool has_way = s->has_route[f->host][to][p] && s->has_route[to][f->host][p] &&
			       net_live(&s->net, f->host, p);

		for (unsigned i = 0; i < s->n_faults; i++)
			has_way &= &s->faults[i] == f ||
				   !is_touched_by(s, &s->faults[i], f->host, to, p);
		if (has_way)
			return true;
	}
	return false;
}

/* Every peer knows that the sub-port carries nothing, or that all do again. */
static void check_notices(struct schedule *s, const struct fault *f, bool limited)
{
	for (unsigned h = 0; h < s->net.n_hosts; h++) {
		const struct server *peer = &s->servers[h];

		/* one that has just started is told with the next slow probe */
		if (s->net.loop.now_ns < peer->started_ns + LOOP_S + NOTICE_NS)
			continue;
		if (h != f->host && peer->runs && s->servers[f->host].runs && can_tell(s, f, h) &&
		    (peer->held_bps[f->host][f->plane] != NOTICE_WIRE_ANY) != limited)
			VIOLATION(s, "%u has not heard that plane %u of %u is %s", h, f->plane,
				  f->host, limited ? "limited" : "whole");
	}
}

void schedule_checks_fault(struct schedule *s, struct fault *f)
{
	uint64_t now = s->net.loop.now_ns;
	uint64_t after = f->kind == FAULT_SUB_PORT_DOWN ? NOTICE_NS
			 : f->kind == FAULT_MTU		? MTU_FOUND_NS
							: found_ns(s, f);

	if (f->is_on && now == f->from_ns && f->kind != FAULT_MTU) {
		memset(s->stalled_ns, 0, sizeof(s->stalled_ns));
		s->stalls_counted_ns = now;
	}
	count_stalls(s);
	if (f->is_checked || !f->is_on || now < f->from_ns + after)
		return;
	f->is_checked = true;
	if (f->kind == FAULT_MTU)
		check_mtu(s, f);
	else if (f->kind == FAULT_SUB_PORT_DOWN && !f->flap_ns)
		check_notices(s, f, true);
	else if ((f->kind == FAULT_LEAF_GRAY || f->kind == FAULT_ONE_WAY) && is_alone(s, f))
		check_found(s, f);
	else if (f->kind == FAULT_LEAF_LOSSY && is_calm(s))
		check_lossy(s, f);
}

/*
 * All PROBER_PORTS lead, or their replies, over that sub-port: nothing that is asked comes back.
 * Chance does that to one path in 2^PROBER_PORTS of those with two cables.
 */
static bool has_no_way_round(const struct schedule *s, const struct fault *f, unsigned from,
			     unsigned to)
{
	for (unsigned i = 0; i < sockets_all.n[from]; i++) {
		uint16_t port = udp_port(sockets_all.socket[from][i]);
		int lead = to == f->host
				   ? net_lead(&s->net, from, to, f->plane, port, SBFD_WIRE_PORT)
				   : net_lead(&s->net, to, from, f->plane, SBFD_WIRE_PORT, port);

		if (port >= FARE_PROBE_PORT_FIRST && lead != (int)f->sub_port)
			return false;
	}
	return true;
}

/*
 * The other sub-ports work: so does the path, and data goes out by them alone, unless all losses
 * are tolerated.
 */
static void check_lasting(struct schedule *s, const struct fault *f, unsigned from, unsigned to)
{
	enum probe_state state = server_state(&s->servers[from], to, f->plane);
	const struct path_probe *probe = &s->servers[from].probe[to][f->plane];

	if (state == PROBE_DOWN && has_no_way_round(s, f, from, to))
		s->stats->cable_all++;
	else if (state == PROBE_DOWN)
		VIOLATION(s, "%u->%u plane %u is down for one sub-port of %u", from, to, f->plane,
			  f->host);
	else if (state == PROBE_UP && from == f->host && s->servers[from].max_loss_ppm < 1000000 &&
		 !((probe->gray_local | probe->returning_local) >> f->sub_port & 1))
		VIOLATION(s, "%u->%u plane %u uses a sub-port that passes nothing", from, to,
			  f->plane);
}

/* Where nothing else is bad and a third server can tell, a fault of one server is located. */
static void check_where(struct schedule *s, const struct fault *f)
{
	struct prober_view v;

	if (!is_calm(s) || s->net.n_hosts < 3 || s->n_faults != 1 || schedule_is_seldom(s) ||
	    (f->kind != FAULT_ONE_WAY && f->kind != FAULT_LEAF_GRAY))
		return;
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++) {
			struct in6_addr peer = net_address(to);

			if (from == to || !s->is_active[from][to] ||
			    !schedule_faults_concern(f, from, to, f->plane) ||
			    !prober_path(s->servers[from].prober, 0, &peer, f->plane,
					 s->net.loop.now_ns, &v) ||
			    v.state != PROBE_DOWN)
				continue;
			if (f->kind == FAULT_ONE_WAY && to == f->host ? v.where != PROBE_REMOTE
								      : v.where != PROBE_IN_FABRIC)
				VIOLATION(s, "%s: %u->%u plane %u is located wrongly: %s",
					  schedule_fault_name(f->kind), from, to, f->plane,
					  v.reason);
		}
}

void schedule_checks_fault_end(struct schedule *s, const struct fault *f)
{
	count_missed(s, f);
	check_where(s, f);
	if (spares_a_cable(s, f))
		s->stats->cable_paths += 2 * (s->net.n_hosts - 1);
	if (f->kind == FAULT_UNROUTED && f->outward && is_calm(s) && !schedule_is_seldom(s))
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			if (to != f->host && s->is_active[f->host][to])
				check_lasting(s, f, f->host, to);
	if (!f->is_lasting)
		return;
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			if (from != to && (from == f->host || to == f->host) &&
			    s->is_active[from][to] && is_routed(s, f, from, to))
				check_lasting(s, f, from, to);
}

/* What pairs of probes find is what the network does, or that nothing was seen. */
static void check_queue_class(struct schedule *s, unsigned host, unsigned plane)
{
	enum queue_class_finding wrong =
		s->options->has_no_band ? QUEUE_CLASS_BEFORE : QUEUE_CLASS_BEHIND;

	if (queue_class_finding(prober_queue_class(s->servers[host].prober, 0, plane)) == wrong)
		VIOLATION(s, "%u finds that probes on plane %u are %s", host, plane,
			  queue_class_name(wrong));
}

void schedule_checks_end(struct schedule *s)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_SUB_PORT_DOWN)
			check_notices(s, &s->faults[i], false);
	for (unsigned host = 0; host < s->net.n_hosts; host++)
		for (unsigned p = 0; p < s->net.n_planes; p++)
			check_queue_class(s, host, p);
	for (unsigned from = 0; from < s->net.n_hosts; from++)
		for (unsigned to = 0; to < s->net.n_hosts; to++)
			for (unsigned p = 0; from != to && p < s->net.n_planes; p++) {
				enum probe_state state = server_state(&s->servers[from], to, p);

				if (state != PROBE_UP && state != PROBE_SUSPECT)
					VIOLATION(s, "%u->%u plane %u is %s in the end", from, to,
						  p, probe_state_name(state));
				schedule_checks_publish(s, from, to, p);
				if (!server_is_whole(&s->servers[from], to, p))
					VIOLATION(s, "%u->%u plane %u has less in the end", from,
						  to, p);
			}
}
