/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zebra_hops.h - the next hops and weights of the kernel's route to one peer.
 *
 * Owns nothing; pure. In: what fared knows of the peer's paths, local links, the leaves' addresses.
 * Out: next hops. Thread: any.
 */
#ifndef ZEBRA_HOPS_H
#define ZEBRA_HOPS_H

#include <stdbool.h>

#include "bgp_source.h"
#include "shm_layout.h"
#include "zapi_route.h"

/* The largest weight: zebra 10.x gives the kernel 254 for its largest, and scales the others. */
#define ZEBRA_HOPS_WEIGHT 254

struct zebra_link {
	uint32_t ifindex;
	uint64_t bps; /* 0: not up */
};

struct zebra_links {
	struct zebra_link of[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
};

/* The paths of one local GPU to the peer (sink.h). */
struct zebra_share {
	uint32_t gpu, n_planes;
	bool answered;
	uint32_t lossy;
	struct shm_path paths[FARE_MAX_PLANES];
	struct zebra_share *next; /* of the same peer, by another local GPU; NULL: none */
};

/*
 * The kernel routes by destination alone, so all local GPUs share one route. None (0) while the
 * peer answers no probe at all: nothing is known then, and BGP's route holds. A plane beyond whose
 * leaf packets are lost is left out if another is not: no source port of a TCP flow avoids that.
 */
unsigned zebra_hops(const struct in6_addr *peer, const struct zebra_share *shares,
		    const struct bgp_source_config *bgp, const struct zebra_links *links,
		    struct zapi_route_hop out[ZAPI_ROUTE_MAX_HOPS]);

#endif
