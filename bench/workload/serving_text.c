/* SPDX-License-Identifier: BSD-2-Clause */
/* serving_text.c - the requests of a service in words: lengths (law, mean, P50, P99), arrivals,
 * common prefixes (serving.h) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "workload/serving.h"

static void text_law(const struct lengths *l, char *out, size_t size)
{
	char law[32] = "uniform";

	if (l->law == LENGTHS_ZIPF)
		snprintf(law, sizeof(law), "Zipf (%g)", l->alpha);
	if (l->law == LENGTHS_FIXED)
		snprintf(out, size, "%u tokens each", l->min);
	else
		snprintf(out, size, "%s, %u to %u tokens, mean %.0f, P50 %u, P99 %u", law, l->min,
			 l->max, lengths_mean(l), lengths_quantile(l, 0.5),
			 lengths_quantile(l, 0.99));
}

static void text_trace(const struct trace *trace, bool output, char *out, size_t size)
{
	double *value = calloc(trace->n + 1, sizeof(*value));
	struct stats_summary summary;

	*out = '\0';
	for (size_t i = 0; value && i < trace->n; i++)
		value[i] = output ? trace->request[i].output : trace->request[i].prompt;
	if (value && !stats_summarise(value, trace->n, &summary)) {
		qsort(value, trace->n, sizeof(*value), stats_ascending);
		snprintf(out, size,
			 "of the trace, %.0f to %.0f tokens, mean %.0f, P50 %.0f, P99 %.0f",
			 summary.min, summary.max, summary.mean, summary.median,
			 stats_quantile(value, trace->n, 0.99));
	}
	free(value);
}

static void text_arrivals(const struct serving_options *o, char *out, size_t size)
{
	if (o->per_s <= 0)
		snprintf(out, size, "one at a time");
	else if (o->trace)
		snprintf(out, size, "as in the trace, stretched to the rate");
	else if (o->burst > 1)
		snprintf(out, size, "Poisson, %u at once", o->burst);
	else
		snprintf(out, size, "Poisson");
}

static void text_prefixes(const struct serving_options *o, char *out, size_t size)
{
	if (o->trace && o->reuse)
		snprintf(out, size, "those of the trace's hashes");
	else if (o->prefix_share > 0)
		snprintf(out, size, "%.0f%% of requests have one of %d, of %u tokens more",
			 100 * o->prefix_share, SERVING_PREFIXES, o->prefix_tokens);
	else
		snprintf(out, size, "none shared");
}

void serving_text(const struct serving_options *o, char *out, size_t size)
{
	char part[4][SERVING_TEXT_MAX / 5];

	if (o->trace) {
		text_trace(o->trace, false, part[0], sizeof(part[0]));
		text_trace(o->trace, true, part[1], sizeof(part[1]));
	} else {
		text_law(&o->prompt, part[0], sizeof(part[0]));
		text_law(&o->output, part[1], sizeof(part[1]));
	}
	text_arrivals(o, part[2], sizeof(part[2]));
	text_prefixes(o, part[3], sizeof(part[3]));
	snprintf(out, size, "prompts: %s; outputs: %s; arrivals: %s; prefixes: %s", part[0],
		 part[1], part[2], part[3]);
}

void serving_text_add(struct trial *t, const struct serving_options *o)
{
	char text[SERVING_TEXT_MAX];

	serving_text(o, text, sizeof(text));
	for (unsigned i = 0; i < t->n_rows; i++)
		if (strcmp(t->row[i].kpi, SUITE_REQUESTS) == 0 && t->row[i].text &&
		    strcmp(t->row[i].text, text) == 0)
			return;
	trial_set_text(t, SUITE_REQUESTS, text);
}
