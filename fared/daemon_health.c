/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon_health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/address.h"
#include "daemon_internal.h"
#include "health_loop.h"
#include "notice_keys.h"
#include "notice_refusals.h"
#include "path_probe.h"
#include "probe_ports.h"
#include "routes.h"
#include "shm_layout.h"
#include "traffic.h"
#include "udp.h"

_Static_assert(SUB_PORTS_MAX_GPUS == FARE_MAX_LOCAL_GPUS, "health's tables fit the path table's");
_Static_assert(SUB_PORTS_MAX_PLANES == FARE_MAX_PLANES, "health's tables fit the path table's");
_Static_assert(SUB_PORTS_MAX_SUB_PORTS == FARE_MAX_SUB_PORTS, "health's tables fit as well");
_Static_assert(PROBER_MAX_PEERS == FARE_MAX_PAIRS, "as many sessions as paths");

struct daemon_health {
	struct daemon *daemon;
	struct sub_ports ports;
	uint64_t bps[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
	bool changed[FARE_MAX_LOCAL_GPUS];
	uint64_t sent_drains; /* their generation */
	struct notice_keys keys;
	struct udp *udp;
	struct prober *prober;
	struct reflector *reflector;
	struct health_loop *loop;
	struct routes *routes;
	struct probe_ports port_watch;
	struct traffic traffic;
	uint64_t read_ns, sampled_ns;
	bool refused[FARE_MAX_PAIRS]; /* by pair: its notices are, and that has been said */
	struct notice_refusals refusals;
	ev_timer traffic_timer, ask_timer;
	uint32_t ask_turn; /* the pair that is asked for next */
};

/* ---- what prober and reflector say --------------------------------------- */

static bool is_noise(const struct probe_fsm_change *change)
{
	return change->new_state == PROBE_SUSPECT || change->old_state == PROBE_SUSPECT;
}

/*
 * A plane whose route came after the others': its first replies are waited for, as at every start.
 */
static bool waits_for_first_reply(const struct prober_view *view,
				  const struct probe_fsm_change *change)
{
	return change->old_state == PROBE_UNPROVEN && change->new_state == PROBE_DOWN &&
	       view->where == PROBE_LOCAL;
}

/* A path that does not work, or a peer that answers on no plane any more. */
static bool is_lost(const struct probe_fsm_change *change)
{
	return change->new_state == PROBE_DOWN || change->new_state == PROBE_UNPROVEN;
}

static void record_transition(struct daemon *d, uint32_t gpu, const struct in6_addr *peer,
			      uint32_t plane, const struct probe_fsm_change *change)
{
	struct event e =
		event_of(is_lost(change) ? EVENT_PROBE_DOWN : EVENT_PROBE_STATE, (int)plane);
	char pair[DAEMON_PAIR_MAX];

	daemon_pair_text(d, gpu, peer, pair);
	/* a reply overdue by a moment is common; only what follows from it is an event */
	if (is_noise(change) && !is_lost(change)) {
		log_line(d->log, LOG_DEBUG, e.topic, "%s plane=%u %s -> %s reason=\"%s\"", pair,
			 plane, probe_state_name(change->old_state),
			 probe_state_name(change->new_state), change->reason);
		return;
	}
	event_fill(&e, pair, probe_state_name(change->old_state),
		   probe_state_name(change->new_state), change->reason);
	probe_numbers_text(&change->numbers, e.evidence, sizeof(e.evidence));
	daemon_add_event(d, &e);
}

static void daemon_health_on_path(void *arg, uint32_t gpu, const struct in6_addr *peer,
				  uint32_t plane, const struct prober_view *view,
				  const struct probe_fsm_change *change)
{
	struct path_probe probe = path_probe_of(view);
	struct daemon_health *h = arg;

	path_table_probe(h->daemon->table, gpu, peer, plane, &probe);
	if (change)
		trace_change(&h->daemon->trace, gpu, peer, plane, change, clock_now_ns());
	if (change && !waits_for_first_reply(view, change))
		record_transition(h->daemon, gpu, peer, plane, change);
}

static void on_log(void *arg, int priority, const char *line)
{
	struct daemon_health *h = arg;

	log_line(h->daemon->log, priority, "health", "%s", line);
}

static void on_gray(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		    bool is_local, uint32_t sub_port, bool gray)
{
	struct event e = event_of(gray ? EVENT_PROBE_GRAY : EVENT_PROBE_STATE, (int)plane);
	struct daemon_health *h = arg;
	char pair[DAEMON_PAIR_MAX], port[32];

	snprintf(port, sizeof(port), "%s sub-port %u", is_local ? "local" : "remote", sub_port);
	event_fill(&e, daemon_pair_text(h->daemon, gpu, peer, pair), port, gray ? "gray" : "in use",
		   gray ? "it loses probes and the plane's other sub-ports do not"
			: "probes pass on it again");
	daemon_add_event(h->daemon, &e);
}

/* Once for each time that it happens, however often the peer repeats itself. */
static void log_clock_went_back(struct daemon_health *h, uint32_t gpu, const struct in6_addr *peer,
				bool refused)
{
	struct daemon *d = h->daemon;
	char text[ADDRESS_TEXT_MAX];
	uint32_t pair;

	if (!path_table_find(d->table, gpu, peer, &pair) || h->refused[pair] == refused)
		return;
	h->refused[pair] = refused;
	if (refused)
		log_line(d->log, LOG_WARNING, "health",
			 "capacity notice refused gpu=%s peer=%s: it is of an earlier incarnation "
			 "than one that is known, so the peer's clock has gone back; set it there "
			 "(the peer is informed, and takes a later incarnation by itself)",
			 d->config->gpus[gpu].name, address_format(peer, text));
}

static void record_notices(struct daemon_health *h, enum event_kind kind, uint32_t gpu,
			   const struct in6_addr *peer, const char *to, const char *reason)
{
	struct event e = event_of(kind, -1);
	char pair[DAEMON_PAIR_MAX];

	event_fill(&e, daemon_pair_text(h->daemon, gpu, peer, pair), NULL, to, reason);
	daemon_add_event(h->daemon, &e);
}

static void on_refused(void *arg, uint32_t gpu, const struct in6_addr *peer,
		       enum reflector_refusal why)
{
	static const char *const reasons[] = {
		[REFLECTOR_NOT_AUTHENTIC] = "its capacity notices fail authentication: have both "
					    "servers the same key (health.key_file)?",
		[REFLECTOR_OLD_RELEASE] = "its fared is of a release whose capacity notices cannot "
					  "be distinguished from replays: update it",
	};
	struct daemon_health *h = arg;
	uint32_t pair;

	if (path_table_find(h->daemon->table, gpu, peer, &pair) &&
	    notice_refusals_refused(&h->refusals, pair, clock_now_ns()))
		record_notices(h, EVENT_NOTICES_REFUSED, gpu, peer, "notices refused",
			       reasons[why]);
}

/* Of a pair whose refusal was said. */
static void record_accepted(struct daemon_health *h, uint32_t gpu, const struct in6_addr *peer)
{
	uint32_t pair;

	if (path_table_find(h->daemon->table, gpu, peer, &pair) &&
	    notice_refusals_accepted(&h->refusals, pair))
		record_notices(h, EVENT_NOTICES_ACCEPTED, gpu, peer, "notices accepted",
			       "one was authentic, and no replay");
}

static bool on_capacity(void *arg, uint32_t gpu, const struct in6_addr *peer,
			const struct notice_capacity *c, struct notice_ack *ack)
{
	struct daemon_health *h = arg;
	struct path_notice notice =
				   {
					   .incarnation = c->incarnation,
					   .sequence = c->sequence,
					   .expires_ns = clock_now_ns() +
							 c->expiry_ms * UINT64_C(1000000),
					   .n_planes = c->n_planes,
				   },
			   held;

	_Static_assert(NOTICE_WIRE_MAX_PLANES == FARE_MAX_PLANES, "planes of a notice");
	memcpy(notice.bps, c->bps, sizeof(notice.bps));
	if (path_table_notice(h->daemon->table, gpu, peer, &notice, &held) == -ENOENT)
		return false;
	log_clock_went_back(h, gpu, peer, held.incarnation > c->incarnation);
	record_accepted(h, gpu, peer);
	*ack = (struct notice_ack){held.incarnation, held.sequence};
	return true;
}

static void on_ports_event(void *arg, const struct event *event)
{
	struct daemon_health *h = arg;

	daemon_add_event(h->daemon, event);
}

static void on_drain(void *arg)
{
	struct daemon_health *h = arg;

	health_loop_drain(h->loop);
}

static void on_peer_seen(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
			 const struct notice_trailer *t, uint64_t waited_ns)
{
	struct daemon_health *h = arg;

	prober_received(h->prober, gpu, peer, plane, t->has_received,
			t->has_report ? &t->report : NULL, t->authentic, waited_ns, clock_now_ns());
}

static bool on_report(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		      uint32_t sub_port, bool is_try, struct report_wire *out)
{
	struct daemon_health *h = arg;

	return prober_report(h->prober, gpu, peer, plane, sub_port, is_try, clock_now_ns(), out);
}

static void on_trace(void *arg, const struct prober_trace *t)
{
	struct daemon_health *h = arg;

	trace_probe(&h->daemon->trace, t);
}

static uint32_t avoided(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane)
{
	struct daemon_health *h = arg;

	return prober_avoided(h->prober, gpu, peer, plane);
}

static void on_route(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		     bool routed, bool was_down)
{
	struct daemon_health *h = arg;
	int rc = prober_want(h->prober, gpu, peer, plane, routed, was_down, clock_now_ns());

	if (rc)
		log_line(h->daemon->log, LOG_WARNING, "health", "path not probed plane=%u: %s",
			 plane, strerror(-rc));
}

/* ---- traffic ------------------------------------------------------------- */

#define TRAFFIC_S 0.003 /* as often as the fastest probing makes use of */

static void on_traffic_row(void *arg, const struct flow_path *row)
{
	struct daemon_health *h = arg;
	struct in6_addr peer;

	memcpy(&peer, row->peer, sizeof(peer));
	if (row->local_gpu < h->ports.n_gpus)
		prober_traffic(h->prober, row->local_gpu, &peer, row->plane, row->posted_ns,
			       row->acked_ns, h->read_ns);
}

/*
 * A client that picks planes itself sends what is in no row, past the kernel perhaps. So may any
 * program while the kernel has routes of ours: one that sends little now is to lose no more when a
 * plane dies than one that sends much.
 */
static void sample_traffic(struct daemon_health *h, uint64_t now)
{
	bool anywhere;

	if (now < h->sampled_ns + TRAFFIC_SAMPLE_NS)
		return;
	anywhere = h->daemon->config->kernel_routes || flows_have_pickers(h->daemon->flows);
	h->sampled_ns = now;
	for (uint32_t g = 0; g < h->ports.n_gpus; g++)
		for (uint32_t p = 0; p < h->ports.gpus[g].n_planes; p++) {
			uint64_t own =
				prober_sent(h->prober, g, p) + reflector_sent(h->reflector, g, p);
			bool sends = traffic_sample(&h->traffic, &h->ports, g, p, own, now);

			prober_set_traffic_known(h->prober, g, p, !anywhere && !sends, now);
		}
}

static void on_traffic_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct daemon_health *h = w->data;

	(void)revents;
	h->read_ns = clock_now_ns();
	traffic_read(&h->traffic, h->daemon->flows, on_traffic_row, h);
	sample_traffic(h, h->read_ns);
	w->repeat = flows_n_clients(h->daemon->flows) ? TRAFFIC_S : TRAFFIC_SAMPLE_NS / 1e9;
	ev_timer_again(loop, w);
}

/* ---- links --------------------------------------------------------------- */

/* a UDP datagram, or what segmentation cuts up, is never longer */
#define BURST_BITS (UINT64_C(65536) * 8)

/* What the largest segmentation batch takes on the slowest of them that is up. */
static uint64_t burst_ns(const uint64_t *bps, uint32_t n)
{
	uint64_t slowest = 0;

	for (uint32_t s = 0; s < n; s++)
		if (bps[s] && (!slowest || bps[s] < slowest))
			slowest = bps[s];
	return slowest ? BURST_BITS * UINT64_C(1000000000) / slowest : 0;
}

void daemon_health_link(struct daemon_health *h, uint32_t gpu, uint32_t plane, uint32_t sub_port,
			int ifindex, enum links_state state, uint64_t bps)
{
	struct sub_ports_gpu *g;
	uint32_t bit = 1u << sub_port, live;

	if (!h)
		return;
	g = &h->ports.gpus[gpu];
	live = state == LINKS_UP ? g->live[plane] | bit : g->live[plane] & ~bit;
	g->ifindex[plane][sub_port] = ifindex;
	h->changed[gpu] = true;
	h->bps[gpu][plane][sub_port] = state == LINKS_UP ? bps : 0;
	g->burst_ns[plane] = burst_ns(h->bps[gpu][plane], g->n_sub_ports[plane]);
	if (live == g->live[plane])
		return;
	g->live[plane] = live;
	prober_link_changed(h->prober, gpu, plane, sub_port, clock_now_ns());
}

void daemon_health_mtu(struct daemon_health *h, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		       uint32_t mtu)
{
	if (h)
		sub_ports_set_mtu(&h->ports, gpu, plane, sub_port, mtu);
}

/*
 * What our ports carry, for peers. A plane whose sub-ports are all in use is not limited by us,
 * whatever its speed. What is drained toward all peers carries nothing, so that they stop sending
 * before a cable is pulled.
 */
static uint64_t capacity(const struct daemon_health *h, uint32_t gpu, uint32_t plane)
{
	const struct sub_ports_gpu *g = &h->ports.gpus[gpu];
	uint32_t all = (1u << g->n_sub_ports[plane]) - 1;
	uint32_t drained = path_table_drained(h->daemon->table, gpu, plane);
	uint64_t bps = 0;

	if (all && (g->live[plane] & ~drained) == all)
		return NOTICE_WIRE_ANY;
	for (uint32_t s = 0; s < g->n_sub_ports[plane]; s++)
		if (!(drained >> s & 1))
			bps += h->bps[gpu][plane][s];
	return bps;
}

static void send_capacity(struct daemon_health *h, uint32_t gpu)
{
	const struct sub_ports_gpu *g = &h->ports.gpus[gpu];
	uint64_t bps[FARE_MAX_PLANES];

	for (uint32_t p = 0; p < g->n_planes; p++)
		bps[p] = capacity(h, gpu, p);
	prober_set_capacity(h->prober, gpu, bps, g->n_planes, clock_now_ns());
}

void daemon_health_turn(struct daemon_health *h)
{
	uint64_t drains;

	if (!h)
		return;
	drains = path_table_drains_generation(h->daemon->table);
	for (uint32_t g = 0; g < h->ports.n_gpus; g++) {
		if (!h->changed[g] && h->sent_drains == drains)
			continue;
		h->changed[g] = false;
		send_capacity(h, g);
	}
	h->sent_drains = drains;
}

void daemon_health_forget(struct daemon_health *h, uint32_t pair)
{
	struct in6_addr peer;
	uint32_t gpu;

	if (!h)
		return;
	h->refused[pair] = false;
	notice_refusals_forget(&h->refusals, pair);
	reflector_forgot(h->reflector);
	if (path_table_pair(h->daemon->table, pair, &gpu, &peer))
		prober_forget(h->prober, gpu, &peer);
}

bool daemon_health_trace(struct daemon_health *h, uint32_t gpu, const struct in6_addr *peer,
			 uint32_t plane)
{
	return h && prober_trace_begin(h->prober, gpu, peer, plane);
}

void daemon_health_trace_end(struct daemon_health *h)
{
	if (h)
		prober_trace_end(h->prober);
}

const struct prober *daemon_health_prober(const struct daemon_health *h)
{
	return h ? h->prober : NULL;
}

const struct reflector *daemon_health_reflector(const struct daemon_health *h)
{
	return h ? h->reflector : NULL;
}

const struct notice_refusals *daemon_health_refusals(const struct daemon_health *h)
{
	return h ? &h->refusals : NULL;
}

const struct probe_ports *daemon_health_ports(const struct daemon_health *h)
{
	return h ? &h->port_watch : NULL;
}

/* ---- the kernel's routes ------------------------------------------------- */

static void on_kernel_route(void *arg, const struct in6_addr *host, const int *ifindex, unsigned n)
{
	struct daemon_health *h = arg;

	for (uint32_t g = 0; g < h->ports.n_gpus; g++) {
		uint32_t routed[FARE_MAX_PLANES] = {0}, plane, sub_port;
		enum path_kernel_route lacks = n ? PATH_KERNEL_ELSEWHERE : PATH_KERNEL_NONE;

		for (unsigned i = 0; i < n; i++)
			if (sub_ports_find(&h->ports, g, ifindex[i], &plane, &sub_port)) {
				routed[plane] |= 1u << sub_port;
				lacks = PATH_KERNEL_NONE; /* over the planes that are left out */
			}
		for (plane = 0; plane < h->ports.gpus[g].n_planes; plane++) {
			prober_routed(h->prober, g, host, plane, routed[plane], clock_now_ns());
			path_table_kernel_route(h->daemon->table, g, host, plane,
						routed[plane] ? PATH_KERNEL_OVER : lacks);
		}
	}
}

#define ASK_S	 0.5
#define ASK_EACH 64 /* in one turn of the loop: about 10 us each */

/* Of silent peers: messages say nothing of routes that were there before this daemon. */
static void on_ask_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct daemon_health *h = w->data;
	const struct path_table *table = h->daemon->table;
	uint32_t end = path_table_end(table), gpu, n_asked = 0;
	int ifindex[ROUTES_MAX_HOPS], n;
	struct in6_addr peer;

	(void)loop;
	(void)revents;
	for (uint32_t i = 0; i < end && n_asked < ASK_EACH; i++) {
		uint32_t pair = h->ask_turn++ % end;

		if (!path_table_is_silent(table, pair, clock_now_ns()) ||
		    !path_table_pair(table, pair, &gpu, &peer))
			continue;
		n = routes_ask(h->routes, &peer, ifindex);
		if (n >= 0)
			on_kernel_route(h, &peer, ifindex, (unsigned)n);
		n_asked++;
	}
}

static void on_kernel_routes_lost(void *arg)
{
	struct daemon_health *h = arg;

	log_line(h->daemon->log, LOG_WARNING, "health",
		 "the kernel's route messages overran: routes learned from them are forgotten");
	prober_routes_unknown(h->prober);
	path_table_kernel_routes_unknown(h->daemon->table);
}

/* ---- start and end ---------------------------------------------------------------- */

static void warn_without_key(const struct daemon_health *h)
{
	if (!h->keys.own.length)
		log_line(h->daemon->log, LOG_WARNING, "health",
			 "capacity notices are off: health.key_file names no key; peers learn of "
			 "our lost links from BGP alone");
}

static int take_keys(struct daemon_health *h, const struct config_health *config)
{
	char why[440];
	int rc = notice_keys_read(config, &h->keys, NULL, why, sizeof(why));

	if (rc)
		log_line(h->daemon->log, LOG_ERR, "health", "%s", why);
	else
		warn_without_key(h);
	return rc;
}

const struct notice_keys *daemon_health_keys(const struct daemon_health *h)
{
	return h ? &h->keys : NULL;
}

static bool same_key(const struct notice_key *a, const struct notice_key *b)
{
	return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

bool daemon_health_has_keys(const struct daemon_health *h, const struct notice_keys *keys)
{
	return !h ||
	       (same_key(&h->keys.own, &keys->own) && same_key(&h->keys.second, &keys->second));
}

void daemon_health_set_keys(struct daemon_health *h, const struct notice_keys *keys)
{
	if (daemon_health_has_keys(h, keys))
		return;
	h->keys = *keys;
	for (uint32_t g = 0; g < h->ports.n_gpus; g++)
		h->changed[g] = true;
	warn_without_key(h);
}

static int open_udp(struct daemon_health *h, uint8_t dscp, struct log *log)
{
	int rc = udp_create(&h->udp, dscp);

	if (!rc && udp_short_bytes(h->udp))
		log_line(log, LOG_WARNING, "health",
			 "the send buffer of probes is %u bytes, less than was asked for: it takes "
			 "CAP_NET_ADMIN; a device whose queue stalls may stop all probes",
			 udp_short_bytes(h->udp));
	return rc;
}

static void describe_ports(struct daemon_health *h, const struct config *config)
{
	h->ports.n_gpus = config->n_gpus;
	h->ports.more_routers = config->health.max_routers - 1;
	for (uint32_t g = 0; g < config->n_gpus; g++) {
		struct sub_ports_gpu *to = &h->ports.gpus[g];

		memcpy(to->address, config->gpus[g].address, sizeof(to->address));
		to->n_planes = config->gpus[g].n_planes;
		for (uint32_t p = 0; p < to->n_planes; p++)
			to->n_sub_ports[p] = config->gpus[g].planes[p].n_sub_ports;
	}
}

int daemon_health_create(struct daemon_health **out, struct daemon *d)
{
	static const struct prober_handlers on_prober = {daemon_health_on_path, on_log, on_gray,
							 on_drain, on_trace};
	static const struct routes_handlers on_routes = {on_kernel_route, on_kernel_routes_lost};
	static const struct reflector_handlers on_reflector = {on_capacity, on_peer_seen, on_report,
							       avoided, on_refused};
	const struct config_health *c = &d->config->health;
	struct prober_options options = {
		.times =
			{
				.interval_ns = c->interval_ns,
				.detect_multiplier = c->multiplier,
				.recover_probes = c->recover_probes,
				.hold_ns = c->hold_ns,
				.hold_max_ns = c->hold_max_ns,
				.ramp_ns = c->ramp_ns,
				.unproven_ns = 1000000000,
				.max_loss_ppm = c->max_loss_ppm,
			},
		.slow_interval_ns = c->slow_interval_ns,
		.max_probes_per_s = c->max_probes_per_s,
		.queue_max_ns = c->queue_ns,
	};
	struct daemon_health *h;
	int rc;

	*out = NULL;
	if (!c->enabled)
		return 0;
	options.incarnation = clock_ns(CLOCK_REALTIME);
	if (getrandom(&options.seed, sizeof(options.seed), 0) != sizeof(options.seed))
		return -EIO;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->daemon = d;
	describe_ports(h, d->config);
	rc = take_keys(h, c);
	if (!rc)
		rc = open_udp(h, c->dscp, d->log);
	if (!rc)
		rc = reflector_create(&h->reflector, h->udp, &h->ports, &h->keys, &on_reflector, h);
	if (!rc)
		rc = prober_create(&h->prober, h->udp, &options, &h->ports, &h->keys, &on_prober, h,
				   clock_now_ns());
	if (!rc)
		rc = health_loop_create(&h->loop, d->loop, h->prober, h->reflector);
	if (!rc)
		rc = routes_create(&h->routes, d->loop, &on_routes, h);
	if (rc) {
		daemon_health_destroy(h);
		return rc;
	}
	probe_ports_start(&h->port_watch, d->loop, h->prober, h->reflector, on_ports_event, h,
			  clock_now_ns());
	path_table_set_probing(d->table, on_route, h);
	ev_timer_init(&h->traffic_timer, on_traffic_timer, TRAFFIC_S, TRAFFIC_S);
	h->traffic_timer.data = h;
	ev_timer_start(d->loop, &h->traffic_timer);
	ev_timer_init(&h->ask_timer, on_ask_timer, ASK_S, ASK_S);
	h->ask_timer.data = h;
	ev_timer_start(d->loop, &h->ask_timer);
	*out = h;
	return 0;
}

void daemon_health_destroy(struct daemon_health *h)
{
	if (!h)
		return;
	ev_timer_stop(h->daemon->loop, &h->traffic_timer);
	ev_timer_stop(h->daemon->loop, &h->ask_timer);
	probe_ports_stop(&h->port_watch);
	routes_destroy(h->routes);
	health_loop_destroy(h->loop);
	prober_destroy(h->prober);
	reflector_destroy(h->reflector);
	udp_destroy(h->udp);
	traffic_fini(&h->traffic);
	explicit_bzero(&h->keys, sizeof(h->keys));
	free(h);
}
