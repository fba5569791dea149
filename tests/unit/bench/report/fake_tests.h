/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_tests.h - two tests that declare every kind of view, a third that is never run, and rows of
 * the first two.
 *
 * Owns: a directory in /tmp from fake_directory() on.
 */
#ifndef FAKE_TESTS_H
#define FAKE_TESTS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rows.h"
#include "suite/test.h"

/* Not an assertion of check's: programs that are no tests use this as well. */
static inline void fake_must(bool holds)
{
	if (!holds)
		abort();
}

static const struct param fake_params[] = {
	{.name = "size", .kind = PARAM_BYTES, .unit = "bytes", .what = ""},
	{.name = "mode", .kind = PARAM_NAME, .unit = "", .what = ""},
	{.name = NULL}};

static const struct kpi fake_kpis[] = {{"KV_xfer_bandwidth", "MB/s", "DUT-N", "", BETTER_HIGHER, 0},
				       {"KV_xfer_latency", "us", "DUT-N", "", BETTER_LOWER, 1e-3},
				       {"line", "MB/s", "DUT-F", "", BETTER_NONE, 0},
				       {"JFI", "", "DUT-F", "", BETTER_HIGHER, 0},
				       {"storm", "", "DUT-S", "", BETTER_NONE, 0},
				       {"PFC_frame_count", "frames", "DUT-S", "", BETTER_LOWER, 0},
				       {"at_s", "s", "", "", BETTER_NONE, 0},
				       {.name = NULL}};

static const struct view fake_views[] = {
	{.kind = VIEW_LINES,
	 .title = "Lines <1>",
	 .x = "size",
	 .series = "strategy",
	 .panel = "mode",
	 .y = {"KV_xfer_bandwidth"},
	 .log_x = true,
	 .reference = "line",
	 .note = "JFI"},
	{.kind = VIEW_CDF,
	 .title = "Distribution",
	 .series = "strategy",
	 .panel = "mode",
	 .y = {"KV_xfer_latency"},
	 .log_x = true},
	{.kind = VIEW_HEAT,
	 .title = "Heat",
	 .x = "size",
	 .series = "mode",
	 .panel = "strategy",
	 .y = {"KV_xfer_bandwidth"}},
	{.kind = VIEW_TABLE,
	 .title = "Table",
	 .x = "size",
	 .series = "strategy",
	 .y = {"KV_xfer_bandwidth", "KV_xfer_latency@p50", "KV_xfer_latency@p99.9", "storm",
	       "PFC_frame_count"}},
	{.kind = VIEW_STACK,
	 .title = "Stack",
	 .x = "size",
	 .series = "strategy",
	 .y = {"KV_xfer_bandwidth", "line"}},
	{.title = NULL}};

static const struct view fake_more_views[] = {
	{.kind = VIEW_BARS,
	 .title = "Bars",
	 .x = "mode",
	 .series = "strategy",
	 .y = {"KV_xfer_latency@p99.9"}},
	{.kind = VIEW_DUAL,
	 .title = "Dual",
	 .x = "size",
	 .series = "strategy",
	 .y = {"KV_xfer_bandwidth", "KV_xfer_latency@p50"}},
	{.kind = VIEW_PANELS,
	 .title = "Panels",
	 .x = "size",
	 .series = "strategy",
	 .panel = "mode",
	 .y = {"KV_xfer_bandwidth", "KV_xfer_latency@p50"}},
	{.kind = VIEW_SHADED,
	 .title = "Shaded",
	 .x = "size",
	 .panel = "strategy",
	 .y = {"KV_xfer_latency@p99", "KV_xfer_latency@p50", "KV_xfer_latency@p50"}},
	{.kind = VIEW_TREND,
	 .title = "Trend",
	 .x = "at_s",
	 .series = "strategy",
	 .y = {"KV_xfer_bandwidth"}},
	{.kind = VIEW_LINES,
	 .title = "Pauses",
	 .x = "size",
	 .series = "strategy",
	 .y = {"PFC_frame_count"}},
	{.title = NULL}};

static const struct test fake_one = {.id = "5.1",
				     .name = "One & only",
				     .clause = "5.1",
				     .dut = "DUT-N",
				     .summary = "Fake.",
				     .seconds = {1, 4.5, 60},
				     .params = fake_params,
				     .kpis = fake_kpis,
				     .views = fake_views};
static const struct test fake_two = {.id = "10.2",
				     .name = "Two",
				     .clause = "10.2",
				     .dut = "DUT-F",
				     .summary = "Fake as well.",
				     .params = fake_params,
				     .kpis = fake_kpis,
				     .views = fake_more_views};
static const struct test fake_never = {.id = "12.2",
				       .name = "Never",
				       .clause = "12.2",
				       .dut = "DUT-F",
				       .summary = "Not run.",
				       .params = fake_params,
				       .kpis = fake_kpis,
				       .views = fake_more_views};
static const struct test *const fake_tests[] = {&fake_one, &fake_two, &fake_never};

static inline void fake_rows_of_trial(struct rows *rows, struct row *row, double bandwidth)
{
	static struct hist hist;

	strcpy(row->kpi, "KV_xfer_bandwidth");
	row->value = bandwidth;
	row->n = 1;
	fake_must(rows_add(rows, row) == 0);
	strcpy(row->kpi, "line");
	row->value = 200;
	fake_must(rows_add(rows, row) == 0);
	strcpy(row->kpi, "JFI");
	row->value = 0.75;
	fake_must(rows_add(rows, row) == 0);
	strcpy(row->kpi, "at_s");
	row->value = row->trial * 60;
	fake_must(rows_add(rows, row) == 0);
	strcpy(row->kpi, "_trial_s"); /* the suite's own, in no table */
	fake_must(rows_add(rows, row) == 0);
	hist_init(&hist);
	for (unsigned i = 0; i < 100; i++)
		hist_add(&hist, (uint64_t)(1e8 / bandwidth * (1 + i / 50.0)));
	strcpy(row->kpi, "KV_xfer_latency");
	row->hist = &hist;
	fake_must(rows_add(rows, row) == 0);
	row->hist = NULL;
	strcpy(row->kpi, "storm");
	row->text = (char[]){"no"};
	fake_must(rows_add(rows, row) == 0);
	row->text = NULL;
	strcpy(row->kpi, "PFC_frame_count");
	row->missing = (char[]){"no PFC <here>"};
	fake_must(rows_add(rows, row) == 0);
	row->missing = NULL;
}

/* All places and trials; factor: what the bandwidth of fare-spray is multiplied by. */
static inline void fake_rows(struct rows *rows, double factor)
{
	static const char *const strategies[] = {"ecmp-stripe", "fare-spray"},
				 *const sizes[] = {"64K", "1M", "16M"},
				 *const modes[] = {"push", "pull"};

	for (unsigned i = 0; i < 2 * 2 * 2 * 3 * 7; i++) {
		unsigned strategy = i % 2, mode = i / 2 % 2, test = i / 4 % 2, size = i / 8 % 3;
		struct row row = {.trial = i / 24};

		strcpy(row.test, fake_tests[test]->id);
		strcpy(row.strategy, strategies[strategy]);
		row.n_params = 2;
		fake_must(row_param_set(&row.param[0], "size", sizes[size]) == 0);
		fake_must(row_param_set(&row.param[1], "mode", modes[mode]) == 0);
		fake_rows_of_trial(rows, &row,
				   (50 + 20 * size + 10 * mode + row.trial * 0.5) *
					   (strategy ? factor : 1));
	}
}

static inline void fake_directory(char *dir, double factor)
{
	struct rows *rows;
	char path[128];
	FILE *file;

	fake_must(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rows.jsonl", dir);
	fake_must(rows_open(&rows, path) == 0);
	fake_rows(rows, factor);
	rows_close(rows);
	snprintf(path, sizeof(path), "%s/run.json", dir);
	file = fopen(path, "we");
	fake_must(file);
	fputs("{\"seed\":1,\"strategies\":[\"ecmp-stripe\",\"fare-spray\"],\"tables\":["
	      "{\"title\":\"Workload\",\"rows\":[[\"Prompts\",\"Zipf | 1.0\"]]},"
	      "{\"title\":\"Run\",\"rows\":[[\"Attempts that do not count\",\"3: busy\"]]},"
	      "{\"title\":\"Real and emulated\",\"rows\":[[\"Emulated\",\"GPUs\"]]},"
	      "{\"title\":\"Fabric health\",\"rows\":[[\"CRC Error Count\",\"0 here\"],"
	      "[\"BGP/OSPF Stability\",\"2 sessions ended\"],"
	      "[\"NIC QP State\",\"3 paths died\"]]}]}",
	      file);
	fake_must(fclose(file) == 0);
}

#define FAKE_FILE_MAX (8u << 20)

/* The whole file; free() it. */
static inline char *fake_file(const char *dir, const char *name)
{
	char path[128], *text = malloc(FAKE_FILE_MAX);
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	fake_must(text && file);
	n = fread(text, 1, FAKE_FILE_MAX - 1, file);
	fake_must(n > 0 && n < FAKE_FILE_MAX - 1);
	text[n] = '\0';
	fclose(file);
	return text;
}

static inline void fake_directory_gone(const char *dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	fake_must(system(command) == 0);
}

#endif
