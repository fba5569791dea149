/* links: bench_core; parses: bench/workload/custom.c bench/workload/trace.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_workload.c - a workload's file and a trace of requests: the first byte chooses. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "workload/custom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	char error[512];
	struct trace trace;

	if (size == 0)
		return 0;
	if (data[0] & 1) {
		custom_check("f", text, size - 1, error, sizeof(error));
		return 0;
	}
	if (trace_parse(&trace, "f", text, size - 1, error, sizeof(error)))
		return 0;
	for (size_t i = 0; i < trace.n; i++)
		if (trace_gap_s(&trace, i) < 0 || trace.request[i].prompt > trace.longest_prompt)
			abort();
	for (size_t i = 0; i < trace.n; i++)
		if (trace.request[i].n_blocks > trace.n_blocks - trace.request[i].first_block)
			abort();
	trace_scale(&trace, 0.01);
	trace_fini(&trace);
	return 0;
}
