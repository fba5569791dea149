/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - one line per thing that happened, on a file descriptor.
 *
 * Solely owns: how a log line looks ("<5>path: plane=2 ...", without "<5>" on a terminal), the
 * level, and how many lines there are a second. In: printf-style text, topic first, key=value
 * after. Out: one write() per line, so that lines of several processes do not mix. Thread: any one.
 *
 * Whatever triggers them, of each topic and priority there are LOG_PER_SECOND lines in a second: a
 * peer, a client or FRR can fill no disk, and hides no line of another topic or priority. How many
 * were left out is logged within a second (log_flush()).
 *
 * Writing never waits for the log's reader. A line that the reader does not take is dropped and
 * counted, and the next line says how many were. A regular file takes every line.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

#define LOG_LINE_MAX 1024

#define LOG_PER_SECOND 10

/* Of the lines of one topic and priority. */
struct log_budget {
	char topic[12];
	int priority;
	uint64_t said_ns[LOG_PER_SECOND]; /* of the latest; 0: none yet */
	unsigned oldest;		  /* of them */
	uint64_t left_out;
};

#define LOG_BUDGETS 32 /* more topics and priorities than these share the last one */

struct log {
	int fd;
	int level;	  /* lines of a higher number are dropped */
	bool is_terminal; /* "<5>" is for journald: a person reads this one */
	bool is_whole;	  /* no line is left out: a program says what it has found, and ends */
	struct log_budget budgets[LOG_BUDGETS];
	uint64_t untaken; /* lines dropped since the log's reader last took one */
};

/* fd (borrowed, and for good) is written to, its flags are left as they are. */
void log_init(struct log *log, int fd, int level);
void log_line(struct log *log, int priority, const char *topic, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same, of a time that is known (CLOCK_MONOTONIC). */
void log_line_at(struct log *log, uint64_t now_ns, int priority, const char *topic,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Says how many lines were left out, of each topic and priority whose second is over. */
void log_flush(struct log *log, uint64_t now_ns);

/* "debug", "info", "notice", "warning", "err" -> syslog priority; -1: none of these. */
int log_level_parse(const char *name);
const char *log_level_name(int level);

#endif
