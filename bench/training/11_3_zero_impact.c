/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "training/common.h"

/* The row that the same trial of 11.2 has; NULL: it has none. */
static const struct row *measured(const struct trial *t, const char *kpi)
{
	struct rows_filter filter = {.test = "T11.2",
				     .kpi = kpi,
				     .strategy = t->strategy_name,
				     .n_params = t->n_params,
				     .param = t->param,
				     .trial = (int)t->number};
	size_t i = rows_next(t->rows, &filter, 0);

	return i < rows_count(t->rows) ? rows_at(t->rows, i) : NULL;
}

/* Nothing is measured again: iterations are timed to the nanosecond in 11.2. */
static int zero_impact_run(struct trial *t)
{
	static const char *const kpis[] = {"JCT_failure", "JCT_steady_P99", "zero_impact"};

	for (size_t i = 0; i < sizeof(kpis) / sizeof(kpis[0]); i++) {
		const struct row *row = measured(t, kpis[i]);

		if (row && isfinite(row->value))
			trial_value(t, kpis[i], row->value, row->n);
		else
			trial_missing(t, kpis[i], "%s",
				      row && row->missing ? row->missing
							  : "T11.2 has no such value in this run");
	}
	return 0;
}

const struct test test_t11_3 = {
	TRAINING_CLAUSE("11.3"),
	.name = "Zero-Impact Failover Measurement",
	.dut = "DUT-F",
	.summary =
		"What T11.2 of the same run found, judged as the draft has it. Iterations are "
		"timed in ns and shown in ms; the packets that show T11.2's loss are 10 ms apart, "
		"so no loss is known to the ns.",
	.unlike = NAMES("failure"),
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
