/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * goals_show.c - what came of the promised figures: lines, JSON, a page.
 */
#include <errno.h>
#include <stdio.h>

#include "figures/goals.h"
#include "core/machine.h"
#include "report/table.h"

struct goals_sum {
	unsigned asked, met, missed, failed;
};

static struct goals_sum goals_sum(const struct goals_outcome *outcomes, size_t n)
{
	struct goals_sum sum = {0};

	for (size_t i = 0; i < n; i++) {
		sum.asked += outcomes[i].verdict != GOALS_UNKNOWN;
		sum.met += outcomes[i].verdict == GOALS_MET;
		sum.missed += outcomes[i].verdict == GOALS_MISSED;
		sum.failed += outcomes[i].verdict == GOALS_FAILED;
	}
	return sum;
}

static const char *goals_verdict_name(enum goals_verdict verdict)
{
	static const char *const names[] = {"unknown", "met", "missed", "failed"};

	return names[verdict];
}

/* As people read it: what is not met stands out. */
static const char *goals_mark(enum goals_verdict verdict)
{
	static const char *const marks[] = {"", "pass", "MISSED", "FAILED"};

	return marks[verdict];
}

#define GOALS_STOLEN_PERCENT 1 /* beyond that, times tell of the hypervisor too */

struct goals_text {
	char value[32], spread[64], note[760];
};

static struct goals_text goals_text(const struct goals_outcome *o)
{
	struct goals_text text = {"-", "-", ""};

	if (o->reason[0])
		snprintf(text.note, sizeof(text.note), " (%s)", o->reason);
	else if (o->stolen_percent >= GOALS_STOLEN_PERCENT)
		snprintf(text.note, sizeof(text.note),
			 " (a hypervisor took %.1f%% of this machine's time meanwhile)",
			 o->stolen_percent);
	if (o->verdict == GOALS_FAILED)
		return text;
	snprintf(text.value, sizeof(text.value), "%.4g", o->value);
	if (o->n_numbers > 1)
		snprintf(text.spread, sizeof(text.spread), "%.4g..%.4g of %d", o->low, o->high,
			 o->n_numbers);
	return text;
}

void goals_show_heading(FILE *file)
{
	fprintf(file, "%-34s %-10s %10s  %-24s %3s  verdict\n", "figure", "goal", "measured",
		"spread", "n");
}

void goals_show_line(const struct goals_outcome *o, FILE *file)
{
	struct goals_text text = goals_text(o);

	fprintf(file, "%-34s %-10s %10s  %-24s %3u  %s%s\n", o->figure->id, o->figure->goal,
		text.value, text.spread, o->figure->n, goals_mark(o->verdict), text.note);
	fflush(file);
}

void goals_show_sum(const struct goals_outcome *outcomes, size_t n, FILE *file)
{
	struct goals_sum sum = goals_sum(outcomes, n);

	fprintf(file, "%u of %u met", sum.met, sum.asked);
	if (sum.missed)
		fprintf(file, "; %u missed", sum.missed);
	if (sum.failed)
		fprintf(file, "; %u not measured, because a command failed", sum.failed);
	fputc('\n', file);
}

static json_t *goals_json_one(const struct goals_outcome *o)
{
	const struct figure *f = o->figure;
	json_t *one =
		json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:f}", "id", f->id, "what", f->what,
			  "goal", f->goal, "verdict", goals_verdict_name(o->verdict), "n",
			  (int)f->n, "command", f->command, "json", f->json, "seconds", o->seconds);

	if (one && o->reason[0])
		json_object_set_new(one, "reason", json_string(o->reason));
	if (one && o->verdict != GOALS_FAILED)
		json_object_set_new(one, "value", json_real(o->value));
	if (one && o->stolen_percent >= 0)
		json_object_set_new(one, "stolen_percent", json_real(o->stolen_percent));
	if (one && o->n_numbers > 1)
		json_object_set_new(one, "spread",
				    json_pack("{s:f, s:f, s:i}", "min", o->low, "max", o->high,
					      "numbers", o->n_numbers));
	return one;
}

json_t *goals_json(const struct goals_outcome *outcomes, size_t n)
{
	struct goals_sum sum = goals_sum(outcomes, n);
	json_t *list = json_array();
	struct machine m;

	for (size_t i = 0; list && i < n; i++)
		if (outcomes[i].verdict != GOALS_UNKNOWN &&
		    json_array_append_new(list, goals_json_one(&outcomes[i]))) {
			json_decref(list);
			return NULL;
		}
	machine_read(&m);
	return json_pack("{s:i, s:i, s:i, s:i, s:o, s:{s:s, s:s, s:s, s:i, s:s}}", "asked",
			 (int)sum.asked, "met", (int)sum.met, "missed", (int)sum.missed, "failed",
			 (int)sum.failed, "figures", list, "environment", "version", FARE_VERSION,
			 "kernel", m.kernel, "processor", m.processor, "cores", m.cores, "command",
			 m.command);
}

static int goals_page_table(const struct goals_outcome *outcomes, size_t n, struct report *report)
{
	static const char *const headers[] = {"figure", "goal", "measured",
					      "spread", "n",	"verdict"};
	struct table *table;
	int err;

	if (table_create(&table, 6, headers))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct goals_outcome *o = &outcomes[i];
		struct goals_text text = goals_text(o);
		char repetitions[16];

		snprintf(repetitions, sizeof(repetitions), "%u", o->figure->n);
		if (o->verdict != GOALS_UNKNOWN &&
		    table_row(table, (const char *const[]){o->figure->id, o->figure->goal,
							   text.value, text.spread, repetitions,
							   goals_mark(o->verdict)})) {
			table_destroy(table);
			return -ENOMEM;
		}
	}
	err = report_table(report, table);
	table_destroy(table);
	return err;
}

int goals_page(const struct goals_outcome *outcomes, size_t n, struct report *report)
{
	struct goals_sum sum = goals_sum(outcomes, n);
	int err;

	report_text(report,
		    "%u of %u goals met; %u missed; %u not measured, because a command failed.",
		    sum.met, sum.asked, sum.missed, sum.failed);
	report_text(report,
		    "Each figure is measured now, on this machine, by the command shown below it, "
		    "and held against the goal that was set for it beforehand. The spread is that "
		    "of the numbers from which the figure was taken (most goals are about the "
		    "worst of them); n is how often the command repeats each measurement.");
	err = goals_page_table(outcomes, n, report);
	report_heading(report, "How each was measured");
	for (size_t i = 0; !err && i < n; i++) {
		const struct goals_outcome *o = &outcomes[i];

		if (o->verdict == GOALS_UNKNOWN)
			continue;
		report_text(report, "%s: %s.%s%s", o->figure->id, o->figure->what,
			    !o->reason[0]		 ? ""
			    : o->verdict == GOALS_FAILED ? " No number: "
							 : " Missed: ",
			    o->reason);
		report_verbatim(report, o->figure->command);
	}
	return err;
}
