/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlperf_log.h - what the log of a run of MLPerf Training says: how long, of what, how it ended.
 *
 * Owns: nothing; pure. In: a log's text, whose lines with ":::MLLOG" and a JSON object behind it
 * count, whatever stands before (a launcher's rank) and in other lines; out: one run. Thread: any.
 */
#ifndef MLPERF_LOG_H
#define MLPERF_LOG_H

#include <stddef.h>

#define MLPERF_MAX_BYTES (256u << 20)

struct mlperf_log {
	char benchmark[64], status[32]; /* "bert"; "success", "aborted"; "": not said */
	double seconds;			/* from run_start to run_stop, above 0 */
	double batch;			/* global_batch_size, samples; 0: not said */
	double sequence;		/* max_sequence_length, tokens of a sample; 0: not said */
	double samples_per_s;		/* 0: not said */
	unsigned n;			/* measurements behind samples_per_s */
};

/*
 * -EBADMSG: a line is wrong, or the log has no whole run, or several: error has the line, and why.
 */
int mlperf_log_parse(struct mlperf_log *out, const char *text, size_t length, char *error,
		     size_t size);

#endif
