/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/fluid/fluid.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "micro/fluid/fluid_internal.h"

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

double fluid_finish_s(const struct fluid *fluid, int flow)
{
	return fluid->flows[flow].finished ? fluid->flows[flow].ends_s : -1;
}

size_t fluid_events(const struct fluid *fluid)
{
	return fluid->n_events;
}
