/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - see log.h */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void log_init(struct log *log, int fd, int level)
{
	*log = (struct log){
		.fd = fd, .level = level, .is_terminal = isatty(fd), .tokens = LOG_BURST};
}

/* Text from outside may hold anything: a line stays one line, and printable. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

__attribute__((format(printf, 4, 0))) static void
emit(struct log *log, int priority, const char *topic, const char *format, va_list ap)
{
	char line[LOG_LINE_MAX];
	int head = 0, body;
	ssize_t written;

	if (!log->is_terminal)
		head = snprintf(line, sizeof(line), "<%d>", priority);
	head += snprintf(line + head, sizeof(line) - (size_t)head, "%s: ", topic);
	if ((size_t)head >= sizeof(line) - 1)
		return;
	body = vsnprintf(line + head, sizeof(line) - 1 - (size_t)head, format, ap);
	if (body < 0)
		return;
	clean(line);
	strcat(line, "\n"); /* the size given to vsnprintf left room for it */
	written = write(log->fd, line, strlen(line));
	(void)written; /* nowhere left to complain */
}

void log_line(struct log *log, int priority, const char *topic, const char *format, ...)
{
	va_list ap;

	if (priority > log->level)
		return;
	va_start(ap, format);
	emit(log, priority, topic, format, ap);
	va_end(ap);
}

void log_limited(struct log *log, uint64_t now_ns, int priority, const char *topic,
		 const char *format, ...)
{
	va_list ap;

	if (priority > log->level)
		return;
	if (now_ns > log->token_ns) {
		log->tokens += (double)(now_ns - log->token_ns) * 1e-9 * LOG_PER_SECOND;
		log->token_ns = now_ns;
	}
	if (log->tokens > LOG_BURST)
		log->tokens = LOG_BURST;
	if (log->tokens < 1) {
		log->suppressed++;
		return;
	}
	log->tokens--;
	if (log->suppressed) {
		log_line(log, LOG_WARNING, "log", "lines left out by the rate limit n=%llu",
			 (unsigned long long)log->suppressed);
		log->suppressed = 0;
	}
	va_start(ap, format);
	emit(log, priority, topic, format, ap);
	va_end(ap);
}

static const struct {
	const char *name;
	int level;
} levels[] = {
	{"debug", LOG_DEBUG},	  {"info", LOG_INFO}, {"notice", LOG_NOTICE},
	{"warning", LOG_WARNING}, {"err", LOG_ERR},
};

int log_level_parse(const char *name)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(levels[i].name, name))
			return levels[i].level;
	return -1;
}

const char *log_level_name(int level)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "?";
}
