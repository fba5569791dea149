/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/soak.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/stats.h"
#include "fabric/leaf_load.h"
#include "procedure/load.h"
#include "procedure/service.h"
#include "suite/derive.h"

static double soak_sample_end_s(const struct rows *rows, const struct row *row)
{
	struct rows_filter took = {.test = row->test,
				   .kpi = "_trial_s",
				   .strategy = row->strategy,
				   .trial = (int)row->trial};
	size_t at = rows_next(rows, &took, 0);

	return row->value + (at < rows_count(rows) ? rows_at(rows, at)->value : 0);
}

double soak_end_s(const struct rows *rows, const char *test)
{
	struct rows_filter samples = {.test = test, .kpi = "at_s", .trial = -1};
	double end = 0;

	ROWS_EACH (i, rows, &samples)
		end = fmax(end, soak_sample_end_s(rows, rows_at(rows, i)));
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

/* What switches' daemons used and lost in a sample. */
static void soak_add_leaves(struct trial *t, const struct leaf_load *from,
			    const struct leaf_load *to)
{
	static const char *const kpis[] = {"Switch_CPU", "Switch_memory", "flaps"};
	unsigned n = leaf_load_switches(t->fabric->topo);
	double values[] = {0, 0, (double)to->dropped - (double)from->dropped};
	bool knows = from->knows_sessions && to->knows_sessions && values[2] >= 0;

	if (!t->fabric->hosts) {
		values[0] = leaf_load_cpu_percent(from, to, n);
		values[1] = leaf_load_rss_bytes(to, n) / 1048576;
	}
	for (size_t i = 0; i < sizeof(kpis) / sizeof(kpis[0]); i++) {
		if (t->fabric->hosts)
			trial_missing(t, kpis[i], "daemons of switches are read in labs alone");
		else if (i == 2 && !knows)
			trial_missing(t, kpis[i], "a leaf's bgpd did not say, or was started anew");
		else
			trial_value_asked(t, kpis[i], values[i], n);
	}
}

/* The service, and what the fabric counted meanwhile. */
static int soak_measure(struct trial *t, const struct serving_options *o,
			int (*meanwhile)(void *arg, uint64_t now_ns), void *arg)
{
	bool leaves = test_kpi(t->test, "flaps"), marks = test_kpi(t->test, "PFC_frame_count"),
	     reads = leaves && !t->fabric->hosts;
	const struct fabric *f = t->fabric;
	struct leaf_load from = {0}, to = {0};
	struct serving_result r = {0};
	int err = reads ? leaf_load_read(&from, f->topo, &f->lab) : 0;

	if (!err && marks)
		err = load_marks_begin(t);
	if (!err)
		err = serving_run(t, o, meanwhile, arg, &r);
	if (!err)
		service_add(t, &r);
	if (!err && test_kpi(t->test, "model"))
		service_model(t, "TPS_output", o, &r);
	serving_fini(&r);
	if (!err && marks)
		err = load_add_marks(t);
	if (!err && reads)
		err = leaf_load_read(&to, f->topo, &f->lab);
	if (!err && leaves)
		soak_add_leaves(t, &from, &to);
	leaf_load_fini(&from);
	leaf_load_fini(&to);
	return err;
}

int soak_sample(struct trial *t, int (*meanwhile)(void *arg, uint64_t now_ns), void *arg)
{
	struct serving_options o = service_usual(t);
	double at_s = soak_at_s(t);
	int err;

	o.per_s = service_load(t, &o, 0.8);
	err = soak_measure(t, &o, meanwhile, arg);
	if (!err)
		trial_value(t, "at_s", at_s, 1);
	return err;
}

/* The sum of these lines of a process's status, KiB. */
static double soak_status_kib(int pid, const char *first, const char *second)
{
	char path[64], line[128], name[16];
	double kib = 0, one;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%15[^:]: %lf kB", name, &one) == 2 &&
		    (strcmp(name, first) == 0 || strcmp(name, second) == 0))
			kib += one;
	if (file)
		fclose(file);
	return kib;
}

double soak_rss_kib(int pid)
{
	return soak_status_kib(pid, "VmRSS", "");
}

double soak_pinned_kib(int pid)
{
	return soak_status_kib(pid, "VmLck", "VmPin");
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

	for (size_t i = 0; i < n; i++) { /* from the first: what stays has a slope of 0 */
		double dx = x[i] - x[0], dy = y[i] - y[0];

		sx += dx;
		sy += dy;
		sxx += dx * dx;
		sxy += dx * dy;
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

static double soak_span_s(const struct soak_series *s)
{
	double first = INFINITY, last = -INFINITY;

	for (size_t i = 0; i < s->n; i++) {
		first = fmin(first, s->at_s[i]);
		last = fmax(last, s->at_s[i]);
	}
	return s->n ? last - first : 0;
}

bool soak_carries_trend(const struct soak_series *s)
{
	return s->n >= SOAK_LEAST_SAMPLES && soak_span_s(s) >= SOAK_LEAST_S;
}

void soak_too_short(const struct soak_series *s, char *why, size_t size)
{
	snprintf(why, size, "%zu samples within %.0f s carry no trend per hour (%d within %d s do)",
		 s->n, soak_span_s(s), SOAK_LEAST_SAMPLES, SOAK_LEAST_S);
}

double soak_fit(const struct soak_series *s)
{
	return soak_carries_trend(s) ? soak_regression(s->at_s, s->value, s->n) * 3600 : NAN;
}

bool soak_grows(const struct soak_series *s)
{
	bool grows = s->n >= 3 && s->value[s->n - 1] > s->value[0];

	for (size_t i = 1; i < s->n; i++)
		grows &= s->value[i] >= s->value[i - 1];
	return grows;
}

static double soak_spread(const struct soak_series *s)
{
	struct stats_summary summary;

	if (s->n < 2 || stats_summarise(s->value, s->n, &summary))
		return NAN;
	return (summary.max - summary.min) / summary.median * 100;
}

/* empty: also where no sample has a value. */
static int soak_derive_each(struct rows *rows, const char *test, const char *kpi,
			    int (*derive)(struct rows *rows, const struct row *like,
					  const struct soak_series *s, const char *name),
			    const char *name, bool empty)
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
		if (!err && (s.n || empty))
			err = derive(rows, &row, &s, name);
		soak_series_fini(&s);
	}
	return err;
}

int soak_derive(struct rows *rows, const char *test, const char *kpi,
		int (*derive)(struct rows *rows, const struct row *like,
			      const struct soak_series *s, const char *name),
		const char *name)
{
	return soak_derive_each(rows, test, kpi, derive, name, false);
}

static int soak_add_fit(struct rows *rows, const struct row *like, const struct soak_series *s,
			const char *name)
{
	char why[128];

	soak_too_short(s, why, sizeof(why));
	return derive_value_or(rows, like, name, soak_fit(s), why);
}

/*
 * The begin of the strategy's first sample and the end of its last, whatever their level. No two
 * begin at once but in a resample (suite/derive_interval.h), which has none: how long it was is
 * known.
 */
static int soak_add_length(struct rows *rows, const struct row *like, const struct soak_series *s,
			   const char *name)
{
	struct rows_filter samples = {
		.test = like->test, .kpi = "at_s", .strategy = like->strategy, .trial = -1};
	double first = INFINITY, last = -INFINITY;

	(void)s;
	ROWS_EACH (i, rows, &samples) {
		const struct row *row = rows_at(rows, i);

		ROWS_EACH (k, rows, &samples)
			if (k != i && rows_at(rows, k)->value == row->value)
				return 0;
		first = fmin(first, row->value);
		last = fmax(last, soak_sample_end_s(rows, row));
	}
	return derive_value(rows, like, name, last - first);
}

int soak_length(struct rows *rows, const char *test)
{
	return soak_derive(rows, test, "at_s", soak_add_length, "soak_length");
}

static int soak_add_spread(struct rows *rows, const struct row *like, const struct soak_series *s,
			   const char *name)
{
	return derive_value_or(rows, like, name, soak_spread(s), "fewer than two samples have one");
}

int soak_slope(struct rows *rows, const char *test, const char *kpi, const char *slope)
{
	return soak_derive_each(rows, test, kpi, soak_add_fit, slope, true);
}

int soak_variation(struct rows *rows, const char *test, const char *kpi, const char *name)
{
	return soak_derive_each(rows, test, kpi, soak_add_spread, name, true);
}
