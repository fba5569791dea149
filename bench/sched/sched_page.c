/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched_page.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/table.h"

#define MAX_COLUMNS 10
#define MAX_NAMES   REPORT_MAX_SERIES
#define NAME_BYTES  64

struct part {
	const char *name, *title, *says;
	const char *columns[MAX_COLUMNS + 1]; /* of the table; ends with NULL */
	/* of the picture: what stands side by side, what is told apart by colour, what is shown */
	const char *category, *series[4], *value, *y_label;
	const char *one_each; /* a picture for each of its values; NULL: one for all */
	double y_mark;
};

static const struct part parts[] = {
	{"floor",
	 "Memory: a load whose address comes from the one before",
	 NULL,
	 {"kib", "dependent_load_ns"},
	 "kib",
	 {NULL},
	 "dependent_load_ns",
	 "ns per load",
	 NULL,
	 0},
	{"lookup",
	 "Lookup (\"floor\": one independent load a key)",
	 "Each table in its best configuration, built for this processor, in huge pages where they "
	 "grow beyond malloc's; values checked. Bars: medians, extremes.",
	 {"entries", "pattern", "mode", "threads", "table", "ns_per_lookup", "min_ns", "max_ns"},
	 "table",
	 {"pattern", "mode", "threads"},
	 "ns_per_lookup",
	 "ns per lookup",
	 "entries",
	 0},
	{"pick",
	 "Pick of a plane for each packet",
	 NULL,
	 {"weights", "method", "ns_per_pick", "min_ns", "max_ns", "worst_window_units"},
	 "method",
	 {"weights"},
	 "ns_per_pick",
	 "ns per pick",
	 NULL,
	 0},
	{"publish",
	 "Pick while weights change every 100 us",
	 NULL,
	 {"destinations", "threads", "method", "ns_per_pick", "min_ns", "max_ns"},
	 "method",
	 {"destinations", "threads"},
	 "ns_per_pick",
	 "ns per pick",
	 NULL,
	 0},
	{"assignment",
	 "All-to-all with one plane halved, time over the optimum",
	 "Computed by the fluid solver.",
	 {"gpus", "qps_per_pair", "choice", "over_optimum_ratio"},
	 "choice",
	 {"qps_per_pair"},
	 "over_optimum_ratio",
	 "time over the optimum",
	 NULL,
	 1},
};

static void cell(const json_t *entry, const char *member, char text[NAME_BYTES])
{
	const json_t *v = json_object_get(entry, member);

	if (json_is_string(v))
		snprintf(text, NAME_BYTES, "%s", json_string_value(v));
	else if (json_is_integer(v))
		snprintf(text, NAME_BYTES, "%lld", (long long)json_integer_value(v));
	else
		snprintf(text, NAME_BYTES, "%.2f", json_number_value(v));
}

/* A row for each result. */
static int make_table(const struct part *part, const json_t *array, struct table **out)
{
	size_t n = 0, i;
	json_t *entry;
	int err;

	while (part->columns[n])
		n++;
	err = table_create(out, n, part->columns);
	if (err)
		return err;
	json_array_foreach (array, i, entry) {
		char text[MAX_COLUMNS][NAME_BYTES];
		const char *cells[MAX_COLUMNS];

		for (size_t c = 0; c < n; c++) {
			cell(entry, part->columns[c], text[c]);
			cells[c] = text[c];
		}
		if (table_row(*out, cells)) {
			table_destroy(*out);
			return -ENOMEM;
		}
	}
	return 0;
}

/* What a number counts, in words: " thread", " threads"; of anything else nothing. */
static const char *unit_of(const char *member, const char *number)
{
	bool one = !strcmp(number, "1");

	if (!strcmp(member, "threads"))
		return one ? " thread" : " threads";
	if (!strcmp(member, "destinations"))
		return one ? " destination" : " destinations";
	return "";
}

/* What its series is called: "uniform-hit single 1 thread". */
static void series_name(const struct part *part, const json_t *entry, char text[NAME_BYTES])
{
	char word[NAME_BYTES];
	size_t at = 0;

	text[0] = 0;
	for (unsigned k = 0; part->series[k] && at < NAME_BYTES; k++) {
		cell(entry, part->series[k], word);
		at += (size_t)snprintf(text + at, NAME_BYTES - at, "%s%s%s", k ? " " : "", word,
				       unit_of(part->series[k], word));
	}
}

/* The index of a name, which is added if it is new and there is room; -1 else. */
static int name_index(char (*names)[NAME_BYTES], unsigned *n, const char *name)
{
	for (unsigned i = 0; i < *n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	if (*n == MAX_NAMES)
		return -1;
	snprintf(names[*n], NAME_BYTES, "%s", name);
	return (int)(*n)++;
}

struct bars {
	char category[MAX_NAMES][NAME_BYTES], series[MAX_NAMES][NAME_BYTES];
	unsigned n_categories, n_series;
	double y[MAX_NAMES][MAX_NAMES], low[MAX_NAMES][MAX_NAMES], high[MAX_NAMES][MAX_NAMES];
};

static void bars_fill(struct bars *bars, const struct part *part, const json_t *array,
		      const char *only)
{
	json_t *entry;
	size_t i;

	memset(bars, 0, sizeof(*bars));
	for (unsigned s = 0; s < MAX_NAMES; s++)
		for (unsigned c = 0; c < MAX_NAMES; c++)
			bars->y[s][c] = bars->low[s][c] = bars->high[s][c] = NAN;
	json_array_foreach (array, i, entry) {
		char name[NAME_BYTES];
		int c, s;

		if (only) {
			cell(entry, part->one_each, name);
			if (strcmp(name, only) != 0)
				continue;
		}
		cell(entry, part->category, name);
		c = name_index(bars->category, &bars->n_categories, name);
		series_name(part, entry, name);
		s = name_index(bars->series, &bars->n_series, name);
		if (c < 0 || s < 0)
			continue;
		bars->y[s][c] = json_number_value(json_object_get(entry, part->value));
		bars->low[s][c] = json_number_value(json_object_get(entry, "min_ns"));
		bars->high[s][c] = json_number_value(json_object_get(entry, "max_ns"));
	}
}

static int picture(struct report *report, const struct part *part, const json_t *array,
		   const char *only)
{
	static struct bars bars; /* large, and this is the only thread */
	struct report_series series[MAX_NAMES];
	const char *categories[MAX_NAMES];
	char title[160];
	struct report_plot plot = {.title = title,
				   .y_label = part->y_label,
				   .kind = REPORT_BARS,
				   .categories = categories,
				   .series = series,
				   .y_mark = part->y_mark};
	bool spread = json_object_get(json_array_get(array, 0), "min_ns") != NULL;

	snprintf(title, sizeof(title), "%s%s%s%s", part->title, only ? ", " : "", only ? only : "",
		 only ? " entries" : "");
	bars_fill(&bars, part, array, only);
	for (unsigned c = 0; c < bars.n_categories; c++)
		categories[c] = bars.category[c];
	for (unsigned s = 0; s < bars.n_series; s++)
		series[s] = (struct report_series){.name = bars.series[s][0] ? bars.series[s]
									     : part->y_label,
						   .y = bars.y[s],
						   .y_low = spread ? bars.low[s] : NULL,
						   .y_high = spread ? bars.high[s] : NULL,
						   .n = bars.n_categories};
	plot.n_series = bars.n_series;
	return report_plot(report, &plot);
}

static int pictures(struct report *report, const struct part *part, const json_t *array)
{
	char seen[MAX_NAMES][NAME_BYTES], name[NAME_BYTES];
	unsigned n = 0;
	json_t *entry;
	int err = 0;
	size_t i;

	if (!part->one_each)
		return picture(report, part, array, NULL);
	json_array_foreach (array, i, entry) {
		cell(entry, part->one_each, name);
		name_index(seen, &n, name);
	}
	for (unsigned k = 0; !err && k < n; k++)
		err = picture(report, part, array, seen[k]);
	return err;
}

static int part_show(const struct part *part, const json_t *array, struct report *report)
{
	struct table *table;
	int err = make_table(part, array, &table);

	if (err)
		return err;
	printf("\n%s\n", part->title);
	table_print(table, stdout);
	if (report) {
		report_heading(report, part->title);
		if (part->says)
			report_text(report, "%s", part->says);
		err = pictures(report, part, array);
		if (!err)
			err = report_table(report, table);
	}
	table_destroy(table);
	return err;
}

int sched_page_show(const json_t *root, struct report *report)
{
	const json_t *sched = json_object_get(root, "sched");
	const json_t *environment = json_object_get(root, "environment");
	int err = 0;

	if (report)
		report_text(report, "%s. Vector instructions: %s. Peers in huge pages: %s.",
			    json_string_value(json_object_get(environment, "what")),
			    json_string_value(json_object_get(environment, "instructions")),
			    json_is_true(json_object_get(environment, "peers_in_huge_pages"))
				    ? "yes"
				    : "no");
	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(parts[0]); i++) {
		const json_t *array = json_object_get(sched, parts[i].name);

		if (json_array_size(array))
			err = part_show(&parts[i], array, report);
	}
	return err;
}
