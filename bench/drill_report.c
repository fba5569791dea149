/* SPDX-License-Identifier: BSD-2-Clause */
/* drill_report.c - see drill_report.h */
#include "drill_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/table.h"

#define MAX_KINDS 16
#define CELL	  40
#define PLOT_BINS 100 /* milliseconds of a point on the page */

static int by_size(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* The holes and dips of one kind, n of them, sorted: longest hole and deepest dip last. */
static json_t *kind_entry(const char *kind, double *holes, double *dips, unsigned n)
{
	unsigned p50 = (n - 1) / 2, p99 = (99 * n + 99) / 100 - 1;

	qsort(holes, n, sizeof(*holes), by_size);
	qsort(dips, n, sizeof(*dips), by_size);
	return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f}", "kind", kind, "n", (int)n,
			 "hole_ms_p50", holes[p50], "hole_ms_p99", holes[p99], "hole_ms_max",
			 holes[n - 1], "goodput_p50", dips[n - 1 - p50], "goodput_min", dips[0]);
}

static int add_kind(struct result *result, const struct drill_faults *f, const char *kind)
{
	double *holes = calloc(f->n, sizeof(*holes)), *dips = calloc(f->n, sizeof(*dips));
	unsigned n = 0;
	int err = holes && dips ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < f->n; i++) {
		if (strcmp(f->fault[i].kind, kind))
			continue;
		holes[n] = f->fault[i].hole_ms;
		dips[n++] = f->fault[i].dip_ratio;
	}
	if (!err)
		err = result_append(result, "drill_kinds", kind_entry(kind, holes, dips, n));
	free(holes);
	free(dips);
	return err;
}

static int add_kinds(struct result *result, const struct drill_faults *f)
{
	const char *seen[MAX_KINDS];
	unsigned n = 0;
	int err = 0;

	for (unsigned i = 0; !err && i < f->n; i++) {
		bool known = n == MAX_KINDS;

		for (unsigned k = 0; k < n; k++)
			known = known || !strcmp(seen[k], f->fault[i].kind);
		if (known)
			continue;
		seen[n++] = f->fault[i].kind;
		err = add_kind(result, f, f->fault[i].kind);
	}
	return err;
}

static int add_fault(struct result *result, const struct drill_report *r,
		     const struct drill_fault *f)
{
	uint64_t begin_ns = r->gpus[0].from_ns;

	return result_append(result, "drill_faults",
			     json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "do", f->words,
				       "kind", f->kind, "at_s",
				       (double)(f->from_ns - begin_ns) / 1e9, "took_ms",
				       (double)(f->done_ns - f->from_ns) / 1e6, "healed_s",
				       f->healed_ns ? (double)(f->healed_ns - begin_ns) / 1e9 : -1.,
				       "hole_ms", f->hole_ms, "goodput", f->dip_ratio));
}

int drill_report_result(struct result *result, const struct drill_report *r)
{
	int err = result_set(
		result, "drill",
		json_pack("{s:s, s:I, s:i, s:i, s:f, s:I, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:f}",
			  "plan", r->plan, "seed", (json_int_t)r->seed, "faults", (int)r->faults->n,
			  "steps", (int)r->faults->steps, "duration_s", r->duration_s, "messages",
			  (json_int_t)r->messages, "lost", (json_int_t)r->lost, "replayed_chunks",
			  (json_int_t)r->replayed, "needless_flows", (json_int_t)r->needless_flows,
			  "needless_weights", (int)r->needless_weights, "converged_after_s",
			  r->faults->converged_after_s, "weights_back_s", r->weights_back_s,
			  "healthy_bps", r->healthy_bytes * 8e3, "goodput_after", r->after_ratio));

	for (unsigned i = 0; !err && i < r->faults->n; i++)
		err = add_fault(result, r, &r->faults->fault[i]);
	return err ? err : add_kinds(result, r->faults);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int kinds_table(struct table **out, const struct result *result)
{
	static const char *const headers[] = {"fault",	      "n",    "hole ms, p50", "p99", "max",
					      "goodput, p50", "least"};
	static const char *const keys[] = {"hole_ms_p50", "hole_ms_p99", "hole_ms_max",
					   "goodput_p50", "goodput_min"};
	int err = table_create(out, 7, headers);
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(result_root(result), "drill_kinds"), i, row) {
		char cell[6][CELL];

		snprintf(cell[0], CELL, "%lld",
			 (long long)json_integer_value(json_object_get(row, "n")));
		for (int k = 0; k < 5; k++)
			snprintf(cell[k + 1], CELL, "%.*f", k < 3 ? 0 : 2,
				 json_number_value(json_object_get(row, keys[k])));
		if (!err)
			err = table_row(*out,
					(const char *const[]){
						json_string_value(json_object_get(row, "kind")),
						cell[0], cell[1], cell[2], cell[3], cell[4],
						cell[5]});
	}
	return err;
}

static double number(const struct result *result, const char *key)
{
	return json_number_value(
		json_object_get(json_object_get(result_root(result), "drill"), key));
}

static void sentence(const struct result *result, char *out, size_t size)
{
	double back_s = number(result, "weights_back_s");
	char back[64] = "not all of them a minute later";

	if (back_s >= 0)
		snprintf(back, sizeof(back), "all of them %.1f s later", back_s);
	snprintf(out, size,
		 "Seed %.0f: %.0f faults in %.0f s. %.0f messages, every one checked, %.0f lost, "
		 "%.0f chunks sent again; "
		 "%.0f flows and %.0f weights moved needlessly. The lab converged %.1f s after the "
		 "last was healed, and "
		 "weights were back, %s; goodput then is %.1f%% of what it was.",
		 number(result, "seed"), number(result, "faults"), number(result, "duration_s"),
		 number(result, "messages"), number(result, "lost"),
		 number(result, "replayed_chunks"), number(result, "needless_flows"),
		 number(result, "needless_weights"), number(result, "converged_after_s"), back,
		 number(result, "goodput_after") * 100);
}

static const char legend[] = "hole: longest time that any GPU had nothing acknowledged, from the "
			     "fault until a second after it "
			     "was healed; goodput: of all GPUs, in the worst tenth of a second of "
			     "that time, of the healthy "
			     "one. Faults overlap, so one may be charged with another's cost.";

void drill_report_print(const struct result *result, FILE *file)
{
	struct table *table = NULL;
	char text[700];

	if (!kinds_table(&table, result)) {
		fprintf(file, "\n%s\n\n", legend);
		table_print(table, file);
	}
	table_destroy(table);
	sentence(result, text, sizeof(text));
	fprintf(file, "\n%s\n", text);
}

/* ---- the page -------------------------------------------------------------------------------- */

static int plot_goodput(struct report *page, const struct drill_report *r)
{
	size_t n = r->gpus[0].n / PLOT_BINS;
	double *x = calloc(n + 1, sizeof(*x)), *y = calloc(n + 1, sizeof(*y));
	struct report_series series = {.name = "all GPUs", .x = x, .y = y, .n = n};
	const struct report_plot plot = {.title = "goodput through the drill",
					 .x_label = "s",
					 .y_label = "Gb/s, means of 100 ms",
					 .kind = REPORT_LINES,
					 .n_series = 1,
					 .series = &series};
	int err = x && y ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < n; i++) {
		uint64_t from = r->gpus[0].from_ns + i * PLOT_BINS * RECOVERY_BIN_NS;

		x[i] = (double)i * PLOT_BINS / 1e3;
		for (unsigned g = 0; g < r->topo->n_gpus; g++)
			y[i] += recovery_mean(&r->gpus[g], from,
					      from + PLOT_BINS * RECOVERY_BIN_NS) *
				8 / 1e6;
	}
	if (!err && n > 1)
		err = report_plot(page, &plot);
	free(x);
	free(y);
	return err;
}

int drill_report_page(const struct result *result, const struct drill_report *r, const char *path)
{
	struct table *table = NULL;
	struct report *page;
	char text[700];
	int err = report_create(&page, "farebench drill");

	if (err)
		return err;
	sentence(result, text, sizeof(text));
	report_text(page, "%s", text);
	err = plot_goodput(page, r);
	report_text(page, "%s", legend);
	if (!err)
		err = kinds_table(&table, result);
	if (!err)
		err = report_table(page, table);
	table_destroy(table);
	if (!err)
		err = report_write(page, path);
	report_destroy(page);
	return err;
}
