/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * custom.h - a workload of one's own, from a file: models (CFG-E) and expert configurations (M5)
 * beside those of the draft, and a trace of requests.
 *
 * YAML: a mapping with any of
 *	models: [{name, layers, kv_heads, head_dim, element_bytes, prefill_base_ms,
 *		prefill_tokens_per_s, step_ms}]
 *	experts: [{name, experts, top_k, hidden}]
 *	trace: FILE, relative to this file (trace.h)
 *	trace_tokens: N, its prompts, outputs and blocks are N times as long (1)
 *	prompts, outputs: {law: fixed, uniform or zipf, min, max, alpha}, in tokens
 *	burst: N, requests arrive N at once, by Poisson's law; neither beside a trace
 *
 * Owns: what was read, until custom_fini(). While it is in force, model_find() and
 * moe_config_find() know its names. Thread: the coordinator's; one at a time.
 */
#ifndef CUSTOM_H
#define CUSTOM_H

#include <stddef.h>

#include "workload/lengths.h"
#include "workload/model.h"
#include "workload/trace.h"

#define CUSTOM_MAX_BYTES 1000000

/* Puts the file in force. -errno, after saying on stderr which line is wrong. */
int custom_load(const char *path);
void custom_fini(void);
/* The trace in force; NULL: none. */
const struct trace *custom_trace(void);

/* Puts the file's laws and bursts in place of those given; what it does not name stays. */
void custom_requests(struct lengths *prompt, struct lengths *output, unsigned *burst);

/* Parses alone, and frees: for tests and fuzzing. error says "name:line: key: what". */
int custom_check(const char *name, const char *text, size_t length, char *error, size_t error_size);

#endif
