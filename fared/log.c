/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define LOG_SECOND_NS UINT64_C(1000000000)

/*
 * Opens a pipe or a terminal once more: O_NONBLOCK on stderr itself would be set for all processes
 * that share it. If it cannot be opened (another user's pipe, no /proc), fd itself is used.
 */
static int open_nonblocking(int fd)
{
	char path[32];
	struct stat st;
	int own;

	if (fstat(fd, &st) || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own < 0 ? fd : own;
}

void log_init(struct log *log, int fd, int level)
{
	*log = (struct log){.fd = open_nonblocking(fd), .level = level, .is_terminal = isatty(fd)};
}

/* false: the reader does not take it now. A line is shorter than what poll() promises room for. */
static bool take_line(int fd, const char *line, size_t length)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	ssize_t n = send(fd, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK && poll(&p, 1, 0) == 1)
		n = write(fd, line, length);
	return n >= 0;
}

static void put_line(struct log *log, const char *line)
{
	char note[100];

	if (log->untaken) {
		snprintf(note, sizeof(note),
			 "%slog: lines dropped, the log's reader is slow n=%llu\n",
			 log->is_terminal ? "" : "<4>", (unsigned long long)log->untaken);
		if (take_line(log->fd, note, strlen(note)))
			log->untaken = 0;
	}
	if (log->untaken || !take_line(log->fd, line, strlen(line)))
		log->untaken++;
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
	put_line(log, line);
}

__attribute__((format(printf, 4, 5))) static void
log_note(struct log *log, int priority, const char *topic, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	emit(log, priority, topic, format, ap);
	va_end(ap);
}

static struct log_budget *budget_of(struct log *log, const char *topic, int priority)
{
	struct log_budget *b = log->budgets;

	while (b->topic[0] && (b->priority != priority || strcmp(b->topic, topic) != 0) &&
	       b < &log->budgets[LOG_BUDGETS - 1])
		b++;
	if (!b->topic[0]) {
		snprintf(b->topic, sizeof(b->topic), "%s", topic);
		b->priority = priority;
	}
	return b;
}

/* Fewer than LOG_PER_SECOND in the second before now. */
static bool log_has_room(const struct log_budget *b, uint64_t now_ns)
{
	return !b->said_ns[b->oldest] || now_ns >= b->said_ns[b->oldest] + LOG_SECOND_NS;
}

static void log_left_out(struct log *log, struct log_budget *b)
{
	if (b->left_out)
		log_note(log, b->priority, "log",
			 "lines left out by the rate limit topic=%s n=%llu", b->topic,
			 (unsigned long long)b->left_out);
	b->left_out = 0;
}

__attribute__((format(printf, 5, 0))) static void log_within(struct log *log, uint64_t now_ns,
							     int priority, const char *topic,
							     const char *format, va_list ap)
{
	struct log_budget *b = budget_of(log, topic, priority);

	if (!log->is_whole && !log_has_room(b, now_ns)) {
		b->left_out++;
		return;
	}
	log_left_out(log, b);
	b->said_ns[b->oldest] = now_ns;
	b->oldest = (b->oldest + 1) % LOG_PER_SECOND;
	emit(log, priority, topic, format, ap);
}

void log_line(struct log *log, int priority, const char *topic, const char *format, ...)
{
	va_list ap;

	if (priority > log->level)
		return;
	va_start(ap, format);
	log_within(log, clock_now_ns(), priority, topic, format, ap);
	va_end(ap);
}

void log_line_at(struct log *log, uint64_t now_ns, int priority, const char *topic,
		 const char *format, ...)
{
	va_list ap;

	if (priority > log->level)
		return;
	va_start(ap, format);
	log_within(log, now_ns, priority, topic, format, ap);
	va_end(ap);
}

void log_flush(struct log *log, uint64_t now_ns)
{
	for (struct log_budget *b = log->budgets; b < &log->budgets[LOG_BUDGETS] && b->topic[0];
	     b++)
		if (b->left_out && log_has_room(b, now_ns))
			log_left_out(log, b);
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
