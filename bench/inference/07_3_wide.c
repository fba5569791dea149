/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "suite/derive.h"
#include "suite/kpis.h"

static int wide_run(struct trial *t)
{
	return dispatch_run(t, &(struct dispatch){.config = "M4",
						  .ep = trial_count(t, "ep"),
						  .batch = 128,
						  .modelled = true,
						  .stretch = trial_count(t, "stretch")});
}

/* Of a KPI of the group of that size: NaN where there is none. */
static double wide_of(const struct rows *rows, const struct row *like, const char *kpi,
		      const struct row_param *ep)
{
	return derive_median(rows, like->test, like->strategy, kpi, 1, ep, 0.5);
}

/* ns */
static double wide_median(const struct rows *rows, const struct row *like,
			  const struct row_param *ep)
{
	return wide_of(rows, like, like->kpi, ep);
}

/* What each of its GPUs sends to other servers, over what the links give them all. */
static bool wide_beat_line(const struct rows *rows, const struct row *like,
			   const struct row_param *ep)
{
	double bytes = wide_of(rows, like, "S_fabric", ep) * 1e3 * ep->number,
	       bytes_per_s = wide_of(rows, like, "model", ep) * 1e6;

	return load_beat_line(wide_median(rows, like, ep), bytes / bytes_per_s * 1e9);
}

/* A latency over another one; NaN: a median of them is none of the line. */
static int wide_efficiency(struct rows *rows, const struct row *row, const char *kpi,
			   const struct row_param *base, double factor)
{
	double here = wide_median(rows, row, &row->param[0]);

	if (wide_beat_line(rows, row, base) || wide_beat_line(rows, row, &row->param[0]))
		return derive_value_or(rows, row, kpi, NAN,
				       "a median of both is shorter than its bytes on the line: "
				       "token buckets passed them at once (bucket_frames)");
	return derive_value_or(rows, row, kpi, wide_median(rows, row, base) / here * factor,
			       "the smallest group has no latency to relate it to");
}

/* (latency of the least group / latency of N) x (N / least) */
static int wide_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter filter = {.test = test->id, .kpi = "EP_alltoall_latency", .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		struct row row = *rows_at(rows, i);
		struct row_param levels[16];
		struct rows_filter same = {.test = test->id,
					   .strategy = row.strategy,
					   .kpi = "EP_alltoall_latency",
					   .trial = -1};
		size_t n = rows_levels(rows, &same, "ep", levels, 16);

		if (n == 0 || row.n_params == 0 ||
		    !isfinite(wide_median(rows, &row, &row.param[0])))
			continue;
		for (size_t k = 0; k < n && !err; k++)
			if (levels[k].number == 16 && isfinite(wide_median(rows, &row, &levels[k])))
				err = wide_efficiency(rows, &row, "efficiency_EP16", &levels[k], 1);
		if (!err)
			err = wide_efficiency(rows, &row, "scaling_efficiency", &levels[0],
					      row.param[0].number / levels[0].number);
	}
	return err;
}

const struct test test_7_3 = {
	INFERENCE_CLAUSE("7.3"),
	.name = "Wide Expert Parallelism Scaling",
	.dut = "DUT-F",
	.summary = "The dispatch of 7.1 (M4, 128 tokens a GPU) among ever more GPUs. Latencies "
		   "are of `stretch` times the bytes (8 in labs): to be divided by that.",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 20},
	.seconds = {0.8, 4, 60},
	.params = PARAMS(PARAM("ep", PARAM_COUNT, "GPUs", "of the group", "2,4,8", "2,4,8,16",
			       "8,16,32,48,64,96"),
			 PARAM_STRETCH),
	.kpis = KPIS(
		KPI_EP_LATENCY_STRETCHED, KPI_EP_BANDWIDTH,
		{"scaling_efficiency", "", "DUT-F", "against the smallest group", BETTER_HIGHER, 0},
		{"efficiency_EP16", "", "DUT-F",
		 "latency of 16 GPUs over this one's, as -05 has it", BETTER_HIGHER, 0},
		KPI_OF_LINE,
		{"intra_fraction", "", "DUT-F",
		 "of the bytes, between GPUs of one server: they cross no fabric, and are not sent",
		 BETTER_NONE, 0},
		{"inter_fraction", "", "DUT-F",
		 "of the latency, between servers; the rest is inside of them", BETTER_NONE, 0},
		KPI_VOLUME, KPI_MODEL("EP_alltoall_bandwidth", "MB/s")),
	.views = VIEWS({VIEW_FIELDS(VIEW_LINES, "Dispatch latency over group size", "ep",
				    "strategy", NULL, "EP_alltoall_latency@p50"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Scaling", "ep", "strategy", NULL,
			    "EP_alltoall_latency@p50", "EP_alltoall_latency@p99",
			    "EP_alltoall_bandwidth", "of_line", "intra_fraction", "inter_fraction",
			    "scaling_efficiency", "efficiency_EP16", "model", "model_ratio"),
		       VIEW(VIEW_TABLE, "Bytes of a dispatch of one GPU", "ep", NULL, NULL,
			    "T_egress", "S_fabric")),
	.run = wide_run,
	.derive = wide_derive,
};
