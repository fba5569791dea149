/* SPDX-License-Identifier: BSD-2-Clause */
/* failover_report.c - see failover_report.h */
#include "failover_report.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/table.h"

#define CELL 48

static const struct figure {
	const char *key;
	size_t offset;
} figures[] = {
	{"kernel_ms", offsetof(struct failover_trial, kernel_ms)},
	{"decide_ms", offsetof(struct failover_trial, decide_ms)},
	{"decide_after_kernel_ms", offsetof(struct failover_trial, decide_after_kernel_ms)},
	{"move_ms", offsetof(struct failover_trial, move_ms)},
	{"gap_ms", offsetof(struct failover_trial, gap_ms)},
	{"settled_ratio", offsetof(struct failover_trial, settled_ratio)},
	{"back_ms", offsetof(struct failover_trial, back_ms)},
	{"hold_ms", offsetof(struct failover_trial, hold_ms)},
	{"ramp_ms", offsetof(struct failover_trial, ramp_ms)},
	{"weights_ms", offsetof(struct failover_trial, weights_ms)},
	{"restore_ms", offsetof(struct failover_trial, restore_ms)},
	{"restore_after_back_ms", offsetof(struct failover_trial, restore_after_back_ms)},
	{"after_ratio", offsetof(struct failover_trial, after_ratio)},
	{"control_ratio", offsetof(struct failover_trial, control_ratio)},
	{"stolen_percent", offsetof(struct failover_trial, stolen_percent)},
	{"stalled_ms", offsetof(struct failover_trial, stalled_ms)},
};

#define N_FIGURES (sizeof(figures) / sizeof(*figures))

static double value_of(const struct failover_trial *t, const struct figure *f)
{
	double value;

	memcpy(&value, (const char *)t + f->offset, sizeof(value));
	return value;
}

static int name_case(json_t *o, const struct failover_case *c)
{
	return json_object_set_new(o, "scenario", json_string(failover_scenario_name(c->id))) ||
	       json_object_set_new(o, "traffic", json_string(c->is_kv ? "kv" : "ep")) ||
	       json_object_set_new(o, "strategy", json_string(strategy_name(c->strategy)));
}

int failover_report_trial(struct result *result, const struct failover_case *c, unsigned i,
			  unsigned plane, json_t *lowered, bool repeated)
{
	const struct failover_trial *t = &c->trial[i];
	json_t *o = json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:i, s:O}", "trial", (int)i,
			      "plane", (int)plane, "undecided", (int)t->undecided, "backoff",
			      t->backoff, "back_at_all", t->back_at_all, "messages",
			      (json_int_t)t->messages, "lost", (json_int_t)t->lost,
			      "replayed_chunks", (json_int_t)t->replayed, "needless",
			      (int)t->needless, "needless_weights", lowered);
	int err = !o || name_case(o, c) ? -ENOMEM : 0;

	for (size_t k = 0; !err && k < N_FIGURES; k++)
		if (json_object_set_new(o, figures[k].key, json_real(value_of(t, &figures[k]))))
			err = -ENOMEM;
	if (err)
		json_decref(o);
	return err ? err : result_append(result, repeated ? "failover_repeated" : "failover", o);
}

static int by_size(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/*
 * {n, p50, p99, max} of the trials in which it was due; those in flap back-off are no measure of
 * restoring.
 */
static json_t *spread(const struct failover_case *c, const struct figure *f)
{
	double values[FAILOVER_MAX_TRIALS];
	unsigned k = 0;

	for (unsigned i = 0; i < c->n; i++) {
		double value = value_of(&c->trial[i], f);

		if (value >= 0 &&
		    !(c->trial[i].backoff && f->offset >= offsetof(struct failover_trial, back_ms)))
			values[k++] = value;
	}
	if (!k)
		return json_pack("{s:i}", "n", 0);
	qsort(values, k, sizeof(*values), by_size);
	return json_pack("{s:i, s:f, s:f, s:f}", "n", (int)k, "p50", values[(k - 1) / 2], "p99",
			 values[(99 * k + 99) / 100 - 1], "max", values[k - 1]);
}

int failover_report_case(struct result *result, const struct failover_case *c)
{
	json_int_t lost = 0, messages = 0, replayed = 0;
	int needless = 0, backoff = 0, late = 0, not_moved = 0, undecided = 0, never = 0, err;
	json_t *o;

	for (unsigned i = 0; i < c->n; i++) {
		const struct failover_trial *t = &c->trial[i];

		lost += (json_int_t)t->lost;
		messages += (json_int_t)t->messages;
		replayed += (json_int_t)t->replayed;
		needless += (int)t->needless;
		backoff += t->backoff;
		never += !t->back_at_all;
		not_moved += t->move_ms < 0;
		undecided += t->undecided;
		late += !t->backoff && t->restore_after_back_ms > FAILOVER_GOAL_MS;
	}
	o = json_pack("{s:i, s:i, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:i}", "n", (int)c->n,
		      "repeated", (int)c->repeated, "messages", messages, "lost", lost,
		      "replayed_chunks", replayed, "needless", needless, "backoff", backoff,
		      "undecided", undecided, "not_moved", not_moved, "late", late, "never_back",
		      never);
	err = !o || name_case(o, c) ? -ENOMEM : 0;
	for (size_t k = 0; !err && k < N_FIGURES; k++)
		if (json_object_set_new(o, figures[k].key, spread(c, &figures[k])))
			err = -ENOMEM;
	if (err)
		json_decref(o);
	return err ? err : result_append(result, "failover_summary", o);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *const fault_headers[] = {"scenario",	   "traffic",	"strategy", "kernel tells",
					    "decided",	   "moved",	"hole",	    "goodput",
					    "not decided", "not moved", "repeated"};
static const char *const heal_headers[] = {"scenario",	"traffic",  "strategy", "BGP back",
					   "hold-down", "ramp",	    "restored", "goodput",
					   "late",	"back-off", "lost",	"needless"};

#define COLUMNS(headers) (sizeof(headers) / sizeof(*headers))

static void spread_cell(const json_t *row, const char *key, int digits, char out[CELL])
{
	const json_t *s = json_object_get(row, key);
	double value[3];

	if (!json_object_get(s, "p50")) {
		snprintf(out, CELL, "-");
		return;
	}
	for (int i = 0; i < 3; i++)
		value[i] = json_number_value(
			json_object_get(s, (const char *const[]){"p50", "p99", "max"}[i]));
	snprintf(out, CELL, "%.*f / %.*f / %.*f", digits, value[0], digits, value[1], digits,
		 value[2]);
}

static void count_cell(const json_t *row, const char *key, char out[CELL])
{
	snprintf(out, CELL, "%lld", (long long)json_integer_value(json_object_get(row, key)));
}

static void name_cells(const json_t *row, char cell[][CELL])
{
	static const char *const keys[] = {"scenario", "traffic", "strategy"};

	for (int i = 0; i < 3; i++)
		snprintf(cell[i], CELL, "%s", json_string_value(json_object_get(row, keys[i])));
}

static void fault_cells(const json_t *row, char cell[][CELL])
{
	name_cells(row, cell);
	spread_cell(row, "kernel_ms", 1, cell[3]);
	spread_cell(row, "decide_ms", 1, cell[4]);
	spread_cell(row, "move_ms", 0, cell[5]);
	spread_cell(row, "gap_ms", 0, cell[6]);
	spread_cell(row, "settled_ratio", 2, cell[7]);
	count_cell(row, "undecided", cell[8]);
	count_cell(row, "not_moved", cell[9]);
	count_cell(row, "repeated", cell[10]);
}

static void heal_cells(const json_t *row, char cell[][CELL])
{
	name_cells(row, cell);
	spread_cell(row, "back_ms", 0, cell[3]);
	spread_cell(row, "hold_ms", 0, cell[4]);
	spread_cell(row, "ramp_ms", 0, cell[5]);
	spread_cell(row, "restore_after_back_ms", 0, cell[6]);
	spread_cell(row, "after_ratio", 2, cell[7]);
	count_cell(row, "late", cell[8]);
	count_cell(row, "backoff", cell[9]);
	count_cell(row, "lost", cell[10]);
	count_cell(row, "needless", cell[11]);
}

/* scenario NULL: all. */
static int fill(struct table **out, const struct result *result, const char *scenario, bool heal)
{
	const char *const *headers = heal ? heal_headers : fault_headers;
	size_t n = heal ? COLUMNS(heal_headers) : COLUMNS(fault_headers), i;
	int err = table_create(out, n, headers);
	const json_t *row;

	json_array_foreach (json_object_get(result_root(result), "failover_summary"), i, row) {
		char cell[COLUMNS(heal_headers)][CELL] = {{0}};
		const char *cells[COLUMNS(heal_headers)];

		heal ? heal_cells(row, cell) : fault_cells(row, cell);
		for (size_t k = 0; k < COLUMNS(heal_headers); k++)
			cells[k] = cell[k];
		if (!err && (!scenario || !strcmp(cell[0], scenario)))
			err = table_row(*out, cells);
	}
	return err;
}

static const char fault_legend[] =
	"Under the fault; p50 / p99 / max, milliseconds from the injection. kernel tells: the "
	"server that lost a link "
	"hears of it from its kernel. decided: libfare has the new weights on all servers "
	"concerned. moved: goodput is at "
	"90% of what it settles at. hole: longest time without a byte acknowledged. goodput: what "
	"it settles at, of the "
	"healthy one. not decided: trials in which the weights never came; those count as long as "
	"the fault lasted. "
	"repeated: trials that do not count: a hypervisor took more of the machine than "
	"--max-stolen, a core stood still for "
	"longer than --max-stall before the decision, or goodput did not come back and traffic "
	"begun anew is no faster, so the machine has become slower.";
static const char heal_legend[] =
	"After healing. BGP back: links and kernel routes are as before (from the heal). "
	"hold-down: from then to the first "
	"part of the weight. ramp: from then to all of it. restored: from BGP back to goodput at "
	"98% of the healthy one; "
	"late: more than a second. goodput: at the end, of the healthy one. back-off: trials in "
	"which a path went down more than once; their restoring is not in "
	"the spread.";

void failover_report_print(const struct result *result, FILE *file)
{
	for (int heal = 0; heal <= 1; heal++) {
		struct table *table = NULL;

		if (!fill(&table, result, NULL, heal)) {
			fprintf(file, "\n%s\n\n", heal ? heal_legend : fault_legend);
			table_print(table, file);
		}
		table_destroy(table);
	}
}

/* ---- the page -------------------------------------------------------------------------------- */

#define MAX_SERIES (STRATEGY_COUNT + 3)

struct lines {
	double x[FAILOVER_BEFORE_MS + FAILOVER_HEAL_MS], y[FAILOVER_BEFORE_MS + FAILOVER_HEAL_MS];
};

/* Goodput in Gb/s, mean of the trials that have that millisecond. */
static size_t line_of(const struct failover_picture *p, unsigned after_ms, struct lines *out)
{
	size_t n = 0;

	for (unsigned i = 0; i < FAILOVER_BEFORE_MS + after_ms; i++) {
		if (!p->n[i])
			continue;
		out->x[n] = (double)i - FAILOVER_BEFORE_MS;
		out->y[n++] = p->bytes[i] / p->n[i] * 8 / 1e6;
	}
	return n;
}

static double median_of(const struct failover_case *c, size_t offset)
{
	const struct figure f = {"", offset};
	json_t *s = spread(c, &f);
	double median =
		json_object_get(s, "p50") ? json_number_value(json_object_get(s, "p50")) : -1;

	json_decref(s);
	return median;
}

/* A line straight up at that moment. */
static void add_marker(struct report_plot *plot, struct report_series *series, struct lines *at,
		       const char *name, double ms, double top)
{
	if (ms < 0)
		return;
	at->x[0] = at->x[1] = ms;
	at->y[0] = 0;
	at->y[1] = top;
	series[plot->n_series++] =
		(struct report_series){.name = name, .x = at->x, .y = at->y, .n = 2};
}

static int plot_one(struct report *r, const struct failover_case *const *cases, unsigned n,
		    bool heal)
{
	struct lines *lines = calloc(MAX_SERIES, sizeof(*lines));
	struct report_series series[MAX_SERIES];
	struct report_plot plot = {.x_label = heal ? "ms after the heal" : "ms after the injection",
				   .y_label = "goodput, Gb/s, 1 ms bins",
				   .kind = REPORT_LINES,
				   .series = series};
	const struct failover_case *fare = NULL;
	char title[128];
	double top = 0;
	int err;

	if (!lines)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct lines *l = &lines[plot.n_series];
		size_t points = line_of(heal ? &cases[i]->heal : &cases[i]->fault,
					heal ? FAILOVER_HEAL_MS : FAILOVER_FAULT_MS, l);

		for (size_t k = 0; k < points; k++)
			top = fmax(top, l->y[k]);
		if (points)
			series[plot.n_series++] =
				(struct report_series){.name = strategy_name(cases[i]->strategy),
						       .x = l->x,
						       .y = l->y,
						       .n = points};
		if (strategy_mode(cases[i]->strategy) != FARE_MODE_KERNEL)
			fare = cases[i];
	}
	if (fare && !heal) {
		add_marker(&plot, series, &lines[plot.n_series], "decided",
			   median_of(fare, offsetof(struct failover_trial, decide_ms)), top);
		add_marker(&plot, series, &lines[plot.n_series], "moved",
			   median_of(fare, offsetof(struct failover_trial, move_ms)), top);
	} else if (fare) {
		add_marker(&plot, series, &lines[plot.n_series], "links and BGP back",
			   median_of(fare, offsetof(struct failover_trial, back_ms)), top);
		add_marker(&plot, series, &lines[plot.n_series], "weights back",
			   median_of(fare, offsetof(struct failover_trial, weights_ms)), top);
		add_marker(&plot, series, &lines[plot.n_series], "restored",
			   median_of(fare, offsetof(struct failover_trial, restore_ms)), top);
	}
	snprintf(title, sizeof(title), "%s, %s: %s (mean of %u trials)",
		 failover_scenario_name(cases[0]->id), cases[0]->is_kv ? "kv" : "ep",
		 heal ? "healed at 0" : "injected at 0", cases[0]->n);
	plot.title = title;
	err = plot.n_series ? report_plot(r, &plot) : 0;
	free(lines);
	return err;
}

static int scenario_on_page(struct report *r, const struct result *result,
			    const struct failover_case *const *cases, unsigned n,
			    enum failover_scenario_id id)
{
	const struct failover_case *some[STRATEGY_COUNT];
	int err = 0, any = 0;

	for (unsigned kv = 2; !err && kv-- > 0;) {
		unsigned k = 0;

		for (unsigned i = 0; i < n && k < STRATEGY_COUNT; i++)
			if (cases[i]->id == id && cases[i]->is_kv == (bool)kv)
				some[k++] = cases[i];
		if (k && !any++)
			report_heading(r, failover_scenario_title(id));
		for (int heal = 0; k && !err && heal <= 1; heal++)
			err = plot_one(r, some, k, heal);
	}
	for (int heal = 0; any && !err && heal <= 1; heal++) {
		struct table *table = NULL;

		err = fill(&table, result, failover_scenario_name(id), heal);
		if (!err)
			err = report_table(r, table);
		table_destroy(table);
	}
	return err;
}

int failover_report_page(const struct result *result, const struct failover_case *const *cases,
			 unsigned n, const char *path)
{
	struct report *r;
	int err = report_create(&r, "farebench failover");

	if (err)
		return err;
	report_text(r, "Goodput is payload acknowledged to the sender; trials are laid over each "
		       "other at the injection and "
		       "at the heal. Markers are medians of the last fare strategy.");
	report_text(r, "%s", fault_legend);
	report_text(r, "%s", heal_legend);
	for (enum failover_scenario_id id = 0; !err && id < FAILOVER_SCENARIOS; id++)
		err = scenario_on_page(r, result, cases, n, id);
	if (!err)
		err = report_write(r, path);
	report_destroy(r);
	return err;
}
