/* links: preload */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wall clock of one process, set as the file CLOCK_FILE says (nanoseconds, as text; read again
 * and again): for tests of what happens when the machine's clock is set, without setting it. The
 * kernel's stamps of received packets are moved by what was in force when the packet came.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 1000000 /* at the file */

static int64_t set_by_ns, before_ns, set_at_ns, looked_ns;

static int64_t nanoseconds(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static int64_t kernel_ns(clockid_t clock)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, clock, &ts);
	return nanoseconds(&ts);
}

static void look(void)
{
	const char *path = getenv("CLOCK_FILE");
	int64_t now = kernel_ns(CLOCK_MONOTONIC), by;
	char text[32] = "";
	ssize_t n = -1;
	int fd;

	if (!path || now < looked_ns + LOOK_NS)
		return;
	looked_ns = now;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return;
	by = strtoll(text, NULL, 10);
	if (by == set_by_ns)
		return;
	before_ns = set_by_ns;
	set_by_ns = by;
	set_at_ns = now;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, ts);
	int64_t ns;

	if (rc || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return rc;
	look();
	ns = nanoseconds(ts) + set_by_ns;
	*ts = (struct timespec){ns / 1000000000, ns % 1000000000};
	return 0;
}

time_t time(time_t *out)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
	return 0;
}

static void move_stamp(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct timespec ts;
		int64_t ns, age;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		age = kernel_ns(CLOCK_REALTIME) - nanoseconds(&ts);
		ns = nanoseconds(&ts) +
		     (kernel_ns(CLOCK_MONOTONIC) - age < set_at_ns ? before_ns : set_by_ns);
		ts = (struct timespec){ns / 1000000000, ns % 1000000000};
		memcpy(CMSG_DATA(c), &ts, sizeof(ts));
	}
}

int recvmmsg(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout)
{
	int got = (int)syscall(SYS_recvmmsg, fd, headers, n, flags, timeout);

	for (int i = 0; i < got; i++)
		move_stamp(&headers[i].msg_hdr);
	return got;
}
