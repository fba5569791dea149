/*
 * rx_count.h - how many packets a device has received, as the kernel counts them.
 *
 * Solely owns: one netlink socket for questions. In: a device. Out: its counter. Thread: the
 * loop's; an answer takes microseconds and is waited for. Asked only while something is suspect.
 */
#ifndef RX_COUNT_H
#define RX_COUNT_H

#include <stdint.h>

/* A descriptor to close(2), or -errno. */
int rx_count_open(void);
/* 0 and *packets, or -errno (-ENODEV: no such device). */
int rx_count_read(int fd, int ifindex, uint64_t *packets);

#endif
