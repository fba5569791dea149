/* SPDX-License-Identifier: BSD-2-Clause */
#include "vty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX (64u << 20)

int vty_open(struct vty *vty, const char *socket_path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval timeout = {.tv_sec = 10};
	int rc;

	*vty = (struct vty){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	if (vty->fd < 0)
		return -errno;
	if (strlen(socket_path) >= sizeof(address.sun_path)) {
		close(vty->fd);
		return -ENAMETOOLONG;
	}
	strcpy(address.sun_path, socket_path);
	if (setsockopt(vty->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ||
	    connect(vty->fd, (struct sockaddr *)&address, sizeof(address))) {
		rc = -errno;
		close(vty->fd);
		return rc;
	}
	return 0;
}

void vty_close(struct vty *vty)
{
	close(vty->fd);
	free(vty->text);
}

/* An answer ends with three zero bytes and one of status. */
static int answer_read(struct vty *vty)
{
	size_t n = 0;

	for (;;) {
		ssize_t got;

		if (n + 4096 > vty->capacity) {
			size_t capacity = vty->capacity ? 2 * vty->capacity : 16384;
			char *more = capacity > ANSWER_MAX ? NULL : realloc(vty->text, capacity);

			if (!more)
				return -ENOMEM;
			vty->text = more;
			vty->capacity = capacity;
		}
		got = recv(vty->fd, vty->text + n, vty->capacity - n - 1, 0);
		if (got <= 0)
			return got == 0 ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
		n += (size_t)got;
		if (n >= 4 && !memcmp(vty->text + n - 4, "\0\0\0", 3)) {
			char status = vty->text[n - 1];

			vty->text[n - 4] = '\0';
			return status ? -EPROTO : 0;
		}
	}
}

int vty_ask(struct vty *vty, const char *command)
{
	size_t n = strlen(command) + 1;

	if (send(vty->fd, command, n, MSG_NOSIGNAL) != (ssize_t)n)
		return errno ? -errno : -EIO;
	return answer_read(vty);
}

int vty_ask_json(struct vty *vty, const char *command, json_t **out)
{
	int rc = vty_ask(vty, command);

	if (rc)
		return rc;
	*out = json_loads(vty->text, 0, NULL);
	return *out ? 0 : -EBADMSG;
}
