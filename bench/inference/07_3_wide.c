/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "procedure/dispatch.h"
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

static double wide_median(const struct rows *rows, const struct row *like,
			  const struct row_param *ep)
{
	return derive_median(rows, like->test, like->strategy, like->kpi, 1, ep, 0.5);
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
		double least, here;

		if (n == 0 || row.n_params == 0)
			continue;
		here = wide_median(rows, &row, &row.param[0]);
		if (!isfinite(here))
			continue;
		for (size_t k = 0; k < n && !err; k++)
			if (levels[k].number == 16)
				err = derive_value(rows, &row, "efficiency_EP16",
						   wide_median(rows, &row, &levels[k]) / here);
		if (err)
			break;
		least = wide_median(rows, &row, &levels[0]);
		err = derive_value_or(rows, &row, "scaling_efficiency",
				      least / here * row.param[0].number / levels[0].number,
				      "the smallest group has no latency to relate it to");
	}
	return err;
}

const struct test test_7_3 = {
	INFERENCE_CLAUSE("7.3"),
	.name = "Wide Expert Parallelism Scaling",
	.dut = "DUT-F",
	.summary = "The dispatch of 7.1 (M4, 128 tokens a GPU) among ever more GPUs.",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 20},
	.seconds = {0.8, 4, 60},
	.params = PARAMS(PARAM("ep", PARAM_COUNT, "GPUs", "of the group", "2,4,8", "2,4,8,16",
			       "8,16,32,48,64,96"),
			 PARAM_STRETCH),
	.kpis = KPIS(
		KPI_EP_LATENCY, KPI_EP_BANDWIDTH,
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
