/* SPDX-License-Identifier: BSD-2-Clause */
#include "zebra_hops.h"

#include <math.h>

static const struct zebra_share *zebra_share_of(const struct zebra_share *shares, uint32_t gpu)
{
	while (shares && shares->gpu != gpu)
		shares = shares->next;
	return shares;
}

/* A plane's bandwidth, divided among its sub-ports in use by their speeds. */
static double zebra_hop_bps(const struct zebra_share *share, const struct zebra_links *links,
			    const struct bgp_neighbor *n)
{
	const struct zebra_link *ports = links->of[n->local_gpu][n->plane];
	const struct shm_path *path = &share->paths[n->plane];
	double all = 0;

	for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
		if (!(path->live_sub_ports >> s & 1))
			all += (double)ports[s].bps;
	if (all <= 0 || path->live_sub_ports >> n->sub_port & 1)
		return 0;
	return (double)path->usable_bps * (double)ports[n->sub_port].bps / all;
}

/*
 * The first address of the peer's family on its sub-port; IPv4 is routed by way of an IPv6 address
 * where there is no other (RFC 8950).
 */
static bool is_gateway(const struct in6_addr *peer, const struct bgp_source_config *bgp, size_t at)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(peer);
	const struct bgp_neighbor *n = &bgp->neighbors[at];
	size_t first = bgp->n_neighbors;

	for (size_t i = 0; i < bgp->n_neighbors; i++) {
		const struct bgp_neighbor *other = &bgp->neighbors[i];

		if (other->local_gpu != n->local_gpu || other->plane != n->plane ||
		    other->sub_port != n->sub_port)
			continue;
		if (v4 == !!IN6_IS_ADDR_V4MAPPED(&other->address))
			return i == at;
		if (v4 && first == bgp->n_neighbors)
			first = i;
	}
	return first == at;
}

unsigned zebra_hops(const struct in6_addr *peer, const struct zebra_share *shares,
		    const struct bgp_source_config *bgp, const struct zebra_links *links,
		    struct zapi_route_hop out[ZAPI_ROUTE_MAX_HOPS])
{
	bool answered = false, avoid_lossy = false;
	double bps[ZAPI_ROUTE_MAX_HOPS], largest = 0;
	unsigned n = 0;

	for (const struct zebra_share *s = shares; s; s = s->next) {
		answered |= s->answered;
		for (uint32_t p = 0; p < s->n_planes; p++)
			avoid_lossy |= s->paths[p].usable_bps && !(s->lossy >> p & 1);
	}
	for (size_t i = 0; answered && i < bgp->n_neighbors && n < ZAPI_ROUTE_MAX_HOPS; i++) {
		const struct bgp_neighbor *b = &bgp->neighbors[i];
		const struct zebra_share *share = zebra_share_of(shares, b->local_gpu);

		if (!share || b->plane >= share->n_planes || !is_gateway(peer, bgp, i) ||
		    (avoid_lossy && share->lossy >> b->plane & 1))
			continue;
		bps[n] = zebra_hop_bps(share, links, b);
		out[n].gateway = b->address;
		out[n].ifindex = links->of[b->local_gpu][b->plane][b->sub_port].ifindex;
		largest = fmax(largest, bps[n]);
		n += bps[n] > 0 && out[n].ifindex;
	}
	for (unsigned i = 0; i < n; i++)
		out[i].weight = (uint8_t)fmax(1, round(ZEBRA_HOPS_WEIGHT * bps[i] / largest));
	return n;
}
