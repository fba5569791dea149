/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * health_limits.h - the constants by which paths are probed and judged.
 *
 * docs/health.md has a row for each: formula, value, reason; what an operator may set is there, too
 * (struct probe_fsm_times, struct prober_options). Not here: formats, sizes of tables and buffers.
 */
#ifndef HEALTH_LIMITS_H
#define HEALTH_LIMITS_H

#include <stdint.h>

#define HEALTH_MS_NS UINT64_C(1000000)

/* queues, and lateness of this server */
#define HEALTH_QUEUE_BATCHES 256u
#define HEALTH_QUEUE_MAX_NS  (100 * HEALTH_MS_NS)
#define HEALTH_QUEUE_MISSING 8u
#define HEALTH_PEAK_MAX_NS   (5 * HEALTH_QUEUE_MAX_NS)
#define HEALTH_BLIND_NS	     (2 * HEALTH_QUEUE_MAX_NS)
#define HEALTH_RTT_MEMORY    8192u

/* losses */
#define HEALTH_LOST_MIN	  8u
#define HEALTH_RUN	  16u
#define HEALTH_CLEAN_NS	  (640 * HEALTH_MS_NS)
#define HEALTH_CLEAN_MAX  200u
#define HEALTH_CHANCE_MAX 1e-4
#define HEALTH_TRY_NS	  (20 * HEALTH_MS_NS)
#define HEALTH_PASSES_MAX (HEALTH_RUN << 7)
#define HEALTH_HONEST_NS  (60000 * HEALTH_MS_NS)
#define HEALTH_SEARCH_MAX 512u

/* states */
#define HEALTH_BGP_HOLD_NS (3000 * HEALTH_MS_NS)
#define HEALTH_FOREIGN_NS  (10000 * HEALTH_MS_NS)
#define HEALTH_UNROUTED_NS (1000 * HEALTH_MS_NS)
#define HEALTH_RAMP_STEPS  4u

/* pace */
#define HEALTH_TICKS	     4u /* to the interval */
#define HEALTH_TICK_MIN_NS   (HEALTH_MS_NS / 2)
#define HEALTH_TICK_MAX_NS   (10 * HEALTH_MS_NS)
#define HEALTH_SKIP_MAX	     7u
#define HEALTH_ACTIVE_NS     (1000 * HEALTH_MS_NS)
#define HEALTH_DOWN_FAST_NS  (5000 * HEALTH_MS_NS)
#define HEALTH_DOUBTFUL_NS   (100 * HEALTH_MS_NS)
#define HEALTH_BY_TICK_PER_S 8000u
#define HEALTH_REPLIES_PER_S 200000u
#define HEALTH_MISSES_MAX    3u

/* path MTU */
#define HEALTH_MTU_NS	   (500 * HEALTH_MS_NS)
#define HEALTH_MTU_SLOWER  3u
#define HEALTH_MTU_FAST_NS (50 * HEALTH_MS_NS)
#define HEALTH_MTU_LOST	   8u
#define HEALTH_MTU_SPAN_NS (1000 * HEALTH_MS_NS)

/* the class in which probes are queued */
#define HEALTH_CLASS_NOISE_NS (HEALTH_MS_NS / 5)
#define HEALTH_CLASS_SHARE    4u

/* notices */
#define HEALTH_EXPIRY_NS (5000 * HEALTH_MS_NS)

#endif
