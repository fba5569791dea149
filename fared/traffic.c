/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

void traffic_fini(struct traffic *t)
{
	for (uint32_t g = 0; g < SUB_PORTS_MAX_GPUS; g++)
		for (uint32_t p = 0; p < SUB_PORTS_MAX_PLANES; p++)
			for (uint32_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++)
				device_count_close(&t->planes[g][p].tx[s]);
}

void traffic_read(struct traffic *t, const struct flows *flows,
		  void (*on_path)(void *arg, const struct flow_path *path), void *arg)
{
	bool done = false;
	unsigned torn;

	flows_read_paths(flows, &t->cursor, TRAFFIC_ROWS, &done, &torn, on_path, arg);
	if (done)
		t->cursor = 0;
}

/* All of them together; false: of some device it cannot be read. */
static bool read_packets(struct traffic_plane *plane, const int *ifindex, uint32_t n, uint64_t *sum)
{
	uint64_t packets;

	*sum = 0;
	for (uint32_t s = 0; s < n; s++) {
		if (!ifindex[s])
			continue; /* absent: it sends nothing */
		if (device_count_follow(&plane->tx[s], ifindex[s], DEVICE_COUNT_TX_PACKETS,
					&packets))
			return false;
		*sum += packets;
	}
	return true;
}

bool traffic_sample(struct traffic *t, const struct sub_ports *ports, uint32_t gpu, uint32_t plane,
		    uint64_t own, uint64_t now)
{
	const struct sub_ports_gpu *g = &ports->gpus[gpu];
	struct traffic_plane *s = &t->planes[gpu][plane];
	uint64_t packets, sent;

	if (!read_packets(s, g->ifindex[plane], g->n_sub_ports[plane], &packets))
		return true;
	/* a device made anew counts from 0: of that sample nothing is known */
	sent = packets - s->packets;
	if (packets < s->packets || sent >= own - s->own + TRAFFIC_MIN_PACKETS)
		s->until_ns = now + TRAFFIC_ACTIVE_NS;
	s->packets = packets;
	s->own = own;
	return now < s->until_ns;
}
