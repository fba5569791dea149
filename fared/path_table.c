/* path_table.c - see path_table.h; the rules themselves are in path_rules.c */
#include "path_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path_rules.h"

#define INDEX_SIZE (2 * FARE_MAX_PAIRS) /* a power of two, at most half full */
#define NO_PAIR	   UINT32_MAX

struct belief {
	struct path_belief b;
	uint32_t epoch; /* the source's epoch when it last spoke of the path */
};

struct path {
	struct belief belief[PATH_SOURCE_COUNT];
	bool drained;
	bool evaluated;
	bool adopted;
	uint64_t adopted_bps;
	uint64_t adopted_ns;
	uint64_t since_ns;
	bool routed;
	struct path_probe probe;
	struct path_result result;
};

struct pair {
	struct in6_addr peer;
	uint32_t local_gpu;
	uint32_t n_planes;
	bool dirty;
	uint64_t deadline_ns;
	struct path_notice notice; /* boot 0: none yet */
	struct path paths[];	   /* n_planes */
};

struct link {
	bool up;
	uint64_t speed_bps;
};

struct gpu {
	struct path_table_gpu shape;
	struct link links[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
};

struct path_table {
	struct path_table_times times;
	uint32_t n_gpus;
	struct gpu gpus[FARE_MAX_LOCAL_GPUS];
	struct path_source_view sources[PATH_SOURCE_COUNT];
	uint32_t epoch[PATH_SOURCE_COUNT];
	bool drained_all[FARE_MAX_PLANES];
	bool probing;
	void (*on_route)(void *arg, uint32_t local_gpu, const struct in6_addr *peer, uint32_t plane,
			 bool routed, bool was_down);
	void *on_route_arg;
	uint32_t n_pairs;
	struct pair *pairs[FARE_MAX_PAIRS];
	uint32_t index[INDEX_SIZE]; /* pair + 1; 0: free */
};

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
			if (gpus[g].n_sub_ports[p] == 0 ||
			    gpus[g].n_sub_ports[p] > FARE_MAX_SUB_PORTS)
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
	for (uint32_t i = 0; i < t->n_pairs; i++)
		free(t->pairs[i]);
	free(t);
}

static void mark_all(struct path_table *t)
{
	for (uint32_t i = 0; i < t->n_pairs; i++)
		t->pairs[i]->dirty = true;
}

void path_table_set_times(struct path_table *t, const struct path_table_times *times)
{
	t->times = *times;
	mark_all(t);
}

/* ---- pairs --------------------------------------------------------------- */

static uint32_t hash(uint32_t gpu, const struct in6_addr *peer)
{
	uint64_t words[2], h;

	memcpy(words, peer, sizeof(words));
	h = (words[0] ^ (words[1] * UINT64_C(0x9e3779b97f4a7c15))) + gpu;
	h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(h ^ (h >> 32)) & (INDEX_SIZE - 1);
}

/* The slot of the index that holds the pair, or the free one where it would go. */
static uint32_t *locate(const struct path_table *t, uint32_t gpu, const struct in6_addr *peer)
{
	uint32_t at = hash(gpu, peer);

	for (;; at = (at + 1) & (INDEX_SIZE - 1)) {
		uint32_t entry = t->index[at];

		if (!entry || (t->pairs[entry - 1]->local_gpu == gpu &&
			       !memcmp(&t->pairs[entry - 1]->peer, peer, sizeof(*peer))))
			return (uint32_t *)&t->index[at];
	}
}

static int get_pair(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		    struct pair **out)
{
	uint32_t *entry = locate(t, gpu, peer);
	uint32_t n_planes = t->gpus[gpu].shape.n_planes;
	struct pair *pair;

	if (!*entry) {
		if (t->n_pairs == FARE_MAX_PAIRS)
			return -ENOSPC;
		pair = calloc(1, sizeof(*pair) + n_planes * sizeof(pair->paths[0]));
		if (!pair)
			return -ENOMEM;
		pair->peer = *peer;
		pair->local_gpu = gpu;
		pair->n_planes = n_planes;
		for (uint32_t p = 0; p < n_planes; p++)
			pair->paths[p].drained = t->drained_all[p];
		t->pairs[t->n_pairs++] = pair;
		*entry = t->n_pairs;
	}
	*out = t->pairs[*entry - 1];
	return 0;
}

static bool has_plane(const struct path_table *t, uint32_t gpu, uint32_t plane)
{
	return gpu < t->n_gpus && plane < t->gpus[gpu].shape.n_planes;
}

/* ---- inputs -------------------------------------------------------------- */

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
	for (uint32_t i = 0; i < t->n_pairs; i++)
		if (t->pairs[i]->local_gpu == gpu)
			t->pairs[i]->dirty = true;
	return 0;
}

int path_table_teach(struct path_table *t, enum path_source source,
		     const struct bgp_path_event *event, uint64_t now)
{
	struct belief *belief;
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
	belief = &pair->paths[event->plane].belief[source];
	if (!belief->b.known || belief->b.reachable != event->reachable ||
	    belief->b.stale != event->stale)
		belief->b.since_ns = now;
	belief->b.known = true;
	belief->b.reachable = event->reachable;
	belief->b.stale = event->stale;
	belief->b.kind = event->bandwidth_kind;
	belief->b.bps = event->bandwidth_kind == BGP_BANDWIDTH_VALUE ? event->advertised_bps : 0;
	belief->b.heard_ns = now;
	belief->epoch = t->epoch[source];
	pair->dirty = true;
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
		mark_all(t);
	}
	s->state = state;
}

void path_table_source_replaced(struct path_table *t, enum path_source source, bool configured,
				uint64_t now)
{
	t->epoch[source]++;
	path_table_source_state(t, source, BGP_SOURCE_DOWN,
				configured ? "starting" : "not configured", now);
	t->sources[source].configured = configured;
	mark_all(t);
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
	uint32_t entry = has_plane(t, gpu, plane) ? *locate(t, gpu, peer) : 0;
	struct pair *pair = entry ? t->pairs[entry - 1] : NULL;

	if (!pair)
		return -ENOENT;
	pair->paths[plane].probe = *probe;
	pair->dirty = true;
	return 0;
}

int path_table_notice(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		      const struct path_notice *notice)
{
	uint32_t entry = gpu < t->n_gpus ? *locate(t, gpu, peer) : 0;
	struct path_notice *known;
	bool same;

	if (!entry)
		return -ENOENT;
	known = &t->pairs[entry - 1]->notice;
	same = notice->boot == known->boot && notice->sequence == known->sequence;
	if (notice->boot < known->boot ||
	    (notice->boot == known->boot && (int32_t)(notice->sequence - known->sequence) < 0))
		return -ESTALE;
	if (same) {
		known->expires_ns = notice->expires_ns;
		return 0;
	}
	*known = *notice;
	t->pairs[entry - 1]->dirty = true;
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
	if (verdict == FARE_VERDICT_DRAINED)
		path->drained = true; /* an operator's word outlives the daemon */
	if (t->probing && (verdict == FARE_VERDICT_PROBE_DOWN || verdict == FARE_VERDICT_RAMPING))
		path->probe = (struct path_probe){
			.judged = true,
			.reason = "down in this daemon's former life, not answered since"};
	path->adopted = usable_bps > 0;
	path->adopted_bps = usable_bps;
	path->adopted_ns = now;
	/* the next evaluation reports the step from what readers see now */
	path->evaluated = true;
	path->since_ns = now;
	path->result = (struct path_result){
		.verdict = verdict, .usable_bps = usable_bps, .reason = "adopted", .look_next = ""};
	pair->dirty = true;
	return 0;
}

int path_table_drain(struct path_table *t, const struct in6_addr *peer, uint32_t plane,
		     bool drained)
{
	bool known = !peer;
	int n = 0;

	for (uint32_t g = 0;; g++) {
		if (g == t->n_gpus)
			return -EINVAL;
		if (has_plane(t, g, plane))
			break;
	}
	for (uint32_t i = 0; i < t->n_pairs; i++) {
		struct pair *pair = t->pairs[i];

		if (peer && memcmp(&pair->peer, peer, sizeof(*peer)))
			continue;
		known = true;
		if (plane >= pair->n_planes)
			continue;
		pair->paths[plane].drained = drained;
		pair->dirty = true;
		n++;
	}
	if (!known)
		return -ENOENT;
	if (!peer)
		t->drained_all[plane] = drained;
	return n;
}

/* ---- evaluation ---------------------------------------------------------- */

/* The same without the sub-ports of a mask. */
static uint64_t local_bps(const struct path_table *t, uint32_t gpu, uint32_t plane, uint32_t without,
			  uint32_t *n_live)
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

static struct path_belief belief_now(const struct path_table *t, const struct path *path,
				     enum path_source s)
{
	struct path_belief b = path->belief[s].b;

	b.confirmed = b.known && path->belief[s].epoch == t->epoch[s];
	return b;
}

/* What zebra has toward the peer as a whole: the same facts for each of its planes. */
static struct path_facts peer_facts(const struct path_table *t, const struct pair *pair,
				    uint64_t now)
{
	struct path_facts f = {.now_ns = now, .times = &t->times, .sources = t->sources};

	for (uint32_t p = 0; p < pair->n_planes; p++) {
		struct path_belief b = belief_now(t, &pair->paths[p], PATH_SOURCE_ZSERV);

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

/* facts: the peer's, copied and completed with the path's own. */
static void judge(const struct path_table *t, const struct pair *pair, uint32_t plane, struct path_facts facts, struct path_result *out)
{
	const struct path *path = &pair->paths[plane];

	facts.drained = path->drained;
	facts.probe = path->probe;
	facts.noticed_bps = UINT64_MAX;
	if (pair->notice.boot && facts.now_ns < pair->notice.expires_ns &&
	    plane < pair->notice.n_planes) {
		facts.noticed_bps = pair->notice.bps[plane];
		facts.notice_expires_ns = pair->notice.expires_ns;
	}
	facts.before = path->result.teacher;
	facts.adopted = path->adopted;
	facts.adopted_bps = path->adopted_bps;
	facts.adopted_ns = path->adopted_ns;
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		facts.belief[s] = belief_now(t, path, s);
	facts.local_bps = local_bps(t, pair->local_gpu, plane,
				    path->probe.gray_local | path->probe.returning_local, &facts.n_live_sub_ports);
	if (!facts.n_live_sub_ports) /* the others went down: better a doubtful one than none */
		facts.local_bps = local_bps(t, pair->local_gpu, plane, 0, &facts.n_live_sub_ports);
	path_rules_apply(&facts, out);
}

/* Whether a verdict is news. */
static bool settle(struct pair *pair, uint32_t plane, const struct path_result *result, uint64_t now, struct path_change *change)
{
	struct path *path = &pair->paths[plane];
	struct path_result old = path->result;

	path->result = *result;
	*change = (struct path_change){
		.peer = pair->peer,
		.local_gpu = pair->local_gpu,
		.plane = plane,
		.is_new = !path->evaluated,
		.old_verdict = old.verdict,
		.new_verdict = result->verdict,
		.old_bps = old.usable_bps,
		.new_bps = result->usable_bps,
		.reason = result->reason,
	};
	if (path->evaluated && old.verdict == result->verdict && old.usable_bps == result->usable_bps)
		return false;
	path->evaluated = true;
	path->since_ns = now;
	return true;
}

/* Before anything is said of the pair: who is told may come back with path_table_probe(). */
static void tell_routes(struct path_table *t, struct pair *pair, const struct path_result *results)
{
	for (uint32_t p = 0; p < pair->n_planes; p++) {
		struct path *path = &pair->paths[p];

		if (path->routed == results[p].routed)
			continue;
		path->routed = results[p].routed;
		if (t->on_route)
			t->on_route(t->on_route_arg, pair->local_gpu, &pair->peer, p, path->routed,
				    path->probe.judged && !path->probe.permille);
	}
}

static void evaluate_pair(struct path_table *t, uint32_t id, uint64_t now,
			  const struct path_table_handlers *handlers, void *arg)
{
	struct pair *pair = t->pairs[id];
	struct path_facts facts = peer_facts(t, pair, now);
	struct path_result results[FARE_MAX_PLANES];
	struct path_change change;

	pair->deadline_ns = 0;
	pair->dirty = false;
	for (uint32_t p = 0; p < pair->n_planes; p++)
		judge(t, pair, p, facts, &results[p]);
	tell_routes(t, pair, results);
	/* a path that probes have to pass first is not published for a moment before that is known */
	for (uint32_t p = 0; pair->dirty && p < pair->n_planes; p++)
		judge(t, pair, p, facts, &results[p]);
	pair->dirty = false;
	for (uint32_t p = 0; p < pair->n_planes; p++) {
		uint64_t deadline;

		if (settle(pair, p, &results[p], now, &change)) {
			change.pair = id;
			if (handlers && handlers->on_change)
				handlers->on_change(arg, &change);
		}
		deadline = pair->paths[p].result.deadline_ns;
		if (deadline && (!pair->deadline_ns || deadline < pair->deadline_ns))
			pair->deadline_ns = deadline;
	}
	/* live sub-ports are published too, so a pair is handed over even if only those moved; the
	 * writer compares and writes nothing that is the same */
	if (handlers && handlers->on_pair)
		handlers->on_pair(arg, id, pair->n_planes);
}

uint64_t path_table_evaluate(struct path_table *t, uint64_t now,
			     const struct path_table_handlers *handlers, void *arg)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < t->n_pairs; i++) {
		struct pair *pair = t->pairs[i];

		if (pair->dirty || (pair->deadline_ns && pair->deadline_ns <= now))
			evaluate_pair(t, i, now, handlers, arg);
		if (pair->deadline_ns && (!next || pair->deadline_ns < next))
			next = pair->deadline_ns;
	}
	return next;
}

/* ---- what others may ask ------------------------------------------------- */

uint32_t path_table_n_pairs(const struct path_table *t)
{
	return t->n_pairs;
}

uint32_t path_table_n_planes(const struct path_table *t, uint32_t gpu)
{
	return gpu < t->n_gpus ? t->gpus[gpu].shape.n_planes : 0;
}

bool path_table_pair(const struct path_table *t, uint32_t pair, uint32_t *local_gpu,
		     struct in6_addr *peer)
{
	if (pair >= t->n_pairs)
		return false;
	*local_gpu = t->pairs[pair]->local_gpu;
	*peer = t->pairs[pair]->peer;
	return true;
}

bool path_table_find(const struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		     uint32_t *pair)
{
	uint32_t entry = *locate(t, gpu, peer);

	*pair = entry ? entry - 1 : NO_PAIR;
	return entry != 0;
}

bool path_table_view(const struct path_table *t, uint32_t pair, uint32_t plane,
		     struct path_view *out)
{
	const struct path *path;

	if (pair >= t->n_pairs || plane >= t->pairs[pair]->n_planes)
		return false;
	path = &t->pairs[pair]->paths[plane];
	*out = (struct path_view){
		.peer = t->pairs[pair]->peer,
		.local_gpu = t->pairs[pair]->local_gpu,
		.plane = plane,
		.verdict = path->result.verdict,
		.reason = path->result.reason ? path->result.reason : "not evaluated yet",
		.look_next = path->result.look_next ? path->result.look_next : "",
		.rule = path->result.rule,
		.usable_bps = path->result.usable_bps,
		.since_ns = path->since_ns,
		.teacher = path->result.teacher,
		.normalised = path->result.normalised,
		.drained = path->drained,
		.n_sub_ports = t->gpus[t->pairs[pair]->local_gpu].shape.n_sub_ports[plane],
		.adopted_bps = path->adopted ? path->adopted_bps : 0,
		.probe = path->probe,
	};
	out->local_bps = path_table_local_bps(t, out->local_gpu, plane, &out->n_live_sub_ports);
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		out->belief[s] = belief_now(t, path, s);
	if (plane < t->pairs[pair]->notice.n_planes) {
		out->noticed_bps = t->pairs[pair]->notice.bps[plane];
		out->noticed = path->result.noticed;
	}
	return true;
}

void path_table_source(const struct path_table *t, enum path_source source,
		       struct path_source_view *out)
{
	*out = t->sources[source];
}

const char *path_teacher_name(enum path_teacher teacher)
{
	switch (teacher) {
	case PATH_TEACHER_BMP:
		return "bmp";
	case PATH_TEACHER_ZSERV:
		return "zserv";
	case PATH_TEACHER_ADOPTED:
		return "adopted";
	case PATH_TEACHER_NONE:
		break;
	}
	return "none";
}

const char *path_source_name(enum path_source source)
{
	return source == PATH_SOURCE_BMP ? "bmp" : "zserv";
}

const char *path_source_state_name(enum bgp_source_state state)
{
	switch (state) {
	case BGP_SOURCE_UP:
		return "up";
	case BGP_SOURCE_SYNCING:
		return "syncing";
	case BGP_SOURCE_DOWN:
		break;
	}
	return "down";
}
