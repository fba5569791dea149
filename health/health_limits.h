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
#define HEALTH_QUEUE_MIN_NS  (5 * HEALTH_MS_NS)
#define HEALTH_QUEUE_MAX_NS  (100 * HEALTH_MS_NS)
#define HEALTH_QUEUE_LOSSES  2u
#define HEALTH_SETTLE_NS     HEALTH_QUEUE_MAX_NS
#define HEALTH_PEAK_MAX_NS   (5 * HEALTH_QUEUE_MAX_NS)
#define HEALTH_BLIND_NS	     (2 * HEALTH_QUEUE_MAX_NS)
#define HEALTH_QUIET_BURSTS  6u
#define HEALTH_CONGESTED_NS  (4 * HEALTH_MS_NS)
#define HEALTH_PEAK_MEMORY   512u
#define HEALTH_RTT_MEMORY    8192u
#define HEALTH_LOOK_NS	     (100 * HEALTH_MS_NS)
#define HEALTH_BUSY_PERCENT  97u
#define HEALTH_FULL_LOOKS    2u
#define HEALTH_FULL_NS	     (5 * HEALTH_LOOK_NS)

/* losses */
#define HEALTH_GRAY_LOST_MIN	 8u
#define HEALTH_LOST_MIN		 (HEALTH_GRAY_LOST_MIN + 2)
#define HEALTH_SUSPICION_MAX	 (2 * HEALTH_LOST_MIN)
#define HEALTH_RATE_NS		 (3 * HEALTH_QUEUE_MAX_NS)
#define HEALTH_RATE_PROBES	 128u
#define HEALTH_RATE_STRAYS	 2u
#define HEALTH_NEAR_PROBES	 (2 * HEALTH_RUN)
#define HEALTH_NEAR_MAX		 16u
#define HEALTH_RUN		 16u
#define HEALTH_CLEAN_NS		 (640 * HEALTH_MS_NS)
#define HEALTH_CLEAN_MAX	 200u
#define HEALTH_EAGER		 4u
#define HEALTH_CHANCE_MAX	 1e-4
#define HEALTH_CHANCE_SUSPICIOUS (100 * HEALTH_CHANCE_MAX)
#define HEALTH_TRY_NS		 (20 * HEALTH_MS_NS)
#define HEALTH_PASSES_MAX	 (HEALTH_RUN << 7)
#define HEALTH_HONEST_NS	 (60000 * HEALTH_MS_NS)
#define HEALTH_ASKED_MAX	 64u
#define HEALTH_SEARCH_MAX	 512u
#define HEALTH_WITNESSES	 2u

/* states */
#define HEALTH_BGP_HOLD_NS (3000 * HEALTH_MS_NS)
#define HEALTH_FOREIGN_NS  (10000 * HEALTH_MS_NS)
#define HEALTH_UNROUTED_NS (1000 * HEALTH_MS_NS)
#define HEALTH_RAMP_STEPS  4u
#define HEALTH_STRAY_MAX   1u

/* pace */
#define HEALTH_TICKS	     4u /* to the interval */
#define HEALTH_TICK_MIN_NS   (HEALTH_MS_NS / 2)
#define HEALTH_TICK_MAX_NS   (10 * HEALTH_MS_NS)
#define HEALTH_SKIP_MAX	     7u
#define HEALTH_ACTIVE_NS     (1000 * HEALTH_MS_NS)
#define HEALTH_DOWN_FAST_NS  (5000 * HEALTH_MS_NS)
#define HEALTH_DOUBTFUL_NS   (100 * HEALTH_MS_NS)
#define HEALTH_UNPROVEN_FAST 20u
#define HEALTH_BY_TICK_PER_S 8000u
#define HEALTH_REPLIES_PER_S 200000u
#define HEALTH_REPLIES_BURST 20000u

#define HEALTH_MISSES_MAX 3u /* of a source port that is tried */

/* path MTU */
#define HEALTH_MTU_NS	   (500 * HEALTH_MS_NS)
#define HEALTH_MTU_SLOWER  4u
#define HEALTH_MTU_FAST_NS (50 * HEALTH_MS_NS)
#define HEALTH_MTU_LOST	   8u
#define HEALTH_MTU_SPAN_NS (1000 * HEALTH_MS_NS)
#define HEALTH_MTU_SEARCH  3u
#define HEALTH_MTU_PASSES  8u

/* notices */
#define HEALTH_EXPIRY_MS  5000u
#define HEALTH_REPEAT_NS  (HEALTH_EXPIRY_MS * HEALTH_MS_NS)
#define HEALTH_REFRESH_NS (HEALTH_REPEAT_NS / 4)

#endif
