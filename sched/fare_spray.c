/* fare_spray.c - the public per-packet face: the daemon's weights of a pair as an exact schedule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "fare.h"
#include "spray_table.h"

struct fare_spray {
	struct fare_pair *pair;
	uint64_t generation;
	uint32_t cursor;
	uint32_t live[FARE_MAX_PLANES];
	uint8_t sub_port[FARE_MAX_PLANES]; /* last used */
	struct weights weights;
	struct spray_table table;
};

/*
 * Takes over new weights. The cursor keeps its place as a fraction of the period: every plane's part of the
 * period done so far is the same before and after, so that no plane gets a burst at the switch.
 */
static void follow(struct fare_spray *spray)
{
	uint64_t bps[FARE_MAX_PLANES];
	struct fare_paths paths;
	struct weights w;
	double done;

	if (fare_pair_paths(spray->pair, &paths))
		return;
	spray->generation = paths.generation;
	for (unsigned p = 0; p < paths.n_planes; p++) {
		bps[p] = paths.path[p].usable_bps;
		spray->live[p] = paths.path[p].live_sub_ports;
	}
	weights_from_bps(&w, bps, paths.n_planes);
	if (w.n == spray->weights.n && !memcmp(w.w, spray->weights.w, sizeof(w.w)))
		return;
	done = spray->table.period ? (double)spray->cursor / spray->table.period : attach_pair_phase(spray->pair);
	spray->weights = w;
	spray_table_build(&spray->table, &w);
	spray->cursor = spray_table_start(&spray->table, done);
}

int fare_spray_open(struct fare_spray **out, struct fare_pair *pair)
{
	struct fare_spray *spray = calloc(1, sizeof(*spray));

	*out = spray;
	if (!spray)
		return -ENOMEM;
	spray->pair = pair;
	follow(spray);
	return 0;
}

void fare_spray_close(struct fare_spray *spray)
{
	free(spray);
}

static uint8_t next_live(uint32_t live, uint8_t last)
{
	uint32_t above = last + 1u < 32 ? live >> (last + 1u) << (last + 1u) : 0;

	return (uint8_t)__builtin_ctz(above ? above : live);
}

int fare_spray_next(struct fare_spray *spray, struct fare_slot *out)
{
	uint8_t plane;

	if (fare_pair_generation(spray->pair) != spray->generation)
		follow(spray);
	if (!spray->table.period)
		return -ENETUNREACH;
	plane = spray->table.plane[spray->cursor];
	if (++spray->cursor == spray->table.period)
		spray->cursor = 0;
	/* a usable path has a live sub-port: fare_pair_paths() sees to it */
	spray->sub_port[plane] = next_live(spray->live[plane], spray->sub_port[plane]);
	out->plane = plane;
	out->sub_port = spray->sub_port[plane];
	return 0;
}
