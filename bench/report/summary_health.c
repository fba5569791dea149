/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_health.c - fabric health: the indicators of both drafts, by the run and by rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/cell.h"
#include "report/summary.h"

#define SUMMARY_UNCOUNTED "not available: nothing here counts it"
#define SUMMARY_SOURCES	  2 /* KPIs that say something of an indicator */

/* The run's value of a name, else what rows of tests say. */
struct summary_indicator {
	const char *name, *expected, *key; /* key NULL: the run has none */
	struct {
		const char *kpi, *test;
	} rows[SUMMARY_SOURCES];
};

static const struct summary_indicator summary_health_inference[] = {
	{"CPU Utilization (switch)", "< 30%", "CPU Utilization (switch)", {{NULL, NULL}}},
	{"Memory Usage (switch)", "< 70%", "Memory Usage (switch)", {{NULL, NULL}}},
	{"FEC Error Rate", "< 1e-12 after correction", "FEC Error Rate", {{NULL, NULL}}},
	{"CRC Error Count", "0", "CRC Error Count", {{NULL, NULL}}},
	{"BGP/OSPF Stability", "0 flaps", "BGP/OSPF Stability", {{NULL, NULL}}},
	{"NIC QP State", "100% active", "NIC QP State", {{NULL, NULL}}},
	{"GPU-NIC PCIe BW", "> 90% of theoretical", "GPU-NIC PCIe BW", {{NULL, NULL}}},
};

/* The training draft sets no limits. */
static const struct summary_indicator summary_health_training[] = {
	{"Switch CPU Utilization",
	 "",
	 "CPU Utilization (switch)",
	 {{"Switch_CPU", "T11.1"}, {"CPU", "T12.1"}}},
	{"Switch Memory Utilization",
	 "",
	 "Memory Usage (switch)",
	 {{"Switch_memory", "T11.1"}, {"Memory", "T12.1"}}},
	{"FIB / Route Convergence Time", "", NULL, {{"Convergence_time", "T11.1"}}},
	{"Link Flap Count", "", NULL, {{"Link_transitions", "T12.1"}}},
	{"CRC/FCS Error Rate", "", "CRC Error Count", {{"CRC_errors", "T12.1"}}},
	{"Power Consumption", "", NULL, {{"Power", "T12.1"}}},
};

/* "mean 3.1, highest 7.9 % in 12 trials of T11.1 (Switch_CPU)", or why there is none; false: no row
 * says anything. */
static bool summary_of_rows(const struct results *results, const struct results_tests *tests,
			    const char *id, const char *name, char *out, size_t size)
{
	const struct rows_filter filter = {.test = id, .kpi = name, .trial = -1};
	char mean[32], highest[32];
	const char *why = NULL, *unit = "";
	double sum = 0, most = -INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < tests->n; i++)
		if (strcmp(tests->test[i]->id, id) == 0 && test_kpi(tests->test[i], name))
			unit = test_kpi(tests->test[i], name)->unit;
	ROWS_EACH (i, results->rows, &filter) {
		const struct row *row = rows_at(results->rows, i);

		why = row->missing ? row->missing : why;
		if (row->missing)
			continue;
		sum += row->value;
		most = fmax(most, row->value);
		n++;
	}
	if (!n) {
		snprintf(out, size, "not available: %s", why ? why : "");
		return why;
	}
	cell_number(sum / (double)n, mean, sizeof(mean));
	cell_number(most, highest, sizeof(highest));
	snprintf(out, size, "mean %s, highest %s%s%s in %zu trials of %s (%s)", mean, highest,
		 *unit ? " " : "", unit, n, id, name);
	return true;
}

static void summary_indicator(struct table *table, struct doc *doc, const struct results *results,
			      const struct results_tests *tests,
			      const struct summary_indicator *indicator)
{
	const char *value =
		indicator->key ? results_value(results, SUMMARY_HEALTH, indicator->key) : NULL;
	char text[600] = "", one[280];

	for (size_t i = 0; !value && i < SUMMARY_SOURCES && indicator->rows[i].kpi; i++)
		if (summary_of_rows(results, tests, indicator->rows[i].test, indicator->rows[i].kpi,
				    one, sizeof(one)))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? "; " : "", one);
	if (!value && *text)
		value = text;
	doc_fail(doc, table_row(table, (const char *[]){indicator->name, indicator->expected,
							value ? value : SUMMARY_UNCOUNTED}));
}

/* The indicators of one draft. */
static void summary_health_of(struct doc *doc, const struct results *results,
			      const struct results_tests *tests, const char *which,
			      const struct summary_indicator *indicators, size_t n)
{
	static const char *const headers[] = {"Indicator", "Expected", "Here"};
	struct table *table = doc_table_of(doc, 3, headers);

	doc_text(doc, "The indicators of %s.", which);
	for (size_t i = 0; table && i < n; i++)
		summary_indicator(table, doc, results, tests, &indicators[i]);
	doc_table(doc, table);
}

/* It cuts links, takes servers away, or ends all sessions to see them come back. */
static bool summary_ends_sessions(const struct test *test)
{
	return (test->needs & NEED_FAULTS) || test_kpi(test, "control_convergence");
}

/* Which tests of the inference draft ended BGP sessions by order, and what was counted in those
 * that count sessions themselves and end none. */
static void summary_sessions(struct doc *doc, const struct results *results,
			     const struct results_tests *tests)
{
	char text[1000] = "Tests that end BGP sessions by order, which count too: ";
	size_t used = strlen(text), n = 0;

	for (size_t i = 0; i < tests->n && used < sizeof(text); i++) {
		const struct test *test = tests->test[i];
		const struct rows_filter filter = {.test = test->id, .trial = -1};

		if (test_is_draft(test) && summary_ends_sessions(test) &&
		    rows_next(results->rows, &filter, 0) < rows_count(results->rows))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 n++ ? ", " : "", test->id);
	}
	if (!n && used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "none in this run");
	for (size_t i = 0; i < tests->n && used < sizeof(text); i++) {
		const struct rows_filter filter = {
			.test = tests->test[i]->id, .kpi = "flaps", .trial = -1};
		double sum = 0;
		size_t rows = 0;

		ROWS_EACH (k, results->rows, &filter) {
			sum += rows_at(results->rows, k)->missing
				       ? 0
				       : rows_at(results->rows, k)->value;
			rows += !rows_at(results->rows, k)->missing;
		}
		if (rows && !summary_ends_sessions(tests->test[i]))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used,
				". Apart from them: %.12g in the %zu samples of %s", sum, rows,
				tests->test[i]->id);
	}
	doc_text(doc, "%s.", text);
}

void summary_health(struct doc *doc, const struct results *results,
		    const struct results_tests *tests, bool inference, bool training)
{
	static const char *const counted[] = {"Counted by NICs", "Counted by switches"};

	doc_heading(doc, 2, "health", "Fabric health indicators");
	if (inference)
		summary_health_of(doc, results, tests, "table 6 of the inference methodology",
				  summary_health_inference,
				  sizeof(summary_health_inference) /
					  sizeof(summary_health_inference[0]));
	if (inference && results_value(results, SUMMARY_HEALTH, "BGP/OSPF Stability"))
		summary_sessions(doc, results, tests);
	if (training)
		summary_health_of(doc, results, tests,
				  "table 7 of the training methodology, which sets no limits",
				  summary_health_training,
				  sizeof(summary_health_training) /
					  sizeof(summary_health_training[0]));
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		const char *value = results_value(results, SUMMARY_HEALTH, counted[i]);

		if (value)
			doc_text(doc, "%s, whole run: %s.", counted[i], value);
	}
}
