/* SPDX-License-Identifier: BSD-2-Clause */
/* failover_weights.c - what the observer's record says of a fault: decided, returned, needless
 * (failover.h) */
#include "resilience/failover.h"

#include <stdlib.h>

#define DOWN_TO(bps, remaining) (((remaining) + 0.01) * (double)(bps))
#define BACK			0.98
#define ROUTES_NS		UINT64_C(200000000)

static bool matters(const struct failover_concern *c, unsigned pair)
{
	return c->all || pair == c->src * c->topo->n_gpus + c->dst;
}

static double remaining(const struct failover_scenario *s, const struct topo *topo, unsigned pair,
			unsigned plane)
{
	return failover_scenario_remaining(s, pair / topo->n_gpus, pair % topo->n_gpus, plane);
}

static const struct observe_event *weights_event(const struct observe *o, uint32_t i)
{
	const struct observe_event *e = observe_event(o, i);

	return e->kind == OBSERVE_WEIGHTS ? e : NULL;
}

/* That pair's last event before i. */
static const struct observe_event *before(const struct observe *o, uint32_t i, unsigned pair)
{
	while (i-- > 0) {
		const struct observe_event *e = weights_event(o, i);

		if (e && e->who == pair)
			return e;
	}
	return NULL;
}

bool failover_weights_due(const struct failover_scenario *s)
{
	for (unsigned i = 0; i < s->n_faults; i++)
		if (s->fault[i].remaining < 1)
			return true;
	return false;
}

/*
 * When that pair was down to what the faults leave; 0: not. UINT64_MAX: nothing was to happen to
 * it.
 */
static uint64_t pair_decided(const struct observe *o, uint32_t from, uint32_t n,
			     const struct failover_scenario *s, const struct topo *topo,
			     unsigned pair)
{
	const struct observe_event *first = observe_first(o, pair);
	bool due = false;

	for (unsigned p = 0; p < topo->n_planes; p++)
		due = due || remaining(s, topo, pair, p) < 1;
	if (!due || !first)
		return UINT64_MAX;
	for (uint32_t i = from; i < n; i++) {
		const struct observe_event *e = weights_event(o, i);
		bool down = e && e->who == pair;

		for (unsigned p = 0; down && p < topo->n_planes; p++)
			down = remaining(s, topo, pair, p) >= 1 ||
			       (double)e->bps[p] <=
				       DOWN_TO(first->bps[p], remaining(s, topo, pair, p));
		if (down)
			return e->t_ns;
	}
	return 0;
}

uint64_t failover_weights_decided(const struct observe *o, uint32_t from, uint32_t n,
				  const struct failover_scenario *s,
				  const struct failover_concern *concern)
{
	unsigned n_pairs = concern->topo->n_gpus * concern->topo->n_gpus;
	uint64_t last = 0;

	for (unsigned pair = 0; pair < n_pairs; pair++) {
		uint64_t at;

		if (!matters(concern, pair))
			continue;
		at = pair_decided(o, from, n, s, concern->topo, pair);
		if (!at)
			return 0;
		if (at != UINT64_MAX && at > last)
			last = at;
	}
	return last;
}

/* How many planes of that pair, of those that the faults touch, are not what they first were. */
static unsigned n_away(const struct observe *o, const struct observe_event *e,
		       const struct failover_scenario *s, const struct topo *topo)
{
	const struct observe_event *first = observe_first(o, e->who);
	unsigned n = 0;

	for (unsigned p = 0; p < topo->n_planes; p++)
		n += remaining(s, topo, e->who, p) < 1 &&
		     (double)e->bps[p] < BACK * (double)first->bps[p];
	return n;
}

/* The same pair's weights rose on a plane that the faults touch. */
static bool rose(const struct observe_event *was, const struct observe_event *is,
		 const struct failover_scenario *s, const struct topo *topo)
{
	for (unsigned p = 0; p < topo->n_planes; p++)
		if (remaining(s, topo, is->who, p) < 1 && is->bps[p] > was->bps[p])
			return true;
	return false;
}

void failover_weights_returned(const struct observe *o, uint32_t from, uint32_t n,
			       const struct failover_scenario *s,
			       const struct failover_concern *concern, uint64_t healed_ns,
			       uint64_t *first_ns, uint64_t *back_ns)
{
	const struct topo *topo = concern->topo;
	unsigned n_pairs = topo->n_gpus * topo->n_gpus, away = 0;
	const struct observe_event **now = calloc(n_pairs, sizeof(*now));

	*first_ns = *back_ns = 0;
	for (unsigned pair = 0; now && pair < n_pairs; pair++) {
		now[pair] = matters(concern, pair) ? before(o, from, pair) : NULL;
		away += now[pair] ? n_away(o, now[pair], s, topo) : 0;
	}
	if (now && !away)
		*first_ns = *back_ns = healed_ns;
	for (uint32_t i = from; now && i < n; i++) {
		const struct observe_event *e = weights_event(o, i), *was = e ? now[e->who] : NULL;
		unsigned had = away;

		if (!was)
			continue;
		away = away - n_away(o, was, s, topo) + n_away(o, e, s, topo);
		now[e->who] = e;
		if ((!*first_ns || *first_ns == healed_ns) && rose(was, e, s, topo))
			*first_ns = e->t_ns;
		if (had && !away)
			*back_ns = e->t_ns;
		else if (away)
			*back_ns = 0;
	}
	free(now);
}

unsigned failover_weights_falls(const struct observe *o, uint32_t from, uint32_t n,
				const struct failover_scenario *s,
				const struct failover_concern *concern)
{
	const struct topo *topo = concern->topo;
	unsigned n_pairs = topo->n_gpus * topo->n_gpus, most = 0;

	for (unsigned pair = 0; pair < n_pairs; pair++) {
		const struct observe_event *was =
			matters(concern, pair) ? before(o, from, pair) : NULL;
		unsigned falls[FARE_MAX_PLANES] = {0};

		for (uint32_t i = from; was && i < n; i++) {
			const struct observe_event *e = weights_event(o, i);

			if (!e || e->who != pair)
				continue;
			for (unsigned p = 0; p < topo->n_planes; p++) {
				falls[p] += was->bps[p] && !e->bps[p] &&
					    remaining(s, topo, pair, p) < 1;
				most = falls[p] > most ? falls[p] : most;
			}
			was = e;
		}
	}
	return most;
}

/* Were kernel routes of that server away at the event, or within ROUTES_NS before it? */
static bool routes_away(const struct observe *o, uint32_t i, unsigned server)
{
	uint64_t at_ns = observe_event(o, i)->t_ns;

	for (uint32_t k = i; k-- > 0;) {
		const struct observe_event *e = observe_event(o, k);

		if (e->kind != OBSERVE_ROUTES || e->who != server)
			continue;
		if (e->n)
			return true;
		if (e->t_ns + ROUTES_NS < at_ns)
			return false;
	}
	return false;
}

/*
 * What happened, and whether either end's kernel had its routes: if not, probes were lost for want
 * of one.
 */
static json_t *failover_weights_describe(const struct observe *o, const struct topo *topo,
					 const struct observe_event *was, uint32_t i,
					 unsigned plane, uint64_t begin_ns)
{
	const struct observe_event *e = observe_event(o, i);
	json_t *change = observe_change(topo, was, e, plane, begin_ns);
	bool away = routes_away(o, i, topo->gpus[e->who / topo->n_gpus].server) ||
		    routes_away(o, i, topo->gpus[e->who % topo->n_gpus].server);

	json_object_set_new(change, "routes_away", json_boolean(away));
	return change;
}

unsigned failover_weights_needless(const struct observe *o, uint32_t from, uint32_t n,
				   const struct failover_scenario *s, const struct topo *topo,
				   uint64_t begin_ns, json_t *list)
{
	unsigned n_pairs = topo->n_gpus * topo->n_gpus, count = 0;

	for (unsigned pair = 0; pair < n_pairs; pair++) {
		const struct observe_event *was =
			observe_first(o, pair) ? before(o, from, pair) : NULL;

		for (uint32_t i = from; was && i < n; i++) {
			const struct observe_event *e = weights_event(o, i);

			if (!e || e->who != pair)
				continue;
			for (unsigned p = 0; p < topo->n_planes; p++) {
				if (e->bps[p] >= was->bps[p] || remaining(s, topo, pair, p) < 1)
					continue;
				count++;
				json_array_append_new(list, failover_weights_describe(
								    o, topo, was, i, p, begin_ns));
			}
			was = e;
		}
	}
	return count;
}

uint64_t failover_weights_kernel(const struct observe *o, uint32_t from, uint32_t n,
				 const struct failover_scenario *s,
				 const struct failover_concern *concern)
{
	const struct topo *topo = concern->topo;
	unsigned gpu = s->fault[0].gpu < 0 ? concern->src : (unsigned)s->fault[0].gpu;

	for (uint32_t i = from; i < n; i++) {
		const struct observe_event *e = observe_event(o, i);

		if (e->kind == OBSERVE_LINK && e->who == topo->gpus[gpu].server && !e->up)
			return e->t_ns;
	}
	return 0;
}
