/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp_age.h"

#include <stdlib.h>

#include "base/clock.h"

/* between reading one clock and the other: not the time that a preempted process loses */
#define UDP_AGE_APART_NS INT64_C(500000)
/* by which NTP speeds a clock up or slows it down, as a fraction (adjtimex(2): 500 ppm) */
#define UDP_AGE_SLEWED 2000

struct udp_age_clocks udp_age_clocks(void)
{
	return (struct udp_age_clocks){(int64_t)clock_ns(CLOCK_REALTIME), (int64_t)clock_now_ns()};
}

uint64_t udp_age_ns(int64_t stamped_ns, const struct udp_age_clocks *emptied,
		    const struct udp_age_clocks *now)
{
	int64_t elapsed = now->mono_ns - emptied->mono_ns, age = now->real_ns - stamped_ns;
	int64_t set = now->real_ns - emptied->real_ns - elapsed;

	if (age <= 0 || age > elapsed || llabs(set) > UDP_AGE_APART_NS + elapsed / UDP_AGE_SLEWED)
		return 0;
	return (uint64_t)age;
}
