/* SPDX-License-Identifier: BSD-2-Clause */
/* path_table.c - see path_table.h; the rules themselves are in path_rules.c */
#include "path_planted.h"
#include "path_table_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* As long as a path without a reply yet is not judged by probes (daemon_health.c, unproven_ns). */
#define FIRST_REPLY_NS UINT64_C(1000000000)

int path_table_create(struct path_table **out, const struct path_table_gpu *gpus, uint32_t n_gpus,
		      const struct path_table_times *times)
{
	struct path_table *t;

	*out = NULL;
	if (n_gpus == 0 || n_gpus > FARE_MAX_LOCAL_GPUS)
		return -EINVAL;
	for (uint32_t g = 0; g < n_gpus; g++) {
		if (gpus[g].n_planes == 0 || gpus[g].n_planes > FARE_MAX_PLANES)
			return -EINVAL;
		for (uint32_t p = 0; p < gpus[g].n_planes; p++)
			if (gpus[g].n_sub_ports[p] > FARE_MAX_SUB_PORTS)
				return -EINVAL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->times = *times;
	t->n_gpus = n_gpus;
	for (uint32_t g = 0; g < n_gpus; g++)
		t->gpus[g].shape = gpus[g];
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		snprintf(t->sources[s].reason, sizeof(t->sources[s].reason), "not started");
	*out = t;
	return 0;
}

void path_table_destroy(struct path_table *t)
{
	if (!t)
		return;
	HASH_CLEAR(hh, t->by_key);
	for (uint32_t i = 0; i < t->end; i++)
		free(t->pairs[i]);
	free(t);
}

void path_table_mark_all(struct path_table *t)
{
	for (uint32_t i = 0; i < t->end; i++)
		if (t->pairs[i])
			t->pairs[i]->dirty = true;
}

void path_table_set_times(struct path_table *t, const struct path_table_times *times)
{
	t->times = *times;
	path_table_mark_all(t);
}

/* ---- pairs --------------------------------------------------------------- */

struct pair *path_table_locate(const struct path_table *t, uint32_t gpu,
			       const struct in6_addr *peer)
{
	struct pair_key key = {*peer, gpu};
	struct pair *pair;

	HASH_FIND(hh, t->by_key, &key, sizeof(key), pair);
	return pair;
}

void path_table_set_on_forget(struct path_table *t, void (*on_forget)(void *arg, uint32_t pair),
			      void *arg)
{
	t->on_forget = on_forget;
	t->on_forget_arg = arg;
}

static void path_table_drop(struct path_table *t, struct pair *pair)
{
	if (t->on_forget)
		t->on_forget(t->on_forget_arg, pair->id);
	HASH_DEL(t->by_key, pair);
	t->pairs[pair->id] = NULL;
	t->n_pairs--;
	while (t->end && !t->pairs[t->end - 1])
		t->end--;
	free(pair);
}

/* Since it was last evaluated. */
static bool is_relearned(const struct pair *pair)
{
	for (uint32_t p = 0; p < pair->n_planes; p++)
		for (int s = 0; s < PATH_SOURCE_COUNT; s++)
			if (pair->dirty && pair->paths[p].received[s].b.reachable)
				return true;
	return false;
}

/* false: all have routes. */
static bool forget_longest_gone(struct path_table *t)
{
	struct pair *oldest = NULL;

	for (uint32_t i = 0; i < t->end; i++) {
		struct pair *pair = t->pairs[i];

		if (pair && pair->gone_ns && !is_relearned(pair) &&
		    (!oldest || pair->gone_ns < oldest->gone_ns))
			oldest = pair;
	}
	if (oldest)
		path_table_drop(t, oldest);
	return oldest != NULL;
}

static uint32_t free_id(const struct path_table *t)
{
	uint32_t id = 0;

	if (t->n_pairs == t->end)
		return t->end;
	while (t->pairs[id])
		id++;
	return id;
}

static struct pair *pair_create(const struct path_table *t, uint32_t gpu,
				const struct in6_addr *peer)
{
	uint32_t n_planes = t->gpus[gpu].shape.n_planes;
	struct pair *pair = calloc(1, sizeof(*pair) + n_planes * sizeof(pair->paths[0]));

	if (!pair)
		return NULL;
	pair->key = (struct pair_key){*peer, gpu};
	pair->id = free_id(t);
	pair->n_planes = n_planes;
	for (uint32_t p = 0; p < n_planes; p++)
		pair->paths[p].drained = drain_set_has_path(&t->drains, gpu, peer, p);
	return pair;
}

static int get_pair(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		    struct pair **out)
{
	struct pair *pair = path_table_locate(t, gpu, peer);

	*out = pair;
	if (pair)
		return 0;
	if (t->n_pairs == FARE_MAX_PAIRS && !forget_longest_gone(t))
		return -ENOSPC;
	pair = pair_create(t, gpu, peer);
	if (!pair)
		return -ENOMEM;
	HASH_ADD(hh, t->by_key, key, sizeof(pair->key), pair);
	if (!pair->hh.tbl) {
		free(pair);
		return -ENOMEM;
	}
	t->pairs[pair->id] = pair;
	t->n_pairs++;
	if (pair->id == t->end)
		t->end++;
	*out = pair;
	return 0;
}

static bool has_plane(const struct path_table *t, uint32_t gpu, uint32_t plane)
{
	return gpu < t->n_gpus && plane < t->gpus[gpu].shape.n_planes;
}

/* ---- inputs -------------------------------------------------------------- */

static void mark_gpu(struct path_table *t, uint32_t gpu)
{
	for (uint32_t i = 0; i < t->end; i++)
		if (t->pairs[i] && t->pairs[i]->key.local_gpu == gpu)
			t->pairs[i]->dirty = true;
}

int path_table_link(struct path_table *t, uint32_t gpu, uint32_t plane, uint32_t sub_port, bool up,
		    uint64_t speed_bps)
{
	struct link *link;

	if (!has_plane(t, gpu, plane) || sub_port >= t->gpus[gpu].shape.n_sub_ports[plane])
		return -EINVAL;
	link = &t->gpus[gpu].links[plane][sub_port];
	if (link->up == up && link->speed_bps == speed_bps)
		return 0;
	link->up = up;
	link->speed_bps = speed_bps;
	mark_gpu(t, gpu);
	return 0;
}

int path_table_own_address(struct path_table *t, uint32_t gpu, bool is_v6, enum address_fault fault)
{
	if (gpu >= t->n_gpus)
		return -EINVAL;
	t->gpus[gpu].address[is_v6] = fault;
	mark_gpu(t, gpu);
	return 0;
}

int path_table_sub_port_address(struct path_table *t, uint32_t gpu, uint32_t plane,
				uint32_t sub_port, bool is_v6, enum address_fault fault)
{
	if (!has_plane(t, gpu, plane) || sub_port >= t->gpus[gpu].shape.n_sub_ports[plane])
		return -EINVAL;
	t->gpus[gpu].links[plane][sub_port].address[is_v6] = fault;
	mark_gpu(t, gpu);
	return 0;
}

int path_table_route(struct path_table *t, enum path_source source,
		     const struct bgp_path_event *event, uint64_t now)
{
	double bps = event->bandwidth_kind == BGP_BANDWIDTH_VALUE ? event->advertised_bps : 0;
	struct received_route *received;
	struct pair *pair;
	int rc;

	if (!has_plane(t, event->local_gpu, event->plane))
		return -EINVAL;
	if (event->reachable && event->bandwidth_kind == BGP_BANDWIDTH_VALUE &&
	    !(isfinite(event->advertised_bps) && event->advertised_bps >= 0))
		return -EINVAL;
	rc = get_pair(t, event->local_gpu, &event->peer, &pair);
	if (rc)
		return rc;
	received = &pair->paths[event->plane].received[source];
	if (PATH_PLANTED(replaced_kept) && received->b.known && received->b.bps > bps)
		bps = received->b.bps;
	if (!received->b.known || received->b.reachable != event->reachable ||
	    received->b.stale != event->stale)
		received->b.since_ns = now;
	received->b.known = true;
	received->b.reachable = event->reachable;
	received->b.stale = event->stale;
	received->b.kind = event->bandwidth_kind;
	received->b.bps = bps;
	received->b.received_ns = now;
	received->epoch = t->epoch[source];
	pair->dirty = true;
	if (!t->sources[source].has_advertised) {
		t->sources[source].has_advertised = true;
		path_table_mark_all(t); /* from now on it withdraws what it does not advertise */
	}
	return 0;
}

void path_table_source_state(struct path_table *t, enum path_source source,
			     enum bgp_source_state state, const char *reason, uint64_t now)
{
	struct path_source_view *s = &t->sources[source];
	/* syncing and down are both "away": the time away runs on between them */
	bool restart = !s->configured || (s->state == BGP_SOURCE_UP) != (state == BGP_SOURCE_UP);

	s->configured = true;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	for (char *c = s->reason; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?'; /* it may quote FRR, and ends up in JSON */
	if (restart)
		s->since_ns = now;
	if (restart || s->state != state) {
		s->entered_ns = now;
		path_table_mark_all(t);
	}
	s->state = state;
}

void path_table_source_replaced(struct path_table *t, enum path_source source, bool configured,
				uint64_t now)
{
	t->epoch[source]++;
	t->sources[source].has_advertised = false;
	path_table_source_state(t, source, BGP_SOURCE_DOWN,
				configured ? "starting" : "not configured", now);
	t->sources[source].configured = configured;
	path_table_mark_all(t);
}

void path_table_set_probing(struct path_table *t,
			    void (*on_route)(void *arg, uint32_t local_gpu,
					     const struct in6_addr *peer, uint32_t plane,
					     bool routed, bool was_down),
			    void *arg)
{
	t->probing = true;
	t->on_route = on_route;
	t->on_route_arg = arg;
}

int path_table_probe(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		     uint32_t plane, const struct path_probe *probe)
{
	struct pair *pair = has_plane(t, gpu, plane) ? path_table_locate(t, gpu, peer) : NULL;

	if (!pair)
		return -ENOENT;
	pair->paths[plane].probe = *probe;
	pair->dirty = true;
	return 0;
}

void path_table_kernel_route(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
			     uint32_t plane, enum path_kernel_route route)
{
	struct pair *pair = has_plane(t, gpu, plane) ? path_table_locate(t, gpu, peer) : NULL;

	if (!pair || pair->paths[plane].kernel_route == route)
		return;
	pair->paths[plane].kernel_route = route;
	pair->dirty = true;
}

void path_table_kernel_routes_unknown(struct path_table *t)
{
	for (uint32_t i = 0; i < t->end; i++)
		for (uint32_t p = 0; t->pairs[i] && p < t->pairs[i]->n_planes; p++) {
			t->pairs[i]->dirty = true;
			t->pairs[i]->paths[p].kernel_route = PATH_KERNEL_UNKNOWN;
		}
}

static bool is_older(const struct path_notice *a, const struct path_notice *b)
{
	return a->incarnation == b->incarnation ? (int32_t)(a->sequence - b->sequence) < 0
						: a->incarnation < b->incarnation;
}

int path_table_notice(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		      const struct path_notice *notice, struct path_notice *held)
{
	struct pair *pair = gpu < t->n_gpus ? path_table_locate(t, gpu, peer) : NULL;
	struct path_notice *known;

	if (!pair)
		return -ENOENT;
	known = &pair->notice;
	*held = *known;
	if (is_older(notice, known))
		return -ESTALE;
	*held = *notice;
	if (is_older(known, notice)) {
		*known = *notice;
		pair->dirty = true;
	}
	return 0;
}

int path_table_adopt(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		     uint32_t plane, enum fare_verdict verdict, uint64_t usable_bps, uint64_t now)
{
	struct pair *pair;
	struct path *path;
	int rc;

	if (!has_plane(t, gpu, plane) || (unsigned)verdict >= FARE_VERDICT_COUNT)
		return -EINVAL;
	rc = get_pair(t, gpu, peer, &pair);
	if (rc)
		return rc;
	path = &pair->paths[plane];
	if (path->evaluated)
		return -EBUSY;
	if (t->probing && (verdict == FARE_VERDICT_PROBE_DOWN || verdict == FARE_VERDICT_RAMPING))
		path->probe = (struct path_probe){
			.judged = true,
			.reason = "down before this daemon restarted, not answered since"};
	path->adopted = usable_bps > 0;
	path->adopted_bps = usable_bps;
	path->adopted_ns = now;
	/* the next evaluation reports the step from what readers see now */
	path->evaluated = path->reported = true;
	path->reported_verdict = verdict;
	path->reported_bps = usable_bps;
	path->was_usable = usable_bps > 0;
	path->since_ns = now;
	path->result = (struct path_result){
		.verdict = verdict, .usable_bps = usable_bps, .reason = "adopted", .look_next = ""};
	pair->dirty = true;
	return 0;
}

/* ---- drains -------------------------------------------------------------- */

/* Some local GPU has to have it: what a rule names has to exist, so that a slip is seen. */
static bool names_what_exists(const struct path_table *t, const struct drain_rule *rule)
{
	for (uint32_t g = 0; g < t->n_gpus; g++) {
		if (rule->has_gpu && rule->gpu != g)
			continue;
		if (rule->has_plane && !has_plane(t, g, rule->plane))
			continue;
		if (!rule->has_sub_port ||
		    (rule->has_plane && !rule->has_peer &&
		     rule->sub_port < t->gpus[g].shape.n_sub_ports[rule->plane]))
			return true;
	}
	return false;
}

int path_table_set_drains(struct path_table *t, const struct drain_set *drains)
{
	for (uint32_t i = 0; i < drains->n; i++)
		if (!names_what_exists(t, &drains->rules[i]))
			return -EINVAL;
	t->drains = *drains;
	t->drains_generation++;
	for (uint32_t g = 0; g < t->n_gpus; g++)
		for (uint32_t p = 0; p < t->gpus[g].shape.n_planes; p++)
			t->gpus[g].drained[p] = drain_set_sub_ports(drains, g, p);
	for (uint32_t i = 0; i < t->end; i++) {
		struct pair *pair = t->pairs[i];

		if (!pair) /* forgotten */
			continue;
		for (uint32_t p = 0; p < pair->n_planes; p++)
			pair->paths[p].drained =
				drain_set_has_path(drains, pair->key.local_gpu, &pair->key.peer, p);
		pair->dirty = true;
	}
	return 0;
}

const struct drain_set *path_table_drains(const struct path_table *t)
{
	return &t->drains;
}

uint64_t path_table_drains_generation(const struct path_table *t)
{
	return t->drains_generation;
}

uint32_t path_table_drained(const struct path_table *t, uint32_t gpu, uint32_t plane)
{
	if (!has_plane(t, gpu, plane))
		return 0;
	return drain_set_has_plane(&t->drains, gpu, plane)
		       ? (1u << t->gpus[gpu].shape.n_sub_ports[plane]) - 1
		       : t->gpus[gpu].drained[plane];
}

uint32_t path_table_drain_count(const struct path_table *t, const struct drain_rule *rule)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->end; i++)
		for (uint32_t p = 0; t->pairs[i] && p < t->pairs[i]->n_planes; p++)
			n += drain_rule_concerns(rule, t->pairs[i]->key.local_gpu,
						 &t->pairs[i]->key.peer, p);
	return n;
}

/* ---- evaluation ---------------------------------------------------------- */

/* The same without the sub-ports of a mask. */
static uint64_t local_bps(const struct path_table *t, uint32_t gpu, uint32_t plane,
			  uint32_t without, uint32_t *n_live)
{
	uint64_t bps = 0;

	*n_live = 0;
	if (!has_plane(t, gpu, plane))
		return 0;
	for (uint32_t s = 0; s < t->gpus[gpu].shape.n_sub_ports[plane]; s++) {
		const struct link *link = &t->gpus[gpu].links[plane][s];

		if (!link->up || without >> s & 1)
			continue;
		bps += link->speed_bps;
		(*n_live)++;
	}
	return bps;
}

uint64_t path_table_local_bps(const struct path_table *t, uint32_t gpu, uint32_t plane,
			      uint32_t *n_live)
{
	return local_bps(t, gpu, plane, 0, n_live);
}

struct path_received path_table_received(const struct path_table *t, const struct path *path,
					 enum path_source s)
{
	struct path_received b = path->received[s].b;

	b.confirmed = b.known && path->received[s].epoch == t->epoch[s];
	return b;
}

/* What zebra has toward the peer as a whole: the same facts for each of its planes. */
static struct path_facts peer_facts(const struct path_table *t, const struct pair *pair,
				    uint64_t now)
{
	struct path_facts f = {.now_ns = now, .times = &t->times, .sources = t->sources};

	for (uint32_t p = 0; p < pair->n_planes; p++) {
		struct path_received b = path_table_received(t, &pair->paths[p], PATH_SOURCE_ZSERV);

		if (b.since_ns > f.installed_change_ns)
			f.installed_change_ns = b.since_ns;
		if (!b.known || !b.reachable)
			continue;
		f.installed_elsewhere = true;
		if (b.kind == BGP_BANDWIDTH_VALUE && b.bps > f.largest_weight)
			f.largest_weight = b.bps;
	}
	return f;
}

uint32_t path_table_misaddressed(const struct path_table *t, const struct pair *pair,
				 uint32_t plane, enum address_fault *worst)
{
	const struct gpu *gpu = &t->gpus[pair->key.local_gpu];
	bool is_v6 = !IN6_IS_ADDR_V4MAPPED(&pair->key.peer);
	uint32_t mask = 0, drained = gpu->drained[plane];

	*worst = ADDRESS_OK;
	for (uint32_t s = 0; s < gpu->shape.n_sub_ports[plane]; s++) {
		enum address_fault fault = gpu->links[plane][s].address[is_v6];

		if (!gpu->links[plane][s].up || drained >> s & 1)
			continue;
		if (fault > *worst)
			*worst = fault;
		if (fault > ADDRESS_SHARED)
			mask |= 1u << s;
	}
	return mask;
}

/*
 * Bit s: local sub-port s is not used though it may be up. If only doubtful ones are up, they are
 * used; drained ones never are.
 */
uint32_t path_table_unused(const struct path_table *t, const struct pair *pair, uint32_t plane)
{
	const struct path_probe *probe = &pair->paths[plane].probe;
	uint32_t drained = t->gpus[pair->key.local_gpu].drained[plane], n_left;
	enum address_fault worst;
	uint32_t all = drained | probe->gray_local | probe->returning_local | probe->small_local |
		       path_table_misaddressed(t, pair, plane, &worst);

	local_bps(t, pair->key.local_gpu, plane, all, &n_left);
	return n_left ? all : drained;
}

static void add_local(const struct path_table *t, const struct pair *pair, uint32_t plane,
		      struct path_facts *f)
{
	bool is_v6 = !IN6_IS_ADDR_V4MAPPED(&pair->key.peer);
	uint32_t gpu = pair->key.local_gpu;

	f->own_address = t->gpus[gpu].address[is_v6];
	f->n_misaddressed = (uint32_t)__builtin_popcount(
		path_table_misaddressed(t, pair, plane, &f->sub_port_address));
	local_bps(t, gpu, plane, 0, &f->n_up_sub_ports);
	local_bps(t, gpu, plane, t->gpus[gpu].drained[plane], &f->n_undrained_up);
	f->n_sub_ports = t->gpus[gpu].shape.n_sub_ports[plane];
	f->has_drained_sub_ports = t->gpus[gpu].drained[plane] != 0;
	f->local_bps =
		local_bps(t, gpu, plane, path_table_unused(t, pair, plane), &f->n_live_sub_ports);
}

/* facts: the peer's, copied and completed with the path's own. */
static void path_table_judge(const struct path_table *t, const struct pair *pair, uint32_t plane,
			     struct path_facts facts, struct path_result *out)
{
	const struct path *path = &pair->paths[plane];

	facts.drained = path->drained;
	facts.probe = path->probe;
	facts.kernel_route = path->kernel_route;
	facts.noticed_bps = UINT64_MAX;
	if (pair->notice.incarnation && facts.now_ns < pair->notice.expires_ns &&
	    plane < pair->notice.n_planes) {
		facts.noticed_bps = pair->notice.bps[plane];
		facts.notice_expires_ns = pair->notice.expires_ns;
	}
	facts.before = path->result.route_source;
	facts.adopted = path->adopted;
	facts.adopted_bps = path->adopted_bps;
	facts.adopted_ns = path->adopted_ns;
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		facts.received[s] = path_table_received(t, path, s);
	add_local(t, pair, plane, &facts);
	path_rules_apply(&facts, out);
}

/*
 * A plane whose route comes a moment after the others' waits for its first replies: that is how a
 * healthy start looks, and no news. If they do not come, it is.
 */
static bool waits_for_first_reply(struct path *path, uint64_t now)
{
	if (path->was_usable || path->result.verdict != FARE_VERDICT_PROBE_DOWN)
		return false;
	if (!path->waits_till)
		path->waits_till = now + FIRST_REPLY_NS;
	return now < path->waits_till;
}

/* Takes a verdict; whether it is news. */
static bool settle(struct pair *pair, uint32_t plane, const struct path_result *result,
		   uint64_t now, struct path_change *change)
{
	struct path *path = &pair->paths[plane];

	if (!path->evaluated || path->result.verdict != result->verdict ||
	    path->result.usable_bps != result->usable_bps)
		path->since_ns = now;
	path->evaluated = true;
	path->result = *result;
	path->was_usable |= result->usable_bps > 0;
	if (waits_for_first_reply(path, now))
		return false;
	*change = (struct path_change){
		.pair = pair->id,
		.peer = pair->key.peer,
		.local_gpu = pair->key.local_gpu,
		.plane = plane,
		.is_new = !path->reported,
		.old_verdict = path->reported_verdict,
		.new_verdict = result->verdict,
		.old_bps = path->reported_bps,
		.new_bps = result->usable_bps,
		.reason = result->reason,
	};
	if (path->reported && path->reported_verdict == result->verdict &&
	    path->reported_bps == result->usable_bps)
		return false;
	path->reported = true;
	path->reported_verdict = result->verdict;
	path->reported_bps = result->usable_bps;
	return true;
}

/* What was due has just been done: a time that is past would have the loop turn for ever. */
static void path_table_await(struct pair *pair, uint64_t deadline, uint64_t now)
{
	if (deadline > now && (!pair->deadline_ns || deadline < pair->deadline_ns))
		pair->deadline_ns = deadline;
}

/* When a pair without routes is to be forgotten. */
static void note_gone(const struct path_table *t, struct pair *pair,
		      const struct path_result *results, uint64_t now)
{
	bool gone = true;

	for (uint32_t p = 0; p < pair->n_planes; p++)
		gone &= results[p].route_source == PATH_FROM_NONE;
	if (!gone)
		pair->gone_ns = 0;
	else if (!pair->gone_ns)
		pair->gone_ns = now;
	if (gone && t->times.forget_ns)
		path_table_await(pair, pair->gone_ns + t->times.forget_ns, now);
}

/* Before anything is reported of the pair: the callback may call path_table_probe(). */
static void report_routes(struct path_table *t, struct pair *pair,
			  const struct path_result *results, uint64_t now)
{
	for (uint32_t p = 0; p < pair->n_planes; p++) {
		struct path *path = &pair->paths[p];

		if (path->routed == results[p].routed)
			continue;
		path->routed = results[p].routed;
		path->routed_ns = now;
		if (t->on_route)
			t->on_route(t->on_route_arg, pair->key.local_gpu, &pair->key.peer, p,
				    path->routed, path->probe.judged && !path->probe.permille);
	}
}

static void evaluate_pair(struct path_table *t, struct pair *pair, uint64_t now,
			  const struct path_table_handlers *handlers, void *arg)
{
	struct path_facts facts = peer_facts(t, pair, now);
	struct path_result results[FARE_MAX_PLANES];
	struct path_change change;

	pair->deadline_ns = 0;
	pair->dirty = false;
	for (uint32_t p = 0; p < pair->n_planes; p++)
		path_table_judge(t, pair, p, facts, &results[p]);
	report_routes(t, pair, results, now);
	/*
	 * a path that probes have to pass first is not published for a moment before that is known
	 */
	for (uint32_t p = 0; pair->dirty && p < pair->n_planes; p++)
		path_table_judge(t, pair, p, facts, &results[p]);
	pair->dirty = false;
	note_gone(t, pair, results, now);
	for (uint32_t p = 0; p < pair->n_planes; p++) {
		if (settle(pair, p, &results[p], now, &change) && handlers && handlers->on_change)
			handlers->on_change(arg, &change);
		path_table_await(pair, results[p].deadline_ns, now);
		path_table_await(pair, pair->paths[p].waits_till, now);
	}
	/* live sub-ports are published too, so a pair is handed over even if only those moved; the
	 * writer compares and writes nothing that is the same */
	if (handlers && handlers->on_pair)
		handlers->on_pair(arg, pair->id, pair->n_planes);
}

static bool is_forgettable(const struct path_table *t, const struct pair *pair, uint64_t now)
{
	return t->times.forget_ns && pair->gone_ns && now >= pair->gone_ns + t->times.forget_ns;
}

uint64_t path_table_evaluate(struct path_table *t, uint64_t now,
			     const struct path_table_handlers *handlers, void *arg)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < t->end; i++) {
		struct pair *pair = t->pairs[i];

		if (!pair)
			continue;
		if (pair->dirty || (pair->deadline_ns && pair->deadline_ns <= now))
			evaluate_pair(t, pair, now, handlers, arg);
		if (is_forgettable(t, pair, now)) {
			path_table_drop(t, pair);
			continue;
		}
		if (pair->deadline_ns && (!next || pair->deadline_ns < next))
			next = pair->deadline_ns;
	}
	return next;
}
