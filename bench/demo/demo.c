/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo.c - the demonstration's tests, side by side in one run, at a link rate that the machine
 * carries with time to spare.
 */
#include "demo/demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/interrupt.h"
#include "core/options.h"
#include "suite/suite.h"
#include "suite/trial.h"

extern const struct test test_demo_goodput, test_demo_shift, test_demo_chaos, test_demo_plain;

#define MAX_N 1000

struct demo {
	struct suite_options options;
	const char *only, *json, *html;
	bool quick;
	uint64_t n;
	bool wanted[STRATEGY_COUNT];
	const struct test *test[4];
	size_t n_tests;
	uint64_t begin_ns;
};

static const char *const demo_scenarios[] = {"healthy",	  "sub-port-lost", "plane-lost",
					     "leaf-dead", "chaos",	   "plain-ip"};
#define DEMO_SCENARIOS (sizeof(demo_scenarios) / sizeof(demo_scenarios[0]))

static int demo_choose(void *into, char *name)
{
	struct demo *demo = into;
	int index = options_name("scenario", name, demo_scenarios, DEMO_SCENARIOS);

	if (index >= 0)
		demo->only = demo_scenarios[index];
	return index < 0 ? index : 0;
}

static int demo_strategies(void *into, char *text)
{
	struct demo *demo = into;
	uint64_t list[STRATEGY_COUNT];
	int n = options_strategies(text, list, STRATEGY_COUNT);

	for (int i = 0; i < n; i++)
		demo->options.strategy[i] = (int)list[i];
	demo->options.n_strategies = n > 0 ? (unsigned)n : 0;
	return n < 0 ? n : 0;
}

static int demo_seed(void *into, char *text)
{
	struct demo *demo = into;

	demo->options.has_seed = true;
	return options_number("seed", text, 0, UINT32_MAX, &demo->options.seed);
}

static const struct options_entry demo_table[] = {
	{"lab", "NAME", "the lab to run in ($FARELAB_NAME)",
	 OPTIONS_TEXT(struct demo, options.lab)},
	{"json", "FILE", "write all results there ('-': standard output)",
	 OPTIONS_TEXT(struct demo, json)},
	{"html", "FILE", "write them there as a page with pictures",
	 OPTIONS_TEXT(struct demo, html)},
	{"quick", NULL, "fewer repetitions: to see it work, not for figures",
	 OPTIONS_FLAG(struct demo, quick)},
	{"n", "N", "repetitions of each measurement (5; of killed daemons 3)",
	 OPTIONS_NUMBER(struct demo, n, 1, MAX_N)},
	{"seed", "N", "of the order of the measurements (by chance)", OPTIONS_CALL(demo_seed)},
	{"even-busy", NULL,
	 "measure on a machine without idle time, too: to see it work, not for figures",
	 OPTIONS_FLAG(struct demo, options.even_busy)},
	{"scenario", "NAME",
	 "only this one: healthy, sub-port-lost, plane-lost, leaf-dead, chaos, plain-ip",
	 OPTIONS_CALL(demo_choose)},
	{"strategy", "NAMES",
	 "of ecmp-stripe,wecmp-stripe,fare-flow,fare-spray,fare-packet (all but the last),\n"
	 "                          ecmp-flow,ecmp-pull,wecmp-flow,wecmp-pull",
	 OPTIONS_CALL(demo_strategies)},
	{.name = NULL},
};

/* Which tests, how often, of which scenario. */
static void demo_plan(struct demo *demo)
{
	struct suite_options *o = &demo->options;
	bool chaos = demo->only && strcmp(demo->only, "chaos") == 0;
	bool plain = demo->only && strcmp(demo->only, "plain-ip") == 0;
	bool healthy = demo->only && strcmp(demo->only, "healthy") == 0;
	unsigned n = demo->n ? (unsigned)demo->n : demo->quick ? 3 : 0;

	if (!chaos && !plain)
		demo->test[demo->n_tests++] = &test_demo_goodput;
	if (!chaos && !plain && !healthy)
		demo->test[demo->n_tests++] = &test_demo_shift;
	if (!demo->only || chaos)
		demo->test[demo->n_tests++] = &test_demo_chaos;
	if (!demo->only || plain)
		demo->test[demo->n_tests++] = &test_demo_plain;
	if (demo->only && !chaos && !plain)
		o->override[o->n_overrides++] =
			(struct cells_override){.name = "scenario", .levels = demo->only};
	o->trials_of[0] = (struct suite_trials){test_demo_goodput.id, n};
	o->trials_of[1] = (struct suite_trials){test_demo_chaos.id, n};
	o->trials_of[2] = (struct suite_trials){test_demo_shift.id, demo->quick ? 1 : 0};
	o->trials_of[3] = (struct suite_trials){test_demo_plain.id, plain && demo->n ? n : 1};
	for (unsigned i = 0; i < o->n_strategies; i++)
		demo->wanted[o->strategy[i]] = true;
}

/* 1: nothing is to be done. */
static int demo_parse(struct demo *demo, int argc, char **argv)
{
	int err = options_read("farebench demo", demo_table, argc, argv, demo, NULL);

	if (!err)
		err = options_lab("farebench demo", argc, demo->options.lab);
	if (!err)
		demo_plan(demo);
	return err;
}

/* Which rate, and what it was chosen by: for people. */
static void demo_rate_text(const json_t *rate, char *text, size_t size)
{
	double given = json_number_value(json_object_get(rate, "given_mbps")),
	       mbps = json_number_value(json_object_get(rate, "sub_port_mbps"));
	char from[64] = "the lab's own";

	if (mbps != given)
		snprintf(from, sizeof(from), "lowered from the lab's %.0f", given);
	snprintf(text, size,
		 "%.0f Mb/s a sub-port, %s. Measured before all else: under the heaviest traffic, "
		 "all-to-all, this machine is then %.0f%% idle (%.0f%% is asked for), its busiest "
		 "core %.0f%%; without traffic %.0f%%.",
		 mbps, from, json_number_value(json_object_get(rate, "idle_cpu_percent")),
		 json_number_value(json_object_get(rate, "wanted_idle_cpu_percent")),
		 json_number_value(json_object_get(rate, "idle_busiest_core_percent")),
		 json_number_value(json_object_get(rate, "unloaded_idle_cpu_percent")));
}

/* What the run says of itself beside what the suite knows. */
static json_t *demo_extra(const struct demo *demo, const json_t *rate)
{
	char text[600];

	demo_rate_text(rate, text, sizeof(text));
	return json_pack(
		"{s:O, s:[{s:s, s:[[s,s], [s,s]]}]}", "rate", rate, "tables", "title",
		"The demonstration", "rows", "The rate", text, "Idle time",
		demo->options.even_busy
			? "measured even without it: these figures may be those of the machine"
			: "no trial counts during which a core had none");
}

static int demo_report(const struct demo *demo, const struct results *results, const json_t *rate)
{
	const struct results_tests tests = {demo->test, demo->n_tests};
	double seconds = (double)(clock_now_ns() - demo->begin_ns) / 1e9;
	bool text = !demo->json || strcmp(demo->json, "-") != 0;
	char what[600];
	int err;

	json_object_set_new(results->run, "duration_s", json_real(seconds));
	err = suite_report(results, &tests, NULL, demo->json, demo->html);
	if (err || !text)
		return err;
	demo_rate_text(rate, what, sizeof(what));
	printf("\nThe rate: %s\n%.0f s in all. Trials repeated because a core had no idle time: "
	       "%lld. Order of trials: seed %lld.\n",
	       what, seconds,
	       (long long)json_integer_value(json_object_get(results->run, "trials_repeated")),
	       (long long)json_integer_value(json_object_get(results->run, "seed")));
	return 0;
}

static int demo_measure(struct demo *demo, json_t **rate)
{
	struct results results = {0};
	json_t *extra = NULL;
	int err = demo_rate(demo->options.lab, demo->wanted, demo->options.even_busy, rate);

	if (err)
		return err;
	demo->options.extra = extra = demo_extra(demo, *rate);
	err = extra ? suite_run(&demo->options, demo->test, demo->n_tests, &results.rows,
				&results.run)
		    : -ENOMEM;
	if (err == -EBUSY)
		fprintf(stderr,
			"farebench demo: this machine is too busy: in %u trials in a row a core "
			"was idle for less than %.1f%%\n"
			"of the time, and figures would tell of the machine. Stop what else runs, "
			"and try again.\n",
			TRIAL_GUARD_IN_A_ROW + 1, TRIAL_GUARD_PERCENT);
	if (!err)
		err = demo_report(demo, &results, *rate);
	results_close(&results);
	json_decref(extra);
	return err;
}

int demo_main(int argc, char **argv)
{
	struct demo demo = {.options = {.lab = getenv("FARELAB_NAME"),
					.strategy = {STRATEGY_ECMP, STRATEGY_WECMP_KERNEL,
						     STRATEGY_FARE_FLOW, STRATEGY_FARE_SPRAY},
					.n_strategies = STRATEGY_COMPARED,
					.strict = true},
			    .begin_ns = clock_now_ns()};
	json_t *rate = NULL;
	int err = demo_parse(&demo, argc, argv), restored;

	if (err)
		return err > 0 ? 0 : 2;
	interrupt_hold();
	err = demo_measure(&demo, &rate);
	restored = demo_rate_restore(demo.options.lab, rate);
	json_decref(rate);
	if (err == -EBUSY)
		return DEMO_EXIT_BUSY;
	if (err == -EINTR)
		return 128 + interrupt_pending();
	return err || restored ? 1 : 0;
}
