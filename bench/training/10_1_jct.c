/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "training/common.h"
#include "training/simulated.h"

#define WARM_ITERATIONS 3     /* of fare-mpi-coll */
#define JCT_NO_TIME_S	0.001 /* the least that it takes */

/* The draft's S, over the scale of the lab, times the stretch; whole numbers for every rank. */
static uint64_t scaled_bytes(const struct trial *t, unsigned ranks, double stretch)
{
	uint64_t unit = 4 * (uint64_t)ranks;
	double bytes = trial_number(t, "size") / t->scale * stretch;

	return bytes < (double)unit ? unit : (uint64_t)(bytes / (double)unit) * unit;
}

static void add_rows(struct trial *t, const struct mpi_job *job, const struct mpi_result *r)
{
	const struct topo *topo = t->fabric->topo;
	const struct topo_gpu *gpu = &topo->gpus[0];
	double line = training_line_bps(t), buckets = 0, roofline, with_buckets;

	for (unsigned p = 0; p < topo->n_planes; p++)
		buckets += (double)gpu->plane[p].n_sub_ports * topo->bucket_bytes;
	roofline = r->n * collective_roofline_s(topo, COLLECTIVE_ALLREDUCE, job->ranks, job->bytes,
						job->compute_s, line, 0);
	with_buckets = r->n * collective_roofline_s(topo, COLLECTIVE_ALLREDUCE, job->ranks,
						    job->bytes, job->compute_s, line, buckets);
	trial_value(t, "Iterations", r->n, 1);
	trial_value(t, "JCT", r->wall_s, r->n);
	trial_value(t, "Roofline", roofline, r->n);
	trial_value(t, "JCT_ratio", r->wall_s / roofline, r->n);
	trial_value(t, "JCT_ratio_shaped", r->wall_s / with_buckets, r->n);
	trial_value(t, "Effective_Comm_Overhead", r->wall_s - r->n * job->compute_s, r->n);
	trial_value(t, "Compute_iteration", job->compute_s * 1e3, r->n);
	trial_value(t, "JCT_iteration", r->wall_s / r->n * 1e3, r->n);
	trial_value(t, "Comm_Overhead_iteration", (r->wall_s / r->n - job->compute_s) * 1e3, r->n);
	if (job->overlaps) {
		double comm = roofline - r->n * job->compute_s;

		trial_value(t, "Overlap_Fraction", 1 - (r->wall_s - r->n * job->compute_s) / comm,
			    r->n);
		trial_set_text(t, "Overlap_configuration",
			       "one MPI_Iallreduce() of S under way (one bucket, one stream), "
			       "MPI called every 50 us of the compute");
	} else {
		trial_missing(t, "Overlap_Fraction", "one after the other");
		trial_missing(t, "Overlap_configuration", "one after the other");
	}
	training_algorithm(t, COLLECTIVE_ALLREDUCE, job, r, NULL);
}

/*
 * As many iterations for every strategy: their sums, JCT and Effective_Comm_Overhead, are compared.
 * The time that fare-mpi-coll is given to fill is therefore none.
 */
static void jct_iterations(const struct trial *t, struct mpi_job *job)
{
	static const unsigned n[PROFILE_COUNT] = {4, 10, 1000}; /* 1000: the draft's */

	job->min_iterations = n[t->profile];
	job->seconds = JCT_NO_TIME_S;
	job->least_s = (n[t->profile] + WARM_ITERATIONS) *
		       collective_roofline_s(t->fabric->topo, COLLECTIVE_ALLREDUCE, job->ranks,
					     job->bytes, job->compute_s, training_line_bps(t), 0);
}

static int jct_run(struct trial *t)
{
	unsigned ranks = trial_count(t, "ranks");
	double stretch = trial_number(t, "stretch"),
	       compute_s = trial_number(t, "compute") / 1e3 * stretch;
	uint64_t bytes = scaled_bytes(t, ranks ? ranks : 1, stretch);
	struct mpi_job job;
	struct mpi_result r;
	bool overlaps;
	int err;

	overlaps = strcmp(trial_text(t, "order"), "meanwhile") == 0;
	simulated_add(t, COLLECTIVE_ALLREDUCE, ranks, bytes, overlaps ? NAN : compute_s);
	if (!training_can(t, ranks, bytes))
		return 0;
	err = training_prepare(t);
	if (err)
		return err < 0 ? err : 0;
	job = training_job(t, COLLECTIVE_ALLREDUCE, ranks, bytes);
	job.compute_s = compute_s;
	job.overlaps = overlaps;
	if (overlaps)
		job.algorithm = 1; /* of libnbc: the ring */
	jct_iterations(t, &job);
	err = training_run(t, &job, &r);
	if (!err)
		add_rows(t, &job, &r);
	mpi_result_fini(&r);
	return err < 0 ? err : 0;
}

const struct test test_t10_1 = {
	TRAINING_CLAUSE("10.1"),
	.name = "Synthetic JCT Under Controlled Conditions",
	.dut = "SUT-E",
	.summary =
		"Iterations of emulated compute (a sleep) and an all-reduce, one after the "
		"other, or started together. S is divided by the scale of the lab, so that it "
		"takes as long as on the unscaled line; then S and C are stretched alike. Every "
		"strategy has as many iterations: 4, 10 in profile lab, the draft's 1000. Started "
		"together, a JCT ratio below 1 is hidden communication, as the roofline has both "
		"one after the other; an overlap below 0 says that more time was left beside the "
		"compute than the communication takes at line rate.",
	.needs = NEED_TWO_SERVERS,
	.strategies = mpi_strategies,
	.headline = "JCT_ratio",
	.unlike = NAMES("order"),
	.trials = {1, 3, 3},
	.params = PARAMS(PARAM("compute", PARAM_NUMBER, "ms", "of an iteration, slept", "10,100",
			       "10,50,100", "10,50,100,500"),
			 PARAM("size", PARAM_BYTES, "bytes",
			       "of the all-reduce of an iteration; divided by the scale", "256M,1G",
			       "256M,1G,4G"),
			 PARAM("ranks", PARAM_COUNT, "accelerators", "a rank on each GPU", "4", "4",
			       "64,128,256,512,1024"),
			 TRAINING_BALANCE,
			 PARAM("order", PARAM_NAME, "",
			       "the all-reduce after the compute, or MPI_Iallreduce() of the "
			       "iteration meanwhile",
			       "after,meanwhile"),
			 PARAM("stretch", PARAM_NUMBER, "",
			       "compute and bytes are multiplied by it, so that shapers' buckets "
			       "matter less",
			       "20", "50", "1")),
	.fits = training_fits,
	.kpis = KPIS(
		{"Iterations", "", "SUT-E", "as many for every strategy", BETTER_NONE, 0},
		{"JCT", "s", "SUT-E", "all iterations, wall time", BETTER_LOWER, 0},
		{"Roofline", "s", "SUT-E",
		 "iterations times compute and S times algo_factor at the line rate", BETTER_NONE,
		 0},
		{"JCT_ratio", "", "SUT-E", "JCT over the roofline", BETTER_LOWER, 0},
		{"JCT_ratio_shaped", "", "SUT-E",
		 "JCT over the roofline less what shapers let pass at once after the compute",
		 BETTER_LOWER, 0},
		{"Effective_Comm_Overhead", "s", "SUT-E", "JCT less all compute", BETTER_LOWER, 0},
		{"Compute_iteration", "ms", "SUT-E", "slept: compute times stretch", BETTER_NONE,
		 0},
		{"JCT_iteration", "ms", "SUT-E", "JCT over the iterations", BETTER_LOWER, 0},
		{"Comm_Overhead_iteration", "ms", "SUT-E", "that less its compute", BETTER_LOWER,
		 0},
		{"Overlap_Fraction", "", "SUT-E",
		 "of meanwhile: 1 less that over the roofline's communication; 1: hidden by the "
		 "compute",
		 BETTER_HIGHER, 0},
		{"Overlap_configuration", "", "SUT-E", "of meanwhile", BETTER_NONE, 0},
		{"Algorithm", "", "SUT-E", "forced, and read back", BETTER_NONE, 0},
		SIMULATED_KPIS),
	.views = VIEWS(VIEW(VIEW_TABLE, "Synthetic JCT", "compute", "strategy", "size", "JCT_ratio",
			    "JCT_ratio_shaped", "Iterations", "JCT", "Roofline",
			    "Effective_Comm_Overhead", "Algorithm"),
		       VIEW(VIEW_TABLE, "An iteration", "compute", "strategy", "size",
			    "Compute_iteration", "JCT_iteration", "Comm_Overhead_iteration",
			    "Overlap_Fraction", "Overlap_configuration"),
		       SIMULATED_VIEW("compute"),
		       {VIEW_FIELDS(VIEW_LINES, "JCT ratio by accelerators", "ranks", "strategy",
				    "size", "JCT_ratio"),
			.log_x = true}),
	.run = jct_run,
};
