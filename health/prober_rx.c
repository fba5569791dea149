/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_rx.c - see prober_internal.h: whether anything at all comes in over a plane, whoever sent
 * it
 */
#include <net/if.h>

#include "prober_internal.h"

void prober_rx_open(struct prober *p)
{
	for (uint32_t g = 0; g < SUB_PORTS_MAX_GPUS; g++)
		for (uint32_t plane = 0; plane < SUB_PORTS_MAX_PLANES; plane++)
			for (uint32_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++)
				p->planes[g][plane].rx[s].count = DEVICE_COUNT_NONE;
}

void prober_rx_close(struct prober *p)
{
	for (uint32_t g = 0; g < SUB_PORTS_MAX_GPUS; g++)
		for (uint32_t plane = 0; plane < SUB_PORTS_MAX_PLANES; plane++)
			for (uint32_t s = 0; s < SUB_PORTS_MAX_SUB_PORTS; s++)
				device_count_close(&p->planes[g][plane].rx[s].count);
}

/* Of the device that is that sub-port now. */
static bool read_packets(struct prober_rx *rx, int ifindex, uint64_t *packets)
{
	char dev[IF_NAMESIZE];

	if (rx->ifindex != ifindex) {
		device_count_close(&rx->count);
		rx->ifindex = ifindex;
		if (ifindex > 0 && if_indextoname((unsigned)ifindex, dev))
			device_count_open(&rx->count, dev, DEVICE_COUNT_RX_PACKETS);
	}
	return !device_count_read(&rx->count, packets);
}

void prober_plane_heard(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	p->planes[gpu][plane].heard_ns = now;
}

void prober_sample_plane(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[gpu];
	struct prober_plane *s = &p->planes[gpu][plane];
	uint64_t sum = 0, packets;
	bool known = false;

	if (s->sampled_ns == now || now < s->heard_ns + p->times.interval_ns / 2)
		return;
	for (uint32_t i = 0; i < g->n_sub_ports[plane]; i++)
		if (read_packets(&s->rx[i], g->ifindex[plane][i], &packets)) {
			known = true;
			sum += packets;
		}
	/*
	 * after a pause there is nothing to compare with: the benefit of the doubt, as if no count
	 * can be read
	 */
	if (!known || sum != s->packets || now > s->sampled_ns + 2 * p->times.interval_ns)
		s->heard_ns = now;
	s->packets = sum;
	s->sampled_ns = now;
}
