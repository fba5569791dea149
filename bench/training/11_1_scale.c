/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "fabric/leaf_load.h"
#include "suite/derive.h"
#include "suite/kpis.h"
#include "training/common.h"
#include "training/simulated.h"

static const char no_switch[] = "daemons of real switches are neither read nor ended from here";

struct scaled {
	struct trial *t;
	struct leaf_load from, to;
};

static int scaled_begun(void *arg)
{
	struct scaled *s = arg;

	return leaf_load_read(&s->from, s->t->fabric->topo, &s->t->fabric->lab);
}

static int scaled_ended(void *arg)
{
	struct scaled *s = arg;

	return leaf_load_read(&s->to, s->t->fabric->topo, &s->t->fabric->lab);
}

static void scaled_add(struct trial *t, const struct scaled *s, const struct mpi_job *job,
		       const struct mpi_result *r)
{
	unsigned n = leaf_load_switches(t->fabric->topo);
	double line = training_line_bps(t), seconds = mpi_result_mean_s(r),
	       roofline = collective_roofline_s(t->fabric->topo, COLLECTIVE_ALLREDUCE, job->ranks,
						job->bytes, 0, line, 0);

	trial_value(t, "JCT_ratio", seconds / roofline, r->n);
	trial_value(t, "BusBW",
		    collective_busbw_bps(COLLECTIVE_ALLREDUCE, job->ranks, job->bytes, seconds) /
			    1e9,
		    r->n);
	if (t->fabric->hosts) {
		trial_missing(t, "Switch_CPU", "%s", no_switch);
		trial_missing(t, "Switch_memory", "%s", no_switch);
	} else {
		trial_value(t, "Switch_CPU", leaf_load_cpu_percent(&s->from, &s->to, n), n);
		trial_value(t, "Switch_memory", leaf_load_rss_bytes(&s->to, n) / 1048576, n);
	}
	training_algorithm(t, COLLECTIVE_ALLREDUCE, job, r, 0);
}

static int scale_measure(struct trial *t, unsigned ranks, uint64_t bytes)
{
	struct scaled s = {.t = t};
	struct mpi_job job = training_job(t, COLLECTIVE_ALLREDUCE, ranks, bytes);
	struct mpi_result r = {0};
	int err;

	job.on_begun = t->fabric->hosts ? NULL : scaled_begun;
	job.on_ended = t->fabric->hosts ? NULL : scaled_ended;
	job.arg = &s;
	err = training_job_run(t, &job, &r);
	if (!err)
		scaled_add(t, &s, &job, &r);
	leaf_load_fini(&s.from);
	leaf_load_fini(&s.to);
	mpi_result_fini(&r);
	return err;
}

static int scale_run(struct trial *t)
{
	unsigned ranks = trial_count(t, "ranks");
	uint64_t bytes = (uint64_t)trial_number(t, "size");
	double seconds;
	int err;

	simulated_add(t, COLLECTIVE_ALLREDUCE, ranks, bytes, 0);
	if (!training_can(t, ranks, bytes))
		return 0;
	err = training_prepare(t);
	if (!err)
		err = scale_measure(t, ranks, bytes);
	if (!err && t->fabric->hosts) {
		trial_missing(t, "Convergence_time", "%s", no_switch);
		return 0;
	}
	if (!err)
		err = fabric_clear_sessions(t->fabric, &seconds);
	if (!err)
		trial_value(t, "Convergence_time", seconds, 1);
	return err < 0 ? err : 0;
}

/* Appendix A of the draft: the most ranks that have a JCT ratio, by strategy and size. */
static int scale_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter ratios = {.test = test->id, .kpi = "JCT_ratio", .trial = -1};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &ratios) {
		struct row like = *rows_at(rows, i);
		struct rows_filter same = ratios;
		double most = 0;

		like.n_params = 0;
		for (unsigned k = 0; k < rows_at(rows, i)->n_params; k++)
			if (strcmp(like.param[k].name, "ranks") != 0)
				like.param[like.n_params++] = like.param[k];
		same.strategy = like.strategy;
		same.n_params = like.n_params;
		same.param = like.param;
		if (rows_next(rows, &same, 0) != i)
			continue; /* that strategy and size are done */
		ROWS_EACH (k, rows, &same)
			if (isfinite(rows_at(rows, k)->value))
				most = fmax(most, row_param(rows_at(rows, k), "ranks")->number);
		if (most > 0)
			err = derive_value(rows, &like, "Scale_limit", most);
	}
	return err;
}

const struct test test_t11_1 = {
	TRAINING_CLAUSE("11.1"),
	.name = "Fabric Scale Limits",
	.dut = "DUT-F",
	.summary =
		"All-reduces by more and more ranks; then all BGP sessions of the fabric, whose "
		"size stays, are ended at its leaves at once, without traffic. More than 8 ranks "
		"(--param ranks=64), also those that no lab has, are simulated, in columns of "
		"their own.",
	.needs = NEED_TWO_SERVERS,
	.strategies = mpi_strategies,
	.trials = {1, 6, 6},
	.seconds = {4, 30, 60},
	.params = PARAMS(
		PARAM("ranks", PARAM_COUNT, "accelerators", "a rank on each GPU", "2,4", "2,3,4",
		      "64,128,256,512,1024"),
		PARAM("size", PARAM_BYTES, "bytes", "of each rank's vector", "3M", "3M", "1G")),
	.kpis = KPIS({"JCT_ratio", "", "SUT-E",
		      "mean all-reduce at its slowest rank over the time of its bytes at line rate",
		      BETTER_LOWER, 0},
		     {"BusBW", "Gb/s", "DUT-F", "of that mean", BETTER_HIGHER, 0},
		     {"Convergence_time", "s", "DUT-F",
		      "from when all BGP sessions were ended until every server has all its routes "
		      "again",
		      BETTER_LOWER, 0},
		     KPI_SWITCH_LOAD,
		     {"Scale_limit", "accelerators", "SUT-E",
		      "the most of which a JCT ratio was measured; the draft sets no threshold",
		      BETTER_HIGHER, 0},
		     KPI_DROPS, KPI_MARKS, KPI_PAUSES,
		     {"Algorithm", "", "SUT-E", "forced, and read back", BETTER_NONE, 0},
		     SIMULATED_KPIS),
	.views = VIEWS(VIEW(VIEW_LINES, "All-reduce by accelerators", "ranks", "strategy", "size",
			    "JCT_ratio"),
		       VIEW(VIEW_LINES, "Convergence by accelerators", "ranks", "strategy", "size",
			    "Convergence_time"),
		       VIEW(VIEW_TABLE, "Scale", "ranks", "strategy", "size", "JCT_ratio", "BusBW",
			    "Convergence_time", "Switch_CPU", "Switch_memory", "Packet_drop_rate",
			    "ECN_marking_rate", "PFC_frame_count", "Algorithm"),
		       VIEW(VIEW_TABLE, "The most accelerators with a JCT ratio", "size",
			    "strategy", NULL, "Scale_limit"),
		       SIMULATED_VIEW("size")),
	.run = scale_run,
	.derive = scale_derive,
};
