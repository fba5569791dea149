/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/rendezvous.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/decimal.h"

struct rendezvous {
	int fd;
	char *line; /* used bytes, not terminated */
	size_t used, room;
	size_t seen; /* bytes known to hold no newline */
	size_t max_line;
};

static int rendezvous_unix(const char *path, bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (listening ? bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 128)
		      : connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int rendezvous_one(const struct addrinfo *info, bool listening)
{
	int one = 1,
	    fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC, info->ai_protocol);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listening ? bind(fd, info->ai_addr, info->ai_addrlen) || listen(fd, 128)
		      : connect(fd, info->ai_addr, info->ai_addrlen)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int rendezvous_tcp(const char *address, bool listening)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	const char *colon = strrchr(address, ':');
	char host[256];
	size_t length;
	int fd = -EADDRNOTAVAIL;

	if (!colon || colon == address)
		return -EINVAL;
	length = (size_t)(colon - address);
	if (*address == '[' && colon[-1] == ']') {
		address++;
		length -= 2;
	}
	if (length >= sizeof(host))
		return -ENAMETOOLONG;
	memcpy(host, address, length);
	host[length] = '\0';
	if (getaddrinfo(host, colon + 1, &hints, &list))
		return -EADDRNOTAVAIL;
	for (struct addrinfo *info = list; info && fd < 0; info = info->ai_next)
		fd = rendezvous_one(info, listening);
	freeaddrinfo(list);
	return fd;
}

static int rendezvous_socket(const char *address, bool listening)
{
	if (strncmp(address, "unix:", 5) == 0)
		return rendezvous_unix(address + 5, listening);
	return *address == '/' ? rendezvous_unix(address, listening)
			       : rendezvous_tcp(address, listening);
}

int rendezvous_listen(const char *address)
{
	return rendezvous_socket(address, true);
}

int rendezvous_connect(const char *address)
{
	double fd;

	if (strncmp(address, "fd:", 3) == 0)
		return decimal_parse(address + 3, strlen(address + 3), true, &fd) && fd <= INT_MAX
			       ? (int)fd
			       : -EINVAL;
	return rendezvous_socket(address, false);
}

int rendezvous_create(struct rendezvous **out, int fd)
{
	*out = calloc(1, sizeof(**out));
	if (!*out) {
		close(fd);
		return -ENOMEM;
	}
	(*out)->fd = fd;
	(*out)->max_line = RENDEZVOUS_MAX_LINE;
	return 0;
}

void rendezvous_destroy(struct rendezvous *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r->line);
	free(r);
}

int rendezvous_fd(const struct rendezvous *r)
{
	return r->fd;
}

void rendezvous_limit(struct rendezvous *r, size_t bytes)
{
	r->max_line = bytes;
}

int rendezvous_release(struct rendezvous *r)
{
	int fd = r->fd;

	if (r->used)
		return -EBUSY;
	r->fd = -1;
	rendezvous_destroy(r);
	return fd;
}

static int rendezvous_write(int fd, const char *at, size_t left)
{
	while (left) {
		ssize_t n = send(fd, at, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

int rendezvous_send(struct rendezvous *r, const json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	size_t length;
	int err;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	text[length++] = '\n'; /* in the terminator's place */
	err = length > RENDEZVOUS_MAX_LINE ? -EMSGSIZE : rendezvous_write(r->fd, text, length);
	free(text);
	return err;
}

int rendezvous_feed(struct rendezvous *r, const void *bytes, size_t n)
{
	if (r->used + n > r->room) {
		size_t room = r->room ? r->room : 4096;
		char *grown;

		while (room < r->used + n)
			room *= 2;
		grown = realloc(r->line, room);
		if (!grown)
			return -ENOMEM;
		r->line = grown;
		r->room = room;
	}
	if (n)
		memcpy(r->line + r->used, bytes, n);
	r->used += n;
	return 0;
}

int rendezvous_fill(struct rendezvous *r)
{
	char bytes[16384];

	/* one line too long is enough to know: what follows stays in the socket */
	while (r->used <= r->max_line) {
		ssize_t n = recv(r->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		int err;

		if (n == 0)
			return -EPIPE;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -EPIPE;
		err = rendezvous_feed(r, bytes, (size_t)n);
		if (err)
			return err;
	}
	return 0;
}

int rendezvous_next(struct rendezvous *r, json_t **out)
{
	char *newline =
		r->used > r->seen ? memchr(r->line + r->seen, '\n', r->used - r->seen) : NULL;
	size_t length;

	if (!newline) {
		r->seen = r->used;
		return r->used >= r->max_line ? -EMSGSIZE : 0;
	}
	length = (size_t)(newline - r->line);
	if (length >= r->max_line)
		return -EMSGSIZE;
	*out = json_loadb(r->line, length, JSON_REJECT_DUPLICATES, NULL);
	memmove(r->line, newline + 1, r->used - length - 1);
	r->used -= length + 1;
	r->seen = 0;
	if (!json_is_object(*out)) {
		json_decref(*out);
		*out = NULL;
		return -EBADMSG;
	}
	return 1;
}

int rendezvous_receive(struct rendezvous *r, int timeout_ms, json_t **out)
{
	int64_t deadline = clock_now_ms() + timeout_ms;

	for (;;) {
		struct pollfd poller = {.fd = r->fd, .events = POLLIN};
		int64_t left = deadline - clock_now_ms();
		int got = rendezvous_next(r, out);

		if (got)
			return got < 0 ? got : 0;
		if (left < 0)
			return -ETIMEDOUT;
		if (poll(&poller, 1, (int)left) <= 0)
			continue;
		got = rendezvous_fill(r);
		if (got && rendezvous_next(r, out) <= 0)
			return got;
		if (got)
			return 0;
	}
}
