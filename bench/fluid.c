#include "fluid.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* relative tolerance when links fill, or flows finish, together */
#define FLUID_EPSILON 1e-9

struct fluid_link {
	double capacity_bps;
	double left_bps; /* during filling */
	double weight;	 /* of unfrozen flows that cross it */
};

struct fluid_flow {
	double weight, left_bytes, rate_bps, finish_s;
	size_t first, n_links; /* in crossings */
	bool frozen;
};

struct fluid {
	struct fluid_link *links;
	struct fluid_flow *flows;
	int *crossings;
	size_t n_links, n_flows, n_crossings;
	size_t room_links, room_flows, room_crossings;
};

int fluid_create(struct fluid **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void fluid_destroy(struct fluid *fluid)
{
	if (!fluid)
		return;
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
	if (!isfinite(capacity_bps) || capacity_bps < 0)
		return -EINVAL;
	if (fluid_room((void **)&fluid->links, &fluid->room_links, fluid->n_links, 1,
		       sizeof(*fluid->links)))
		return -ENOMEM;
	fluid->links[fluid->n_links] = (struct fluid_link){.capacity_bps = capacity_bps};
	return (int)fluid->n_links++;
}

int fluid_add_flow(struct fluid *fluid, double weight, double bytes, const int *links,
		   size_t n_links)
{
	if (!isfinite(weight) || weight <= 0 || !isfinite(bytes) || bytes < 0 || n_links == 0)
		return -EINVAL;
	for (size_t i = 0; i < n_links; i++)
		if (links[i] < 0 || (size_t)links[i] >= fluid->n_links)
			return -EINVAL;
	if (fluid_room((void **)&fluid->flows, &fluid->room_flows, fluid->n_flows, 1,
		       sizeof(*fluid->flows)) ||
	    fluid_room((void **)&fluid->crossings, &fluid->room_crossings, fluid->n_crossings,
		       n_links, sizeof(*fluid->crossings)))
		return -ENOMEM;
	for (size_t i = 0; i < n_links; i++)
		fluid->crossings[fluid->n_crossings + i] = links[i];
	fluid->flows[fluid->n_flows] = (struct fluid_flow){
		.weight = weight,
		.left_bytes = bytes,
		.finish_s = bytes > 0 ? -1 : 0,
		.first = fluid->n_crossings,
		.n_links = n_links,
	};
	fluid->n_crossings += n_links;
	return (int)fluid->n_flows++;
}

static void fluid_start_filling(struct fluid *fluid)
{
	for (size_t i = 0; i < fluid->n_links; i++) {
		fluid->links[i].left_bps = fluid->links[i].capacity_bps;
		fluid->links[i].weight = 0;
	}
	for (size_t i = 0; i < fluid->n_flows; i++) {
		struct fluid_flow *flow = &fluid->flows[i];

		flow->rate_bps = 0;
		flow->frozen = flow->finish_s >= 0;
		for (size_t j = 0; j < flow->n_links && !flow->frozen; j++)
			fluid->links[fluid->crossings[flow->first + j]].weight += flow->weight;
	}
}

/* How far all unfrozen flows can still rise, per unit of weight; negative when none is left. */
static double fluid_next_level(const struct fluid *fluid)
{
	double level = -1;

	for (size_t i = 0; i < fluid->n_links; i++) {
		const struct fluid_link *link = &fluid->links[i];
		double own;

		if (link->weight <= 0)
			continue;
		own = link->left_bps / link->weight;
		if (level < 0 || own < level)
			level = own;
	}
	return level;
}

static void fluid_freeze(struct fluid *fluid, struct fluid_flow *flow, double level)
{
	flow->frozen = true;
	flow->rate_bps = level * flow->weight;
	for (size_t j = 0; j < flow->n_links; j++) {
		struct fluid_link *link = &fluid->links[fluid->crossings[flow->first + j]];

		link->left_bps = fmax(0, link->left_bps - flow->rate_bps);
		link->weight -= flow->weight;
		if (link->weight < FLUID_EPSILON * flow->weight)
			link->weight = 0;
	}
}

/*
 * A link's weight and what is left of it count unfrozen flows only, so left / weight is the
 * absolute level at which it fills. Levels never fall from one round to the next, and each round
 * freezes at least one flow.
 */
void fluid_solve(struct fluid *fluid)
{
	double level;

	fluid_start_filling(fluid);
	while ((level = fluid_next_level(fluid)) >= 0) {
		bool any = false;

		for (size_t i = 0; i < fluid->n_flows; i++) {
			struct fluid_flow *flow = &fluid->flows[i];
			bool full = false;

			for (size_t j = 0; j < flow->n_links && !flow->frozen; j++) {
				const struct fluid_link *link =
					&fluid->links[fluid->crossings[flow->first + j]];

				full |= link->left_bps <=
					level * link->weight * (1 + FLUID_EPSILON);
			}
			if (full) {
				fluid_freeze(fluid, flow, level);
				any = true;
			}
		}
		if (!any) /* only rounding could bring us here; stop rather than spin */
			return;
	}
}

int fluid_run(struct fluid *fluid, double *finish_s)
{
	double now = 0;

	for (;;) {
		double step = INFINITY;
		bool unfinished = false;

		fluid_solve(fluid);
		for (size_t i = 0; i < fluid->n_flows; i++) {
			const struct fluid_flow *flow = &fluid->flows[i];

			if (flow->finish_s >= 0)
				continue;
			unfinished = true;
			if (flow->rate_bps > 0)
				step = fmin(step, flow->left_bytes * 8 / flow->rate_bps);
		}
		if (!unfinished)
			break;
		if (isinf(step))
			return -ENETUNREACH;
		now += step;
		for (size_t i = 0; i < fluid->n_flows; i++) {
			struct fluid_flow *flow = &fluid->flows[i];
			double sent = flow->rate_bps * step / 8;

			if (flow->finish_s >= 0)
				continue;
			if (sent >= flow->left_bytes * (1 - FLUID_EPSILON)) {
				flow->left_bytes = 0;
				flow->finish_s = now;
			} else {
				flow->left_bytes -= sent;
			}
		}
	}
	*finish_s = now;
	return 0;
}

double fluid_rate_bps(const struct fluid *fluid, int flow)
{
	return fluid->flows[flow].rate_bps;
}

double fluid_finish_s(const struct fluid *fluid, int flow)
{
	return fluid->flows[flow].finish_s;
}
