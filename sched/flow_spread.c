/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow_spread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spray_fly.h"

int flow_spread_init(struct flow_spread *s, const struct flow_spread_attr *attr)
{
	*s = (struct flow_spread){.n_planes = attr->n_planes, .turn = attr->turn};
	for (unsigned p = 0; p < attr->n_planes; p++) {
		uint16_t n = attr->slots[p] ? attr->slots[p] : 1;

		s->slots[p] = n;
		s->slot_count[p] = calloc(n, sizeof(*s->slot_count[p]));
		s->excess[p] = calloc(n, sizeof(*s->excess[p]));
		s->turns[p] = calloc(n, sizeof(*s->turns[p]));
		if (!s->slot_count[p] || !s->excess[p] || !s->turns[p]) {
			flow_spread_fini(s);
			return -ENOMEM;
		}
	}
	return 0;
}

void flow_spread_fini(struct flow_spread *s)
{
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++) {
		free(s->slot_count[p]);
		free(s->excess[p]);
		free(s->turns[p]);
	}
	*s = (struct flow_spread){0};
}

/* The pair's place among n. */
static uint32_t flow_spread_place(const struct flow_spread *s, uint32_t n)
{
	int64_t turn = s->turn % (int64_t)n;

	return (uint32_t)(turn < 0 ? turn + (int64_t)n : turn);
}

/* The pair's place as picks already made: where in the exact schedule it begins. */
static void set_start(struct flow_spread *s)
{
	uint32_t n = flow_spread_place(s, s->weights.sum);
	struct spray_fly fly;

	memset(s->start, 0, sizeof(s->start));
	spray_fly_from_counts(&fly, &s->weights, s->start);
	for (uint32_t i = 0; i < n; i++)
		s->start[spray_fly_next(&fly)]++;
}

bool flow_spread_reweight(struct flow_spread *s, const struct weights *weights)
{
	struct weights w = {.n = s->n_planes};

	/* what came later has no QPs here */
	for (unsigned p = 0; p < s->n_planes && p < weights->n; p++)
		w.sum += w.w[p] = weights->w[p];
	if (w.n == s->weights.n && !memcmp(w.w, s->weights.w, sizeof(w.w)))
		return false;
	s->weights = w;
	if (!w.sum)
		return true;
	set_start(s);
	for (unsigned p = 0; p < s->n_planes; p++)
		for (unsigned k = 0; k < s->slots[p]; k++)
			s->turns[p][k].credit = 0;
	return true;
}

unsigned flow_spread_enter(struct flow_spread *s, unsigned plane)
{
	unsigned n = s->slots[plane], first = flow_spread_place(s, n), best = first;

	for (unsigned k = 0; k < n; k++) {
		unsigned index = (first + k) % n;

		if (s->slot_count[plane][index] < s->slot_count[plane][best])
			best = index;
	}
	s->slot_count[plane][best]++;
	s->count[plane]++;
	s->in_use++;
	return best;
}

void flow_spread_leave(struct flow_spread *s, unsigned plane, unsigned index)
{
	s->slot_count[plane][index]--;
	s->count[plane]--;
	s->in_use--;
}

unsigned flow_spread_fullest(const struct flow_spread *s, unsigned plane)
{
	unsigned fullest = 0;

	for (unsigned k = 1; k < s->slots[plane]; k++)
		if (s->slot_count[plane][k] > s->slot_count[plane][fullest])
			fullest = k;
	return fullest;
}

/* count / weight, compared exactly. */
static bool load_less(uint64_t count_a, uint32_t w_a, uint64_t count_b, uint32_t w_b)
{
	return count_a * w_b < count_b * w_a;
}

/*
 * The usable plane that one flow more would load least; the first of equals, beginning at `first`.
 * -1: none is usable.
 */
static int least_loaded(const struct weights *w, const uint32_t *count, unsigned first)
{
	int best = -1;

	for (unsigned k = 0; k < w->n; k++) {
		unsigned p = (first + k) % w->n;

		if (w->w[p] &&
		    (best < 0 || load_less(count[p] + 1, w->w[p], count[best] + 1, w->w[best])))
			best = (int)p;
	}
	return best;
}

unsigned flow_spread_least_loaded(const struct flow_spread *s)
{
	return (unsigned)least_loaded(&s->weights, s->count, flow_spread_place(s, s->weights.n));
}

bool flow_spread_is_few(const struct flow_spread *s, uint32_t flows)
{
	return flows < s->weights.sum || flows <= FLOW_SPREAD_FEW * s->weights.n;
}

unsigned flow_spread_next(const struct flow_spread *s)
{
	uint64_t counts[FARE_MAX_PLANES];
	struct spray_fly fly;

	if (!flow_spread_is_few(s, s->in_use + 1))
		return flow_spread_least_loaded(s);
	for (unsigned p = 0; p < s->weights.n; p++)
		counts[p] = s->start[p] + s->count[p];
	spray_fly_from_counts(&fly, &s->weights, counts);
	return (unsigned)spray_fly_next(&fly);
}

void flow_spread_window(const struct flow_spread *s, uint64_t *target)
{
	struct spray_fly fly;

	memset(target, 0, FARE_MAX_PLANES * sizeof(*target));
	spray_fly_from_counts(&fly, &s->weights, s->start);
	for (uint32_t i = 0; i < s->in_use; i++)
		target[spray_fly_next(&fly)]++;
}

/*
 * The most flows each plane may carry without exceeding the least possible load: filling one flow
 * at a time where load stays lowest finds that load. Only what exceeds a capacity must move, hence
 * the fewest moves.
 */
static void capacities(const struct flow_spread *s, uint32_t *capacity)
{
	uint32_t counts[FARE_MAX_PLANES] = {0}, worst_count = 0, worst_w = 1;
	const struct weights *w = &s->weights;

	for (uint32_t i = 0; i < s->in_use; i++) {
		int best = least_loaded(w, counts, 0);

		counts[best]++;
		if (load_less(worst_count, worst_w, counts[best], w->w[best])) {
			worst_count = counts[best];
			worst_w = w->w[best];
		}
	}
	for (unsigned p = 0; p < w->n; p++)
		capacity[p] = (uint32_t)((uint64_t)worst_count * w->w[p] / worst_w);
}

/*
 * How many flows each QP of a plane must give up so that `keep` stay there, the fullest QPs first.
 */
static void set_excess(struct flow_spread *s, unsigned plane, uint32_t keep)
{
	const uint32_t *count = s->slot_count[plane];
	uint32_t *excess = s->excess[plane];

	memset(excess, 0, s->slots[plane] * sizeof(*excess));
	for (uint32_t total = s->count[plane]; total > keep; total--) {
		unsigned fullest = 0;

		for (unsigned k = 1; k < s->slots[plane]; k++)
			if (count[k] - excess[k] > count[fullest] - excess[fullest])
				fullest = k;
		excess[fullest]++;
	}
}

uint32_t flow_spread_targets(struct flow_spread *s, uint32_t *target)
{
	uint32_t capacity[FARE_MAX_PLANES], n = 0;

	capacities(s, capacity);
	for (unsigned p = 0; p < s->weights.n; p++) {
		target[p] = s->count[p] < capacity[p] ? s->count[p] : capacity[p];
		n += s->count[p] - target[p];
		set_excess(s, p, target[p]);
	}
	for (uint32_t k = 0; k < n; k++)
		target[least_loaded(&s->weights, target, flow_spread_place(s, s->weights.n))]++;
	return n;
}

struct flow_turn *flow_spread_take_turn(struct flow_spread *s, uint32_t size, unsigned *plane,
					unsigned *index)
{
	unsigned first = s->weights.n ? flow_spread_place(s, s->weights.n) : 0, widest = 0;
	struct flow_turn *best = NULL;
	int64_t total = 0;

	for (unsigned p = 0; p < s->weights.n; p++)
		widest = s->slots[p] > widest ? s->slots[p] : widest;
	/* planes first, so that a plane's QPs are far apart */
	for (unsigned i = 0; i < widest; i++)
		for (unsigned k = 0; k < s->weights.n; k++) {
			unsigned p = (first + k) % s->weights.n;
			struct flow_turn *turn;

			if (!s->weights.w[p] || i >= s->slots[p] || !s->slot_count[p][i])
				continue;
			turn = &s->turns[p][i];
			total += s->slot_count[p][i];
			turn->credit += (int64_t)s->slot_count[p][i] * size;
			if (best && turn->credit <= best->credit)
				continue;
			best = turn;
			*plane = p;
			*index = i;
		}
	if (best)
		best->credit -= total * size;
	return best;
}
