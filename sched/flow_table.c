/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow_balance.h"
#include "flow_map.h"
#include "flow_spread.h"

#define NONE	   FLOW_MAP_NONE
#define BALANCE_NS UINT64_C(100000000)
/* bindings looked at for one that is over, when a flow finds the table full */
#define FULL_SWEEP 64u

/* What the logic trusts; the shared entry of the same number is only a copy for the operator. */
struct binding {
	uint64_t key;
	uint64_t last_used_ns;
	uint32_t next; /* in the free list */
	uint16_t plane;
	uint16_t index;
	bool in_use;
};

struct flow_table {
	struct flow_table_attr attr;
	struct flow_spread spread;
	struct flow_table_stats stats; /* what spread does not count */
	struct flow_map map;	       /* key -> binding */
	uint32_t free;
	uint32_t sweep_at;
	struct flow_balance *balance; /* NULL: by number */
	uint64_t balance_due_ns;
	struct binding *b;
};

/* The operator's copy: odd while it changes, even when whole. */
static void entry_show(struct flow_table *t, uint32_t i)
{
	struct conn_shm_entry *e = &t->attr.entries[i];
	const struct binding *b = &t->b[i];
	uint64_t odd = conn_shm_write_begin(&e->seq);

	e->key = b->key;
	memcpy(e->peer, &t->attr.peer, sizeof(e->peer));
	e->local_gpu = t->attr.local_gpu;
	e->plane = b->plane;
	e->slot_index = b->index;
	e->in_use = b->in_use;
	e->last_used_ns = b->last_used_ns;
	if (!b->in_use)
		e->bytes = e->udp_source_port = 0;
	conn_shm_write_end(&e->seq, odd);
}

int flow_table_create(struct flow_table **out, const struct flow_table_attr *attr)
{
	struct flow_spread_attr spread = {
		.slots = attr->slots, .n_planes = attr->n_planes, .turn = attr->turn};
	struct flow_table *t;
	int err;

	*out = NULL;
	if (!attr->max_flows || attr->max_flows > 1u << 20 || !attr->n_planes ||
	    attr->n_planes > FARE_MAX_PLANES)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->attr = *attr;
	t->b = calloc(attr->max_flows, sizeof(*t->b));
	err = t->b ? flow_spread_init(&t->spread, &spread) : -ENOMEM;
	if (!err)
		err = flow_map_init(&t->map, attr->max_flows, attr->seed);
	if (!err && attr->by_bytes)
		err = flow_balance_create(&t->balance, attr->max_flows);
	if (err) {
		flow_table_destroy(t);
		return err;
	}
	t->attr.balance_ns = attr->balance_ns ? attr->balance_ns : BALANCE_NS;
	for (uint32_t i = 0; i < attr->max_flows; i++)
		t->b[i].next = i + 1 < attr->max_flows ? i + 1 : NONE;
	*out = t;
	return 0;
}

void flow_table_destroy(struct flow_table *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; t->b && i < t->attr.max_flows; i++) {
		if (!t->b[i].in_use)
			continue;
		t->b[i].in_use = false;
		entry_show(t, i);
	}
	flow_spread_fini(&t->spread);
	flow_balance_destroy(t->balance);
	flow_map_fini(&t->map);
	free(t->b);
	free(t);
}

static void leave_plane(struct flow_table *t, uint32_t i)
{
	flow_spread_leave(&t->spread, t->b[i].plane, t->b[i].index);
}

static void enter_plane(struct flow_table *t, uint32_t i, unsigned plane)
{
	t->b[i].plane = (uint16_t)plane;
	t->b[i].index = (uint16_t)flow_spread_enter(&t->spread, plane);
	if (t->balance)
		flow_balance_enter(t->balance, i, plane);
}

static void flow_table_forget(struct flow_table *t, uint32_t i)
{
	flow_map_remove(&t->map, t->b[i].key);
	leave_plane(t, i);
	if (t->balance)
		flow_balance_leave(t->balance, i);
	t->b[i].in_use = false;
	t->b[i].next = t->free;
	t->free = i;
	entry_show(t, i);
}

static bool is_by_bytes(const struct flow_table *t)
{
	return t->balance && flow_balance_measured(t->balance);
}

/* The plane a new flow goes to. */
static unsigned plane_for_bind(const struct flow_table *t)
{
	return is_by_bytes(t) ? flow_balance_best_plane(t->balance, &t->spread.weights, NONE)
			      : flow_spread_next(&t->spread);
}

/* Any flow on plane, from that plane's fullest QP; resumes at *cursor so that a pass is linear. */
static uint32_t flow_on(const struct flow_table *t, unsigned plane, uint32_t *cursor)
{
	unsigned fullest = flow_spread_fullest(&t->spread, plane);

	for (uint32_t k = 0; k < t->attr.max_flows; k++) {
		uint32_t i = *cursor;

		*cursor = i + 1 < t->attr.max_flows ? i + 1 : 0;
		if (t->b[i].in_use && t->b[i].plane == plane && t->b[i].index == fullest)
			return i;
	}
	return NONE;
}

/*
 * Did `to` gain against `from`? Otherwise a move between them serves nothing: both are worth what
 * they were.
 */
static bool gained(const struct flow_table *t, const struct weights *old, unsigned to,
		   unsigned from)
{
	const struct weights *new = &t->spread.weights;

	return (uint64_t) new->w[to] * old->w[from] > (uint64_t)old->w[to] * new->w[from];
}

static void move_to(struct flow_table *t, uint32_t i, unsigned to)
{
	leave_plane(t, i);
	enter_plane(t, i, to);
	t->stats.moves++;
	entry_show(t, i);
}

static void move_flow(struct flow_table *t, const struct weights *old, uint32_t i, unsigned to)
{
	unsigned from = t->b[i].plane;

	t->stats.needless_moves +=
		t->spread.weights.w[from] && old->sum && !gained(t, old, to, from);
	move_to(t, i, to);
}

static void on_balance(void *context, uint32_t i, unsigned to)
{
	move_to(context, i, to);
}

static void move_between(struct flow_table *t, const struct weights *old, unsigned from,
			 unsigned to, uint32_t *cursor)
{
	move_flow(t, old, flow_on(t, from, cursor), to);
}

static unsigned rebalance_few(struct flow_table *t, const struct weights *old)
{
	uint64_t target[FARE_MAX_PLANES];
	unsigned moved = 0;
	uint32_t cursor = 0;

	flow_spread_window(&t->spread, target);
	for (unsigned to = 0; to < t->spread.weights.n; to++) {
		for (unsigned from = 0; from < t->spread.weights.n; from++) {
			while (gained(t, old, to, from) && t->spread.count[to] < target[to] &&
			       t->spread.count[from] > target[from]) {
				move_between(t, old, from, to, &cursor);
				moved++;
			}
		}
	}
	/* nothing may stay on a dead plane, whatever the window says */
	for (unsigned from = 0; from < t->spread.weights.n; from++) {
		while (!t->spread.weights.w[from] && t->spread.count[from]) {
			move_between(t, old, from, flow_spread_least_loaded(&t->spread), &cursor);
			moved++;
		}
	}
	return moved;
}

/*
 * By how much plane p is behind an even walk to its target, after `walked` flows of which it had
 * `seen`.
 */
static int64_t behind(const struct flow_table *t, const uint32_t *target, const uint32_t *seen,
		      unsigned p, uint32_t walked)
{
	return (int64_t)((uint64_t)walked * target[p]) -
	       (int64_t)((uint64_t)t->spread.in_use * seen[p]);
}

/* How choosy a walk is: the last one takes whatever is left. */
enum walk { WALK_EVENLY, WALK_GAINED, WALK_ANY, WALKS };

/*
 * Where a flow of `from` had best go: to the plane that is furthest behind and still wants flows.
 * -1: nowhere in this walk.
 */
static int furthest_behind(const struct flow_table *t, const struct weights *old,
			   const uint32_t *target, const uint32_t *seen, unsigned from,
			   uint32_t walked, enum walk walk)
{
	bool alive = t->spread.weights.w[from];
	int64_t most =
		alive && walk == WALK_EVENLY ? behind(t, target, seen, from, walked) : INT64_MIN;
	int best = -1;

	for (unsigned p = 0; p < t->spread.weights.n; p++) {
		if (p == from || t->spread.count[p] >= target[p] ||
		    (alive && walk != WALK_ANY && !gained(t, old, p, from)) ||
		    behind(t, target, seen, p, walked) <= most)
			continue;
		most = behind(t, target, seen, p, walked);
		best = (int)p;
	}
	return best;
}

/*
 * Which flows move is free, how many is not (flow_spread_targets()). A sender that walks its flows
 * in order must not meet a long stretch without a plane and then one full of it: so they are chosen
 * on a walk, such that each plane's flows come as evenly as its number allows. What is left over
 * then moves wherever it is.
 */
static unsigned rebalance_many(struct flow_table *t, const struct weights *old)
{
	uint32_t target[FARE_MAX_PLANES], n = flow_spread_targets(&t->spread, target);
	unsigned moved = 0;

	for (enum walk walk = WALK_EVENLY; walk < WALKS && moved < n; walk++) {
		uint32_t seen[FARE_MAX_PLANES] = {0}, walked = 0;

		for (uint32_t i = 0; i < t->attr.max_flows && moved < n; i++) {
			const struct binding *b = &t->b[i];
			uint32_t *excess;
			int to;

			if (!b->in_use)
				continue;
			walked++;
			excess = &t->spread.excess[b->plane][b->index];
			to = *excess ? furthest_behind(t, old, target, seen, b->plane, walked, walk)
				     : -1;
			if (to >= 0) {
				--*excess;
				move_flow(t, old, i, (unsigned)to);
				moved++;
			}
			seen[b->plane]++;
		}
	}
	return moved;
}

unsigned flow_table_reweight(struct flow_table *t, const struct weights *weights)
{
	struct weights old = t->spread.weights;

	if (!flow_spread_reweight(&t->spread, weights) || !t->spread.weights.sum)
		return 0;
	if (is_by_bytes(t))
		return flow_balance_settle(t->balance, &t->spread.weights, on_balance, t);
	if (flow_spread_is_few(&t->spread, t->spread.in_use) && old.sum)
		return rebalance_few(t, &old);
	return rebalance_many(t, &old);
}

static bool is_over(const struct flow_table *t, uint32_t i, uint64_t now_ns)
{
	uint64_t last_ns = t->b[i].last_used_ns;

	/* the time said may be older than that of another thread's, or another call's, use */
	return t->attr.idle_expiry_ns && now_ns > last_ns &&
	       now_ns - last_ns > t->attr.idle_expiry_ns;
}

/* Goes over the next n bindings, round and round, and forgets whose flow is over. */
static unsigned sweep(struct flow_table *t, uint32_t n, uint64_t now_ns)
{
	unsigned gone = 0;

	for (; n && t->attr.idle_expiry_ns; n--) {
		uint32_t i = t->sweep_at;

		t->sweep_at = i + 1 < t->attr.max_flows ? i + 1 : 0;
		if (t->b[i].in_use && is_over(t, i, now_ns)) {
			flow_table_forget(t, i);
			gone++;
		}
	}
	t->stats.expiries += gone;
	return gone;
}

static int bind_new(struct flow_table *t, uint64_t key, uint64_t now_ns, uint32_t *out)
{
	uint32_t i;

	if (t->free == NONE &&
	    !sweep(t, FULL_SWEEP < t->attr.max_flows ? FULL_SWEEP : t->attr.max_flows, now_ns))
		return -ENOSPC;
	i = t->free;
	t->free = t->b[i].next;
	flow_map_add(&t->map, key, i);
	t->b[i].key = key;
	t->b[i].in_use = true;
	t->b[i].last_used_ns = now_ns;
	enter_plane(t, i, plane_for_bind(t));
	t->stats.binds++;
	entry_show(t, i);
	*out = i;
	return 0;
}

int flow_table_pick(struct flow_table *t, uint64_t key, uint64_t now_ns, struct flow_slot *out)
{
	uint32_t i = flow_map_find(&t->map, key);
	int err;

	if (i != NONE && is_over(t, i, now_ns)) {
		flow_table_forget(t, i); /* a new burst is placed by the weights of its own time */
		t->stats.expiries++;
		i = NONE;
	}
	if (!t->spread.weights.sum)
		return -ENETUNREACH;
	if (i == NONE) {
		err = bind_new(t, key, now_ns, &i);
		if (err)
			return err;
	}
	t->b[i].last_used_ns = now_ns;
	if (t->balance && now_ns >= t->balance_due_ns) {
		t->balance_due_ns = now_ns + t->attr.balance_ns;
		flow_balance_tick(t->balance, &t->spread.weights, on_balance, t);
	}
	out->plane = t->b[i].plane;
	out->index = t->b[i].index;
	return 0;
}

int flow_table_turn(struct flow_table *t, uint32_t size, uint64_t *key)
{
	unsigned plane = 0, index = 0;
	struct flow_turn *turn = flow_spread_take_turn(&t->spread, size, &plane, &index);

	for (uint32_t k = 0; turn && k < t->attr.max_flows; k++) {
		const struct binding *b = &t->b[turn->at];

		turn->at = turn->at + 1 < t->attr.max_flows ? turn->at + 1 : 0;
		if (!b->in_use || b->plane != plane || b->index != index)
			continue;
		*key = b->key;
		return 0;
	}
	return -ENOENT;
}

int flow_table_release(struct flow_table *t, uint64_t key)
{
	uint32_t i = flow_map_find(&t->map, key);

	if (i == NONE)
		return -ENOENT;
	flow_table_forget(t, i);
	return 0;
}

unsigned flow_table_expire(struct flow_table *t, uint64_t now_ns)
{
	return sweep(t, t->attr.max_flows, now_ns);
}

void flow_table_stats(const struct flow_table *t, struct flow_table_stats *out)
{
	*out = t->stats;
	out->in_use = t->spread.in_use;
	memcpy(out->count, t->spread.count, sizeof(out->count));
}

void flow_table_account(struct flow_table *t, uint64_t key, uint64_t bytes,
			uint16_t udp_source_port)
{
	uint32_t i = flow_map_find(&t->map, key);

	if (i == NONE)
		return;
	/*
	 * bytes and port are for the operator alone: a plain store each, torn reads cannot happen
	 * at 8 bytes
	 */
	if (t->balance)
		flow_balance_account(t->balance, i, bytes);
	t->attr.entries[i].bytes += bytes;
	t->attr.entries[i].udp_source_port = udp_source_port;
	t->attr.entries[i].last_used_ns = t->b[i].last_used_ns;
}
