/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_trace.c - see prober_internal.h: every probe of one path, for an operator who looks on */
#include "prober_internal.h"

bool prober_trace_begin(struct prober *p, uint32_t gpu, const struct in6_addr *address,
			uint32_t plane)
{
	const struct prober_peer *peer = prober_peer_find(p, gpu, address);

	p->traced = NULL;
	if (!peer || plane >= peer->n_planes)
		return false;
	p->traced = peer;
	p->traced_plane = plane;
	return true;
}

void prober_trace_end(struct prober *p)
{
	p->traced = NULL;
}

void prober_trace(const struct prober *p, enum prober_trace_kind kind,
		  const struct loss_rtt_probe *probe, uint32_t sequence, uint64_t now)
{
	const struct prober_path *path = &p->traced->paths[p->traced_plane];
	bool v6 = !IN6_IS_ADDR_V4MAPPED(&p->traced->address);
	const struct prober_trace t = {
		.kind = kind,
		.at_ns = now,
		.sequence = sequence,
		.local_sub_port = probe->local_sub_port,
		.remote_sub_port = path->remote[probe->port],
		.reply_sub_port = path->back[probe->port],
		.source_port = p->sockets[p->traced->gpu][v6][probe->port].port,
		.counts = !probe->void_,
		.rtt_ns = kind == PROBER_TRACE_ANSWERED ? now - probe->sent_ns : 0,
		.state = path->fsm.state,
	};

	p->handlers->on_trace(p->arg, &t);
}
