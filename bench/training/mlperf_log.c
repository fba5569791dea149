/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/mlperf_log.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MLPERF_MARK	":::MLLOG"
#define MLPERF_MAX_LINE (64u << 10)
#define MLPERF_MOST	1e15 /* of times in ms, and of counts: what a double holds exactly */

/* The log so far. */
struct mlperf_run {
	double start_ms, stop_ms; /* below 0: not yet */
	double samples;		  /* trained with, as the newest line says */
	double rate_sum;	  /* of samples a second, as lines say */
	unsigned n_rates;
};

/* A number from least to MLPERF_MOST into out. */
static bool mlperf_number(const json_t *value, double least, double *out)
{
	double number = json_is_number(value) ? json_number_value(value) : -1;

	if (!(number >= least && number <= MLPERF_MOST))
		return false;
	*out = number;
	return true;
}

static void mlperf_text(const json_t *value, char *out, size_t size)
{
	size_t n;

	if (!json_is_string(value))
		return;
	n = (size_t)snprintf(out, size, "%s", json_string_value(value));
	if (n < size)
		return;
	for (n = size - 1; n && ((unsigned char)json_string_value(value)[n] & 0xc0) == 0x80; n--)
		; /* no character of UTF-8 in part */
	out[n] = '\0';
}

static const char *mlperf_begin(struct mlperf_run *run, const json_t *event)
{
	if (run->start_ms >= 0)
		return "a second run_start: one log has one run";
	return mlperf_number(json_object_get(event, "time_ms"), 0, &run->start_ms)
		       ? NULL
		       : "run_start has no time_ms";
}

static const char *mlperf_end(struct mlperf_run *run, const json_t *event)
{
	if (run->start_ms < 0 || run->stop_ms >= 0)
		return "a run_stop without its run_start";
	if (!mlperf_number(json_object_get(event, "time_ms"), 0, &run->stop_ms))
		return "run_stop has no time_ms";
	return run->stop_ms > run->start_ms ? NULL : "run_stop is not after run_start";
}

/* What lines between run_start and run_stop say of progress. */
static void mlperf_progress(struct mlperf_run *run, const char *key, const json_t *event)
{
	const json_t *rate = json_object_get(json_object_get(event, "value"), "throughput");
	double value;

	if (run->start_ms < 0 || run->stop_ms >= 0)
		return;
	mlperf_number(json_object_get(json_object_get(event, "metadata"), "samples_count"),
		      run->samples, &run->samples);
	if (strcmp(key, "tracked_stats") == 0 && mlperf_number(rate, 0, &value)) {
		run->rate_sum += value;
		run->n_rates++;
	}
}

/* NULL, or what is wrong. */
static const char *mlperf_event(struct mlperf_run *run, struct mlperf_log *out, const json_t *event)
{
	const char *key = json_string_value(json_object_get(event, "key"));
	const json_t *value = json_object_get(event, "value");

	if (!key)
		return "no key";
	if (strcmp(key, "submission_benchmark") == 0)
		mlperf_text(value, out->benchmark, sizeof(out->benchmark));
	else if (strcmp(key, "global_batch_size") == 0)
		mlperf_number(value, 0, &out->batch);
	else if (strcmp(key, "max_sequence_length") == 0)
		mlperf_number(value, 0, &out->sequence);
	mlperf_progress(run, key, event);
	if (strcmp(key, "run_start") == 0)
		return mlperf_begin(run, event);
	if (strcmp(key, "run_stop") != 0)
		return NULL;
	mlperf_text(json_object_get(json_object_get(event, "metadata"), "status"), out->status,
		    sizeof(out->status));
	return mlperf_end(run, event);
}

static const char *mlperf_line(struct mlperf_run *run, struct mlperf_log *out, const char *line,
			       size_t length)
{
	const char *mark = memmem(line, length, MLPERF_MARK, strlen(MLPERF_MARK)), *wrong;
	json_t *event;

	if (!mark)
		return NULL;
	length -= (size_t)(mark + strlen(MLPERF_MARK) - line);
	if (length > MLPERF_MAX_LINE)
		return "longer than 64 KiB";
	event = json_loadb(mark + strlen(MLPERF_MARK), length, JSON_REJECT_DUPLICATES, NULL);
	wrong = json_is_object(event) ? mlperf_event(run, out, event)
				      : "no whole JSON object behind " MLPERF_MARK;
	json_decref(event);
	return wrong;
}

static const char *mlperf_finish(const struct mlperf_run *run, struct mlperf_log *out)
{
	if (run->start_ms < 0)
		return "it has no run_start";
	if (run->stop_ms < 0)
		return "it ends before run_stop: the run was cut off, or the log";
	out->seconds = (run->stop_ms - run->start_ms) / 1e3;
	if (run->samples > 0) {
		out->samples_per_s = run->samples / out->seconds;
		out->n = 1;
	} else if (run->rate_sum > 0) {
		out->samples_per_s = run->rate_sum / run->n_rates;
		out->n = run->n_rates;
	}
	return NULL;
}

int mlperf_log_parse(struct mlperf_log *out, const char *text, size_t length, char *error,
		     size_t size)
{
	struct mlperf_run run = {.start_ms = -1, .stop_ms = -1};
	const char *end = text + length, *wrong = NULL;
	unsigned long number = 0;

	*out = (struct mlperf_log){.seconds = 0};
	while (!wrong && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((newline ? newline : end) - text);

		number++;
		wrong = mlperf_line(&run, out, text, bytes);
		text += bytes + (newline != NULL);
	}
	if (!wrong)
		wrong = mlperf_finish(&run, out);
	if (wrong)
		snprintf(error, size, "line %lu: %s", number, wrong);
	return wrong ? -EBADMSG : 0;
}
