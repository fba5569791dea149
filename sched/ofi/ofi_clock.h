/* SPDX-License-Identifier: BSD-2-Clause */
/* ofi_clock.h - the time of deadlines. */
#ifndef OFI_CLOCK_H
#define OFI_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC */
static inline uint64_t ofi_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

#endif
