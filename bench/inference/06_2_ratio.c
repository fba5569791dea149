/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "procedure/service.h"
#include "suite/derive.h"
#include "suite/kpis.h"

#define RATIO_MAX     16
#define RATIO_TTFT_NS 500e6 /* the draft's objectives */
#define RATIO_ITL_NS  50e6

static int ratio_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	int err;

	if (sscanf(trial_text(t, "ratio"), "%uP%uD", &o.n_prefill, &o.n_decode) != 2 ||
	    !o.n_prefill || !o.n_decode || o.n_prefill > SERVING_MAX_WORKERS ||
	    o.n_decode > SERVING_MAX_WORKERS) {
		trial_missing(t, NULL, "%s: xPyD is expected, with 1 to %d of each",
			      trial_text(t, "ratio"), SERVING_MAX_WORKERS);
		return 0;
	}
	o.batch = 8;
	o.per_s = trial_number(t, "rate");
	err = service_run(t, &o, NULL, NULL);
	if (!err)
		trial_model(t, "TPS_output", service_ideal(t, &o).tokens_per_s, "");
	return err;
}

/* All ratios at the rate and by the strategy of that row; false: one of them lacks a figure. */
static bool ratio_read(const struct rows *rows, const struct row *row, double quantile,
		       const struct row_param *level, size_t n, double y[3][RATIO_MAX])
{
	static const char *const kpis[3] = {"TTFT", "ITL", "TPS_output"};
	struct row_param param[ROWS_MAX_PARAMS];
	bool whole = true;

	memcpy(param, row->param, sizeof(param));
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			param[0] = level[i];
			y[k][i] = derive_median(rows, row->test, row->strategy, kpis[k],
						row->n_params, param, quantile);
			whole &= isfinite(y[k][i]);
		}
	return whole;
}

/* The front of TTFT, ITL and TPS, by the highest percentile that all ratios carry. */
static int ratio_front(struct rows *rows, const struct row *row)
{
	static const double quantiles[] = {0.99, 0.95, 0.5};
	static const bool more[3] = {false, false, true};
	struct rows_filter all = {
		.test = row->test, .strategy = row->strategy, .kpi = row->kpi, .trial = -1};
	struct row_param level[RATIO_MAX];
	size_t n = rows_levels(rows, &all, "ratio", level, RATIO_MAX), q = 0;
	double y[3][RATIO_MAX];
	const double *const measures[3] = {y[0], y[1], y[2]};
	bool best[RATIO_MAX];
	int err = 0;

	while (q < 3 && !ratio_read(rows, row, quantiles[q], level, n, y))
		q++;
	if (q == 3 || n < 2)
		return 0;
	curve_pareto(measures, more, 3, n, best);
	for (size_t i = 0; !err && i < n; i++) {
		if (strcmp(level[i].text, row->param[0].text) != 0)
			continue;
		err = derive_value(rows, row, "on_front", best[i]);
		if (!err)
			err = derive_value(rows, row, "meets",
					   y[0][i] <= RATIO_TTFT_NS && y[1][i] <= RATIO_ITL_NS);
	}
	return err ? err : derive_value(rows, row, "front_percentile", quantiles[q] * 100);
}

static int ratio_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter filter = {.test = test->id, .kpi = "TPS_output", .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		struct row row = *rows_at(rows, i);

		err = row.n_params == 2 ? ratio_front(rows, &row) : 0;
	}
	return err;
}

const struct test test_6_2 = {
	INFERENCE_CLAUSE("6.2"),
	.name = "xPyD Ratio Optimization",
	.dut = "SUT-E",
	.summary = "Twelve workers in all, played by the fabric's GPUs: prompts Zipf (1.0) over "
		   "128 to 8,192 tokens, batches of 8; compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = PARAMS(PARAM("ratio", PARAM_TEXT, "",
			       "prefill and decode workers, 12 in all; GPUs play several",
			       "2P10D,6P6D,10P2D", "1P11D,2P10D,3P9D,4P8D,6P6D,8P4D,10P2D,11P1D"),
			 PARAM("rate", PARAM_NUMBER, "req/s", "Poisson", "20", "10,20,40")),
	.kpis = KPIS(
		KPI_TTFT, KPI_ITL, KPI_TPS_OUTPUT, KPI_GOODPUT, KPI_OFFERED,
		{"on_front", "", "SUT-E",
		 "1: no other ratio at this rate is as good in TTFT, ITL and TPS and better in one",
		 BETTER_NONE, 0},
		{"meets", "", "SUT-E",
		 "1: TTFT is 500 ms at most, and ITL 50 ms, at that percentile", BETTER_NONE, 0},
		{"front_percentile", "", "SUT-E",
		 "of TTFT and ITL on that front: the highest of 99, 95, 50 that all ratios carry",
		 BETTER_NONE, 0},
		KPI_MODEL("TPS_output", "tokens/s")),
	.views = VIEWS(VIEW(VIEW_PANELS, "xPyD by request rate", "ratio", "strategy", "rate",
			    "TTFT@p99", "TPS_output"),
		       VIEW(VIEW_PANELS, "xPyD by request rate, ITL", "ratio", "strategy", "rate",
			    "ITL@p99", "TPS_output"),
		       VIEW(VIEW_TABLE, "Ratios", "ratio", "rate", "strategy", "TTFT@p99",
			    "ITL@p99", "TPS_output", "Inference_Goodput", "on_front", "meets",
			    "front_percentile", "model", "model_ratio")),
	.run = ratio_run,
	.derive = ratio_derive,
};
