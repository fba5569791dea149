/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_rx.c - see prober_internal.h: whether anything at all comes in over a plane, from
 * any peer
 */
#include "prober_internal.h"

void prober_rx_close(struct prober *p)
{
	for (uint32_t g = 0; g < SUB_PORTS_MAX_GPUS; g++)
		for (uint32_t plane = 0; plane < SUB_PORTS_MAX_PLANES; plane++)
			for (uint32_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++)
				device_count_close(&p->planes[g][plane].rx[s]);
}

void prober_plane_heard(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	p->planes[gpu][plane].heard_ns = p->planes[gpu][plane].received_ns = now;
}

void prober_plane_asked(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	struct prober_plane *s = &p->planes[gpu][plane];

	if (s->asked_ns > s->heard_ns)
		return;
	s->asked_ns = now;
	wheel_set(p->wheel, PROBER_PLANE_PLACE + gpu * SUB_PORTS_MAX_PLANES + plane,
		  now + p->times.interval_ns / 4);
}

static void read_counts(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[gpu];
	struct prober_plane *s = &p->planes[gpu][plane];
	uint64_t sum = 0, packets;
	bool known = false, unknown = false, has_paused;

	for (uint32_t i = 0; i < g->n_sub_ports[plane]; i++) {
		if (g->ifindex[plane][i] <= 0)
			continue;
		if (device_count_follow(&s->rx[i], g->ifindex[plane][i], DEVICE_COUNT_RX_PACKETS,
					&packets)) {
			unknown = true;
			continue;
		}
		known = true;
		sum += packets;
	}
	/*
	 * after a pause there is nothing to compare with: then something came in, as if a
	 * count cannot be read
	 */
	has_paused = now > s->sampled_ns + 2 * p->times.interval_ns;
	if (!known || unknown || has_paused || sum != s->packets)
		s->heard_ns = now;
	if (known && !unknown && !has_paused && sum != s->packets)
		s->received_ns = now;
	s->packets = sum;
	s->sampled_ns = now;
}

void prober_plane_due(struct prober *p, uint32_t place, uint64_t now)
{
	uint32_t i = place - PROBER_PLANE_PLACE;
	uint32_t gpu = i / SUB_PORTS_MAX_PLANES, plane = i % SUB_PORTS_MAX_PLANES;
	const struct prober_plane *s = &p->planes[gpu][plane];

	if (s->asked_ns > s->heard_ns && s->sampled_ns != now)
		read_counts(p, gpu, plane, now);
}

void prober_sample_plane(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	const struct prober_plane *s = &p->planes[gpu][plane];

	if (s->sampled_ns != now && now >= s->heard_ns + p->times.interval_ns / 2)
		read_counts(p, gpu, plane, now);
}
