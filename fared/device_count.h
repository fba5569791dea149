/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_count.h - one of the counts that the kernel keeps of a network device, read without the
 * kernel's locks.
 *
 * rtnetlink and ethtool answer under a lock (RTNL) that others may hold for milliseconds, and most
 * of all while links come and go; sysfs shows the same counts without it, in about a microsecond.
 * But /sys shows the devices of the network namespace that mounted it: a device is taken for ours
 * only if number and hardware address are those that our own namespace has.
 *
 * Solely owns: one descriptor. In: the name of a device. Out: the count. Thread: one at a time.
 */
#ifndef DEVICE_COUNT_H
#define DEVICE_COUNT_H

#include <stdint.h>

enum device_count_of {
	DEVICE_COUNT_TX_PACKETS, /* as many packets went out; 64 bits */
	/* as often was carrier lost; 32 bits, wraps; Linux 4.16 or later */
	DEVICE_COUNT_CARRIER_DOWN,
};

struct device_count {
	int file;	   /* a descriptor + 1; 0: none */
	int ifindex;	   /* that device_count_follow() was last asked of */
	uint32_t n_failed; /* its readings in a row without a file */
};

/*
 * *c: all zero, or what was open before, which is closed. 0, or -errno and *c is none: -ENODEV (no
 * such device), -ENOENT (/sys does not show it, or not this count), -EXDEV (/sys shows another
 * network namespace), -EOPNOTSUPP (packets of an RDMA device: most pass the kernel by, and its
 * network device counts the others alone).
 */
int device_count_open(struct device_count *c, const char *dev, enum device_count_of what);
/* 0 and *n, or -errno: -ENODEV (the device is gone), -EBADF (none), -EBADMSG (no number). */
int device_count_read(const struct device_count *c, uint64_t *n);
/*
 * The same, of whatever device has that number (0: none); opened anew if it is another one, and
 * tried again every 64th time if it could not be opened.
 */
int device_count_follow(struct device_count *c, int ifindex, enum device_count_of what,
			uint64_t *n);
void device_count_close(struct device_count *c); /* none is fine */

#endif
