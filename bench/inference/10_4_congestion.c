/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "procedure/service.h"
#include "suite/derive.h"
#include "suite/kpis.h"

#define NOISE 0.1 /* of the P99 without background: at least so much is no inflection */

static int congestion_run(struct trial *t)
{
	struct serving_options o = service_usual(t);

	o.per_s = service_capacity(&o) * 0.3;
	o.trace = NULL; /* lengths of its own */
	o.prompt = (struct lengths){LENGTHS_FIXED, 1024, 0, 0};
	o.background = trial_number(t, "background") / 100;
	return service_run(t, &o, "TTFT");
}

/* P99 over that without background, and where the curve leaves its low end. */
static int derive_strategy(struct rows *rows, const struct row *row)
{
	struct row_param levels[32];
	struct curve_point points[32];
	struct rows_filter filter = {
		.test = "10.4", .kpi = "TTFT", .strategy = row->strategy, .trial = -1};
	size_t n = rows_levels(rows, &filter, "background", levels, 32), known = 0, at;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		struct row level = *row;

		if (!derive_point(rows, "10.4", row->strategy, "TTFT", &levels[i], 0.99,
				  &points[known]))
			continue;
		level.param[0] = levels[i];
		known++;
		if (isfinite(points[0].low) && isfinite(points[known - 1].low))
			err = derive_value(rows, &level, "degradation",
					   points[known - 1].median / points[0].median);
	}
	at = known ? curve_inflection(points, known, 1, NOISE) : 0;
	return err || at >= known ? err : derive_value(rows, row, "inflection", points[at].x);
}

static int congestion_derive(const struct test *test, struct rows *rows)
{
	struct row_param strategies[16], first[1];
	struct rows_filter filter = {.test = test->id, .kpi = "TTFT", .trial = 0};
	size_t n = rows_levels(rows, &filter, "strategy", strategies, 16);
	int err = 0;

	if (!rows_levels(rows, &filter, "background", first, 1))
		return 0;
	for (size_t i = 0; !err && i < n; i++) {
		struct rows_filter one = {.test = test->id,
					  .kpi = "TTFT",
					  .strategy = strategies[i].text,
					  .n_params = 1,
					  .param = first,
					  .trial = 0};
		size_t at = rows_next(rows, &one, 0);
		struct row row;

		if (at == rows_count(rows))
			continue;
		row = *rows_at(rows, at);
		err = derive_strategy(rows, &row);
	}
	return err;
}

const struct test test_10_4 = {
	INFERENCE_CLAUSE("10.4"),
	.name = "Latency Sensitivity to Fabric Congestion",
	.dut = "SUT-E",
	.summary =
		"A service at a fixed rate beside Poisson traffic of every GPU. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {3, 15, 60},
	.params = PARAMS(PARAM("background", PARAM_COUNT, "%", "of the line, open loop",
			       "0,50,75,90", "0,15,30,45,60,75,90,95",
			       "0,5,10,15,20,25,30,35,40,45,50,55,60,65,70,75,80,85,90,95")),
	.kpis = KPIS(KPI_TTFT, KPI_ITL, KPI_T_TRANSFER,
		     {"degradation", "", "SUT-E", "P99 of TTFT over that without background",
		      BETTER_LOWER, 0},
		     {"inflection", "%", "SUT-E",
		      "first level from which on P99 of TTFT is beyond the noise of no background, "
		      "and 10%",
		      BETTER_HIGHER, 0},
		     KPI_OFFERED, KPI_MODEL("TTFT", "ms")),
	.correlated = NAMES("ITL"),
	.views = VIEWS(VIEW(VIEW_LINES, "Tail TTFT over background traffic", "background",
			    "strategy", NULL, "TTFT@p99"),
		       VIEW(VIEW_LINES, "Tail ITL over background traffic", "background",
			    "strategy", NULL, "ITL@p99"),
		       VIEW(VIEW_TABLE, "Congestion", "background", "strategy", NULL, "TTFT@p99",
			    "ITL@p99", "T_transfer@p99", "degradation", "inflection", "model",
			    "model_ratio")),
	.run = congestion_run,
	.derive = congestion_derive,
};
