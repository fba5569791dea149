/* SPDX-License-Identifier: BSD-2-Clause */
/* fluid_fill.c - which rate each flow gets: links are filled max-min fairly (fluid_internal.h) */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "micro/fluid/fluid_internal.h"

/* Ends that only rounding tells apart, relative to the time since the start. */
#define FLUID_TOGETHER 1e-11

void fluid_fill_drop(struct fluid *fluid)
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

int fluid_fill_index(struct fluid *fluid)
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

void fluid_fill_all(struct fluid *fluid, struct fluid_part *part)
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

int fluid_fill_next(struct fluid *fluid, struct fluid_part *part)
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
