/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pick.c - what a packet's pick costs, and how far planes stray from their share.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fare_spray_inline.h"
#include "suite/trial.h"
#include "micro/sched/rig.h"
#include "spray_fly.h"
#include "weights.h"

#define PICKS	   1000000u
#define MAX_PLANES 16

/* Names are levels of a parameter, between commas. */
struct weighting {
	const char *name;
	unsigned n;
	uint32_t w[MAX_PLANES];
};

#define WEIGHTINGS 4

static const struct weighting weightings[WEIGHTINGS] = {
	{"4:4:4:4", 4, {4, 4, 4, 4}},
	{"4:4:4:2", 4, {4, 4, 4, 2}},
	{"800:800:400:0", 4, {800, 800, 400, 0}},
	{"16-planes", 16, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4}},
};

/*
 * What picks under one weighting: the library, inline; a bare table that nobody may change; the
 * schedule computed pick by pick, as groups do.
 */
struct picks {
	struct rig rig;
	struct fare_spray *spray; /* of one of its pairs, of another in each repetition */
	uint8_t table[WEIGHTS_MAX_SUM];
	uint32_t period, cursor;
	struct spray_fly fly;
};

struct method {
	const char *name;
	uint64_t (*sum)(struct picks *picks, size_t n); /* n picks; the sum of the planes */
	void (*fill)(struct picks *picks, uint8_t *planes, size_t n); /* n picks, kept */
};

static uint64_t inline_sum(struct picks *picks, size_t n)
{
	struct fare_spray *spray = picks->spray;
	struct fare_slot slot;
	uint64_t sum = 0;

	while (n--) {
		fare_spray_pick(spray, &slot);
		sum += slot.plane;
	}
	return sum;
}

static inline unsigned bare_pick(struct picks *picks)
{
	unsigned plane = picks->table[picks->cursor];

	if (++picks->cursor == picks->period)
		picks->cursor = 0;
	return plane;
}

static uint64_t bare_sum(struct picks *picks, size_t n)
{
	uint64_t sum = 0;

	while (n--)
		sum += bare_pick(picks);
	return sum;
}

static uint64_t computed_sum(struct picks *picks, size_t n)
{
	uint64_t sum = 0;

	while (n--)
		sum += (uint64_t)spray_fly_next(&picks->fly);
	return sum;
}

static void inline_fill(struct picks *picks, uint8_t *planes, size_t n)
{
	struct fare_slot slot;

	while (n--) {
		fare_spray_pick(picks->spray, &slot);
		*planes++ = (uint8_t)slot.plane;
	}
}

static void bare_fill(struct picks *picks, uint8_t *planes, size_t n)
{
	while (n--)
		*planes++ = (uint8_t)bare_pick(picks);
}

static void computed_fill(struct picks *picks, uint8_t *planes, size_t n)
{
	while (n--)
		*planes++ = (uint8_t)spray_fly_next(&picks->fly);
}

static const struct method methods[] = {
	{"fare-inline", inline_sum, inline_fill},
	{"bare-table", bare_sum, bare_fill},
	{"fare-computed", computed_sum, computed_fill},
};

/* The weightings met so far. */
struct pick_state {
	struct picks *of[WEIGHTINGS];
};

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

static void picks_close(struct picks *picks)
{
	if (!picks)
		return;
	rig_close(&picks->rig);
	free(picks);
}

static int picks_open(struct picks **out, const struct weighting *w)
{
	struct picks *picks = calloc(1, sizeof(*picks));
	uint64_t bps[MAX_PLANES];
	struct weights weights;
	int err;

	if (!picks)
		return -ENOMEM;
	for (unsigned p = 0; p < w->n; p++)
		bps[p] = w->w[p];
	weights_from_bps(&weights, bps, w->n);
	spray_fly_init(&picks->fly, bps, w->n, NULL);
	picks->period = weights.sum;
	for (uint32_t t = 0; t < picks->period; t++)
		picks->table[t] = (uint8_t)spray_fly_next(&picks->fly);
	err = rig_open(&picks->rig, RIG_STREAMS, bps, w->n, 1);
	if (err)
		free(picks);
	else
		*out = picks;
	return err;
}

static void pick_close(void *state)
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

static const struct method *method_of(const struct trial *t)
{
	unsigned i = 0;

	while (strcmp(methods[i].name, trial_text(t, "method")) != 0)
		i++;
	return &methods[i];
}

/* What time does not change is computed once. */
static int add_window(struct trial *t, const struct weighting *w, struct picks *picks)
{
	uint8_t *planes = malloc(PICKS);

	if (!planes)
		return -ENOMEM;
	method_of(t)->fill(picks, planes, PICKS);
	trial_value(t, "worst_window", worst_window(planes, w), PICKS);
	free(planes);
	return 0;
}

static int pick_measure(struct trial *t, const struct weighting *w, struct picks *picks)
{
	const struct method *method = method_of(t);
	uint64_t start;

	picks->spray = picks->rig.client[0].sprays[t->number % RIG_STREAMS];
	start = clock_now_ns();
	rig_keep(method->sum(picks, PICKS));
	trial_value(t, "pick", (double)(clock_now_ns() - start) / PICKS, PICKS);
	return t->number == 0 ? add_window(t, w, picks) : 0;
}

static int pick_run(struct trial *t)
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
		err = pick_measure(t, &weightings[w], s->of[w]);
	if (err)
		fprintf(stderr, "farebench: sched-pick: weights %s: %s\n", weightings[w].name,
			strerror(-err));
	return err;
}

const struct test test_sched_pick = {
	.id = "sched-pick",
	.name = "A plane for each packet",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "A million picks in a row. Real: processor, memory, the segment that a daemon "
		   "would publish. Not there: network, daemon.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {7, 15, 30},
	.params = PARAMS(PARAM("weights", PARAM_NAME, "", "of the planes",
			       "4:4:4:4,4:4:4:2,800:800:400:0,16-planes"),
			 PARAM("method", PARAM_NAME, "",
			       "libfare inline; a bare table; computed, as groups do",
			       "fare-inline,bare-table,fare-computed")),
	.kpis = KPIS({"pick", "ns", "CPU", "of one packet", BETTER_LOWER, 0},
		     {"worst_window", "packets", "computed",
		      "largest distance between what a plane got and its share, over any window of "
		      "a million picks",
		      BETTER_LOWER, 0}),
	.views =
		VIEWS(VIEW(VIEW_BARS, "Pick of a plane for each packet", "method", "weights", NULL,
			   "pick"),
		      VIEW(VIEW_TABLE, "Picks", "method", "weights", NULL, "pick", "worst_window")),
	.run = pick_run,
	.close = pick_close,
};
