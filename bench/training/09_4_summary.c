/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "suite/derive.h"
#include "training/common.h"
#include "training/simulated.h"

/* Why that test has no such value; NULL: it was not run, or says nothing. */
static const char *summary_why(const struct trial *t, const char *test, const char *kpi)
{
	const struct rows_filter filter = {.test = test,
					   .kpi = kpi,
					   .strategy = t->strategy_name,
					   .n_params = t->n_params - 1,
					   .param = t->param + 1,
					   .trial = -1};
	size_t at = rows_next(t->rows, &filter, 0);

	return at < rows_count(t->rows) ? rows_at(t->rows, at)->missing : NULL;
}

/* Nothing is measured: it is the table of what 9.1 to 9.3 found in the same directory. */
static int summary_run(struct trial *t)
{
	static const char *const tests[] = {[COLLECTIVE_ALLREDUCE] = "T9.1",
					    [COLLECTIVE_ALLTOALL] = "T9.2",
					    [COLLECTIVE_ALLGATHER] = "T9.3"};
	static const char *const kpis[] = {"BusBW", "of_optimum", KPI_SIMULATED "BusBW",
					   KPI_SIMULATED "BusBW_scattered"};
	/* the first parameter names the test; those behind it are that test's */
	enum collective c = collective_parse(trial_text(t, "collective"));

	for (size_t i = 0; i < sizeof(kpis) / sizeof(kpis[0]); i++) {
		double value = derive_median(t->rows, tests[c], t->strategy_name, kpis[i],
					     t->n_params - 1, t->param + 1, 0.5);
		const char *why = summary_why(t, tests[c], kpis[i]);

		if (isfinite(value))
			trial_value(t, kpis[i], value, 1);
		else if (why)
			trial_missing(t, kpis[i], "%s: %s", tests[c], why);
		else
			trial_missing(t, kpis[i], "%s was not measured in this run", tests[c]);
	}
	return 0;
}

const struct test test_t9_4 = {
	TRAINING_CLAUSE("9.4"),
	.name = "Collective Communication Library Bus Bandwidth Summary",
	.dut = "DUT-F",
	.summary = "The table of what T9.1 to T9.3 found in the same run.",
	.strategies = mpi_strategies,
	.trials = {1, 1, 1},
	.params = PARAMS(
		PARAM("collective", PARAM_NAME, "", "of T9.1 to T9.3",
		      "allreduce,alltoall,allgather"),
		PARAM("size", PARAM_BYTES, "bytes", "of each rank's vector", "8M", "64M", "1G"),
		PARAM("ranks", PARAM_COUNT, "accelerators", "a rank on each GPU", "4", "4",
		      "128,512"),
		TRAINING_BALANCE, TRAINING_FABRIC),
	.unlike = NAMES("fabric"),
	.fits = training_fits,
	.kpis = KPIS(
		{"BusBW", "Gb/s", "DUT-F", "median of the trials", BETTER_HIGHER, 0},
		{"of_optimum", "", "DUT-F", "median of the trials", BETTER_HIGHER, 0},
		SIMULATED_KPI("BusBW", "Gb/s", "ranks in their order at leaves", BETTER_HIGHER),
		SIMULATED_KPI("BusBW_scattered", "Gb/s", "ranks at leaves by chance",
			      BETTER_HIGHER)),
	.views = VIEWS(
		VIEW(VIEW_TABLE, "Bus bandwidth by how leaves spread, and by transport (table 11)",
		     "collective", "balance", "strategy", "BusBW", "of_optimum"),
		VIEW(VIEW_TABLE, "Simulated, not measured: the same table", "collective", "balance",
		     "strategy", KPI_SIMULATED "BusBW", KPI_SIMULATED "BusBW_scattered")),
	.run = summary_run,
};
