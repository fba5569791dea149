/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_log.h - log lines that a peer can trigger, bounded in rate.
 *
 * Owns nothing but a token bucket, embedded in its user. In: a line and the time. Out: on_log, or a
 * count of lines that were held back, in the next line that passes. One thread.
 */
#ifndef BGP_LOG_H
#define BGP_LOG_H

#include "base/token_bucket.h"
#include "bgp_source.h"

struct bgp_log {
	void (*on_log)(void *arg, int priority, const char *line);
	void *arg;
	struct token_bucket bucket;
	unsigned held_back;
};

void bgp_log_init(struct bgp_log *log, const struct bgp_source_handlers *handlers, void *arg);

/* priority as in syslog.h. Up to 20 lines at once, then one a second. */
void bgp_log(struct bgp_log *log, uint64_t now_ns, int priority, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
