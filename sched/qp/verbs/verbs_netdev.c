/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/verbs/verbs_netdev.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned read_number(const char *path)
{
	unsigned n = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%u", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

void verbs_netdev_read(struct verbs_netdev *out, const char *sysfs, const char *dev)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	*out = (struct verbs_netdev){0};
	snprintf(path, sizeof(path), "%s/%s/master", sysfs, dev);
	n = readlink(path, target, sizeof(target) - 1);
	if (!dev[0] || n <= 0)
		return;
	target[n] = '\0';
	snprintf(out->master_name, sizeof(out->master_name), "%s", basename(target));
	snprintf(path, sizeof(path), "%s/%s/master/ifindex", sysfs, dev);
	out->master = read_number(path);
	snprintf(path, sizeof(path), "%s/%s/master/bonding", sysfs, dev);
	out->is_bond = out->master && !access(path, F_OK);
}

const char *verbs_netdev_socket_device(const struct verbs_netdev *netdev, const char *dev)
{
	return netdev->is_bond ? netdev->master_name : dev;
}

bool verbs_netdev_is_bond_of(const struct verbs_netdev *netdev, unsigned ifindex)
{
	return netdev->is_bond && netdev->master == ifindex;
}
