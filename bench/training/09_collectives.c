/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 09_collectives.c - tests 9.1 to 9.3: all-reduce, all-to-all, all-gather.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/optimum.h"
#include "suite/derive.h"
#include "training/common.h"
#include "training/links.h"

/* ---- one trial ---- */

struct watched {
	struct trial *t;
	struct links from, to;
};

static int on_begun(void *arg)
{
	struct watched *w = arg;

	return links_read(&w->from, w->t->fabric->topo);
}

static int on_ended(void *arg)
{
	struct watched *w = arg;

	return links_read(&w->to, w->t->fabric->topo);
}

/* BusBW while an iteration takes as long as q of them do at most. */
static void add_percentile(struct trial *t, const char *kpi, const struct hist *h, double q,
			   double bits)
{
	double low, high;

	if (hist_quantile_interval(h, q, &low, &high))
		trial_value(t, kpi, bits / hist_quantile(h, q), h->n);
	else
		trial_missing(t, kpi, "%llu iterations are too few for it",
			      (unsigned long long)h->n);
}

static void add_busbw(struct trial *t, enum collective c, const struct mpi_job *job,
		      const struct mpi_result *r)
{
	double seconds = r->wall_s / r->n, busbw, bits;
	struct hist *h = malloc(sizeof(*h));

	if (!h) {
		t->err = -ENOMEM;
		return;
	}
	hist_init(h);
	for (unsigned i = 0; i < r->n; i++)
		hist_add(h, r->took_ns[i]);
	busbw = collective_busbw_bps(c, job->ranks, job->bytes, seconds);
	bits = busbw * seconds; /* 1e9 / 1e9: nanoseconds give Gb/s */
	trial_value(t, "BusBW", busbw / 1e9, r->n);
	add_percentile(t, "BusBW_P50", h, 0.5, bits);
	add_percentile(t, "BusBW_P95", h, 0.95, bits);
	add_percentile(t, "BusBW_P99", h, 0.99, bits);
	trial_value(t, "BusBW_efficiency", busbw / training_line_bps(t) * 100, r->n);
	trial_hist(t, "JCT", h);
	free(h);
}

static void add_optimum(struct trial *t, enum collective c, const struct mpi_job *job,
			const struct mpi_result *r)
{
	uint64_t *cells = calloc((size_t)job->ranks * job->ranks, sizeof(*cells));

	if (!cells) {
		t->err = -ENOMEM;
		return;
	}
	collective_matrix(c, job->ranks, job->bytes, cells);
	trial_value(t, "of_optimum",
		    collective_optimum_s(t->fabric->topo, job->ranks, cells) * r->n / r->wall_s,
		    r->n);
	free(cells);
}

static void add_links(struct trial *t, const struct watched *w, unsigned ranks)
{
	struct links_use use = links_use(&w->from, &w->to, t->fabric->topo, ranks);

	trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	trial_value(t, "Link_utilization_min", use.min * 100, use.n);
	trial_value(t, "Link_utilization_mean", use.mean * 100, use.n);
}

static int collectives_measure(struct trial *t, enum collective c, unsigned ranks, uint64_t bytes)
{
	struct watched w = {.t = t};
	struct mpi_job job = training_job(t, c, ranks, bytes);
	struct mpi_result r;
	int err;

	job.on_begun = on_begun;
	job.on_ended = on_ended;
	job.arg = &w;
	err = mpi_job_run(&job, &r);
	if (!err) {
		add_busbw(t, c, &job, &r);
		add_optimum(t, c, &job, &r);
		add_links(t, &w, ranks);
		training_algorithm(t, c, &job, &r,
				   links_sent(&w.from, &w.to, t->fabric->topo, ranks) / r.n *
					   optimum_goodput_factor(t->fabric->topo));
		trial_missing(t, "ECN_marking_ratio", "the leaves mark nothing");
		trial_missing(t, "PFC_pause_count", "virtual Ethernet has no pause frames");
	}
	links_fini(&w.from);
	links_fini(&w.to);
	mpi_result_fini(&r);
	return err;
}

static int collectives_run(struct trial *t)
{
	/* the tests follow each other as enum collective has them */
	enum collective c = (enum collective)(t->test->id[strlen("T9.")] - '1');
	unsigned ranks = trial_count(t, "ranks");
	uint64_t bytes = (uint64_t)trial_number(t, "size");
	int err, healed;

	if (!training_can(t, ranks, bytes))
		return 0;
	err = training_prepare(t);
	if (!err)
		err = training_degrade(t, trial_text(t, "fabric"), ranks);
	if (!err)
		err = collectives_measure(t, c, ranks, bytes);
	healed = training_restore(t);
	return err ? err : healed;
}

/* ---- all of them ---- */

static int collectives_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter filter = {.test = test->id, .kpi = "BusBW", .trial = 0};
	int err = 0;

	for (size_t i = rows_next(rows, &filter, 0); !err && i < rows_count(rows);
	     i = rows_next(rows, &filter, i + 1)) {
		const struct row row = *rows_at(rows, i);
		double own = derive_median(rows, test->id, row.strategy, "BusBW", row.n_params,
					   row.param, 0.5);
		double base = derive_median(rows, test->id, BASELINE, "BusBW", row.n_params,
					    row.param, 0.5);

		if (!row.missing)
			err = derive_value(rows, &row, "over_" BASELINE, own / base);
	}
	return err;
}

/* ---- declarations ---- */

static const struct param params[] = {{"size",
				       PARAM_BYTES,
				       "bytes",
				       "of each rank's vector",
				       {"1M,8M", "1M,8M,64M", "1M,8M,64M,256M,1G,4G"}},
				      {"ranks",
				       PARAM_COUNT,
				       "accelerators",
				       "a rank on each server",
				       {"4", "4", "8,16,32,64,128,256,512,1024"}},
				      {"fabric",
				       PARAM_NAME,
				       "",
				       "whole, or a part of the last rank's GPU lost",
				       {"healthy,subport-lost,plane-lost", NULL, NULL}},
				      LIST_END};

static const struct kpi kpis[] = {
	{"BusBW", "Gb/s", "DUT-F",
	 "a rank's bytes times algo_factor over the time of an iteration, mean", BETTER_HIGHER, 0},
	{"BusBW_P50", "Gb/s", "DUT-F", "of an iteration; half of them are faster", BETTER_HIGHER,
	 0},
	{"BusBW_P95", "Gb/s", "DUT-F", "95% of the iterations are faster", BETTER_HIGHER, 0},
	{"BusBW_P99", "Gb/s", "DUT-F", "99% of the iterations are faster", BETTER_HIGHER, 0},
	{"BusBW_efficiency", "%", "DUT-F", "BusBW over a whole GPU's line rate", BETTER_HIGHER, 0},
	{"of_optimum", "", "DUT-F",
	 "the fluid's time for what the algorithm sends, on the links that live, over the time "
	 "taken",
	 BETTER_HIGHER, 0},
	{"over_" BASELINE, "", "DUT-F", "median BusBW over that of " BASELINE, BETTER_HIGHER, 0},
	{"JCT", "ms", "SUT-E", "an iteration at its slowest rank", BETTER_LOWER, 1e-6},
	{"Algorithm", "", "SUT-E", "forced, read back, and compared with what the GPUs sent",
	 BETTER_NONE, 0},
	{"Link_utilization_max", "%", "DUT-F", "of the busiest live sub-port, transmitting",
	 BETTER_NONE, 0},
	{"Link_utilization_min", "%", "DUT-F", "of the idlest live sub-port", BETTER_NONE, 0},
	{"Link_utilization_mean", "%", "DUT-F", "of all live sub-ports", BETTER_NONE, 0},
	{"ECN_marking_ratio", "%", "DUT-S", "packets marked", BETTER_NONE, 0},
	{"PFC_pause_count", "events/s", "DUT-S", "pause frames", BETTER_NONE, 0},
	LIST_END};

static const struct view views[] = {
	{VIEW_TABLE,
	 "Bus bandwidth",
	 "size",
	 "strategy",
	 "fabric",
	 {"BusBW", "BusBW_P50", "BusBW_P95", "BusBW_P99", "BusBW_efficiency", "of_optimum",
	  "over_" BASELINE, "Algorithm"},
	 false,
	 false,
	 NULL,
	 NULL},
	{VIEW_BARS,
	 "Bus bandwidth over the fluid optimum",
	 "size",
	 "strategy",
	 "fabric",
	 {"of_optimum"},
	 false,
	 false,
	 NULL,
	 NULL},
	{VIEW_LINES,
	 "Bus bandwidth by accelerators",
	 "ranks",
	 "strategy",
	 "size",
	 {"BusBW"},
	 true,
	 false,
	 NULL,
	 NULL},
	{VIEW_TABLE,
	 "Iterations and links",
	 "size",
	 "strategy",
	 "fabric",
	 {"JCT@p50", "JCT@p95", "JCT@p99", "Link_utilization_max", "Link_utilization_min",
	  "Link_utilization_mean"},
	 false,
	 false,
	 NULL,
	 NULL},
	VIEWS_END};

#define COLLECTIVE_TEST(of, title, says)                                                           \
	{                                                                                          \
		.id = "T" of, .name = title, .clause = TRAINING_DRAFT of, .dut = "DUT-F",          \
		.summary = says, .needs = TRAINING_NEEDS, .strategies = mpi_strategies,            \
		.trials = {1, 3, 3}, .seconds = {2, 10, 60}, .params = params, .kpis = kpis,       \
		.views = views, .run = collectives_run, .derive = collectives_derive,              \
	}

const struct test test_t9_1 = COLLECTIVE_TEST("9.1", "AllReduce Benchmark",
					      "MPI_Allreduce() of whole numbers by an unmodified "
					      "OpenMPI, over libfabric and UCX on TCP by "
					      "the kernel's ECMP, and over libfabric on fare. Also "
					      "the all-reduce of tensor parallelism.");

const struct test test_t9_2 =
	COLLECTIVE_TEST("9.2", "AlltoAll Benchmark",
			"MPI_Alltoall() by an unmodified OpenMPI, over the transports of T9.1.");

const struct test test_t9_3 =
	COLLECTIVE_TEST("9.3", "AllGather Benchmark",
			"MPI_Allgather() by an unmodified OpenMPI, over the transports of T9.1.");
