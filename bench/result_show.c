/* SPDX-License-Identifier: BSD-2-Clause */
#include "result_show.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shift.h"
#include "report/table.h"

#define RESULT_SHOW_CELL	   48
#define RESULT_SHOW_MAX_CATEGORIES 24 /* more bars than that nobody reads */

static const char *result_show_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static double result_show_number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static const json_t *result_show_list(const struct result *result, const char *key)
{
	return json_object_get(result_root(result), key);
}

/* Takes table. */
static int result_show_table(struct table *table, FILE *file, struct report *report)
{
	int err = 0;

	if (file)
		table_print(table, file);
	if (report)
		err = report_table(report, table);
	table_destroy(table);
	return err;
}

/* ---- runs --------------------------------------------------------------------------------------
 */

static int result_show_runs_table(const json_t *runs, FILE *file, struct report *report)
{
	static const char *const headers[] = {"scenario", "test",     "strategy", "of optimum",
					      "min..max", "Gb/s",     "optimum",  "n",
					      "QPs",	  "idle CPU", "stolen"};
	struct table *table;
	const json_t *run;
	size_t i;

	if (table_create(&table, 11, headers))
		return -ENOMEM;
	json_array_foreach (runs, i, run) {
		char ratio[16], range[32], goodput[16], optimum[16], n[16], qps[16], idle[16],
			stolen[16];

		snprintf(ratio, sizeof(ratio), "%.1f%%", 100 * result_show_number(run, "ratio"));
		snprintf(range, sizeof(range), "%.1f..%.1f",
			 100 * result_show_number(run, "ratio_min"),
			 100 * result_show_number(run, "ratio_max"));
		snprintf(goodput, sizeof(goodput), "%.3f",
			 result_show_number(run, "goodput_bps") / 1e9);
		snprintf(optimum, sizeof(optimum), "%.3f",
			 result_show_number(run, "optimum_bps") / 1e9);
		snprintf(n, sizeof(n), "%.0f", result_show_number(run, "n"));
		snprintf(qps, sizeof(qps), "%.0f", result_show_number(run, "qps"));
		snprintf(idle, sizeof(idle), "%.0f%%", result_show_number(run, "idle_cpu_percent"));
		snprintf(stolen, sizeof(stolen), "%.0f%%",
			 result_show_number(run, "stolen_percent"));
		if (table_row(table,
			      (const char *const[]){result_show_text(run, "scenario"),
						    result_show_text(run, "test"),
						    result_show_text(run, "strategy"), ratio, range,
						    goodput, optimum, n, qps, idle, stolen})) {
			table_destroy(table);
			return -ENOMEM;
		}
	}
	return result_show_table(table, file, report);
}

/* A picture of bars in the making: a category for each place, a bar of each strategy there. */
struct result_show_bars {
	char name[RESULT_SHOW_MAX_CATEGORIES][RESULT_SHOW_CELL];
	size_t n;
	double y[STRATEGY_COUNT][RESULT_SHOW_MAX_CATEGORIES];
	double low[STRATEGY_COUNT][RESULT_SHOW_MAX_CATEGORIES];
	double high[STRATEGY_COUNT][RESULT_SHOW_MAX_CATEGORIES];
	bool any[STRATEGY_COUNT];
};

static int result_show_add(struct result_show_bars *bars, const char *name,
			   const char *strategy_text, const double y[3])
{
	int strategy = strategy_parse(strategy_text);
	size_t i = 0;

	if (strategy < 0)
		return 0;
	while (i < bars->n && strcmp(bars->name[i], name) != 0)
		i++;
	if (i == RESULT_SHOW_MAX_CATEGORIES)
		return -E2BIG;
	if (i == bars->n) {
		snprintf(bars->name[i], sizeof(bars->name[i]), "%s", name);
		for (int s = 0; s < STRATEGY_COUNT; s++)
			bars->y[s][i] = bars->low[s][i] = bars->high[s][i] = NAN;
		bars->n++;
	}
	bars->any[strategy] = true;
	bars->y[strategy][i] = y[0];
	bars->low[strategy][i] = y[1];
	bars->high[strategy][i] = y[2];
	return 0;
}

static int result_show_bars(struct report *report, const struct result_show_bars *bars,
			    const char *title, const char *y_label, double mark)
{
	const char *categories[RESULT_SHOW_MAX_CATEGORIES];
	struct report_series series[STRATEGY_COUNT];
	struct report_plot plot = {.title = title,
				   .y_label = y_label,
				   .kind = REPORT_BARS,
				   .categories = categories,
				   .series = series,
				   .y_mark = mark};

	for (size_t i = 0; i < bars->n; i++)
		categories[i] = bars->name[i];
	for (int s = 0; s < STRATEGY_COUNT; s++)
		if (bars->any[s])
			series[plot.n_series++] =
				(struct report_series){.name = strategy_name((enum strategy)s),
						       .y = bars->y[s],
						       .y_low = bars->low[s],
						       .y_high = bars->high[s],
						       .n = bars->n};
	return report_plot(report, &plot);
}

/* Which of its parts a category's name needs: those in which runs differ. */
struct result_show_varies {
	bool scenario, size, qps;
};

static struct result_show_varies result_show_varies(const json_t *runs, const char *test)
{
	struct result_show_varies varies = {0};
	const json_t *run, *first = NULL;
	size_t i;

	json_array_foreach (runs, i, run) {
		if (strcmp(result_show_text(run, "test"), test) != 0)
			continue;
		first = first ? first : run;
		varies.scenario |= strcmp(result_show_text(run, "scenario"),
					  result_show_text(first, "scenario")) != 0;
		varies.size |= result_show_number(run, "size_bytes") !=
			       result_show_number(first, "size_bytes");
		varies.qps |= result_show_number(run, "qps") != result_show_number(first, "qps");
	}
	return varies;
}

static void result_show_category(const json_t *run, struct result_show_varies varies,
				 char name[RESULT_SHOW_CELL])
{
	char size[16] = "", qps[16] = "";

	if (varies.size)
		snprintf(size, sizeof(size), "%.0f KiB",
			 result_show_number(run, "size_bytes") / 1024);
	if (varies.qps)
		snprintf(qps, sizeof(qps), "%.0f QPs", result_show_number(run, "qps"));
	snprintf(name, RESULT_SHOW_CELL, "%s%s%s%s%s",
		 varies.scenario || (!varies.size && !varies.qps)
			 ? result_show_text(run, "scenario")
			 : "",
		 varies.scenario && varies.size ? ", " : "", size,
		 (varies.scenario || varies.size) && varies.qps ? ", " : "", qps);
}

static int result_show_runs_picture(const json_t *runs, const char *test, const char *title,
				    struct report *report)
{
	struct result_show_varies varies = result_show_varies(runs, test);
	struct result_show_bars *bars = calloc(1, sizeof(*bars));
	const json_t *run;
	int err = bars ? 0 : -ENOMEM;
	size_t i;

	json_array_foreach (runs, i, run) {
		char name[RESULT_SHOW_CELL];
		double y[] = {100 * result_show_number(run, "ratio"),
			      100 * result_show_number(run, "ratio_min"),
			      100 * result_show_number(run, "ratio_max")};

		if (err || strcmp(result_show_text(run, "test"), test) != 0)
			continue;
		result_show_category(run, varies, name);
		err = result_show_add(bars, name, result_show_text(run, "strategy"), y);
	}
	if (!err && bars->n)
		err = result_show_bars(report, bars, title, "goodput, % of optimum", 100);
	else if (err == -E2BIG) {
		report_text(report, "%s: too many combinations for a picture.", title);
		err = 0;
	}
	free(bars);
	return err;
}

int result_show_runs(const struct result *result, FILE *file, struct report *report)
{
	const json_t *runs = result_show_list(result, "runs");
	int err = 0;

	if (json_array_size(runs) == 0)
		return 0;
	if (file)
		err = result_show_runs_table(runs, file, NULL);
	if (err || !report)
		return err;
	report_text(report, "Bars are medians of n repetitions with fresh QPs, whiskers the least "
			    "and the most of "
			    "them; the dashed line is what no strategy can beat.");
	err = result_show_runs_picture(runs, "kv", "KV transfer, one GPU to another", report);
	if (!err)
		err = result_show_runs_picture(runs, "ep", "Expert-parallel all-to-all, all GPUs",
					       report);
	return err ? err : result_show_runs_table(runs, NULL, report);
}

/* ---- shifts ------------------------------------------------------------------------------------
 */

static int result_show_shift_table(const json_t *shifts, FILE *file, struct report *report)
{
	static const char *const headers[] = {"scenario",    "strategy", "shifted after",
					      "min..max ms", "n",	 "longest gap",
					      "settled at"};
	struct table *table;
	const json_t *one;
	size_t i;

	if (table_create(&table, 7, headers))
		return -ENOMEM;
	json_array_foreach (shifts, i, one) {
		char shift[24], range[32], n[16], gap[24], settled[24];

		if (result_show_number(one, "shift_ms") < 0)
			snprintf(shift, sizeof(shift), "> window");
		else
			snprintf(shift, sizeof(shift), "%.0f ms",
				 result_show_number(one, "shift_ms"));
		snprintf(range, sizeof(range), "%.0f..%.0f",
			 result_show_number(one, "shift_ms_min"),
			 result_show_number(one, "shift_ms_max"));
		snprintf(n, sizeof(n), "%.0f", result_show_number(one, "n"));
		snprintf(gap, sizeof(gap), "%.1f ms", result_show_number(one, "longest_gap_ms"));
		snprintf(settled, sizeof(settled), "%.1f%%",
			 100 * result_show_number(one, "settled_ratio"));
		if (table_row(table, (const char *const[]){result_show_text(one, "scenario"),
							   result_show_text(one, "strategy"), shift,
							   range, n, gap, settled})) {
			table_destroy(table);
			return -ENOMEM;
		}
	}
	return result_show_table(table, file, report);
}

static int result_show_shift_picture(const json_t *shifts, struct report *report)
{
	struct result_show_bars *bars = calloc(1, sizeof(*bars));
	const json_t *one;
	int err = bars ? 0 : -ENOMEM;
	size_t i;

	json_array_foreach (shifts, i, one) {
		double y[] = {result_show_number(one, "shift_ms"),
			      result_show_number(one, "shift_ms_min"),
			      result_show_number(one, "shift_ms_max")};

		if (!err && y[0] >= 0) /* one that never came back has no bar */
			err = result_show_add(bars, result_show_text(one, "scenario"),
					      result_show_text(one, "strategy"), y);
	}
	if (!err && bars->n)
		err = result_show_bars(report, bars, "Time to shift", "ms from the fault on", 0);
	free(bars);
	return err;
}

/* One line: times in *x, heights after them. The caller's to free. */
static int result_show_line(const json_t *timeline, struct report_series *series, double **x)
{
	const json_t *bins = json_object_get(timeline, "of_optimum");
	double from = result_show_number(timeline, "from_ms"),
	       step = result_show_number(timeline, "bin_ms");
	size_t n = json_array_size(bins);

	*x = calloc(2 * n + 1, sizeof(**x));
	if (!*x)
		return -ENOMEM;
	for (size_t bin = 0; bin < n; bin++) {
		(*x)[bin] = from + ((double)bin + 0.5) * step;
		(*x)[n + bin] = 100 * json_number_value(json_array_get(bins, bin));
	}
	*series = (struct report_series){
		.name = result_show_text(timeline, "strategy"), .x = *x, .y = *x + n, .n = n};
	return 0;
}

/* The lines of one scenario, strategies in the order (and so in the colours) of all pictures. */
static int result_show_timeline(const json_t *timelines, const char *scenario,
				struct report *report)
{
	struct report_series series[STRATEGY_COUNT];
	double *numbers[STRATEGY_COUNT] = {NULL};
	char title[160];
	struct report_plot plot = {.title = title,
				   .x_label = "ms since the fault",
				   .y_label = "% of optimum before the fault",
				   .kind = REPORT_LINES,
				   .series = series};
	const json_t *one;
	size_t i;
	int err = 0;

	snprintf(title, sizeof(title), "%.100s in mid-transfer", scenario);
	for (int s = 0; s < STRATEGY_COUNT; s++)
		json_array_foreach (timelines, i, one) {
			if (err || numbers[s] ||
			    strcmp(result_show_text(one, "scenario"), scenario) != 0 ||
			    strcmp(result_show_text(one, "strategy"),
				   strategy_name((enum strategy)s)) != 0)
				continue;
			err = result_show_line(one, &series[plot.n_series++], &numbers[s]);
		}
	if (!err && plot.n_series)
		err = report_plot(report, &plot);
	for (int s = 0; s < STRATEGY_COUNT; s++)
		free(numbers[s]);
	return err;
}

static int result_show_timelines(const json_t *timelines, struct report *report)
{
	const json_t *one, *before;
	size_t i, j;
	int err = 0;

	json_array_foreach (timelines, i, one) {
		bool seen = false;

		json_array_foreach (timelines, j, before)
			seen |= j < i && strcmp(result_show_text(one, "scenario"),
						result_show_text(before, "scenario")) == 0;
		if (!seen && !err)
			err = result_show_timeline(timelines, result_show_text(one, "scenario"),
						   report);
	}
	return err;
}

int result_show_shift(const struct result *result, FILE *file, struct report *report)
{
	const json_t *shifts = result_show_list(result, "shift");
	int err = 0;

	if (json_array_size(shifts) == 0)
		return 0;
	if (file)
		err = result_show_shift_table(shifts, file, NULL);
	if (err || !report)
		return err;
	err = result_show_shift_picture(shifts, report);
	if (!err)
		err = result_show_shift_table(shifts, NULL, report);
	return err ? err
		   : result_show_timelines(result_show_list(result, "shift_timeline"), report);
}

/* ---- chaos, and what it all stands on ----------------------------------------------------------
 */

int result_show_chaos(const struct result *result, FILE *file, struct report *report)
{
	static const char *const headers[] = {"killed in mid-transfer", "messages", "lost",
					      "longest gap", "goodput"};
	const json_t *list = result_show_list(result, "chaos"), *one;
	struct table *table;
	size_t i;

	if (json_array_size(list) == 0)
		return 0;
	if (table_create(&table, 5, headers))
		return -ENOMEM;
	json_array_foreach (list, i, one) {
		char messages[24], lost[24], gap[24], goodput[24];

		snprintf(messages, sizeof(messages), "%.0f", result_show_number(one, "messages"));
		snprintf(lost, sizeof(lost), "%.0f", result_show_number(one, "messages_lost"));
		snprintf(gap, sizeof(gap), "%.1f ms", result_show_number(one, "longest_gap_ms"));
		snprintf(goodput, sizeof(goodput), "%.1f%%",
			 100 * result_show_number(one, "ratio"));
		if (table_row(table, (const char *const[]){result_show_text(one, "killed"),
							   messages, lost, gap, goodput})) {
			table_destroy(table);
			return -ENOMEM;
		}
	}
	return result_show_table(table, file, report);
}

void result_show_environment(const struct result *result, struct report *report)
{
	const json_t *e = result_show_list(result, "environment");

	report_text(report,
		    "Fabric: %.0f GPUs, %.0f planes of %.0f sub-ports, %.0f Mb/s a sub-port, MTU "
		    "%.0f bytes.",
		    result_show_number(e, "gpus"), result_show_number(e, "planes"),
		    result_show_number(e, "sub_ports"),
		    result_show_number(e, "sub_port_rate_bps") / 1e6,
		    result_show_number(e, "mtu_bytes"));
	report_text(report, "Real: %s. Emulated: %s. Observed: %s.", result_show_text(e, "real"),
		    result_show_text(e, "emulated"), result_show_text(e, "observation_point"));
}

int result_show_all(const struct result *result, const char *title, const char *html,
		    const char *json)
{
	bool quiet = json && strcmp(json, "-") == 0;
	struct report *report = NULL;
	int err = result_show_runs(result, quiet ? NULL : stdout, NULL);

	if (!err && json)
		err = result_write(result, json);
	if (!err && html)
		err = report_create(&report, title);
	if (report) {
		result_show_environment(result, report);
		err = result_show_runs(result, NULL, report);
	}
	if (!err && report)
		err = report_write(report, html);
	report_destroy(report);
	return err;
}
