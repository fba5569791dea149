/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/coll_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "training/common.h"

/* BusBW while an iteration takes as long as q of them do at most. */
static void rows_percentile(struct trial *t, const char *kpi, const struct hist *h, double q,
			    double bits)
{
	double low, high;

	if (hist_quantile_interval(h, q, &low, &high))
		trial_value(t, kpi, bits / hist_quantile(h, q), h->n);
	else
		trial_missing(t, kpi, "%llu iterations are too few for it",
			      (unsigned long long)h->n);
}

static void rows_busbw(struct trial *t, enum collective c, const struct mpi_job *job,
		       const struct mpi_result *r, struct hist *h)
{
	double seconds = mpi_result_mean_s(r), busbw, bits,
	       fabric = collective_fabric_bytes(t->fabric->topo, c, job->ranks, job->bytes);

	hist_init(h);
	for (unsigned i = 0; i < r->n; i++)
		hist_add(h, r->took_ns[i]);
	busbw = collective_busbw_bps(c, job->ranks, job->bytes, seconds);
	bits = busbw * seconds; /* 1e9 / 1e9: nanoseconds give Gb/s */
	trial_value(t, "BusBW", busbw / 1e9, r->n);
	rows_percentile(t, "BusBW_P50", h, 0.5, bits);
	rows_percentile(t, "BusBW_P95", h, 0.95, bits);
	rows_percentile(t, "BusBW_P99", h, 0.99, bits);
	trial_value(t, "BusBW_efficiency", fabric * 8 / seconds / training_line_bps(t) * 100, r->n);
	trial_hist(t, "JCT", h);
}

/* A line as nccl-tests prints it: iterations `first`, first + 2 and so on. */
static void rows_place(struct trial *t, enum collective c, const struct mpi_job *job,
		       const struct mpi_result *r, unsigned first, struct hist *h)
{
	double mean;

	hist_init(h);
	for (unsigned i = first; i < r->n; i += 2)
		hist_add(h, r->took_ns[i]);
	if (!h->n)
		return;
	mean = hist_mean(h);
	trial_with(t, "place", first ? "in" : "out");
	trial_hist(t, "time", h);
	trial_value(t, "time_min", (double)h->min / 1e6, h->n);
	trial_value(t, "time_mean", mean / 1e6, h->n);
	trial_value(t, "algbw", (double)job->bytes / mean, h->n);
	trial_value(t, "busbw", (double)job->bytes / mean * collective_factor(c, job->ranks), h->n);
	trial_value(t, "wrong", 0, r->checked);
	trial_with(t, NULL, NULL);
}

static void rows_optimum(struct trial *t, enum collective c, const struct mpi_job *job,
			 const struct mpi_result *r)
{
	uint64_t *cells = calloc((size_t)job->ranks * job->ranks, sizeof(*cells));

	if (!cells) {
		t->err = -ENOMEM;
		return;
	}
	collective_matrix(t->fabric->topo, c, job->ranks, job->bytes, cells);
	trial_value(t, "of_optimum",
		    collective_optimum_s(t->fabric->topo, job->ranks, cells) / mpi_result_mean_s(r),
		    r->n);
	free(cells);
}

void coll_rows_add(struct trial *t, enum collective c, const struct mpi_job *job,
		   const struct mpi_result *r)
{
	struct hist *h = malloc(sizeof(*h));

	if (!h) {
		t->err = -ENOMEM;
		return;
	}
	rows_busbw(t, c, job, r, h);
	for (unsigned first = 0; first < 2; first++)
		rows_place(t, c, job, r, first, h);
	free(h);
	rows_optimum(t, c, job, r);
}
