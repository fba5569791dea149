/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "training/common.h"

/* A value that the same trial of 11.2 has; NaN: it has none. */
static double measured(const struct trial *t, const char *kpi)
{
	struct rows_filter filter = {.test = "T11.2",
				     .kpi = kpi,
				     .strategy = t->strategy_name,
				     .n_params = t->n_params,
				     .param = t->param,
				     .trial = (int)t->number};
	size_t i = rows_next(t->rows, &filter, 0);

	return i < rows_count(t->rows) ? rows_at(t->rows, i)->value : NAN;
}

/* Nothing is measured again: iterations are timed to the nanosecond in 11.2. */
static int zero_impact_run(struct trial *t)
{
	static const char *const kpis[] = {"JCT_failure", "JCT_steady_P99", "zero_impact"};

	for (size_t i = 0; i < sizeof(kpis) / sizeof(kpis[0]); i++) {
		double value = measured(t, kpis[i]);

		if (isfinite(value))
			trial_value(t, kpis[i], value, 1);
		else
			trial_missing(t, kpis[i], "T11.2 has no such value in this run");
	}
	return 0;
}

const struct test test_t11_3 = {
	TRAINING_CLAUSE("11.3"),
	.name = "Zero-Impact Failover Measurement",
	.dut = "DUT-F",
	.summary = "What T11.2 of the same run found, judged as the draft has it.",
	.strategies = mpi_strategies,
	.trials = {1, 5, 5},
	.params = training_failure_params,
	.kpis = KPIS({"JCT_failure", "ms", "SUT-E", "the iteration in which the fault came",
		      BETTER_LOWER, 0},
		     {"JCT_steady_P99", "ms", "SUT-E", "99% of the iterations before it are faster",
		      BETTER_LOWER, 0},
		     {"zero_impact", "", "SUT-E", "1: JCT_failure is within JCT_steady_P99",
		      BETTER_HIGHER, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "Zero-impact failover", "failure", "strategy", "balance",
			    "zero_impact", "JCT_failure", "JCT_steady_P99")),
	.run = zero_impact_run,
};
