/* SPDX-License-Identifier: BSD-2-Clause */
#include "show.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "method.h"
#include "result.h"
#include "report/table.h"

#define MAX_COLUMNS 8
#define MAX_PLACES  32

#define WHAT                                                                                       \
	"Real sockets and kernel, two processes pinned to a core each; veth pairs between two "    \
	"network namespaces instead of "                                                           \
	"a wire. Methods are measured in turns; figures are medians; the receiver compares every " \
	"byte."
#define WHAT_SHAPED                                                                                \
	"Real FRR, daemons, kernel routes and hashes; shaped veth pairs instead of wires. One "    \
	"sub-port of the receiver is "                                                             \
	"down; figures are payload verified at the receiver over what the live sub-ports can "     \
	"carry."

struct show_part {
	const char *name, *title, *keys[MAX_COLUMNS], *heads[MAX_COLUMNS];
};

#define GOODPUT                                                                                    \
	{"method", "bytes", "qps", "gbps", "gbps_min", "gbps_max", "of_ceiling", "cpu_s_per_gb"},  \
	{                                                                                          \
		"method", "bytes", "QPs", "Gb/s", "min", "max", "of ceiling", "CPU s/GB"           \
	}

static const struct show_part parts[] = {
	{"goodput", "Goodput by message size; both ends spin, a core each", GOODPUT},
	{"qps", "Goodput by number of QPs or connections", GOODPUT},
	{"cpu", "What it costs when both ends sleep whenever nothing is due", GOODPUT},
	{"latency",
	 "Half round trip; both ends spin",
	 {"method", "bytes", "p50_us", "p50_us_min", "p50_us_max", "p99_us", "p999_us", "worst_us"},
	 {"method", "bytes", "p50 us", "min", "max", "p99 us", "p99.9 us", "worst us"}},
	{"shaped",
	 "Shaped planes, a sub-port lost at the far end",
	 {"method", "strategy", "flows", "ratio", "ratio_min", "ratio_max", "gbps"},
	 {"way", "strategy", "flows", "of the sum", "min", "max", "Gb/s"}},
	{"sharing",
	 "Two senders, one receiver, all sub-ports up: Jain's fairness index, and what arrived of "
	 "what can",
	 {"method", "senders", "jfi_ratio", "jfi_ratio_min", "ratio", "ratio_min", "ratio_max"},
	 {"strategy", "senders", "JFI", "worst", "of the sum", "min", "max"}},
};

static const char *word(const json_t *entry, const char *key)
{
	return json_string_value(json_object_get(entry, key));
}

static int make_table(const struct show_part *part, const json_t *entries, struct table **out)
{
	size_t n = 0, i;
	json_t *entry;
	int err;

	while (n < MAX_COLUMNS && part->keys[n])
		n++;
	err = table_create(out, n, part->heads);
	json_array_foreach ((json_t *)(uintptr_t)entries, i, entry) {
		const char *cells[MAX_COLUMNS];
		char text[MAX_COLUMNS][32];

		for (size_t k = 0; k < n; k++) {
			const json_t *v = json_object_get(entry, part->keys[k]);

			if (json_is_number(v))
				snprintf(text[k], sizeof(text[k]), "%.*f",
					 json_is_integer(v)		  ? 0
					 : strstr(part->keys[k], "ratio") ? 3
									  : 2,
					 json_number_value(v));
			cells[k] = json_is_number(v)   ? text[k]
				   : json_is_string(v) ? json_string_value(v)
						       : "-";
		}
		if (!err)
			err = table_row(*out, cells);
	}
	return err;
}

struct show_curve {
	const char *method;
	size_t n;
	double x[MAX_PLACES], y[MAX_PLACES], low[MAX_PLACES], high[MAX_PLACES];
};

/* One curve per method: goodput over sizes, or over numbers of QPs. */
static int plot_curves(const char *part, const json_t *entries, struct report *page)
{
	bool by_size = strcmp(part, "goodput") == 0;
	struct show_curve *curve = calloc(TRANSPORT_MAX_METHODS, sizeof(*curve));
	struct report_series series[TRANSPORT_MAX_METHODS];
	struct report_plot plot = {.title = by_size ? "Goodput by message size"
						    : "Goodput by number of QPs",
				   .x_label = by_size ? "message, bytes" : "QPs or connections",
				   .y_label = "goodput, Gb/s",
				   .log_x = true,
				   .series = series};
	json_t *entry;
	size_t i;
	int err;

	json_array_foreach ((json_t *)(uintptr_t)entries, i, entry) {
		struct show_curve *c = curve;
		const char *method = word(entry, "method");

		while (c < curve + TRANSPORT_MAX_METHODS - 1 && c->method &&
		       strcmp(c->method, method) != 0)
			c++;
		c->method = method;
		if (!json_object_get(entry, "gbps") || c->n == MAX_PLACES)
			continue;
		c->x[c->n] = json_number_value(json_object_get(entry, by_size ? "bytes" : "qps"));
		c->y[c->n] = json_number_value(json_object_get(entry, "gbps"));
		c->low[c->n] = json_number_value(json_object_get(entry, "gbps_min"));
		c->high[c->n++] = json_number_value(json_object_get(entry, "gbps_max"));
	}
	for (i = 0; i < TRANSPORT_MAX_METHODS; i++)
		if (curve[i].n)
			series[plot.n_series++] = (struct report_series){.name = curve[i].method,
									 .x = curve[i].x,
									 .y = curve[i].y,
									 .y_low = curve[i].low,
									 .y_high = curve[i].high,
									 .n = curve[i].n};
	err = plot.n_series ? report_plot(page, &plot) : 0;
	free(curve);
	return err;
}

/* One bar per method. */
static int plot_bars(const char *title, const char *label, const char *key, double mark,
		     const json_t *entries, struct report *page)
{
	double y[MAX_PLACES], low[MAX_PLACES], high[MAX_PLACES];
	const char *names[MAX_PLACES];
	struct report_series series = {.name = label, .y = y, .y_low = low, .y_high = high};
	struct report_plot plot = {.title = title,
				   .y_label = label,
				   .kind = REPORT_BARS,
				   .categories = names,
				   .n_series = 1,
				   .series = &series,
				   .y_mark = mark};
	char low_key[32], high_key[32];
	json_t *entry;
	size_t i;

	snprintf(low_key, sizeof(low_key), "%s_min", key);
	snprintf(high_key, sizeof(high_key), "%s_max", key);
	json_array_foreach ((json_t *)(uintptr_t)entries, i, entry) {
		if (series.n == MAX_PLACES || !json_object_get(entry, key))
			continue;
		names[series.n] = word(entry, "method");
		y[series.n] = json_number_value(json_object_get(entry, key));
		low[series.n] = json_number_value(json_object_get(entry, low_key));
		high[series.n++] = json_number_value(json_object_get(entry, high_key));
	}
	return series.n ? report_plot(page, &plot) : 0;
}

/* What is missing from a table, and why. */
static void show_absent(const json_t *entries, struct report *page)
{
	json_t *entry;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)entries, i, entry) {
		long long bytes = json_integer_value(json_object_get(entry, "bytes"));

		if (!word(entry, "why"))
			continue;
		printf("%s, %lld bytes: %s\n", word(entry, "method"), bytes, word(entry, "why"));
		if (page)
			report_text(page, "%s, %lld bytes: %s", word(entry, "method"), bytes,
				    word(entry, "why"));
	}
}

static int show_part(const struct show_part *part, const json_t *entries, struct report *page)
{
	struct table *table;
	int err = make_table(part, entries, &table);

	if (!err) {
		printf("\n%s\n", part->title);
		table_print(table, stdout);
	}
	if (!err && page) {
		report_heading(page, part->title);
		if (!strcmp(part->name, "latency"))
			err = plot_bars(part->title, "p50, us", "p50_us", 0, entries, page);
		else if (!strcmp(part->name, "shaped") || !strcmp(part->name, "sharing"))
			err = plot_bars(part->title, "goodput over what the live sub-ports carry",
					"ratio", 1, entries, page);
		else if (!strcmp(part->name, "cpu"))
			err = plot_bars(part->title, "Gb/s", "gbps", 0, entries, page);
		else
			err = plot_curves(part->name, entries, page);
		if (!err)
			err = report_table(page, table);
	}
	if (!err)
		show_absent(entries, page);
	table_destroy(table);
	return err;
}

/* How far apart the cores were: absolute figures of two runs compare only where that does. */
static void show_handover(const json_t *handover, struct report *page)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "A cache line took %.0f ns between the ends' cores (%.0f..%.0f, n %lld; %lld "
		 "samples taken again): where a host puts "
		 "them on different caches all goodput is a fraction.",
		 json_number_value(json_object_get(handover, "ns")),
		 json_number_value(json_object_get(handover, "ns_min")),
		 json_number_value(json_object_get(handover, "ns_max")),
		 json_integer_value(json_object_get(handover, "n")),
		 json_integer_value(json_object_get(handover, "taken_again")));
	printf("\n%s\n", text);
	if (page)
		report_text(page, "%s", text);
}

static void describe(struct result *result, bool is_shaped)
{
	struct utsname u;

	uname(&u);
	result_set_environment(result, "kernel", json_string(u.release));
	result_set_environment(result, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	result_set_environment(result, "path_mtu_bytes", json_integer(TRANSPORT_PATH_MTU));
	result_set_environment(result, "what", json_string(is_shaped ? WHAT_SHAPED : WHAT));
}

int show_all(json_t *root, struct report *page, const char *html, const char *json)
{
	bool is_shaped = json_object_get(root, "shaped");
	struct result *result;
	int err = result_create(&result);

	if (err) {
		json_decref(root);
		return err;
	}
	if (page)
		report_text(page, "%s", is_shaped ? WHAT_SHAPED : WHAT);
	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (json_object_get(root, parts[i].name))
			err = show_part(&parts[i], json_object_get(root, parts[i].name), page);
	if (!err && json_object_get(root, "handover"))
		show_handover(json_object_get(root, "handover"), page);
	result_set(result, "transport", root);
	describe(result, is_shaped);
	if (!err && json)
		err = result_write(result, json);
	if (!err && page)
		err = report_write(page, html);
	result_destroy(result);
	return err;
}
