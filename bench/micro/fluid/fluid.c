/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/fluid/fluid.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define FLUID_THAWED UINT32_MAX

struct fluid_link {
	double capacity_bps;
	double left_bps;   /* not taken by frozen flows */
	double weight;	   /* of thawed flows that cross it */
	double level_bps;  /* its key in the heap: never above what it is now */
	uint32_t thawed;   /* flows; 0 between fillings */
	uint32_t first, n; /* in crossed_by: the flows that cross it */
	uint32_t next;	   /* another link of the same part, during indexing: towards the root */
};

struct fluid_flow {
	double weight, rate_bps;
	double left_bytes; /* at since_s */
	double since_s, ends_s;
	uint32_t first, n_links; /* in crossings */
	uint32_t place;		 /* in the part's order, or FLUID_THAWED */
	bool finished;
};

/* A frozen flow, in order of levels. */
struct fluid_place {
	double earliest_s; /* the first end among this and all before it */
	uint32_t flow;
	uint32_t group; /* the first place that the same link froze */
};

/* Links and flows that share nothing with others; they have a clock of their own. */
struct fluid_part {
	uint32_t first, n; /* in members: its flows */
	struct fluid_place *order;
	uint32_t n_frozen;
	double now_s;
};

struct fluid {
	struct fluid_link *links;
	struct fluid_flow *flows;
	uint32_t *crossings;
	size_t n_links, n_flows, n_crossings;
	size_t room_links, room_flows, room_crossings;
	double merge; /* relative */
	size_t n_events;

	bool indexed;
	uint32_t *crossed_by, *members, *heap;
	struct fluid_place *places;
	struct fluid_part *parts;
	uint32_t n_parts, n_heap;
};

/*
 * Filling keeps the freezing order, and that is what makes one event cheap. A flow that goes
 * changes nothing that froze at a lower level than its own: until then it was one more unfrozen
 * flow on links that were not yet full, and without it they fill later still. So only the order's
 * tail, from the group of flows that its bottleneck froze, is thawed and filled again; and as
 * nothing before the tail changes, a running minimum along the order tells who ends next.
 */

/* Ends that only rounding tells apart, relative to the time since the start. */
#define FLUID_TOGETHER 1e-11

static void fluid_fill_drop(struct fluid *fluid)
{
	free(fluid->crossed_by);
	free(fluid->members);
	free(fluid->heap);
	free(fluid->places);
	free(fluid->parts);
	fluid->crossed_by = fluid->members = fluid->heap = NULL;
	fluid->places = NULL;
	fluid->parts = NULL;
	fluid->n_parts = 0;
}

static uint32_t fluid_root(struct fluid_link *links, uint32_t i)
{
	while (links[i].next != i) {
		links[i].next = links[links[i].next].next;
		i = links[i].next;
	}
	return i;
}

/* The flows of each link, one link after the other. */
static void fluid_index_links(struct fluid *fluid)
{
	uint32_t first = 0;

	for (size_t i = 0; i < fluid->n_links; i++)
		fluid->links[i].n = 0;
	for (size_t i = 0; i < fluid->n_crossings; i++)
		fluid->links[fluid->crossings[i]].n++;
	for (size_t i = 0; i < fluid->n_links; i++) {
		fluid->links[i].first = first;
		first += fluid->links[i].n;
		fluid->links[i].n = 0;
	}
	for (uint32_t i = 0; i < fluid->n_flows; i++) {
		const struct fluid_flow *flow = &fluid->flows[i];

		for (uint32_t j = 0; j < flow->n_links; j++) {
			struct fluid_link *link = &fluid->links[fluid->crossings[flow->first + j]];

			fluid->crossed_by[link->first + link->n++] = i;
		}
	}
}

/* The flows of each part, one part after the other; a part is a set of links joined by flows. */
static void fluid_index_parts(struct fluid *fluid)
{
	uint32_t *part_of = fluid->heap; /* per link; free until filling begins */
	uint32_t first = 0;

	for (uint32_t i = 0; i < fluid->n_links; i++)
		fluid->links[i].next = i;
	for (size_t i = 0; i < fluid->n_flows; i++) {
		const uint32_t *links = &fluid->crossings[fluid->flows[i].first];
		uint32_t root = fluid_root(fluid->links, links[0]);

		for (uint32_t j = 1; j < fluid->flows[i].n_links; j++)
			fluid->links[fluid_root(fluid->links, links[j])].next = root;
	}
	for (uint32_t i = 0; i < fluid->n_links; i++)
		if (fluid->links[i].next == i)
			part_of[i] = fluid->n_parts++;
	for (size_t i = 0; i < fluid->n_flows; i++) {
		uint32_t link = fluid->crossings[fluid->flows[i].first];

		fluid->parts[part_of[fluid_root(fluid->links, link)]].n++;
	}
	for (uint32_t i = 0; i < fluid->n_parts; i++) {
		struct fluid_part *part = &fluid->parts[i];

		part->first = first;
		part->order = fluid->places + first;
		first += part->n;
		part->n = 0;
	}
	for (uint32_t i = 0; i < fluid->n_flows; i++) {
		uint32_t link = fluid->crossings[fluid->flows[i].first];
		struct fluid_part *part = &fluid->parts[part_of[fluid_root(fluid->links, link)]];

		fluid->members[part->first + part->n++] = i;
	}
}

/* Derives everything below `indexed` anew. -ENOMEM. */
static int fluid_fill_index(struct fluid *fluid)
{
	if (fluid->indexed)
		return 0;
	fluid_fill_drop(fluid);
	fluid->crossed_by = calloc(fluid->n_crossings + 1, sizeof(*fluid->crossed_by));
	fluid->members = calloc(fluid->n_flows + 1, sizeof(*fluid->members));
	fluid->heap = calloc(fluid->n_links + 1, sizeof(*fluid->heap));
	fluid->places = calloc(fluid->n_flows + 1, sizeof(*fluid->places));
	fluid->parts = calloc(fluid->n_links + 1, sizeof(*fluid->parts));
	if (!fluid->crossed_by || !fluid->members || !fluid->heap || !fluid->places ||
	    !fluid->parts) {
		fluid_fill_drop(fluid);
		return -ENOMEM;
	}
	fluid_index_links(fluid);
	fluid_index_parts(fluid);
	fluid->indexed = true;
	return 0;
}

static void fluid_sift(struct fluid *fluid, uint32_t at)
{
	uint32_t link = fluid->heap[at], child;
	double level = fluid->links[link].level_bps;

	for (; (child = 2 * at + 1) < fluid->n_heap; at = child) {
		if (child + 1 < fluid->n_heap && fluid->links[fluid->heap[child + 1]].level_bps <
							 fluid->links[fluid->heap[child]].level_bps)
			child++;
		if (fluid->links[fluid->heap[child]].level_bps >= level)
			break;
		fluid->heap[at] = fluid->heap[child];
	}
	fluid->heap[at] = link;
}

/* Gives back what a flow had, and lets it rise again if it is not finished. */
static void fluid_thaw(struct fluid *fluid, struct fluid_flow *flow)
{
	for (uint32_t i = 0; i < flow->n_links; i++) {
		uint32_t at = fluid->crossings[flow->first + i];
		struct fluid_link *link = &fluid->links[at];

		link->left_bps += flow->rate_bps;
		if (flow->finished)
			continue;
		if (!link->thawed++)
			fluid->heap[fluid->n_heap++] = at;
		link->weight += flow->weight;
	}
	flow->place = FLUID_THAWED;
	if (flow->finished)
		flow->rate_bps = 0;
}

static void fluid_freeze(struct fluid *fluid, struct fluid_part *part, uint32_t at, double level)
{
	struct fluid_flow *flow = &fluid->flows[at];
	double rate = level * flow->weight;

	if (rate != flow->rate_bps) {
		flow->left_bytes -= flow->rate_bps * (part->now_s - flow->since_s) / 8;
		flow->left_bytes = fmax(0, flow->left_bytes);
		flow->since_s = part->now_s;
		flow->rate_bps = rate;
		flow->ends_s = rate > 0 ? part->now_s + flow->left_bytes * 8 / rate : INFINITY;
	}
	for (uint32_t i = 0; i < flow->n_links; i++) {
		struct fluid_link *link = &fluid->links[fluid->crossings[flow->first + i]];

		link->left_bps = fmax(0, link->left_bps - rate);
		link->weight = --link->thawed ? link->weight - flow->weight : 0;
	}
}

/* The link is full at this level: what it carries rises no further. */
static void fluid_freeze_link(struct fluid *fluid, struct fluid_part *part, struct fluid_link *link,
			      double level)
{
	uint32_t group = part->n_frozen;

	for (uint32_t i = 0; i < link->n;) {
		uint32_t *crossed_by = &fluid->crossed_by[link->first];
		uint32_t at = crossed_by[i];
		struct fluid_flow *flow = &fluid->flows[at];
		struct fluid_place *place = &part->order[part->n_frozen];

		if (flow->finished) {
			crossed_by[i] = crossed_by[--link->n];
			continue;
		}
		i++;
		if (flow->place != FLUID_THAWED)
			continue;
		fluid_freeze(fluid, part, at, level);
		place->flow = at;
		place->group = group;
		place->earliest_s = flow->ends_s;
		if (part->n_frozen && place[-1].earliest_s < flow->ends_s)
			place->earliest_s = place[-1].earliest_s;
		flow->place = part->n_frozen++;
	}
}

/*
 * Freezes all that is thawed; the heap holds the links that it crosses, in any order. What is left
 * of a link and its weight count thawed flows only, so their quotient is the absolute level at
 * which it fills. That only rises while others freeze: a link is looked at again when it comes up,
 * not whenever it changes.
 */
static void fluid_fill(struct fluid *fluid, struct fluid_part *part)
{
	double lowest = 0;

	if (part->n_frozen) {
		const struct fluid_flow *last = &fluid->flows[part->order[part->n_frozen - 1].flow];

		lowest = last->rate_bps / last->weight;
	}
	for (uint32_t i = 0; i < fluid->n_heap; i++) {
		struct fluid_link *link = &fluid->links[fluid->heap[i]];

		link->level_bps = link->left_bps / link->weight;
	}
	for (uint32_t i = fluid->n_heap / 2; i-- > 0;)
		fluid_sift(fluid, i);
	while (fluid->n_heap) {
		uint32_t top = fluid->heap[0];
		struct fluid_link *link = &fluid->links[top];

		if (link->thawed) {
			double level = link->left_bps / link->weight;

			if (level > link->level_bps) {
				link->level_bps = level;
				fluid_sift(fluid, 0);
				if (fluid->heap[0] != top)
					continue;
			}
			lowest = fmax(lowest, level); /* against rounding */
			fluid_freeze_link(fluid, part, link, lowest);
		}
		fluid->heap[0] = fluid->heap[--fluid->n_heap];
		if (fluid->n_heap)
			fluid_sift(fluid, 0);
	}
}

/* Rates for all unfinished flows of a part, from nothing. */
static void fluid_fill_all(struct fluid *fluid, struct fluid_part *part)
{
	fluid->n_heap = 0;
	part->n_frozen = 0;
	for (uint32_t i = 0; i < part->n; i++) {
		struct fluid_flow *flow = &fluid->flows[fluid->members[part->first + i]];

		flow->rate_bps = 0;
		for (uint32_t j = 0; j < flow->n_links; j++) {
			struct fluid_link *link = &fluid->links[fluid->crossings[flow->first + j]];

			link->left_bps = link->capacity_bps;
		}
	}
	for (uint32_t i = 0; i < part->n; i++) {
		struct fluid_flow *flow = &fluid->flows[fluid->members[part->first + i]];

		if (flow->finished)
			continue;
		flow->since_s = part->now_s;
		flow->ends_s = INFINITY;
		fluid_thaw(fluid, flow);
	}
	fluid_fill(fluid, part);
}

/*
 * Lets the next flow of a part end, and all that end by relative tolerance together with it; then
 * fills again what that changes. -ENETUNREACH: those that are left never end.
 */
static int fluid_fill_next(struct fluid *fluid, struct fluid_part *part)
{
	double next = part->order[part->n_frozen - 1].earliest_s;
	double limit = next * (1 + FLUID_TOGETHER + fluid->merge);
	uint32_t from = part->n_frozen, n = part->n_frozen;

	if (isinf(next))
		return -ENETUNREACH;
	while (from > 0 && part->order[from - 1].earliest_s <= limit)
		from--;
	for (uint32_t i = from; i < n; i++) {
		struct fluid_flow *flow = &fluid->flows[part->order[i].flow];

		flow->finished = flow->ends_s <= limit;
		if (flow->finished)
			part->now_s = fmax(part->now_s, flow->ends_s);
	}
	from = part->order[from].group;
	part->n_frozen = from;
	fluid->n_heap = 0;
	for (uint32_t i = from; i < n; i++)
		fluid_thaw(fluid, &fluid->flows[part->order[i].flow]);
	fluid_fill(fluid, part);
	fluid->n_events++;
	return 0;
}

int fluid_create(struct fluid **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void fluid_destroy(struct fluid *fluid)
{
	if (!fluid)
		return;
	fluid_fill_drop(fluid);
	free(fluid->links);
	free(fluid->flows);
	free(fluid->crossings);
	free(fluid);
}

/* Room for more elements behind n; *room is how many fit. */
static int fluid_room(void **array, size_t *room, size_t n, size_t more, size_t size)
{
	size_t want = *room ? *room : 16;
	void *grown;

	if (more > INT_MAX || n + more > INT_MAX)
		return -E2BIG;
	while (want < n + more)
		want *= 2;
	if (want == *room)
		return 0;
	grown = realloc(*array, want * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = want;
	return 0;
}

int fluid_add_link(struct fluid *fluid, double capacity_bps)
{
	int err;

	if (!isfinite(capacity_bps) || capacity_bps < 0)
		return -EINVAL;
	err = fluid_room((void **)&fluid->links, &fluid->room_links, fluid->n_links, 1,
			 sizeof(*fluid->links));
	if (err)
		return err;
	fluid->links[fluid->n_links] = (struct fluid_link){.capacity_bps = capacity_bps};
	fluid->indexed = false;
	return (int)fluid->n_links++;
}

int fluid_add_flow(struct fluid *fluid, double weight, double bytes, const int *links,
		   size_t n_links)
{
	int err;

	if (!isfinite(weight) || weight <= 0 || !isfinite(bytes) || bytes < 0 || n_links == 0)
		return -EINVAL;
	for (size_t i = 0; i < n_links; i++)
		if (links[i] < 0 || (size_t)links[i] >= fluid->n_links)
			return -EINVAL;
	err = fluid_room((void **)&fluid->flows, &fluid->room_flows, fluid->n_flows, 1,
			 sizeof(*fluid->flows));
	if (!err)
		err = fluid_room((void **)&fluid->crossings, &fluid->room_crossings,
				 fluid->n_crossings, n_links, sizeof(*fluid->crossings));
	if (err)
		return err;
	for (size_t i = 0; i < n_links; i++)
		fluid->crossings[fluid->n_crossings + i] = (uint32_t)links[i];
	fluid->flows[fluid->n_flows] = (struct fluid_flow){
		.weight = weight,
		.left_bytes = bytes,
		.finished = bytes == 0,
		.first = (uint32_t)fluid->n_crossings,
		.n_links = (uint32_t)n_links,
	};
	fluid->n_crossings += n_links;
	fluid->indexed = false;
	return (int)fluid->n_flows++;
}

int fluid_merge_ppm(struct fluid *fluid, double ppm)
{
	if (!(ppm >= 0 && ppm <= 1e6))
		return -EINVAL;
	fluid->merge = ppm * 1e-6;
	return 0;
}

int fluid_solve(struct fluid *fluid)
{
	int err = fluid_fill_index(fluid);

	for (uint32_t i = 0; !err && i < fluid->n_parts; i++)
		fluid_fill_all(fluid, &fluid->parts[i]);
	return err;
}

int fluid_run(struct fluid *fluid, double *finish_s)
{
	double last = 0;
	int err = fluid_solve(fluid);

	for (uint32_t i = 0; !err && i < fluid->n_parts; i++) {
		struct fluid_part *part = &fluid->parts[i];

		while (!err && part->n_frozen)
			err = fluid_fill_next(fluid, part);
		last = fmax(last, part->now_s);
	}
	if (!err)
		*finish_s = last;
	return err;
}

double fluid_rate_bps(const struct fluid *fluid, int flow)
{
	return fluid->flows[flow].rate_bps;
}

double fluid_finish_s(const struct fluid *fluid, int flow)
{
	return fluid->flows[flow].finished ? fluid->flows[flow].ends_s : -1;
}

size_t fluid_events(const struct fluid *fluid)
{
	return fluid->n_events;
}
