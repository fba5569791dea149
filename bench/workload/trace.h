/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - recorded requests: when each came, how long its prompt and its output were, and which
 * blocks its prompt was made of.
 *
 * One of three formats, which the first line tells:
 *	arrival_s,prompt_tokens,output_tokens	CSV (RFC 4180 without quotes), this header first
 *	TIMESTAMP,ContextTokens,GeneratedTokens	the same of Azure's traces of LLM inference:
 *						"2023-11-16 18:17:03.9799600", or with +00:00
 *	{"timestamp": MS, "input_length": N,	JSON lines of Mooncake's traces; an id stands for
 *	 "output_length": N, "hash_ids": [..]}	512 tokens and all before them
 * Times do not fall. Owns: the requests. In: bytes (hostile); out: requests, or the line and what
 * is wrong with it. Pure. Thread: any.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_MAX_REQUESTS 1000000u
#define TRACE_MAX_TOKENS   10000000u
#define TRACE_MAX_BYTES	   (64u << 20)
#define TRACE_MAX_BLOCKS   8000000u
#define TRACE_MAX_LINE	   (1u << 20) /* ids of TRACE_MAX_TOKENS take a fifth of it */
#define TRACE_BLOCK_TOKENS 512.0

struct trace_request {
	double arrival_s;
	unsigned prompt, output;
	size_t first_block; /* in trace.block */
	unsigned n_blocks;
};

struct trace {
	struct trace_request *request;
	size_t n;
	uint64_t *block; /* ids, of all requests one after the other; NULL: none has any */
	size_t n_blocks, room;
	double block_tokens;
	unsigned longest_prompt, longest_output;
};

/* -EBADMSG: error says "name:line: what". -ENOMEM. trace_fini() frees. */
int trace_parse(struct trace *trace, const char *name, const char *text, size_t length, char *error,
		size_t error_size);
void trace_fini(struct trace *trace);
/* Prompts, outputs and blocks become so many times as long, a token at least. */
void trace_scale(struct trace *trace, double factor);

/* Seconds from request i to the next; the last is followed by the first, after the mean gap. */
double trace_gap_s(const struct trace *trace, size_t i);
double trace_mean_gap_s(const struct trace *trace);

#endif
