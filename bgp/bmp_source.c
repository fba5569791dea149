#include "bmp_source.h"

#include <errno.h>
#include <ev.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bmp_station.h"

enum {
	READ_BYTES = 64 * 1024,
	READS_PER_WAKE =
		16, /* then commit and let the loop serve others: the initial table may be large */
};
#define RECONNECT_FIRST_S 0.1
#define RECONNECT_CAP_S	  5.0
#define CONNECT_TIMEOUT_S 3.0
#define HEALTHY_NS	  5000000000ull /* a connection that lived this long was no failed attempt */

struct bmp_source {
	struct ev_loop *loop;
	struct sockaddr_storage address;
	socklen_t address_bytes;
	struct bmp_station *station;
	int fd; /* -1: none */
	bool connected;
	uint64_t connected_ns;
	double backoff_s;
	ev_io io;
	ev_timer attempt;  /* the next attempt to connect, or the end of the present one */
	ev_timer deadline; /* bmp_station_tick() */
	uint8_t buffer[READ_BYTES];
};

static uint64_t bmp_source_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Ends every wake: tells what changed, and sets the timer by what the station now waits for. */
static void bmp_source_settle(struct bmp_source *s)
{
	uint64_t deadline_ns, now_ns = bmp_source_now_ns();

	bmp_station_commit(s->station);
	deadline_ns = bmp_station_deadline_ns(s->station);
	ev_timer_stop(s->loop, &s->deadline);
	if (deadline_ns == BMP_STATION_NEVER)
		return;
	ev_timer_set(&s->deadline,
		     deadline_ns > now_ns ? (double)(deadline_ns - now_ns) / 1e9 + 1e-4 : 0.0, 0.0);
	ev_now_update(
		s->loop); /* the relative time above is from now, not from when the loop woke */
	ev_timer_start(s->loop, &s->deadline);
}

static void bmp_source_arm_attempt(struct bmp_source *s, double after_s)
{
	ev_timer_stop(s->loop, &s->attempt);
	ev_timer_set(&s->attempt, after_s, 0.0);
	ev_timer_start(s->loop, &s->attempt);
}

static void bmp_source_close(struct bmp_source *s)
{
	ev_io_stop(s->loop, &s->io);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->connected = false;
}

/* The connection, or the attempt at one, is over: tells the station and tries again later. */
static void bmp_source_retry(struct bmp_source *s, const char *reason)
{
	uint64_t now_ns = bmp_source_now_ns();

	if (s->connected && now_ns - s->connected_ns > HEALTHY_NS)
		s->backoff_s = RECONNECT_FIRST_S;
	bmp_source_close(s);
	bmp_station_lost(s->station, reason, now_ns);
	bmp_source_arm_attempt(s, s->backoff_s);
	s->backoff_s = s->backoff_s * 2 < RECONNECT_CAP_S ? s->backoff_s * 2 : RECONNECT_CAP_S;
	bmp_source_settle(s);
}

static void bmp_source_retry_errno(struct bmp_source *s, const char *what, int error)
{
	char reason[96];

	snprintf(reason, sizeof(reason), "%s: %s", what, strerror(error));
	bmp_source_retry(s, reason);
}

static void bmp_source_on_connected(struct bmp_source *s)
{
	socklen_t length = sizeof(int);
	int error = 0;

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	if (error) {
		bmp_source_retry_errno(s, "connecting to bgpd", error);
		return;
	}
	s->connected = true;
	s->connected_ns = bmp_source_now_ns();
	ev_timer_stop(s->loop, &s->attempt);
	ev_io_stop(s->loop, &s->io);
	ev_io_set(&s->io, s->fd, EV_READ);
	ev_io_start(s->loop, &s->io);
	bmp_station_connected(s->station, s->connected_ns);
	bmp_source_settle(s);
}

static void bmp_source_on_readable(struct bmp_source *s)
{
	const char *reason = NULL;
	ssize_t n;

	for (int i = 0; i < READS_PER_WAKE; i++) {
		n = recv(s->fd, s->buffer, sizeof(s->buffer), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			bmp_source_retry_errno(s, "reading from bgpd", errno);
			return;
		}
		if (n == 0) {
			bmp_source_retry(s, "bgpd closed the BMP connection");
			return;
		}
		if (bmp_station_receive(s->station, s->buffer, (size_t)n, bmp_source_now_ns(),
					&reason)) {
			bmp_source_retry(s, reason);
			return;
		}
		if ((size_t)n < sizeof(s->buffer))
			break;
	}
	bmp_source_settle(s);
}

static void bmp_source_on_io(struct ev_loop *loop, ev_io *io, int events)
{
	struct bmp_source *s = io->data;

	(void)loop;
	(void)events;
	if (s->connected)
		bmp_source_on_readable(s);
	else
		bmp_source_on_connected(s);
}

static void bmp_source_connect(struct bmp_source *s)
{
	int on = 1;

	s->fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0) {
		bmp_source_retry_errno(s, "socket", errno);
		return;
	}
	/* best effort: finds out about a host that vanished without a word, if bgpd is not local */
	setsockopt(s->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(s->fd, (const struct sockaddr *)&s->address, s->address_bytes) &&
	    errno != EINPROGRESS) {
		bmp_source_retry_errno(s, "connecting to bgpd", errno);
		return;
	}
	ev_io_set(&s->io, s->fd, EV_WRITE);
	ev_io_start(s->loop, &s->io);
	bmp_source_arm_attempt(s, CONNECT_TIMEOUT_S);
}

static void bmp_source_on_attempt(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct bmp_source *s = timer->data;

	(void)loop;
	(void)events;
	if (s->fd >= 0)
		bmp_source_retry(s, "connecting to bgpd: no answer");
	else
		bmp_source_connect(s);
}

static void bmp_source_on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct bmp_source *s = timer->data;

	(void)loop;
	(void)events;
	bmp_station_tick(s->station, bmp_source_now_ns());
	bmp_source_settle(s);
}

int bmp_source_create(struct bmp_source **out, struct ev_loop *loop,
		      const struct sockaddr_storage *address, uint64_t stale_ns,
		      const struct bgp_source_config *config,
		      const struct bgp_source_handlers *handlers, void *arg)
{
	struct bmp_source *s;
	int err;

	*out = NULL;
	if (address->ss_family != AF_INET && address->ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = bmp_station_create(&s->station, stale_ns, config, handlers, arg);
	if (err) {
		free(s);
		return err;
	}
	s->loop = loop;
	s->address = *address;
	s->address_bytes = address->ss_family == AF_INET ? sizeof(struct sockaddr_in)
							 : sizeof(struct sockaddr_in6);
	s->fd = -1;
	s->backoff_s = RECONNECT_FIRST_S;
	ev_init(&s->io, bmp_source_on_io);
	ev_init(&s->attempt, bmp_source_on_attempt);
	ev_init(&s->deadline, bmp_source_on_deadline);
	s->io.data = s->attempt.data = s->deadline.data = s;
	bmp_source_arm_attempt(s, 0.0);
	*out = s;
	return 0;
}

void bmp_source_destroy(struct bmp_source *s)
{
	if (!s)
		return;
	bmp_source_close(s);
	ev_timer_stop(s->loop, &s->attempt);
	ev_timer_stop(s->loop, &s->deadline);
	bmp_station_destroy(s->station);
	free(s);
}
