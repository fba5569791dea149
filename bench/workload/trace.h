/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - recorded requests: when each came, how long its prompt and its output were.
 *
 * A file of lines "arrival_s,prompt_tokens,output_tokens" (RFC 4180 without quotes; a first line
 * with those names, in that order, is expected). Times do not fall. Owns: the requests. In: bytes
 * (hostile); out: requests, or the line and what is wrong with it. Pure. Thread: any.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stddef.h>

#define TRACE_MAX_REQUESTS 1000000u
#define TRACE_MAX_TOKENS   10000000u
#define TRACE_MAX_BYTES	   (64u << 20)

struct trace_request {
	double arrival_s;
	unsigned prompt, output;
};

struct trace {
	struct trace_request *request;
	size_t n;
	unsigned longest_prompt, longest_output;
};

/* -EBADMSG: error says "name:line: what". -ENOMEM. trace_fini() frees. */
int trace_parse(struct trace *trace, const char *name, const char *text, size_t length, char *error,
		size_t error_size);
void trace_fini(struct trace *trace);

/* Seconds from request i to the next; the last is followed by the first, after the mean gap. */
double trace_gap_s(const struct trace *trace, size_t i);
double trace_mean_gap_s(const struct trace *trace);

#endif
