/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_trace.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 0))) static void print(const struct sim_trace *trace,
							const char *format, va_list args)
{
	printf("%14.6f ms  ", (double)(trace->loop->now_ns - LOOP_START_NS) / 1e6);
	vprintf(format, args);
	putchar('\n');
}

void sim_trace_line(const struct sim_trace *trace, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(trace, format, args);
	va_end(args);
}

void sim_trace_violation(struct sim_trace *trace, const char *format, ...)
{
	va_list args;

	if (trace->is_violated && !trace->is_on)
		return;
	if (!trace->is_violated)
		printf("violation: seed %llu: ", (unsigned long long)trace->seed);
	trace->is_violated = true;
	va_start(args, format);
	print(trace, format, args);
	va_end(args);
}
