/* SPDX-License-Identifier: BSD-2-Clause */
#include "forwarding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "netns.h"

/* 0: it is on; 1: off; -errno. */
static int forwarding_read_one(unsigned family, const char *what)
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

static int each_family(const struct topology *t, int (*one)(unsigned family, const char *what),
		       const char *what)
{
	int rc = t->ipv4 ? one(4, what) : 0;

	return rc || !(t->ipv6 || t->unnumbered) ? rc : one(6, what);
}

/*
 * Calls one for "all", which the kernel passes on to every device if it changes, and then for each
 * device.
 */
static int each(const struct lab *lab, struct plan_host host,
		int (*one)(unsigned family, const char *what), char what[IFNAMSIZ])
{
	const struct topology *t = &lab->topology;
	int home, rc = lab_enter(lab, host, &home);

	if (rc)
		return rc;
	snprintf(what, IFNAMSIZ, "all");
	rc = each_family(t, one, what);
	PLAN_EACH_LINK(t, host, k)
	{
		struct plan_link link;

		if (rc)
			break;
		plan_link_at(t, k, &link);
		snprintf(what, IFNAMSIZ, "%s",
			 plan_at_leaf(&link, host) ? link.leaf_dev : link.far_dev);
		rc = each_family(t, one, what);
	}
	netns_leave(home);
	return rc;
}

int forwarding_read(const struct lab *lab, struct plan_host host, char what[IFNAMSIZ])
{
	return each(lab, host, forwarding_read_one, what);
}

int forwarding_restore(const struct lab *lab, struct plan_host host)
{
	char what[IFNAMSIZ];

	return each(lab, host, turn_on, what);
}
