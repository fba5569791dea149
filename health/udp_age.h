/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_age.h - how long a received packet has waited, by a stamp of a clock that may be set.
 *
 * Owns nothing. In: the kernel's stamp (CLOCK_REALTIME), and both clocks at two times. Out: a time.
 * Thread: any. Pure, but for udp_age_clocks().
 *
 * The kernel stamps packets by the wall clock alone. Probes are judged by CLOCK_MONOTONIC, and a
 * wall clock that is set, by an hour or by 200 ms, while a packet waits must change nothing: then
 * the packet's age is not known.
 */
#ifndef UDP_AGE_H
#define UDP_AGE_H

#include <stdint.h>

/* Read together. */
struct udp_age_clocks {
	int64_t real_ns, mono_ns;
};

struct udp_age_clocks udp_age_clocks(void);
/*
 * emptied: before the packet came, at the last time when nothing was left to read. 0: not known;
 * also for what came after now.
 */
uint64_t udp_age_ns(int64_t stamped_ns, const struct udp_age_clocks *emptied,
		    const struct udp_age_clocks *now);

#endif
