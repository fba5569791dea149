/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_idle.h - whether the machine has any time to spare, as the kernel counts it.
 *
 * Solely owns: nothing; the descriptor is the caller's. In: /proc/stat. Out: ticks since the start,
 * of all cores together. Thread: the loop's; takes some ten microseconds.
 *
 * What runs at a positive nice value counts as time to spare: it gives way to whatever carries
 * packets.
 */
#ifndef CPU_IDLE_H
#define CPU_IDLE_H

#include <stdint.h>

/* A descriptor to close(2), or -errno. */
int cpu_idle_open(void);
/*
 * fd: as from cpu_idle_open(), or any file of that form. 0, or -errno; -EBADMSG: not as expected.
 */
int cpu_idle_read(int fd, uint64_t *idle, uint64_t *all);

#endif
