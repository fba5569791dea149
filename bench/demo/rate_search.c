/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo/rate_search.h"

#define WINDOW_BITS   (192u * 1024 * 8)
#define QUEUE_MS      100u
#define CORE_PERCENT  5. /* twice what makes a trial count: trial_guard.h */
#define STEP_MBPS     5u
#define LEAST_STEP(m) ((m) / 10 * 9) /* a rate that misses by little is lowered by a tenth */

static unsigned whole_steps(double mbps)
{
	return mbps > 0 ? (unsigned)(mbps / STEP_MBPS) * STEP_MBPS : 0;
}

unsigned rate_search_slowest_mbps(unsigned peers)
{
	unsigned kbps = peers * (WINDOW_BITS / QUEUE_MS);

	return (kbps / 1000 / STEP_MBPS + 1) * STEP_MBPS;
}

enum rate_verdict rate_search_next(const struct rate_step *step, double unloaded_percent,
				   unsigned slowest_mbps, unsigned *next_mbps)
{
	double budget = unloaded_percent - RATE_SEARCH_AIM_PERCENT,
	       used = unloaded_percent - step->idle_percent;
	unsigned least_step = whole_steps(LEAST_STEP(step->mbps)), next = 0;

	if (step->idle_percent >= RATE_SEARCH_IDLE_PERCENT && step->core_percent >= CORE_PERCENT)
		return RATE_HOLDS;
	if (step->mbps <= slowest_mbps)
		return RATE_TOO_SLOW;
	if (budget > 0 && used > 0)
		next = whole_steps(step->mbps * step->of_optimum * budget / used);
	next = next > least_step ? least_step : next;
	*next_mbps = next > slowest_mbps ? next : slowest_mbps;
	return RATE_LOWER;
}
