/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_trace.h - what is said of one schedule, on standard output: its violations, and its trace.
 *
 * Solely owns: whether it was violated. In: lines. Times are those of its clock, since
 * LOOP_START_NS.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

struct sim_trace {
	uint64_t seed;
	bool is_on; /* what happens is printed, and not violations alone */
	bool is_violated;
	const struct loop *loop; /* the schedule sets it */
};

void sim_trace_violation(struct sim_trace *trace, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sim_trace_line(const struct sim_trace *trace, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Of what has a pointer `trace`. A check failed: that ends the schedule. */
#define VIOLATION(s, ...) sim_trace_violation((s)->trace, __VA_ARGS__)
#define TRACE(s, ...)                                                                              \
	do {                                                                                       \
		if ((s)->trace->is_on)                                                             \
			sim_trace_line((s)->trace, __VA_ARGS__);                                   \
	} while (0)

#endif
