/* SPDX-License-Identifier: BSD-2-Clause */
#include "pick_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fare_spray_inline.h"
#include "pick_peers.h"
#include "rig.h"
#include "spray_fly.h"
#include "spray_table.h"
#include "stats.h"
#include "timing.h"

#define PICKS 1000000u
#define MAX_N 99

struct weighting {
	const char *name;
	unsigned n;
	uint32_t w[PICK_PEERS_MAX_PLANES];
};

static const struct weighting weightings[] = {
	{"4,4,4,4", 4, {4, 4, 4, 4}},
	{"4,4,4,2", 4, {4, 4, 4, 2}},
	{"800,800,400,0", 4, {800, 800, 400, 0}},
	{"16-planes", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4}},
};

/* Ours: through the library; through its function; the bare table that nobody may change; and
 * computed. */
struct own {
	struct rig rig;
	struct fare_spray *spray; /* of one of its pairs, of another in each repetition */
	struct spray_table table;
	uint32_t cursor;
	struct spray_fly fly;
};

static uint64_t own_inline(void *state, size_t n)
{
	struct fare_spray *spray = ((struct own *)state)->spray;
	struct fare_slot slot;
	uint64_t sum = 0;

	while (n--) {
		fare_spray_pick(spray, &slot);
		sum += slot.plane;
	}
	return sum;
}

static uint64_t own_called(void *state, size_t n)
{
	struct fare_spray *spray = ((struct own *)state)->spray;
	struct fare_slot slot;
	uint64_t sum = 0;

	while (n--) {
		fare_spray_next(spray, &slot);
		sum += slot.plane;
	}
	return sum;
}

static inline unsigned bare_pick(struct own *own)
{
	unsigned plane = own->table.plane[own->cursor];

	if (++own->cursor == own->table.period)
		own->cursor = 0;
	return plane;
}

static uint64_t own_bare(void *state, size_t n)
{
	uint64_t sum = 0;

	while (n--)
		sum += bare_pick(state);
	return sum;
}

static uint64_t own_fly(void *state, size_t n)
{
	struct own *own = state;
	uint64_t sum = 0;

	while (n--)
		sum += (uint64_t)spray_fly_next(&own->fly);
	return sum;
}

static void own_fill(void *state, uint8_t *planes, size_t n)
{
	struct fare_spray *spray = ((struct own *)state)->spray;
	struct fare_slot slot;

	while (n--) {
		fare_spray_pick(spray, &slot);
		*planes++ = (uint8_t)slot.plane;
	}
}

static void bare_fill(void *state, uint8_t *planes, size_t n)
{
	while (n--)
		*planes++ = (uint8_t)bare_pick(state);
}

static void fly_fill(void *state, uint8_t *planes, size_t n)
{
	struct own *own = state;

	while (n--)
		*planes++ = (uint8_t)spray_fly_next(&own->fly);
}

static const struct pick_peer own_methods[] = {
	{"fare-inline", NULL, own_inline, own_fill},
	{"fare-call", NULL, own_called, own_fill},
	{"bare-table", NULL, own_bare, bare_fill},
	{"fare-computed", NULL, own_fly, fly_fill},
};

#define OWN (sizeof(own_methods) / sizeof(own_methods[0]))
#define ALL (OWN + 5)

static int own_open(struct own *own, const struct weighting *w)
{
	uint64_t bps[PICK_PEERS_MAX_PLANES];
	struct weights weights;

	for (unsigned p = 0; p < w->n; p++)
		bps[p] = w->w[p];
	weights_from_bps(&weights, bps, w->n);
	spray_table_build(&own->table, &weights);
	spray_fly_init(&own->fly, bps, w->n, NULL);
	own->cursor = 0;
	return rig_open(&own->rig, RIG_STREAMS, bps, w->n, 1);
}

/* The largest gain or loss of any plane against its share, over all windows: the range of the
 * running difference. */
static double worst_window(const uint8_t *planes, const struct weighting *w)
{
	double sum = 0, worst = 0;

	for (unsigned p = 0; p < w->n; p++)
		sum += w->w[p];
	for (unsigned p = 0; p < w->n; p++) {
		double d = 0, low = 0, high = 0;

		for (size_t t = 0; t < PICKS; t++) {
			d += (planes[t] == p) - w->w[p] / sum;
			low = d < low ? d : low;
			high = d > high ? d : high;
		}
		worst = high - low > worst ? high - low : worst;
	}
	return worst;
}

static int report(const struct weighting *w, const struct pick_peer *peer, void *state,
		  const double *ns, unsigned n, uint8_t *planes, json_t *out)
{
	struct stats_summary s;

	if (stats_summarise(ns, n, &s))
		return -EINVAL;
	peer->fill(state, planes, PICKS);
	return json_array_append_new(out, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:i}", "method",
						    peer->name, "weights", w->name, "ns_per_pick",
						    s.median, "min_ns", s.min, "max_ns", s.max,
						    "worst_window_units", worst_window(planes, w),
						    "n", (int)n))
		       ? -ENOMEM
		       : 0;
}

static int one_weighting(const struct weighting *w, unsigned n, json_t *out)
{
	static double ns[ALL][MAX_N];
	uint8_t *planes = malloc(PICKS);
	const struct pick_peer *peer[ALL];
	void *state[ALL] = {NULL};
	struct own own;
	int err = planes ? own_open(&own, w) : -ENOMEM;

	if (err) {
		free(planes);
		return err;
	}
	for (unsigned i = 0; i < ALL; i++) {
		peer[i] = i < OWN ? &own_methods[i] : &pick_peers[i - OWN];
		state[i] = i < OWN ? &own : peer[i]->create(w->w, w->n);
		err = state[i] ? err : -ENOMEM;
	}
	for (unsigned rep = 0; !err && rep < n; rep++) {
		own.spray = own.rig.client[0].sprays[rep % RIG_STREAMS];
		for (unsigned i = 0; i < ALL; i++) {
			uint64_t start = timing_now_ns();

			timing_keep(peer[i]->sum(state[i], PICKS));
			ns[i][rep] = (double)(timing_now_ns() - start) / PICKS;
		}
	}
	for (unsigned i = 0; !err && i < ALL; i++)
		err = report(w, peer[i], state[i], ns[i], n, planes, out);
	for (unsigned i = OWN; i < ALL; i++)
		free(state[i]);
	rig_close(&own.rig);
	free(planes);
	return err;
}

int pick_bench_run(unsigned n, struct progress *progress, json_t *out)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(weightings) / sizeof(weightings[0]); i++) {
		progress_step(progress, "picks, weights %s", weightings[i].name);
		err = one_weighting(&weightings[i], n, out);
	}
	return err;
}
