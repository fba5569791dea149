/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "fabric/leaf_routes.h"
#include "suite/kpis.h"
#include "training/common.h"

#define JOBS	      2
#define MESSAGE_BYTES (256u << 10)
#define MESSAGES      4 /* under way, in each direction */

/* Two GPUs behind different leaves each; the jobs have the same leaves. */
struct job_ends {
	unsigned near[JOBS], far[JOBS];
};

static bool is_behind(const struct topo *topo, unsigned a, unsigned b, bool same)
{
	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		if (topo_same_leaf(topo, a, b, plane) != same)
			return false;
	return true;
}

static bool find_ends(const struct topo *topo, struct job_ends *ends)
{
	unsigned n_near = 0, n_far = 0;

	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
		if (n_near < JOBS && is_behind(topo, 0, gpu, true))
			ends->near[n_near++] = gpu;
		else if (n_far < JOBS && is_behind(topo, 0, gpu, false) &&
			 (!n_far || is_behind(topo, ends->far[0], gpu, true)))
			ends->far[n_far++] = gpu;
	return n_near == JOBS && n_far == JOBS;
}

/* The first job has the first half of each leaf's uplinks; the second as many, from where the
 * overlap wants it. */
static int pin(struct leaf_routes *routes, const struct job_ends *ends, unsigned half,
	       unsigned shared)
{
	int err = 0;

	for (unsigned job = 0; !err && job < JOBS; job++) {
		unsigned first = job ? half - shared : 0;

		err = leaf_routes_pin(routes, ends->near[job], ends->far[job], first, half);
		if (!err)
			err = leaf_routes_pin(routes, ends->far[job], ends->near[job], first, half);
	}
	return err;
}

/* What jobs from first on, n of them at once, move: bps[job]. */
static int move(struct trial *t, const struct job_ends *ends, unsigned first, unsigned n,
		double bps[JOBS])
{
	static const char *const names[JOBS] = {"first", "second"};
	struct plan plan = {0};
	struct measured m;
	int err;

	for (unsigned job = first; job < first + n; job++) {
		struct traffic_load load = trial_load(t, names[job], trial_count(t, "qps"));
		unsigned number = plan_load(&plan, &load);

		plan_stream(&plan, number, ends->near[job], ends->far[job], MESSAGES,
			    MESSAGE_BYTES);
		plan_stream(&plan, number, ends->far[job], ends->near[job], MESSAGES,
			    MESSAGE_BYTES);
	}
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	for (unsigned i = 0; i < n; i++)
		bps[first + i] = m.load[i].bps;
	measured_fini(&m);
	return 0;
}

static void add_jobs(struct trial *t, const double alone[JOBS], const double together[JOBS])
{
	static const char *const names[JOBS] = {"first", "second"};
	double bits = 2 * 8 * trial_number(t, "size"), overlap = trial_number(t, "overlap") / 100;

	for (unsigned job = 0; job < JOBS; job++) {
		trial_with(t, "job", names[job]);
		if (alone[job] > 0 && together[job] > 0) {
			trial_value(t, "JCT_baseline", bits / alone[job] * 1e3, 1);
			trial_value(t, "JCT_contention", bits / together[job] * 1e3, 1);
			trial_value(t, "Interference", alone[job] / together[job], 1);
			trial_model(t, "Interference",
				    /* else no job notices that it shares links */
				    training_uplinks_bps(t) / 2 <= training_line_bps(t)
					    ? 1 / (1 - overlap / 2)
					    : NAN,
				    "a job's half of the uplinks carries more than its servers");
		} else {
			trial_missing(t, NULL, "no message ended");
		}
		trial_with(t, "job", NULL);
	}
}

static int measure(struct trial *t, const struct job_ends *ends)
{
	double alone[JOBS], together[JOBS];
	int err = 0;

	for (unsigned job = 0; !err && job < JOBS; job++)
		err = move(t, ends, job, 1, alone);
	if (!err)
		err = move(t, ends, 0, JOBS, together);
	if (!err)
		add_jobs(t, alone, together);
	return err;
}

static int interference_run(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	double overlap = trial_number(t, "overlap") / 100, shared;
	struct leaf_routes *routes;
	struct job_ends ends;
	unsigned half;
	int err, undone;

	if (t->fabric->hosts || !find_ends(topo, &ends)) {
		trial_missing(t, NULL,
			      t->fabric->hosts ? "routes of real switches are not set from here"
					       : "two jobs take two GPUs at each of two leaves");
		return 0;
	}
	half = topo->n_spines / topo->n_planes / 2;
	shared = overlap * half;
	if (!half || shared != floor(shared) || shared > half || !topo->gpus[0].ipv4[0]) {
		trial_missing(t, NULL,
			      "%.0f%% of the %u uplinks that each job has of a leaf are no whole "
			      "number of them (eight spines a plane have 0, 25, 50 and 75%%)",
			      overlap * 100, half);
		return 0;
	}
	err = leaf_routes_create(&routes, topo);
	if (err)
		return err;
	err = pin(routes, &ends, half, (unsigned)shared);
	if (!err)
		err = measure(t, &ends);
	undone = leaf_routes_destroy(routes);
	return err ? err : undone;
}

const struct test test_t10_3 = {
	TRAINING_CLAUSE("10.3"),
	.name = "Multi-Tenant JCT Interference",
	.dut = "SUT-E",
	.summary = "Two emulated jobs of two servers each, which exchange data without a pause and "
		   "compute nothing (the worst case), alone and at once. Each has half of the "
		   "leaves' uplinks, by routes beside BGP's; the overlap is the share that both "
		   "have. At 0% they share no link, and the model is 1: what is measured beside "
		   "that is not of shared links (the machine that all servers of a lab run on, "
		   "hashes of one job onto its own links, chance), and is in the other overlaps' "
		   "figures as well.",
	.headline = "Interference",
	.needs = NEED_TWO_SERVERS | NEED_SPINES,
	.trials = {1, 6, 20},
	.seconds = {1, 5, 60},
	.params = PARAMS(
		PARAM("overlap", PARAM_NUMBER, "%",
		      "of a job's uplinks that the other one has, too", "0,50", "0,25,50,75"),
		PARAM("qps", PARAM_COUNT, "", "between the two servers of a job", "16"),
		PARAM("size", PARAM_BYTES, "bytes",
		      "that each server sends the other in an iteration", "8M", "8M", "1G")),
	.kpis = KPIS(
		{"JCT_baseline", "ms", "SUT-E",
		 "of an iteration at the throughput that the job has alone", BETTER_LOWER, 0},
		{"JCT_contention", "ms", "SUT-E", "the same beside the other job", BETTER_LOWER, 0},
		{"Interference", "", "SUT-E", "JCT_contention over JCT_baseline", BETTER_LOWER, 0},
		KPI_MODEL("Interference", "")),
	.views = VIEWS({VIEW_FIELDS(VIEW_LINES, "Interference by overlap", "overlap", "strategy",
				    "job", "Interference"),
			.reference = "model"},
		       VIEW(VIEW_TABLE, "Two jobs", "overlap", "strategy", "job", "JCT_baseline",
			    "JCT_contention", "Interference", "model", "model_ratio")),
	.run = interference_run,
};
