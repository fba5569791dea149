/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/service.h"
#include "suite/derive.h"
#include "suite/kpis.h"

static int itl_run(struct trial *t)
{
	const char *load = trial_text(t, "load");
	struct serving_options o = service_usual(t);
	int err;

	o.model = model_find("CFG-A"); /* the shortest step: most tokens in a trial's time */
	o.trace = NULL;		       /* lengths of its own */
	o.prompt = (struct lengths){LENGTHS_FIXED, 512, 0, 0};
	o.output = (struct lengths){LENGTHS_FIXED, 2048, 0, 0};
	o.batch = 16;
	o.per_s = 0; /* one at a time: tokens of a batch would be as many samples of one step */
	o.background = strcmp(load, "none") == 0 ? 0 : strcmp(load, "half") == 0 ? 0.5 : 0.9;
	o.extra_dispatch = strcmp(load, "heavy") == 0;
	err = service_run(t, &o, NULL);
	if (!err)
		trial_model(t, "ITL", o.model->step_s * 1e3, "");
	return err;
}

/* The draft asks for so many of each load; of all trials. */
static int itl_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter filter = {.test = test->id, .kpi = "ITL", .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		struct row row = *rows_at(rows, i);
		struct rows_filter like = rows_like(&row);
		struct hist all;

		hist_init(&all);
		if (rows_hist(rows, &like, &all))
			err = derive_value(rows, &row, "ITL_samples", (double)all.n);
	}
	return err;
}

const struct test test_10_2 = {
	INFERENCE_CLAUSE("10.2"),
	.name = "ITL Characterization and Tail Latency",
	.dut = "SUT-E",
	.summary = "One long output after the other, of CFG-A with experts (M3): a step of all "
		   "decode GPUs is emulated compute, a real dispatch and a real combine of one "
		   "layer, of 16 tokens a GPU.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {5, 20, 120},
	.params =
		PARAMS(PARAM("load", PARAM_NAME, "",
			     "of other traffic: none, half of the line, nine tenths and dispatches",
			     "none,half,heavy")),
	/* ITL is not among .correlated: one request at a time, each token has a step of its own */
	.kpis = KPIS(KPI_ITL, {"ITL_max", "ms", "SUT-E", "the longest of a trial", BETTER_LOWER, 0},
		     {"stalls", "tokens", "SUT-E", "more than 100 ms after the one before",
		      BETTER_LOWER, 0},
		     {"ITL_samples", "tokens", "SUT-E", "of all trials; the draft asks for 10,000",
		      BETTER_NONE, 0},
		     KPI_ITL_FABRIC, KPI_OFFERED, KPI_MODEL("ITL", "ms")),
	.views = VIEWS(
		{VIEW_FIELDS(VIEW_CDF, "Time between tokens", NULL, "strategy", "load", "ITL"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "ITL", "load", "strategy", NULL, "ITL@p50", "ITL@p95", "ITL@p99",
		     "ITL@p99.9", "ITL_max", "stalls", "ITL_samples", "ITL_fabric@p50",
		     "ITL_fabric@p99", "model", "model_ratio")),
	.run = itl_run,
	.derive = itl_derive,
};
