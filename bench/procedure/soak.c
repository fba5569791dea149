/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/soak.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "procedure/service.h"
#include "suite/derive.h"

double soak_end_s(const struct rows *rows, const char *test)
{
	struct rows_filter samples = {.test = test, .kpi = "at_s", .trial = -1};
	double end = 0;

	for (size_t i = rows_next(rows, &samples, 0); i < rows_count(rows);
	     i = rows_next(rows, &samples, i + 1)) {
		const struct row *row = rows_at(rows, i);
		struct rows_filter took = {.test = test,
					   .kpi = "_trial_s",
					   .strategy = row->strategy,
					   .trial = (int)row->trial};
		size_t at = rows_next(rows, &took, 0);

		end = fmax(end,
			   row->value + (at < rows_count(rows) ? rows_at(rows, at)->value : 0));
	}
	return end;
}

/* One axis for all samples of a test: a run that goes on begins where the one before ended. */
static double soak_at_s(const struct trial *t)
{
	static const struct test *test;
	static uint64_t first_ns;
	static double first_s;
	uint64_t now = clock_now_ns();

	if (test != t->test) {
		test = t->test;
		first_ns = now;
		first_s = soak_end_s(t->rows, t->test->id);
	}
	return first_s + (double)(now - first_ns) / 1e9;
}

int soak_sample(struct trial *t, int (*meanwhile)(void *arg, uint64_t now_ns), void *arg)
{
	struct serving_options o = service_usual(t);
	double at_s = soak_at_s(t);
	int err;

	o.per_s = service_load(t, &o, 0.8);
	err = service_run(t, &o, meanwhile, arg);
	if (err)
		return err;
	trial_value(t, "at_s", at_s, 1);
	if (test_kpi(t->test, "model"))
		trial_model(t, "TPS_output", service_ideal(t, &o).tokens_per_s, "");
	return 0;
}

double soak_rss_kib(int pid)
{
	char path[64], line[128];
	double kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmRSS: %lf kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

double soak_descriptors(int pid)
{
	char path[64];
	double n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n > 2 ? n - 2 : 0;
}

/* x: "at_s" of the same trial and strategy. */
static double soak_time(const struct rows *rows, const struct row *row)
{
	struct rows_filter filter = {.test = row->test,
				     .kpi = "at_s",
				     .strategy = row->strategy,
				     .trial = (int)row->trial};
	size_t i = rows_next(rows, &filter, 0);

	return i < rows_count(rows) ? rows_at(rows, i)->value : NAN;
}

double soak_regression(const double *x, const double *y, size_t n)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0;

	for (size_t i = 0; i < n; i++) {
		sx += x[i];
		sy += y[i];
		sxx += x[i] * x[i];
		sxy += x[i] * y[i];
	}
	return n >= 3 && (double)n * sxx - sx * sx > 0
		       ? ((double)n * sxy - sx * sy) / ((double)n * sxx - sx * sx)
		       : NAN;
}

static double soak_fit(const struct rows *rows, const struct rows_filter *filter)
{
	double *x = calloc(rows_count(rows) + 1, sizeof(*x)),
	       *y = calloc(rows_count(rows) + 1, sizeof(*y)), slope = NAN;
	size_t n = 0;

	for (size_t i = rows_next(rows, filter, 0); x && y && i < rows_count(rows);
	     i = rows_next(rows, filter, i + 1)) {
		x[n] = soak_time(rows, rows_at(rows, i)) / 3600;
		y[n] = rows_at(rows, i)->value;
		n += isfinite(x[n]) && isfinite(y[n]);
	}
	if (x && y)
		slope = soak_regression(x, y, n);
	free(x);
	free(y);
	return slope;
}

int soak_slope(struct rows *rows, const char *test, const char *kpi, const char *slope)
{
	struct row_param strategies[16];
	struct rows_filter all = {.test = test, .kpi = kpi, .trial = -1};
	size_t n = rows_levels(rows, &all, "strategy", strategies, 16);
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		struct rows_filter one = {
			.test = test, .kpi = kpi, .strategy = strategies[i].text, .trial = -1};
		size_t at = rows_next(rows, &one, 0);
		struct row row;

		if (at == rows_count(rows))
			continue;
		row = *rows_at(rows, at);
		err = derive_value(rows, &row, slope, soak_fit(rows, &one));
	}
	return err;
}
