/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.c - a plane for each packet while another thread changes the weights.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "micro/sched/publish_pick.h"
#include "suite/derive.h"
#include "suite/trial.h"

#define KINDS	   2 /* of destinations: one, many */
#define ENOUGH	   8.
#define OF_CEILING 0.9

struct publish {
	struct publish_pick *of[KINDS];
};

static void close_all(void *state)
{
	struct publish *p = state;

	for (unsigned i = 0; i < KINDS; i++)
		publish_pick_destroy(p->of[i]);
	free(p);
}

static int run(struct trial *t)
{
	unsigned destinations = trial_count(t, "destinations");
	struct publish_pick **of;
	struct publish *p;
	double ns;
	int err = 0;

	if (!*t->state)
		*t->state = calloc(1, sizeof(*p));
	p = *t->state;
	if (!p)
		return -ENOMEM;
	of = &p->of[destinations > 1];
	if (!*of)
		err = publish_pick_create(of, destinations);
	if (!err)
		err = publish_pick_measure(*of, trial_text(t, "method"), trial_count(t, "threads"),
					   t->number, &ns);
	if (!err)
		trial_value(t, "pick", ns, 1);
	else
		fprintf(stderr, "farebench: sched-publish: %s: %s\n", trial_text(t, "method"),
			strerror(-err));
	return err;
}

/* The median of a method where the row stands; NaN: it was not measured. */
static double median_of(const struct rows *rows, const struct row *at, const char *method)
{
	struct row_param param[ROWS_MAX_PARAMS];

	memcpy(param, at->param, sizeof(param));
	for (unsigned i = 0; i < at->n_params; i++)
		if (strcmp(param[i].name, "method") == 0)
			snprintf(param[i].text, sizeof(param[i].text), "%s", method);
	return derive_median(rows, at->test, "", "pick", at->n_params, param, 0.5);
}

/*
 * How many times the inline pick's time a rwlock takes, and how many it has to: ENOUGH, or
 * OF_CEILING of what the same table reaches without synchronisation in this run, where that is
 * less. The processor alone decides the latter.
 */
static int derive(const struct test *test, struct rows *rows)
{
	static const struct row_param rwlock = {.name = "method", .text = "rwlock"};
	const struct rows_filter filter = {
		.test = test->id, .kpi = "pick", .strategy = "", .n_params = 1, .param = &rwlock};
	size_t n = rows_count(rows);
	int err = 0;

	for (size_t i = rows_next(rows, &filter, 0); !err && i < n;
	     i = rows_next(rows, &filter, i + 1)) {
		struct row row = *rows_at(rows, i);
		double of_pick =
			median_of(rows, &row, "rwlock") / median_of(rows, &row, "fare-inline");
		double ceiling = median_of(rows, &row, "rwlock") /
				 median_of(rows, &row, "fare-unsynchronised");

		if (!isfinite(of_pick) || !isfinite(ceiling))
			continue;
		err = derive_value(rows, &row, "of_pick", of_pick);
		if (!err)
			err = derive_value(rows, &row, "of_pick_needed",
					   fmin(ENOUGH, ceiling * OF_CEILING));
	}
	return err;
}

static const struct param params[] = {
	PARAM("method", PARAM_NAME, "", "how weights are shared", PUBLISH_PICK_METHODS),
	PARAM("destinations", PARAM_NAME, "", "that packets go to, at random", "1,4096"),
	PARAM("threads", PARAM_NAME, "", "that pick, each with cursors of its own", "1,2"),
	LIST_END};

static const struct kpi kpis[] = {
	{"pick", "ns", "CPU", "of one packet; the slower thread's", BETTER_LOWER, 0},
	{"of_pick", "", "CPU", "rwlock over fare-inline", BETTER_HIGHER, 0},
	{"of_pick_needed", "", "CPU",
	 "8, or 0.9 of rwlock over fare-unsynchronised where that is less", BETTER_NONE, 0},
	LIST_END};

static const struct view views[] = {VIEW(VIEW_BARS, "Pick while weights change every 100 us",
					 "method", "threads", "destinations", "pick"),
				    VIEW(VIEW_TABLE, "Pick while weights change", "method",
					 "threads", "destinations", "pick", "of_pick",
					 "of_pick_needed"),
				    VIEWS_END};

const struct test test_sched_publish = {
	.id = "sched-publish",
	.name = "A plane for each packet while weights change",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "A writer changes a destination's weights every 100 us. fare-inline and "
		   "fare-unsynchronised: the library's objects, with and without the look at the "
		   "daemon's word; the others: a word per destination, shared in the usual ways. "
		   "Real: processor, memory, the segment. Not there: network, daemon.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {7, 15, 30},
	.seconds = {0, 0, 0},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
	.close = close_all,
	.derive = derive,
};
