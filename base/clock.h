/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - what a clock of the kernel shows, as a number.
 *
 * Owns nothing. Thread: any. Intervals and deadlines are of CLOCK_MONOTONIC: nobody can set it.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_S	 UINT64_C(1000000000) /* in nanoseconds */
#define CLOCK_MS UINT64_C(1000000)

/* of the clock that is named, as clock_gettime(2) names them */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec clock_time;

	clock_gettime(clock, &clock_time);
	return (uint64_t)clock_time.tv_sec * CLOCK_S + (uint64_t)clock_time.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t clock_now_ms(void)
{
	return (int64_t)(clock_now_ns() / CLOCK_MS);
}

static inline double clock_now_s(void)
{
	return (double)clock_now_ns() / 1e9;
}

static inline void clock_pause_ns(uint64_t ns)
{
	const struct timespec pause = {(time_t)(ns / CLOCK_S), (long)(ns % CLOCK_S)};

	nanosleep(&pause, NULL);
}

/* Also over signals. */
static inline void clock_sleep_until(uint64_t at_ns)
{
	const struct timespec at = {(time_t)(at_ns / CLOCK_S), (long)(at_ns % CLOCK_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

#endif
