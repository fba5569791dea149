/* SPDX-License-Identifier: BSD-2-Clause */
#include "control_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_TIMEOUT_S 10

struct control_client {
	FILE *stream;
	char why[256];
};

/* A connection, or -errno. */
static int dial(const char *run_dir, const char *name)
{
	const struct timeval limit = {.tv_sec = REPLY_TIMEOUT_S};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", run_dir, name), fd, err;

	if (n < 0 || (size_t)n >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) { /* the first holds for connect(), too: the daemon may not accept */
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	}
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fd;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * By the operators' socket, where nobody else is in the way, if we may. A socket, or -errno with
 * why.
 */
static int connect_to(const char *run_dir, char *why, size_t why_size)
{
	int fd = dial(run_dir, "operate.sock");

	if (fd < 0)
		fd = dial(run_dir, "control.sock");
	if (fd < 0) {
		snprintf(why, why_size, "%s/control.sock: %s; %s", run_dir, strerror(-fd),
			 fd == -EACCES
				 ? "only root, fared's user and members of `group`, "
				   "`attach_group` or `operator_group` may ask (fared.yaml(5))"
				 : "is fared running, and is this its run directory (-s)?");
		return fd;
	}
	return fd;
}

int control_client_open(struct control_client **out, const char *run_dir, char *why,
			size_t why_size)
{
	int fd = connect_to(run_dir, why, why_size);
	struct control_client *c;

	if (fd < 0)
		return fd;
	c = calloc(1, sizeof(*c));
	if (c)
		c->stream = fdopen(fd, "r");
	if (!c || !c->stream) {
		snprintf(why, why_size, "out of memory");
		free(c);
		close(fd);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void control_client_close(struct control_client *c)
{
	if (c)
		fclose(c->stream);
	free(c);
}

const char *control_client_why(const struct control_client *c)
{
	return c->why;
}

static json_t *read_reply(struct control_client *c)
{
	char *line = NULL;
	json_error_t error;
	size_t size = 0;
	json_t *reply;

	errno = 0;
	if (getline(&line, &size, c->stream) < 0) {
		snprintf(c->why, sizeof(c->why), "no reply: %s",
			 errno ? strerror(errno) : "the daemon closed the connection");
		free(line);
		return NULL;
	}
	reply = json_loads(line, 0, &error);
	if (!reply)
		snprintf(c->why, sizeof(c->why), "not JSON from the daemon: %s", error.text);
	free(line);
	return reply;
}

json_t *control_client_exchange(struct control_client *c, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	const char *error;
	json_t *reply;

	if (!text) {
		snprintf(c->why, sizeof(c->why), "out of memory");
		return NULL;
	}
	/* a client that was refused has the reason waiting, though nothing can be sent any more */
	send(fileno(c->stream), text, strlen(text), MSG_NOSIGNAL);
	send(fileno(c->stream), "\n", 1, MSG_NOSIGNAL);
	free(text);
	reply = read_reply(c);
	error = json_string_value(json_object_get(reply, "error"));
	if (reply)
		snprintf(c->why, sizeof(c->why), "%s", error ? error : "refused");
	return reply;
}

json_t *control_client_ask(struct control_client *c, const json_t *request)
{
	json_t *reply = control_client_exchange(c, request);

	if (json_is_true(json_object_get(reply, "ok")))
		return reply;
	json_decref(reply);
	return NULL;
}

json_t *control_client_ask_all(struct control_client *c, json_t *request, const char *rows_key,
			       const char *cursor_key)
{
	json_t *whole = control_client_ask(c, request), *next;

	while (whole && (next = json_object_get(whole, "next_cursor")) && json_is_integer(next)) {
		json_t *more;

		json_object_set(request, cursor_key, next);
		more = control_client_ask(c, request);
		if (!more) {
			json_decref(whole);
			return NULL;
		}
		json_array_extend(json_object_get(whole, rows_key),
				  json_object_get(more, rows_key));
		json_object_set(whole, "next_cursor", json_object_get(more, "next_cursor"));
		json_decref(more);
	}
	return whole;
}

json_t *control_client_next(struct control_client *c)
{
	struct timeval forever = {0};

	setsockopt(fileno(c->stream), SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	return read_reply(c);
}
