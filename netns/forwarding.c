/* SPDX-License-Identifier: BSD-2-Clause */
/* forwarding.c - see forwarding.h */
#include "forwarding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "netns.h"

/* 0: it is on; 1: off; -errno. */
static int look(unsigned family, const char *what)
{
	char path[128], value;
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv%u/conf/%s/forwarding", family, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = read(fd, &value, 1) == 1 ? value == '0' : -EIO;
	close(fd);
	return rc;
}

static int turn_on(unsigned family, const char *what)
{
	char path[128];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv%u/conf/%s/forwarding", family, what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, "1", 1) == 1 ? 0 : -errno;
	close(fd);
	return rc;
}

/*
 * Calls one for "all", which the kernel passes on to every device if it changes, and then for each
 * device.
 */
static int each(const struct lab *lab, unsigned plane,
		int (*one)(unsigned family, const char *what), char what[IFNAMSIZ])
{
	const struct topology *t = &lab->topology;
	unsigned n = t->servers * t->gpus_per_server * t->sub_ports;
	char netns[PLAN_NETNS_NAME_MAX];
	int home, rc;

	lab_netns(lab, (struct plan_host){true, plane}, netns);
	rc = netns_enter(netns, &home);
	if (rc)
		return rc;
	snprintf(what, IFNAMSIZ, "all");
	for (unsigned k = 0; !rc && k <= n; k++) {
		if (k) {
			unsigned global = (k - 1) / t->sub_ports;
			struct plan_link link;

			plan_link_at(t,
				     (struct plan_gpu){global / t->gpus_per_server,
						       global % t->gpus_per_server},
				     plane, (k - 1) % t->sub_ports, &link);
			snprintf(what, IFNAMSIZ, "%s", link.leaf_dev);
		}
		rc = one(4, what);
		if (!rc && t->ipv6)
			rc = one(6, what);
	}
	netns_leave(home);
	return rc;
}

int forwarding_look(const struct lab *lab, unsigned plane, char what[IFNAMSIZ])
{
	return each(lab, plane, look, what);
}

int forwarding_restore(const struct lab *lab, unsigned plane)
{
	char what[IFNAMSIZ];

	return each(lab, plane, turn_on, what);
}
