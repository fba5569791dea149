/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover_weights.h - what the observer's record says of a fault: decided, returned, needless.
 *
 * Owns: nothing. In: the record, a scenario, which pairs matter. Out: moments and counts. Thread:
 * any; the record may grow meanwhile, hence the bounds: events [from, n).
 */
#ifndef FAILOVER_WEIGHTS_H
#define FAILOVER_WEIGHTS_H

#include "resilience/failover_scenario.h"
#include "resilience/observe.h"

/* The pairs whose decisions matter to the traffic: one, or all. */
struct failover_concern {
	const struct topo *topo;
	bool all;
	unsigned src, dst;
};

/* Is any weight to change at all? */
bool failover_weights_due(const struct failover_scenario *s);

/* When the last of the weights that matter was down to what the faults leave; 0: not yet. */
uint64_t failover_weights_decided(const struct observe *o, uint32_t from, uint32_t n,
				  const struct failover_scenario *s,
				  const struct failover_concern *concern);

/*
 * From healing on: when the first of the weights rose, and when the last of them was back for good.
 * Nothing was away: both are healed_ns. *back_ns 0: not all are back.
 */
void failover_weights_returned(const struct observe *o, uint32_t from, uint32_t n,
			       const struct failover_scenario *s,
			       const struct failover_concern *concern, uint64_t healed_ns,
			       uint64_t *first_ns, uint64_t *back_ns);

/* The most often that any path that matters fell to zero. */
unsigned failover_weights_falls(const struct observe *o, uint32_t from, uint32_t n,
				const struct failover_scenario *s,
				const struct failover_concern *concern);

/*
 * Lowerings of paths that nothing happened to, of all pairs. Each is appended to list:
 * observe_change() and routes_away.
 */
unsigned failover_weights_needless(const struct observe *o, uint32_t from, uint32_t n,
				   const struct failover_scenario *s, const struct topo *topo,
				   uint64_t begin_ns, json_t *list);

/*
 * When the kernel first notified the server whose link was lost (any server, if all lost one: the
 * sender's); 0: never.
 */
uint64_t failover_weights_kernel(const struct observe *o, uint32_t from, uint32_t n,
				 const struct failover_scenario *s,
				 const struct failover_concern *concern);

#endif
