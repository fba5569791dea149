/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handover.h - how far apart two cores are: the time that a cache line takes from one to the other.
 *
 * Owns: nothing; two threads for a few milliseconds. Whatever two processes hand each other through
 * memory, a kernel's socket buffers included, moves by such lines. Cores that share a cache do it
 * in some 30 ns; where a hypervisor has put them on different ones it takes five times that,
 * goodput between them is a third, and it may change its mind from one second to the next. So who
 * measures between cores says what this was meanwhile. Thread: any.
 */
#ifndef HANDOVER_H
#define HANDOVER_H

/*
 * One way, in nanoseconds: the median of several short rounds between cores a and b. Negative,
 * -errno: -EINVAL one core alone, -EAGAIN no thread, or a core that one may not run on.
 */
double handover_ns(unsigned a, unsigned b);

#endif
