/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fluid_test.c - how long a pattern would take on a fabric of any size, as fluid, over the optimum.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "micro/fluid/fluid.h"
#include "micro/fluid/fluid_fabric.h"
#include "micro/fluid/fluid_pattern.h"
#include "suite/trial.h"

/* Beyond this many GPUs an all-to-all among all of them is too much memory: each has this many
 * peers, unless set otherwise. */
#define MANY_GPUS	1024
#define PEERS_OF_MANY	64
#define BYTES		1048576. /* of a pair */
#define MAX_PPM		1000000.
#define DUMP		"FAREBENCH_FLUID_DUMP"
#define NONE		"none"
#define ASSIGNMENT_GPUS 256

/* ---- the pattern ---- */

static int complain(const struct trial *t, const char *param, const char *what)
{
	fprintf(stderr, "farebench: %s: %s=%s: %s\n", t->test->id, param, trial_text(t, param),
		what);
	return -EINVAL;
}

/* A whole number of a parameter; default_value where its level is "none". */
static int fluid_test_number(const struct trial *t, const char *param, double min, double max,
			     unsigned default_value, unsigned *out)
{
	double value = trial_number(t, param);
	char what[80];

	*out = default_value;
	if (strcmp(trial_text(t, param), NONE) == 0)
		return 0;
	if (value >= min && value <= max) {
		*out = (unsigned)value;
		return 0;
	}
	snprintf(what, sizeof(what), "a number from %.0f to %.0f is expected", min, max);
	return complain(t, param, what);
}

static void name_pattern(const struct trial *t, struct fluid_pattern *p)
{
	while (strcmp(fluid_pattern_test_name(p->test), trial_text(t, "pattern")) != 0)
		p->test++;
	while (strcmp(fluid_pattern_choice_name(p->choice), trial_text(t, "choice")) != 0)
		p->choice++;
}

static int size_pattern(const struct trial *t, const struct fluid_fabric *fabric,
			struct fluid_pattern *p)
{
	int err = fluid_test_number(t, "gpus", 2, FLUID_PATTERN_MAX_GPUS,
				    fabric->servers * fabric->gpus_per_server, &p->gpus);

	if (!err)
		err = fluid_test_number(t, "peers", 1, FLUID_PATTERN_MAX_GPUS,
					p->gpus > MANY_GPUS ? PEERS_OF_MANY : 0, &p->peers);
	if (!err)
		err = fluid_test_number(t, "qps", 1, FLUID_PATTERN_MAX_QPS, 1, &p->qps);
	if (!err)
		err = fluid_test_number(t, "vary", 0, 99, 0, &p->vary_percent);
	return err;
}

static int make_pattern(const struct trial *t, struct fluid_pattern *p)
{
	char why[FLUID_FABRIC_WHY_MAX];
	struct fluid_fabric fabric;
	unsigned halved;
	int err;

	if (fluid_fabric_load(trial_text(t, "topology"), &fabric, why))
		return complain(t, "topology", why);
	*p = (struct fluid_pattern){.gpus_per_server = fabric.gpus_per_server,
				    .planes = fabric.planes,
				    .sub_ports = fabric.sub_ports,
				    .bytes = BYTES};
	name_pattern(t, p);
	err = size_pattern(t, &fabric, p);
	if (!err)
		err = fluid_test_number(t, "halve", 0, fabric.planes - 1, fabric.planes, &halved);
	if (err)
		return err;
	for (unsigned plane = 0; plane < fabric.planes; plane++)
		p->plane_bps[plane] =
			plane == halved ? fabric.plane_bps[plane] / 2 : fabric.plane_bps[plane];
	return fluid_pattern_check(p) ? complain(t, "gpus",
						 "at least two servers are expected, all full, and "
						 "for kv an even number of GPUs")
				      : 0;
}

/* ---- one case ---- */

struct fluid_case {
	struct fluid *fluid;
	FILE *dump; /* NULL: nobody asked for it */
	size_t flows;
	double optimum_s, finish_s, build_s, wall_s;
};

static int fluid_test_on_link(void *context, double capacity_bps)
{
	struct fluid_case *one = context;
	int link = fluid_add_link(one->fluid, capacity_bps);

	if (one->dump)
		fprintf(one->dump, "link %.17g\n", capacity_bps);
	return link < 0 ? link : 0;
}

static int on_flow(void *context, double weight, double bytes, int tx_link, int rx_link)
{
	struct fluid_case *one = context;
	int links[2] = {tx_link, rx_link};
	int flow = fluid_add_flow(one->fluid, weight, bytes, links, 2);

	if (one->dump)
		fprintf(one->dump, "flow %.17g %.17g %d %d\n", weight, bytes, tx_link, rx_link);
	one->flows++;
	return flow < 0 ? flow : 0;
}

static int dump_times(const struct fluid_case *one)
{
	if (!one->dump)
		return 0;
	for (size_t i = 0; i < one->flows; i++)
		fprintf(one->dump, "done %.17g\n", fluid_finish_s(one->fluid, (int)i));
	fprintf(one->dump, "end %.17g\n", one->finish_s);
	if (!fflush(one->dump) && !ferror(one->dump))
		return 0;
	fprintf(stderr, "farebench: fluid: %s cannot be written\n", getenv(DUMP));
	return -EIO;
}

/* Largest resident set of the process so far. */
static double peak_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss * 1024e-6;
}

static int solve(struct trial *t, const struct fluid_pattern *p, struct fluid_case *one)
{
	const struct fluid_pattern_sink sink = {fluid_test_on_link, on_flow, one};
	double begin = clock_now_s();
	int err = fluid_pattern_optimum_s(p, &one->optimum_s);

	if (!err)
		err = fluid_pattern_run(p, &sink);
	one->build_s = clock_now_s() - begin;
	if (!err)
		err = fluid_run(one->fluid, &one->finish_s);
	one->wall_s = clock_now_s() - begin;
	if (err)
		fprintf(stderr, "farebench: %s: %s\n", t->test->id, strerror(-err));
	else
		trial_value(t, "over_optimum", one->finish_s / one->optimum_s, one->flows);
	return err;
}

static void add_solved(struct trial *t, const struct fluid_case *one)
{
	trial_value(t, "finish", one->finish_s, one->flows);
	trial_value(t, "optimum", one->optimum_s, 1);
	trial_value(t, "flows", (double)one->flows, 1);
	trial_value(t, "events", (double)fluid_events(one->fluid), 1);
	trial_value(t, "build", one->build_s, 1);
	trial_value(t, "solve", one->wall_s - one->build_s, 1);
	trial_value(t, "wall", one->wall_s, 1);
	trial_value(t, "peak_memory", peak_mb(), 1);
}

static void close_dump(void *state)
{
	fclose(state);
}

/* The state is the file. Trials are all the same: the first alone is written. */
static int open_dump(struct trial *t, FILE **out)
{
	const char *path = getenv(DUMP);

	*out = NULL;
	if (!path || !*path || t->number > 0)
		return 0;
	if (!*t->state)
		*t->state = fopen(path, "we");
	*out = *t->state;
	if (*out)
		return 0;
	fprintf(stderr, "farebench: fluid: %s: %s\n", path, strerror(errno));
	return -errno;
}

static int fluid_test_run(struct trial *t)
{
	struct fluid_case one = {.fluid = NULL};
	struct fluid_pattern pattern;
	double ppm = trial_number(t, "merge");
	int err = make_pattern(t, &pattern);

	if (!err && !(ppm >= 0 && ppm <= MAX_PPM))
		err = complain(t, "merge", "0 to 1000000 are expected");
	if (!err)
		err = open_dump(t, &one.dump);
	if (!err)
		err = fluid_create(&one.fluid);
	if (!err)
		err = fluid_merge_ppm(one.fluid, ppm);
	if (!err)
		err = solve(t, &pattern, &one);
	if (!err) {
		add_solved(t, &one);
		err = dump_times(&one);
	}
	fluid_destroy(one.fluid);
	return err;
}

const struct test test_fluid = {
	.id = "fluid",
	.name = "A pattern on a fabric of any size, as fluid",
	.clause = "none",
	.dut = "computed",
	.summary = "Computed, not measured: flows share links max-min fairly, as fluid, and rates "
		   "change whenever a flow ends. A link is all sub-ports of a plane. Not there: "
		   "packets, transport, the leaves' hash between sub-ports.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {1, 1, 1},
	.params = PARAMS(
		PARAM("topology", PARAM_TEXT, "", "of farelab(8), installed or a file",
		      "4x4x2.yaml", "4x4x2.yaml,64x4x2.yaml"),
		PARAM("pattern", PARAM_NAME, "",
		      "kv: each GPU of the first half of the servers sends to one of the second",
		      "all-to-all", "all-to-all,kv"),
		PARAM("choice", PARAM_NAME, "",
		      "how a QP gets its plane: libfare's flow tables, a hash, a weighted one, or "
		      "all by share",
		      "fare,hash", "fare,hash,weighted-hash,spray"),
		PARAM("qps", PARAM_COUNT, "", "of a pair, up to 64", "1,4,16"),
		PARAM("gpus", PARAM_TEXT, "", "up to 65536; none: the topology's", NONE),
		PARAM("peers", PARAM_TEXT, "",
		      "that a GPU sends to in all-to-all; none: all, or 64 beyond 1024 GPUs", NONE),
		PARAM("halve", PARAM_TEXT, "", "plane with half its bandwidth everywhere", NONE),
		PARAM("vary", PARAM_NUMBER, "%", "sizes of pairs differ by up to this", "0"),
		PARAM("merge", PARAM_NUMBER, "ppm",
		      "flows that end within so many millionths of each other end together; 0: "
		      "exact",
		      "0")),
	.kpis = KPIS({"over_optimum", "", "computed", "time over the optimum", BETTER_LOWER, 0},
		     {"finish", "s", "computed", "until the last flow of 1 MiB a pair ends",
		      BETTER_LOWER, 0},
		     {"optimum", "s", "computed",
		      "all planes of the busiest GPU busy until the end", BETTER_NONE, 0},
		     {"flows", "", "computed", "a pair's QPs on one plane are one", BETTER_NONE, 0},
		     {"events", "", "solver", "times that rates were solved anew", BETTER_NONE, 0},
		     {"build", "s", "solver", "making links and flows", BETTER_LOWER, 0},
		     {"solve", "s", "solver", "solving", BETTER_LOWER, 0},
		     {"wall", "s", "solver", "both", BETTER_LOWER, 0},
		     {"peak_memory", "MB", "solver", "of the process so far", BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "Time over the optimum", "qps", "choice", "pattern",
			    "over_optimum"),
		       VIEW(VIEW_TABLE, "Patterns", "qps", "choice", "pattern", "over_optimum",
			    "finish", "flows", "events", "wall", "peak_memory")),
	.run = fluid_test_run,
	.close = close_dump,
};

/* ---- an all-to-all, one plane halved ---- */

static int assignment_run(struct trial *t)
{
	static const struct {
		const char *name;
		enum fluid_pattern_choice choice;
	} choices[] = {{"fare", FLUID_PATTERN_FARE},
		       {"all-alike", FLUID_PATTERN_ALIKE},
		       {"wecmp-hash", FLUID_PATTERN_WEIGHTED_HASH},
		       {"ecmp-hash", FLUID_PATTERN_HASH}};
	struct fluid_pattern pattern = {
		.gpus = trial_count(t, "gpus"),
		.gpus_per_server = 1,
		.planes = 4,
		.sub_ports = 2,
		.qps = trial_count(t, "qps"),
		.plane_bps = {2000000000, 2000000000, 2000000000, 1000000000},
		.bytes = BYTES};
	struct fluid_case one = {.fluid = NULL};
	int err;

	for (unsigned i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (strcmp(choices[i].name, trial_text(t, "choice")) == 0)
			pattern.choice = choices[i].choice;
	if (pattern.gpus > ASSIGNMENT_GPUS || fluid_pattern_check(&pattern))
		return complain(t, "gpus", "2 to 256 GPUs and 1 to 64 QPs are expected");
	err = fluid_create(&one.fluid);
	if (!err)
		err = solve(t, &pattern, &one);
	fluid_destroy(one.fluid);
	return err;
}

const struct test test_sched_assignment = {
	.id = "sched-assignment",
	.name = "Planes chosen for an all-to-all",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "Computed, not measured: every GPU sends the same to every other over four "
		   "planes, one at half its bandwidth; flows share links as fluid. Real: the flow "
		   "tables that bind QPs. Not there: packets, transport.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {1, 1, 1},
	.params = PARAMS(PARAM("choice", PARAM_NAME, "",
			       "how a pair binds its QPs: libfare's flow tables, by turn, or all "
			       "pairs alike; a hash over planes, weighted or not",
			       "fare,all-alike,wecmp-hash,ecmp-hash"),
			 PARAM("qps", PARAM_COUNT, "", "of a pair", "1,4,16"),
			 PARAM("gpus", PARAM_COUNT, "", "that send to each other", "64")),
	.kpis = KPIS({"over_optimum", "", "computed", "time over that of full planes until the end",
		      BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "All-to-all with one plane halved, time over the optimum",
			    "choice", "qps", NULL, "over_optimum"),
		       VIEW(VIEW_TABLE, "All-to-all with one plane halved", "choice", "qps", NULL,
			    "over_optimum")),
	.run = assignment_run,
};
