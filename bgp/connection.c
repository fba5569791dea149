/* SPDX-License-Identifier: BSD-2-Clause */
#include "connection.h"

#include <errno.h>
#include <ev.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	READ_BYTES = 64 * 1024,
	/* then settle and let the loop serve others: 128 KiB of routes take 2 to 3 ms */
	READS_PER_WAKE = 2,
};
#define RECONNECT_FIRST_S 0.1
#define RECONNECT_CAP_S	  5.0
#define CONNECT_TIMEOUT_S 3.0
#define HEALTHY_NS	  5000000000ull

struct connection {
	struct ev_loop *loop;
	struct sockaddr_storage address;
	socklen_t address_bytes;
	const char *name;
	struct connection_handlers handlers;
	void *arg;
	int fd; /* -1: none */
	bool connected;
	uint64_t connected_ns;
	double backoff_s;
	ev_io io;
	/* the next attempt to connect, or the end of the present one, or of silence after it */
	ev_timer attempt;
	ev_timer deadline; /* what settle() asked for */
	uint8_t buffer[READ_BYTES];
};

static void connection_settle(struct connection *c)
{
	uint64_t deadline_ns = c->handlers.settle ? c->handlers.settle(c->arg) : CONNECTION_NEVER,
		 now_ns = clock_now_ns();

	ev_timer_stop(c->loop, &c->deadline);
	if (deadline_ns == CONNECTION_NEVER)
		return;
	ev_timer_set(&c->deadline,
		     deadline_ns > now_ns ? (double)(deadline_ns - now_ns) / 1e9 + 1e-4 : 0.0, 0.0);
	ev_now_update(
		c->loop); /* the relative time above is from now, not from when the loop woke */
	ev_timer_start(c->loop, &c->deadline);
}

static void connection_arm_attempt(struct connection *c, double after_s)
{
	ev_timer_stop(c->loop, &c->attempt);
	ev_timer_set(&c->attempt, after_s, 0.0);
	ev_timer_start(c->loop, &c->attempt);
}

static void connection_close(struct connection *c)
{
	ev_io_stop(c->loop, &c->io);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->connected = false;
}

/* The connection, or the attempt at one, is over: says so and tries again later. */
static void connection_retry(struct connection *c, const char *reason)
{
	uint64_t now_ns = clock_now_ns();

	if (c->connected && now_ns - c->connected_ns > HEALTHY_NS)
		c->backoff_s = RECONNECT_FIRST_S;
	connection_close(c);
	c->handlers.on_lost(c->arg, reason, now_ns);
	connection_arm_attempt(c, c->backoff_s);
	c->backoff_s = c->backoff_s * 2 < RECONNECT_CAP_S ? c->backoff_s * 2 : RECONNECT_CAP_S;
	connection_settle(c);
}

/* "connecting to bgpd: Connection refused" */
static void connection_retry_because(struct connection *c, const char *what, const char *why)
{
	char reason[128];

	snprintf(reason, sizeof(reason), "%s %s: %s", what, c->name, why);
	connection_retry(c, reason);
}

static void connection_on_connected(struct connection *c)
{
	socklen_t length = sizeof(int);
	int error = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	if (!error)
		error = -c->handlers.on_connected(c->arg, c->fd, clock_now_ns());
	if (error) {
		connection_retry_because(c, "connecting to", strerror(error));
		return;
	}
	c->connected = true;
	c->connected_ns = clock_now_ns();
	ev_timer_stop(c->loop, &c->attempt);
	if (c->handlers.silent_s > 0)
		connection_arm_attempt(c, c->handlers.silent_s);
	ev_io_stop(c->loop, &c->io);
	ev_io_set(&c->io, c->fd, EV_READ);
	ev_io_start(c->loop, &c->io);
	connection_settle(c);
}

static void connection_on_readable(struct connection *c)
{
	const char *reason = NULL;
	ssize_t n;

	for (int i = 0; i < READS_PER_WAKE; i++) {
		n = recv(c->fd, c->buffer, sizeof(c->buffer), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			connection_retry_because(c, "reading from",
						 n ? strerror(errno) : "it closed the connection");
			return;
		}
		ev_timer_stop(c->loop, &c->attempt);
		if (c->handlers.on_bytes &&
		    c->handlers.on_bytes(c->arg, c->buffer, (size_t)n, clock_now_ns(), &reason)) {
			connection_retry(c, reason);
			return;
		}
		if ((size_t)n < sizeof(c->buffer))
			break;
	}
	connection_settle(c);
}

static void connection_on_io(struct ev_loop *loop, ev_io *io, int events)
{
	struct connection *c = io->data;

	(void)loop;
	(void)events;
	if (c->connected)
		connection_on_readable(c);
	else
		connection_on_connected(c);
}

static void connection_connect(struct connection *c)
{
	int on = 1;

	c->fd = socket(c->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0) {
		connection_retry_because(c, "connecting to", strerror(errno));
		return;
	}
	/* best effort: finds out about a host that vanished without a packet, if the daemon is not
	 * local */
	setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(c->fd, (const struct sockaddr *)&c->address, c->address_bytes) &&
	    errno != EINPROGRESS) {
		connection_retry_because(c, "connecting to", strerror(errno));
		return;
	}
	ev_io_set(&c->io, c->fd, EV_WRITE);
	ev_io_start(c->loop, &c->io);
	connection_arm_attempt(c, CONNECT_TIMEOUT_S);
}

static void connection_on_attempt(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct connection *c = timer->data;

	(void)loop;
	(void)events;
	if (c->connected)
		connection_retry_because(c, "reading from", "it says nothing");
	else if (c->fd >= 0)
		connection_retry_because(c, "connecting to", "no answer");
	else
		connection_connect(c);
}

static void connection_on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct connection *c = timer->data;

	(void)loop;
	(void)events;
	c->handlers.on_tick(c->arg, clock_now_ns());
	connection_settle(c);
}

int connection_create(struct connection **out, struct ev_loop *loop, const struct sockaddr *address,
		      socklen_t address_bytes, const char *name,
		      const struct connection_handlers *handlers, void *arg)
{
	struct connection *c;

	*out = NULL;
	if (address_bytes > sizeof(c->address))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->loop = loop;
	memcpy(&c->address, address, address_bytes);
	c->address_bytes = address_bytes;
	c->name = name;
	c->handlers = *handlers;
	c->arg = arg;
	c->fd = -1;
	c->backoff_s = RECONNECT_FIRST_S;
	ev_init(&c->io, connection_on_io);
	ev_init(&c->attempt, connection_on_attempt);
	ev_init(&c->deadline, connection_on_deadline);
	c->io.data = c->attempt.data = c->deadline.data = c;
	connection_arm_attempt(c, 0.0);
	*out = c;
	return 0;
}

void connection_destroy(struct connection *c)
{
	if (!c)
		return;
	connection_close(c);
	ev_timer_stop(c->loop, &c->attempt);
	ev_timer_stop(c->loop, &c->deadline);
	free(c);
}
