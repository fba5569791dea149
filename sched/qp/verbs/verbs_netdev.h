/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_netdev.h - which netdev stands above a sub-port's: a bond's member has neither addresses
 * nor GIDs, the bond has.
 *
 * Owns nothing. In: sysfs, a netdev's name. Out: its master. Any thread.
 *
 * The kernel delivers what a bond's member received as received by the bond (IP_PKTINFO names the
 * bond), and has routes by the bond only: a socket bound to the member finds none. A VRF is a
 * master, too, but leaves arrivals and routes with its member.
 */
#ifndef VERBS_NETDEV_H
#define VERBS_NETDEV_H

#include <stdbool.h>

#include "fare_limits.h"

#define VERBS_NETDEV_SYSFS "/sys/class/net"

struct verbs_netdev {
	unsigned master; /* its ifindex; 0: none */
	bool is_bond;	 /* the master is */
	char master_name[FARE_DEV_NAME_MAX];
};

/* sysfs: VERBS_NETDEV_SYSFS, or a test's own directory. No such netdev: one without a master. */
void verbs_netdev_read(struct verbs_netdev *out, const char *sysfs, const char *dev);
/* The netdev that sockets for dev are bound to: the bond, if dev is a member of one. */
const char *verbs_netdev_socket_device(const struct verbs_netdev *netdev, const char *dev);
/* What the kernel says to have arrived on ifindex has arrived on the bond above dev. */
bool verbs_netdev_is_bond_of(const struct verbs_netdev *netdev, unsigned ifindex);

#endif
