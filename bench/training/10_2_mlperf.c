/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "training/common.h"
#include "training/mlperf_log.h"

#define NO_LOG "none"

static void mlperf_add(struct trial *t, const struct mlperf_log *log)
{
	bool is_success = strcmp(log->status, "success") == 0;

	trial_set_text(t, "Benchmark", *log->benchmark ? log->benchmark : "not named");
	trial_set_text(t, "Status", *log->status ? log->status : "not said");
	trial_value(t, "JCT", log->seconds, 1);
	if (is_success)
		trial_value(t, "Time_to_train", log->seconds / 60, 1);
	else
		trial_missing(t, "Time_to_train", "the run did not reach its quality");
	if (log->samples_per_s > 0)
		trial_value(t, "Samples_per_s", log->samples_per_s, log->n);
	else
		trial_missing(t, "Samples_per_s", "the log counts no samples");
	if (log->samples_per_s > 0 && log->sequence > 0)
		trial_value(t, "Tokens_per_s", log->samples_per_s * log->sequence, log->n);
	else
		trial_missing(t, "Tokens_per_s",
			      "the log counts no samples, or says not how many tokens one has");
	if (log->batch > 0)
		trial_value(t, "Global_batch_size", log->batch, 1);
	else
		trial_missing(t, "Global_batch_size", "the log does not have it");
}

static int mlperf_run(struct trial *t)
{
	const char *path = trial_text(t, "log");
	char error[160], *text;
	struct mlperf_log log;
	size_t length;
	int err;

	if (strcmp(path, NO_LOG) == 0) {
		trial_missing(t, NULL, "no MLPerf log was given (--param log=FILE)");
		return 0;
	}
	err = text_file_read_regular(path, MLPERF_MAX_BYTES, &text, &length);
	if (err) {
		trial_missing(t, NULL, "%s: %s", path, strerror(-err));
		return 0;
	}
	if (mlperf_log_parse(&log, text, length, error, sizeof(error)))
		trial_missing(t, NULL, "%s: %s", path, error);
	else
		mlperf_add(t, &log);
	free(text);
	return 0;
}

const struct test test_t10_2 = {
	TRAINING_CLAUSE("10.2"),
	.name = "MLPerf-Aligned JCT",
	.dut = "SUT-E",
	.summary = "Nothing is run: what the log of a run of MLPerf Training says, in the public "
		   "format of its lines. What the fabric did meanwhile is in no log.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {1, 1, 1},
	.params =
		PARAMS(PARAM("log", PARAM_TEXT, "", "of a run of MLPerf Training, a file", NO_LOG)),
	.kpis = KPIS({"Time_to_train", "min", "SUT-E",
		      "from run_start to run_stop of a run that succeeded", BETTER_LOWER, 0},
		     {"JCT", "s", "SUT-E", "from run_start to run_stop", BETTER_LOWER, 0},
		     {"Samples_per_s", "1/s", "SUT-E",
		      "samples trained with, over the JCT or as the run says", BETTER_HIGHER, 0},
		     {"Tokens_per_s", "1/s", "SUT-E", "those times max_sequence_length",
		      BETTER_HIGHER, 0},
		     {"Global_batch_size", "samples", "SUT-E", "as the log has it", BETTER_NONE, 0},
		     {"Benchmark", "", "SUT-E", "as the log names it", BETTER_NONE, 0},
		     {"Status", "", "SUT-E", "as run_stop has it", BETTER_NONE, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "Runs of MLPerf", "log", NULL, NULL, "Benchmark", "Status",
			    "Time_to_train", "JCT", "Samples_per_s", "Tokens_per_s",
			    "Global_batch_size")),
	.run = mlperf_run,
};
