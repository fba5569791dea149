#include "zapi_source.h"

#include <errno.h>
#include <ev.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "zapi_station.h"

enum { READ_BYTES = 64 * 1024, READS_PER_WAKE = 16 };
#define RECONNECT_FIRST_S 0.1
#define RECONNECT_CAP_S	  5.0

struct zapi_source {
	struct ev_loop *loop;
	struct sockaddr_un address;
	struct zapi_layout layout;
	const struct bgp_source_config *config;
	struct zapi_station *station;
	int fd; /* -1: none */
	double backoff_s;
	ev_io io;
	ev_timer attempt;
	ev_timer deadline;
	uint8_t buffer[READ_BYTES];
};

static uint64_t zapi_source_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* ---- which neighbour is on which link ---- */

/* The bytes of an IPv4 or IPv6 socket address, and how many; NULL for another family. */
static const uint8_t *zapi_source_bytes(const struct sockaddr *sa, size_t *out_n)
{
	if (!sa)
		return NULL;
	if (sa->sa_family == AF_INET) {
		*out_n = 4;
		return (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr;
	}
	if (sa->sa_family == AF_INET6) {
		*out_n = 16;
		return ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr;
	}
	return NULL;
}

/* Whether neighbour shares the subnet of that interface address. */
static bool zapi_source_same_subnet(const struct ifaddrs *a, const struct in6_addr *neighbor)
{
	const uint8_t *address, *mask, *theirs;
	size_t n = 0, mask_n = 0;

	address = zapi_source_bytes(a->ifa_addr, &n);
	mask = zapi_source_bytes(a->ifa_netmask, &mask_n);
	if (!address || !mask || n != mask_n || (n == 4) != !!IN6_IS_ADDR_V4MAPPED(neighbor))
		return false;
	theirs = neighbor->s6_addr + 16 - n;
	for (size_t i = 0; i < n; i++)
		if ((address[i] ^ theirs[i]) & mask[i])
			return false;
	return true;
}

static bool zapi_source_on_link(void *arg, uint32_t ifindex, unsigned neighbor)
{
	struct zapi_source *s = arg;
	struct ifaddrs *all, *a;
	char name[IF_NAMESIZE];
	bool found = false;

	if (!if_indextoname(ifindex, name) || getifaddrs(&all))
		return false;
	for (a = all; a && !found; a = a->ifa_next)
		found = strcmp(a->ifa_name, name) == 0 &&
			zapi_source_same_subnet(a, &s->config->neighbors[neighbor].address);
	freeifaddrs(all);
	return found;
}

/* ---- the connection ---- */

static void zapi_source_settle(struct zapi_source *s)
{
	uint64_t deadline_ns, now_ns = zapi_source_now_ns();

	zapi_station_commit(s->station);
	deadline_ns = zapi_station_deadline_ns(s->station);
	ev_timer_stop(s->loop, &s->deadline);
	if (deadline_ns == ZAPI_STATION_NEVER)
		return;
	ev_timer_set(&s->deadline,
		     deadline_ns > now_ns ? (double)(deadline_ns - now_ns) / 1e9 + 1e-4 : 0.0, 0.0);
	ev_now_update(s->loop);
	ev_timer_start(s->loop, &s->deadline);
}

static void zapi_source_close(struct zapi_source *s)
{
	ev_io_stop(s->loop, &s->io);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void zapi_source_retry(struct zapi_source *s, const char *reason)
{
	zapi_source_close(s);
	zapi_station_lost(s->station, reason);
	ev_timer_stop(s->loop, &s->attempt);
	ev_timer_set(&s->attempt, s->backoff_s, 0.0);
	ev_timer_start(s->loop, &s->attempt);
	s->backoff_s = s->backoff_s * 2 < RECONNECT_CAP_S ? s->backoff_s * 2 : RECONNECT_CAP_S;
	zapi_source_settle(s);
}

static void zapi_source_retry_errno(struct zapi_source *s, const char *what)
{
	char reason[96];

	snprintf(reason, sizeof(reason), "%s: %s", what, strerror(errno));
	zapi_source_retry(s, reason);
}

/* Says who we are and what we want to hear. All of it fits any socket buffer: a short write is a
 * failure. */
static int zapi_source_greet(struct zapi_source *s)
{
	uint8_t out[3 * ZAPI_PARSE_MAX_WRITE];
	size_t n = zapi_write_hello(&s->layout, out);

	n += zapi_write_redistribute(&s->layout, BGP_FAMILY_IPV4, out + n);
	n += zapi_write_redistribute(&s->layout, BGP_FAMILY_IPV6, out + n);
	return send(s->fd, out, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

static void zapi_source_on_attempt(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct zapi_source *s = timer->data;

	(void)loop;
	(void)events;
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || connect(s->fd, (const struct sockaddr *)&s->address, sizeof(s->address)) ||
	    zapi_source_greet(s)) {
		zapi_source_retry_errno(s, "connecting to zebra");
		return;
	}
	ev_io_set(&s->io, s->fd, EV_READ);
	ev_io_start(s->loop, &s->io);
	zapi_station_connected(s->station, zapi_source_now_ns());
	zapi_source_settle(s);
}

static void zapi_source_on_io(struct ev_loop *loop, ev_io *io, int events)
{
	struct zapi_source *s = io->data;
	const char *reason = NULL;
	ssize_t n;

	(void)loop;
	(void)events;
	for (int i = 0; i < READS_PER_WAKE; i++) {
		n = recv(s->fd, s->buffer, sizeof(s->buffer), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			zapi_source_retry_errno(s, "reading from zebra");
			return;
		}
		if (n == 0) {
			zapi_source_retry(s, "zebra closed the connection");
			return;
		}
		if (zapi_station_receive(s->station, s->buffer, (size_t)n, zapi_source_now_ns(),
					 &reason)) {
			zapi_source_retry(s, reason);
			return;
		}
		if ((size_t)n < sizeof(s->buffer))
			break;
	}
	zapi_source_settle(s);
}

static void zapi_source_on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct zapi_source *s = timer->data;

	(void)loop;
	(void)events;
	zapi_station_tick(s->station, zapi_source_now_ns());
	s->backoff_s = RECONNECT_FIRST_S; /* it spoke zapi until its table was through */
	zapi_source_settle(s);
}

/* ---- life ---- */

/* What the installed zebra says of its version; the daemon itself tells nobody over its socket. */
static int zapi_source_ask_version(char *out, size_t size)
{
	FILE *f = popen("/usr/lib/frr/zebra --version 2>/dev/null", "re");
	bool got;

	if (!f)
		return -errno;
	got = fgets(out, (int)size, f) != NULL;
	pclose(f);
	return got ? 0 : -EPROTONOSUPPORT;
}

static int zapi_source_layout(struct zapi_layout *out, const char *frr_version,
			      const struct bgp_source_handlers *handlers, void *arg)
{
	char asked[128] = "", line[256];

	if (!frr_version) {
		if (zapi_source_ask_version(asked, sizeof(asked)) == 0)
			asked[strcspn(asked, "\r\n")] = '\0';
		frr_version = asked;
	}
	if (zapi_parse_version(frr_version, out) == 0)
		return 0;
	snprintf(line, sizeof(line),
		 "zapi: FRR version \"%.100s\" is not known (8.4 to 10.x are): set frr_version",
		 frr_version);
	handlers->on_log(arg, LOG_ERR, line);
	return -EPROTONOSUPPORT;
}

int zapi_source_create(struct zapi_source **out, struct ev_loop *loop, const char *path,
		       const char *frr_version, const struct bgp_source_config *config,
		       const struct bgp_source_handlers *handlers, void *arg)
{
	struct zapi_source *s;
	int err;

	*out = NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = strlen(path) < sizeof(s->address.sun_path) ? 0 : -ENAMETOOLONG;
	if (!err)
		err = zapi_source_layout(&s->layout, frr_version, handlers, arg);
	if (!err)
		err = zapi_station_create(&s->station, &s->layout, config, handlers, arg,
					  zapi_source_on_link, s);
	if (err) {
		free(s);
		return err;
	}
	s->address.sun_family = AF_UNIX;
	snprintf(s->address.sun_path, sizeof(s->address.sun_path), "%s", path);
	s->loop = loop;
	s->config = config;
	s->fd = -1;
	s->backoff_s = RECONNECT_FIRST_S;
	ev_init(&s->io, zapi_source_on_io);
	ev_init(&s->attempt, zapi_source_on_attempt);
	ev_init(&s->deadline, zapi_source_on_deadline);
	s->io.data = s->attempt.data = s->deadline.data = s;
	ev_timer_start(loop, &s->attempt);
	*out = s;
	return 0;
}

void zapi_source_destroy(struct zapi_source *s)
{
	if (!s)
		return;
	zapi_source_close(s);
	ev_timer_stop(s->loop, &s->attempt);
	ev_timer_stop(s->loop, &s->deadline);
	zapi_station_destroy(s->station);
	free(s);
}
