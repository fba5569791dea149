/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/peer_link.h"

void peer_link_send(struct peer_link *link, struct control_message *message)
{
	unsigned n = link->ep->attr.n_planes;

	if (control_wire_is_lane(message->type))
		ring_seen(link->ring, &message->lane.seen);
	message->source_group = link->id;
	message->destination_group = link->peer_id;
	message->destination = link->peer_incarnation;
	if (link->paths->is_routed) {
		endpoint_send(link->ep, &link->address, message, QP_ANY_PLANE, 0, 0);
		return;
	}
	for (int usable = 1; usable >= 0; usable--) {
		for (unsigned k = 0; k < n; k++) {
			unsigned turn = link->turn + k, p = turn % n;
			const struct fare_path *path = &link->paths->now.path[p];

			if (!path->live_sub_ports || (usable && !path->usable_bps))
				continue;
			link->turn = turn + 1;
			endpoint_send(link->ep, &link->address, message, (uint16_t)p,
				      group_paths_sub_port(link->paths, p, turn / n), 0);
			return;
		}
	}
}
