/* links: bench_core; parses: bench/training/mlperf_log.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_mlperf_log.c - the log of a run of MLPerf Training. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "training/mlperf_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlperf_log log;
	char error[160];

	if (mlperf_log_parse(&log, (const char *)data, size, error, sizeof(error)))
		return 0;
	if (!(log.seconds > 0) || !isfinite(log.samples_per_s * log.sequence))
		abort();
	return 0;
}
