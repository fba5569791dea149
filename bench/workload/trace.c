/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

#define TRACE_HEADER  "arrival_s,prompt_tokens,output_tokens"
#define TRACE_COLUMNS 3

/* The columns of a line. -EBADMSG: there are more or fewer, or one is no number. */
static int trace_columns(const char *line, size_t length, double out[TRACE_COLUMNS])
{
	for (int i = 0; i < TRACE_COLUMNS; i++) {
		const char *comma = memchr(line, ',', length);
		size_t width = comma ? (size_t)(comma - line) : length;

		if ((i + 1 < TRACE_COLUMNS) != (comma != NULL) ||
		    !decimal_parse(line, width, i > 0, &out[i]))
			return -EBADMSG;
		line += width + 1;
		length -= width + (comma != NULL);
	}
	return 0;
}

static const char *trace_line(struct trace *trace, const char *line, size_t length)
{
	const struct trace_request *last = trace->n ? &trace->request[trace->n - 1] : NULL;
	double value[TRACE_COLUMNS];
	struct trace_request *q;

	if (trace_columns(line, length, value))
		return "three numbers with commas are expected: " TRACE_HEADER;
	if (value[1] < 1 || value[2] < 1 || value[1] > TRACE_MAX_TOKENS ||
	    value[2] > TRACE_MAX_TOKENS)
		return "1 to 10,000,000 tokens are expected";
	if (value[0] > 1e9 || (last && value[0] < last->arrival_s))
		return "times do not fall, and are at most 1e9 s";
	q = &trace->request[trace->n++];
	*q = (struct trace_request){value[0], (unsigned)value[1], (unsigned)value[2]};
	trace->longest_prompt =
		q->prompt > trace->longest_prompt ? q->prompt : trace->longest_prompt;
	trace->longest_output =
		q->output > trace->longest_output ? q->output : trace->longest_output;
	return NULL;
}

static int trace_wrong(char *error, size_t size, const char *name, size_t line, const char *what)
{
	snprintf(error, size, "%s:%zu: %s", name, line, what);
	return -EBADMSG;
}

static size_t trace_count(const char *text, size_t length)
{
	size_t n = 1;

	for (size_t i = 0; i < length; i++)
		n += text[i] == '\n';
	return n;
}

static int trace_lines(struct trace *trace, const char *name, const char *text, size_t length,
		       char *error, size_t size)
{
	size_t number = 0;

	while (length > 0) {
		const char *end = memchr(text, '\n', length), *wrong = NULL;
		size_t whole = end ? (size_t)(end - text) + 1 : length,
		       width = whole - (end != NULL);

		width -= width && text[width - 1] == '\r';
		number++;
		if (number == 1 &&
		    (width != strlen(TRACE_HEADER) || memcmp(text, TRACE_HEADER, width) != 0))
			wrong = "the first line is expected to be " TRACE_HEADER;
		else if (number > 1)
			wrong = trace_line(trace, text, width);
		if (wrong)
			return trace_wrong(error, size, name, number, wrong);
		text += whole;
		length -= whole;
	}
	if (trace->n < 2 || trace->request[trace->n - 1].arrival_s <= trace->request[0].arrival_s)
		return trace_wrong(error, size, name, number,
				   "two requests at different times are the least");
	return 0;
}

int trace_parse(struct trace *trace, const char *name, const char *text, size_t length, char *error,
		size_t error_size)
{
	size_t room = trace_count(text, length);
	int err;

	*trace = (struct trace){0};
	if (length > TRACE_MAX_BYTES || room > TRACE_MAX_REQUESTS)
		return trace_wrong(error, error_size, name, 1,
				   "a million requests in 64 MiB are the most");
	trace->request = calloc(room, sizeof(*trace->request));
	if (!trace->request)
		return -ENOMEM;
	err = trace_lines(trace, name, text, length, error, error_size);
	if (err)
		trace_fini(trace);
	return err;
}

void trace_fini(struct trace *trace)
{
	free(trace->request);
	*trace = (struct trace){0};
}

double trace_mean_gap_s(const struct trace *trace)
{
	return (trace->request[trace->n - 1].arrival_s - trace->request[0].arrival_s) /
	       (double)(trace->n - 1);
}

double trace_gap_s(const struct trace *trace, size_t i)
{
	if (i + 1 == trace->n)
		return trace_mean_gap_s(trace);
	return trace->request[i + 1].arrival_s - trace->request[i].arrival_s;
}
