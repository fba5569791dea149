/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_net.h - a network namespace of the test's own: fixed addresses and ports meet nobody else's,
 * and all of it goes with the process.
 *
 * Without root it is the namespace of a new user namespace, whose root the test then is.
 */
#ifndef OWN_NET_H
#define OWN_NET_H

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline bool own_net_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

static inline bool own_net_as_user(void)
{
	char uid[32], gid[32];

	snprintf(uid, sizeof(uid), "0 %u 1", (unsigned)geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", (unsigned)getegid());
	return !unshare(CLONE_NEWUSER | CLONE_NEWNET) &&
	       own_net_write("/proc/self/setgroups", "deny") &&
	       own_net_write("/proc/self/uid_map", uid) && own_net_write("/proc/self/gid_map", gid);
}

static inline bool own_net_lo_up(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool done = fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Enters one, with lo up. 0, or the exit status of a skipped test, having said why. */
static inline int own_net(void)
{
	if ((!unshare(CLONE_NEWNET) || own_net_as_user()) && own_net_lo_up())
		return 0;
	puts("skipped: no network namespace can be made here, neither by root nor by a user");
	return 77;
}

#endif
