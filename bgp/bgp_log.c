/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_log.h"

#include <stdarg.h>
#include <stdio.h>

static const struct token_rate bgp_log_rate = {.per_s = 1, .burst = 20};

void bgp_log_init(struct bgp_log *log, const struct bgp_source_handlers *handlers, void *arg)
{
	*log = (struct bgp_log){.on_log = handlers->on_log, .arg = arg};
}

void bgp_log(struct bgp_log *log, uint64_t now_ns, int priority, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	if (!token_bucket_take(&log->bucket, bgp_log_rate, now_ns)) {
		log->held_back++;
		return;
	}
	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (log->held_back > 0 && n >= 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, " held_back=%u", log->held_back);
	log->held_back = 0;
	log->on_log(log->arg, priority, line);
}
