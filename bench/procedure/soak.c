/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/soak.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/stats.h"
#include "procedure/service.h"
#include "suite/derive.h"

double soak_end_s(const struct rows *rows, const char *test)
{
	struct rows_filter samples = {.test = test, .kpi = "at_s", .trial = -1};
	double end = 0;

	ROWS_EACH (i, rows, &samples) {
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

double soak_at_s(const struct trial *t)
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

/* BGP sessions of leaves that ended since `before` was read; known: it was. */
static void soak_add_flaps(struct trial *t, bool known, uint64_t before)
{
	uint64_t now;

	if (t->fabric->hosts)
		trial_missing(t, "flaps", "sessions of switches are not read on hosts");
	else if (known && !lab_sessions_dropped(&t->fabric->lab, t->fabric->topo, &now) &&
		 now >= before)
		trial_value(t, "flaps", (double)(now - before), 1);
	else
		trial_missing(t, "flaps", "a leaf's bgpd did not say, or was started anew");
}

int soak_sample(struct trial *t, int (*meanwhile)(void *arg, uint64_t now_ns), void *arg)
{
	struct serving_options o = service_usual(t);
	bool wants = test_kpi(t->test, "flaps"), known;
	double at_s = soak_at_s(t);
	uint64_t flaps = 0;
	int err;

	o.per_s = service_load(t, &o, 0.8);
	known = wants && !t->fabric->hosts &&
		!lab_sessions_dropped(&t->fabric->lab, t->fabric->topo, &flaps);
	err = service_run(t, &o, meanwhile, arg);
	if (err)
		return err;
	trial_value(t, "at_s", at_s, 1);
	if (wants)
		soak_add_flaps(t, known, flaps);
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

/* When each trial's sample began; NaN: there is none. The row may have parameters more than samples
 * have, of what is measured of several kinds at once. */
static double *soak_times(const struct rows *rows, const struct row *like, unsigned *n)
{
	struct rows_filter filter = {
		.test = like->test, .kpi = "at_s", .strategy = like->strategy, .trial = -1};
	double *at_s;

	*n = 0;
	ROWS_EACH (i, rows, &filter)
		*n = rows_at(rows, i)->trial >= *n ? rows_at(rows, i)->trial + 1 : *n;
	at_s = calloc(*n + 1, sizeof(*at_s));
	for (unsigned i = 0; at_s && i < *n; i++)
		at_s[i] = NAN;
	ROWS_EACH_WHILE (at_s, i, rows, &filter) {
		const struct row *at = rows_at(rows, i);

		if (row_matches(like, &(struct rows_filter){.n_params = at->n_params,
							    .param = at->param,
							    .trial = -1}))
			at_s[at->trial] = at->value;
	}
	return at_s;
}

int soak_series(const struct rows *rows, const struct row *like, const char *kpi,
		struct soak_series *out)
{
	struct rows_filter filter = rows_like(like);
	unsigned n_times;
	double *times = soak_times(rows, like, &n_times);

	filter.kpi = kpi;
	filter.trial = -1;
	*out = (struct soak_series){.at_s = calloc(n_times + 1, sizeof(*out->at_s)),
				    .value = calloc(n_times + 1, sizeof(*out->value))};
	ROWS_EACH_WHILE (times && out->at_s && out->value && out->n < n_times, i, rows, &filter) {
		const struct row *row = rows_at(rows, i);

		if (row->trial >= n_times || !isfinite(times[row->trial]) || !isfinite(row->value))
			continue;
		out->at_s[out->n] = times[row->trial];
		out->value[out->n++] = row->value;
	}
	free(times);
	return times && out->at_s && out->value ? 0 : -ENOMEM;
}

void soak_series_fini(struct soak_series *series)
{
	free(series->at_s);
	free(series->value);
}

static double soak_fit(const struct soak_series *s)
{
	return soak_regression(s->at_s, s->value, s->n) * 3600;
}

static double soak_spread(const struct soak_series *s)
{
	struct stats_summary summary;

	if (s->n < 2 || stats_summarise(s->value, s->n, &summary))
		return NAN;
	return (summary.max - summary.min) / summary.median * 100;
}

int soak_derive(struct rows *rows, const char *test, const char *kpi,
		int (*derive)(struct rows *rows, const struct row *like,
			      const struct soak_series *s, const char *name),
		const char *name)
{
	struct rows_filter all = {.test = test, .kpi = kpi, .trial = -1};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &all) {
		const struct row row = *rows_at(rows, i);
		struct rows_filter same = rows_like(&row);
		struct soak_series s;

		if (rows_next(rows, &same, 0) != i)
			continue; /* of a series that is done */
		err = soak_series(rows, &row, kpi, &s);
		if (!err && s.n)
			err = derive(rows, &row, &s, name);
		soak_series_fini(&s);
	}
	return err;
}

static int soak_add_fit(struct rows *rows, const struct row *like, const struct soak_series *s,
			const char *name)
{
	return derive_value(rows, like, name, soak_fit(s));
}

static int soak_add_spread(struct rows *rows, const struct row *like, const struct soak_series *s,
			   const char *name)
{
	return derive_value(rows, like, name, soak_spread(s));
}

int soak_slope(struct rows *rows, const char *test, const char *kpi, const char *slope)
{
	return soak_derive(rows, test, kpi, soak_add_fit, slope);
}

int soak_variation(struct rows *rows, const char *test, const char *kpi, const char *name)
{
	return soak_derive(rows, test, kpi, soak_add_spread, name);
}
