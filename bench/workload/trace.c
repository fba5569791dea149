/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/trace.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/decimal.h"

#define TRACE_HEADER	   "arrival_s,prompt_tokens,output_tokens"
#define TRACE_AZURE_HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"
#define TRACE_COLUMNS	   3
#define TRACE_TIME_MAX	   40 /* bytes of a date with time and zone */
#define TRACE_ID_MAX	   (INT64_C(1) << 53)

/* What a line says, whatever its format. */
struct trace_line {
	double arrival_s, prompt, output;
	json_t *blocks; /* NULL: none. Borrowed */
};

/* NULL, or what is wrong. */
typedef const char *(*trace_read)(const char *line, size_t length, struct trace_line *out,
				  json_t **owner);

/* ---- this project's own ---- */

/* The columns of a line. -EBADMSG: there are more or fewer. */
static int trace_columns(const char *line, size_t length, const char *column[TRACE_COLUMNS],
			 size_t width[TRACE_COLUMNS])
{
	for (int i = 0; i < TRACE_COLUMNS; i++) {
		const char *comma = memchr(line, ',', length);

		if ((i + 1 < TRACE_COLUMNS) != (comma != NULL))
			return -EBADMSG;
		column[i] = line;
		width[i] = comma ? (size_t)(comma - line) : length;
		line += width[i] + 1;
		length -= width[i] + (comma != NULL);
	}
	return 0;
}

static const char *trace_read_own(const char *line, size_t length, struct trace_line *out,
				  json_t **owner)
{
	const char *column[TRACE_COLUMNS];
	size_t width[TRACE_COLUMNS];

	(void)owner;
	if (trace_columns(line, length, column, width) ||
	    !decimal_parse(column[0], width[0], false, &out->arrival_s) ||
	    !decimal_parse(column[1], width[1], true, &out->prompt) ||
	    !decimal_parse(column[2], width[2], true, &out->output))
		return "three numbers with commas are expected: " TRACE_HEADER;
	return NULL;
}

/* ---- Azure's ---- */

/* "2023-11-16 18:17:03.9799600", with nothing, "Z" or "+00:00" behind it. */
static bool trace_time(const char *text, size_t length, double *out)
{
	char copy[TRACE_TIME_MAX], *rest;
	struct tm tm = {0};
	double fraction = 0;
	size_t digits;

	if (length >= sizeof(copy) || memchr(text, '\0', length))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	rest = strptime(copy, "%Y-%m-%d %H:%M:%S", &tm);
	if (!rest || tm.tm_year < 70 || tm.tm_year > 1000)
		return false;
	if (*rest == '.') {
		digits = strspn(rest + 1, "0123456789");
		if (digits == 0)
			return false;
		for (size_t i = digits; i > 0; i--)
			fraction = (fraction + (rest[i] - '0')) / 10;
		rest += 1 + digits;
	}
	*out = (double)timegm(&tm) + fraction;
	return *rest == '\0' || strcmp(rest, "Z") == 0 || strcmp(rest, "+00:00") == 0;
}

static const char *trace_read_azure(const char *line, size_t length, struct trace_line *out,
				    json_t **owner)
{
	const char *column[TRACE_COLUMNS];
	size_t width[TRACE_COLUMNS];

	(void)owner;
	if (trace_columns(line, length, column, width) ||
	    !trace_time(column[0], width[0], &out->arrival_s) ||
	    !decimal_parse(column[1], width[1], true, &out->prompt) ||
	    !decimal_parse(column[2], width[2], true, &out->output))
		return "a date with time (UTC) and two numbers are expected: " TRACE_AZURE_HEADER;
	return NULL;
}

/* ---- Mooncake's ---- */

static const char *trace_read_mooncake(const char *line, size_t length, struct trace_line *out,
				       json_t **owner)
{
	json_t *one = length > TRACE_MAX_LINE
			      ? NULL
			      : json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL),
	       *at = json_object_get(one, "timestamp"),
	       *prompt = json_object_get(one, "input_length"),
	       *output = json_object_get(one, "output_length");

	*owner = one;
	if (!json_is_number(at) || !json_is_integer(prompt) || !json_is_integer(output))
		return "a JSON object with timestamp (ms), input_length and output_length is "
		       "expected";
	out->arrival_s = json_number_value(at) / 1e3;
	out->prompt = (double)json_integer_value(prompt);
	out->output = (double)json_integer_value(output);
	out->blocks = json_object_get(one, "hash_ids");
	if (out->blocks && !json_is_array(out->blocks))
		return "hash_ids: a list of numbers is expected";
	return NULL;
}

/* ---- all ---- */

static const struct {
	const char *header; /* the first line; NULL: it is a request */
	trace_read read;
} trace_format[] = {{TRACE_HEADER, trace_read_own},
		    {TRACE_AZURE_HEADER, trace_read_azure},
		    {NULL, trace_read_mooncake}};

static const char *trace_add_blocks(struct trace *trace, struct trace_request *q,
				    const json_t *blocks)
{
	json_t *id;
	size_t i, wanted = trace->n_blocks + json_array_size(blocks);

	if (wanted > TRACE_MAX_BLOCKS)
		return "more than 8 million ids of blocks in all";
	if (wanted > trace->room) {
		size_t room = 2 * wanted;
		uint64_t *grown = realloc(trace->block, room * sizeof(*grown));

		if (!grown)
			return "out of memory";
		trace->block = grown;
		trace->room = room;
	}
	q->first_block = trace->n_blocks;
	json_array_foreach (blocks, i, id) {
		if (!json_is_integer(id) || json_integer_value(id) < 0 ||
		    json_integer_value(id) > TRACE_ID_MAX)
			return "hash_ids: numbers from 0 to 2^53 are expected";
		trace->block[trace->n_blocks++] = (uint64_t)json_integer_value(id);
	}
	q->n_blocks = (unsigned)json_array_size(blocks);
	return NULL;
}

static const char *trace_add(struct trace *trace, const struct trace_line *line)
{
	const struct trace_request *last = trace->n ? &trace->request[trace->n - 1] : NULL;
	struct trace_request *q = &trace->request[trace->n];

	if (!(line->prompt >= 1 && line->output >= 1 && line->prompt <= TRACE_MAX_TOKENS &&
	      line->output <= TRACE_MAX_TOKENS))
		return "1 to 10,000,000 tokens are expected";
	if (!(line->arrival_s >= 0 && line->arrival_s <= 1e11) ||
	    (last && line->arrival_s < last->arrival_s))
		return "times do not fall, and are not negative";
	*q = (struct trace_request){line->arrival_s, (unsigned)line->prompt, (unsigned)line->output,
				    0, 0};
	trace->longest_prompt =
		q->prompt > trace->longest_prompt ? q->prompt : trace->longest_prompt;
	trace->longest_output =
		q->output > trace->longest_output ? q->output : trace->longest_output;
	trace->n++;
	return line->blocks ? trace_add_blocks(trace, q, line->blocks) : NULL;
}

static const char *trace_one(struct trace *trace, trace_read read, const char *text, size_t width)
{
	struct trace_line line = {0};
	json_t *owner = NULL;
	const char *wrong = read(text, width, &line, &owner);

	if (!wrong)
		wrong = trace_add(trace, &line);
	json_decref(owner);
	return wrong;
}

/* By the first line. *header: it is no request. NULL: it is none of them. */
static trace_read trace_which(const char *line, size_t width, bool *header)
{
	size_t n = sizeof(trace_format) / sizeof(trace_format[0]);

	*header = true;
	for (size_t i = 0; i + 1 < n; i++)
		if (width == strlen(trace_format[i].header) &&
		    memcmp(line, trace_format[i].header, width) == 0)
			return trace_format[i].read;
	*header = false;
	return width && *line == '{' ? trace_format[n - 1].read : NULL;
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
	trace_read read = NULL;
	size_t number = 0;

	while (length > 0) {
		const char *end = memchr(text, '\n', length), *wrong = NULL;
		size_t whole = end ? (size_t)(end - text) + 1 : length,
		       width = whole - (end != NULL);
		bool header = false;

		width -= width && text[width - 1] == '\r';
		if (number++ == 0)
			read = trace_which(text, width, &header);
		if (!read)
			wrong = "the first line is expected to be " TRACE_HEADER
				", " TRACE_AZURE_HEADER " or a JSON object";
		else if (!header)
			wrong = trace_one(trace, read, text, width);
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

	*trace = (struct trace){.block_tokens = TRACE_BLOCK_TOKENS};
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
	free(trace->block);
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

static unsigned trace_scaled(unsigned tokens, double factor)
{
	double scaled = round(tokens * factor);

	return scaled < 1 ? 1 : scaled > TRACE_MAX_TOKENS ? TRACE_MAX_TOKENS : (unsigned)scaled;
}

void trace_scale(struct trace *trace, double factor)
{
	for (size_t i = 0; i < trace->n; i++) {
		trace->request[i].prompt = trace_scaled(trace->request[i].prompt, factor);
		trace->request[i].output = trace_scaled(trace->request[i].output, factor);
	}
	trace->longest_prompt = trace_scaled(trace->longest_prompt, factor);
	trace->longest_output = trace_scaled(trace->longest_output, factor);
	trace->block_tokens *= factor;
}
