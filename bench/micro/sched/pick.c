/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pick.c - what a packet's pick costs, and how far planes stray from their share: libfare's and
 * other ways to choose.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fare_spray_inline.h"
#include "micro/sched/pick_peers.h"
#include "micro/sched/rig.h"
#include "micro/sched/timing.h"
#include "spray_fly.h"
#include "spray_table.h"
#include "suite/trial.h"

#define PICKS 1000000u

/* Names are levels of a parameter, between commas. */
struct weighting {
	const char *name;
	unsigned n;
	uint32_t w[PICK_PEERS_MAX_PLANES];
};

#define WEIGHTINGS 4

static const struct weighting weightings[WEIGHTINGS] = {
	{"4:4:4:4", 4, {4, 4, 4, 4}},
	{"4:4:4:2", 4, {4, 4, 4, 2}},
	{"800:800:400:0", 4, {800, 800, 400, 0}},
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
#define ALL (OWN + PICK_PEERS)

/* What picks under one weighting. */
struct picks {
	struct own own;
	void *state[ALL]; /* of each method; that of libfare's own is `own` */
};

/* The weightings met so far. */
struct pick_state {
	struct picks *of[WEIGHTINGS];
};

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

static const struct pick_peer *method_at(unsigned i)
{
	return i < OWN ? &own_methods[i] : &pick_peers[i - OWN];
}

static void picks_close(struct picks *picks)
{
	if (!picks)
		return;
	for (unsigned i = OWN; i < ALL; i++)
		free(picks->state[i]);
	rig_close(&picks->own.rig);
	free(picks);
}

static int picks_open(struct picks **out, const struct weighting *w)
{
	struct picks *picks = calloc(1, sizeof(*picks));
	int err = picks ? own_open(&picks->own, w) : -ENOMEM;

	if (err) {
		free(picks);
		return err;
	}
	for (unsigned i = 0; i < ALL; i++) {
		picks->state[i] = i < OWN ? &picks->own : method_at(i)->create(w->w, w->n);
		err = picks->state[i] ? err : -ENOMEM;
	}
	if (err)
		picks_close(picks);
	else
		*out = picks;
	return err;
}

static void close_all(void *state)
{
	struct pick_state *s = state;

	for (unsigned i = 0; i < WEIGHTINGS; i++)
		picks_close(s->of[i]);
	free(s);
}

/* The place of the trial's weighting among all; it is one of them, as the suite has checked. */
static unsigned weighting_of(const struct trial *t)
{
	unsigned i = 0;

	while (strcmp(weightings[i].name, trial_text(t, "weights")) != 0)
		i++;
	return i;
}

static unsigned method_of(const struct trial *t)
{
	unsigned i = 0;

	while (strcmp(method_at(i)->name, trial_text(t, "method")) != 0)
		i++;
	return i;
}

/* What time does not change is computed once. */
static int add_window(struct trial *t, const struct weighting *w, const struct pick_peer *method,
		      void *state)
{
	uint8_t *planes = malloc(PICKS);

	if (!planes)
		return -ENOMEM;
	method->fill(state, planes, PICKS);
	trial_value(t, "worst_window", worst_window(planes, w), PICKS);
	free(planes);
	return 0;
}

static int measure(struct trial *t, const struct weighting *w, struct picks *picks)
{
	unsigned i = method_of(t);
	const struct pick_peer *method = method_at(i);
	uint64_t start;

	picks->own.spray = picks->own.rig.client[0].sprays[t->number % RIG_STREAMS];
	start = clock_now_ns();
	timing_keep(method->sum(picks->state[i], PICKS));
	trial_value(t, "pick", (double)(clock_now_ns() - start) / PICKS, PICKS);
	return t->number == 0 ? add_window(t, w, method, picks->state[i]) : 0;
}

static int run(struct trial *t)
{
	unsigned w = weighting_of(t);
	struct pick_state *s;
	int err = 0;

	if (!*t->state)
		*t->state = calloc(1, sizeof(*s));
	s = *t->state;
	if (!s)
		return -ENOMEM;
	if (!s->of[w])
		err = picks_open(&s->of[w], &weightings[w]);
	if (!err)
		err = measure(t, &weightings[w], s->of[w]);
	if (err)
		fprintf(stderr, "farebench: sched-pick: weights %s: %s\n", weightings[w].name,
			strerror(-err));
	return err;
}

static const struct param params[] = {
	PARAM("weights", PARAM_NAME, "", "of the planes",
	      "4:4:4:4,4:4:4:2,800:800:400:0,16-planes"),
	PARAM("method", PARAM_NAME, "",
	      "libfare inline, by a call, its bare table, computed; and others",
	      "fare-inline,fare-call,bare-table,fare-computed," PICK_PEERS_NAMES),
	LIST_END};

static const struct kpi kpis[] = {
	{"pick", "ns", "CPU", "of one packet", BETTER_LOWER, 0},
	{"worst_window", "packets", "computed",
	 "largest distance between what a plane got and its share, over any window of a million "
	 "picks",
	 BETTER_LOWER, 0},
	LIST_END};

static const struct view views[] = {
	VIEW(VIEW_BARS, "Pick of a plane for each packet", "method", "weights", NULL, "pick"),
	VIEW(VIEW_TABLE, "Picks", "method", "weights", NULL, "pick", "worst_window"), VIEWS_END};

const struct test test_sched_pick = {
	.id = "sched-pick",
	.name = "A plane for each packet",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "A million picks in a row, each method in its best form. Real: processor, "
		   "memory, the segment that a daemon would publish. Not there: network, daemon.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {7, 15, 30},
	.seconds = {0, 0, 0},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
	.close = close_all,
};
