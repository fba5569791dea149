/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_crossed.c - see prober_internal.h: probes that are received over another plane than the
 * one that they were sent by
 */
#include "prober_internal.h"

#define AGAIN_NS UINT64_C(1000000000) /* of a sub-port that is crossed in part: none since */

void prober_crossed_noted(struct prober *p, struct prober_peer *peer, uint32_t plane,
			  const struct notice_trailer *t, int arrived, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	const struct loss_rtt_probe *probe = &path->loss.ring[t->stamp.sequence % LOSS_RTT_WINDOW];
	uint8_t bit = (uint8_t)(1u << probe->local_sub_port);

	if (!t->has_stamp || !probe->nonce || probe->nonce != t->stamp.nonce)
		return; /* no reply to a probe of this path */
	path->crossed_ns = now;
	path->is_crossed_there = t->has_arrival && t->arrival.plane != plane;
	path->crossed_plane = path->is_crossed_there ? (int8_t)t->arrival.plane : (int8_t)arrived;
	if (path->crossed & bit)
		return;
	path->crossed |= bit;
	prober_tell_links(p, peer, plane, now);
}

void prober_crossed_passed(struct prober *p, struct prober_peer *peer, uint32_t plane,
			   uint32_t local_sub_port, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];

	if (!(path->crossed >> local_sub_port & 1) || now < path->crossed_ns + AGAIN_NS)
		return;
	path->crossed &= (uint8_t) ~(1u << local_sub_port);
	prober_tell_links(p, peer, plane, now);
}
