/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - one line per thing that happened, on a file descriptor.
 *
 * Solely owns: how a log line looks ("<5>path: plane=2 ...", without "<5>" on a terminal), the
 * level, and the budgets of lines that others can trigger. In: printf-style text, topic first,
 * key=value after. Out: one write() per line, so that lines of several processes do not mix.
 * Thread: any one.
 *
 * Writing never waits for the log's reader. A line that the reader does not take is dropped and
 * counted, and the next line says how many were. A regular file takes every line.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

#include "base/token_bucket.h"

#define LOG_LINE_MAX 1024

/* Of the lines of one topic. */
struct log_budget {
	char topic[12];
	struct token_bucket bucket;
	uint64_t suppressed;
};

#define LOG_BUDGETS 16 /* more topics than these share the last one */

struct log {
	int fd;
	int level;	  /* lines of a higher number are dropped */
	bool is_terminal; /* "<5>" is for journald: a person reads this one */
	struct log_budget budgets[LOG_BUDGETS];
	uint64_t untaken; /* lines dropped since the log's reader last took one */
};

/* fd (borrowed, and for good) is written to, its flags are left as they are. */
void log_init(struct log *log, int fd, int level);
void log_line(struct log *log, int priority, const char *topic, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * As log_line(), for lines that a peer, a client or FRR can trigger: LOG_BURST at once,
 * LOG_PER_SECOND after that, of each topic: those who trigger lines of one topic cannot hide those
 * of others. The number left out is logged as soon as a line of the topic gets through.
 */
#define LOG_BURST      50
#define LOG_PER_SECOND 10
void log_limited(struct log *log, uint64_t now_ns, int priority, const char *topic,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* "debug", "info", "notice", "warning", "err" -> syslog priority; -1: none of these. */
int log_level_parse(const char *name);
const char *log_level_name(int level);

#endif
