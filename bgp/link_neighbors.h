/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link_neighbors.h - which neighbours share a link with us, by interface.
 *
 * Solely owns: the table of who is on which link, and a netlink socket on which the kernel says
 * that one of our addresses came or went. In: the configuration's neighbours, our addresses. Out:
 * answers, from the table alone. Thread: the loop's; it watches nothing in the loop.
 *
 * The table is made again only after the kernel has said so. It says so before anybody else can act
 * on a new address: who refreshes after reading what zebra has sent knows every link that zebra
 * named.
 */
#ifndef LINK_NEIGHBORS_H
#define LINK_NEIGHBORS_H

#include "bgp_source.h"

struct link_neighbors;

/*
 * config is borrowed. The table is empty before the first refresh. 0 or -errno; *out is NULL on
 * error.
 */
int link_neighbors_create(struct link_neighbors **out, const struct bgp_source_config *config);
void link_neighbors_destroy(struct link_neighbors *l); /* NULL is fine */

/*
 * Makes the table again if an address came or went. -errno: it stays as it was; the next call tries
 * again.
 */
int link_neighbors_refresh(struct link_neighbors *l);

/*
 * Whether an address of that interface shares its subnet with that neighbour (an index into
 * config->neighbors). A link-local neighbour is on the interface of its sub-port alone.
 */
bool link_neighbors_has(const struct link_neighbors *l, uint32_t ifindex, unsigned neighbor);

#endif
