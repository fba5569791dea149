/* SPDX-License-Identifier: BSD-2-Clause */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ONCE_WAIT_MS 100

bool notify_has_manager(void)
{
	const char *path = getenv("NOTIFY_SOCKET");

	return path && *path;
}

/* A queue that is full holds the caller for at most wait_ms. */
static int send_state(const char *state, unsigned wait_ms)
{
	struct timeval wait = {.tv_usec = (suseconds_t)wait_ms * 1000};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length;
	int fd, rc = 0;

	if (!notify_has_manager())
		return 0;
	length = strlen(path);
	if (length >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -EINVAL;
	memcpy(to.sun_path, path, length);
	if (path[0] == '@')
		to.sun_path[0] = '\0'; /* abstract */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | (wait_ms ? 0 : MSG_DONTWAIT),
		   (struct sockaddr *)&to,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int notify_send(const char *state)
{
	return send_state(state, ONCE_WAIT_MS);
}

int notify_watchdog(void)
{
	return send_state("WATCHDOG=1", 0);
}

int notify_reloading(uint64_t now_ns)
{
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(now_ns / 1000));
	return notify_send(state);
}

int notify_status(const char *format, ...)
{
	char state[256] = "STATUS=";
	size_t head = strlen(state);
	va_list ap;

	va_start(ap, format);
	vsnprintf(state + head, sizeof(state) - head, format, ap);
	va_end(ap);
	for (char *c = state + head; *c; c++)
		if (*c == '\n')
			*c = ' '; /* it would begin another assignment */
	return send_state(state, 0);
}

uint64_t notify_watchdog_ns(void)
{
	const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long usec;
	char *end;

	if (!text || !*text || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	errno = 0;
	usec = strtoull(text, &end, 10);
	if (errno || *end || usec == 0 || usec > UINT64_MAX / 1000)
		return 0;
	return usec * 1000 / 2;
}
