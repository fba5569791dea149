/* prober_rx.c - see prober_internal.h: whether anything comes in over a plane, whoever sent it */
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
static bool read_bytes(struct prober_rx *rx, int ifindex, uint64_t *bytes)
{
	char dev[IF_NAMESIZE];

	if (rx->ifindex != ifindex) {
		device_count_close(&rx->count);
		rx->ifindex = ifindex;
		if (ifindex > 0 && if_indextoname((unsigned)ifindex, dev))
			device_count_open(&rx->count, dev, DEVICE_COUNT_RX_BYTES);
	}
	return !device_count_read(&rx->count, bytes);
}

/*
 * What drains a queue comes in at the rate of a link; a leaf that forwards nothing still has a word of its own now and then (BGP,
 * ARP). So a quarter of the slowest link's rate is heard, and less is not; of a link of unknown rate, anything.
 */
static bool is_flow(uint64_t bytes, uint64_t in_ns, uint64_t burst_ns)
{
	return bytes && (!burst_ns || bytes * 4 * burst_ns >= in_ns * PROBER_BURST_BYTES);
}

void prober_sample_plane(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[gpu];
	struct prober_plane *s = &p->planes[gpu][plane];
	uint64_t sum = 0, bytes;
	bool known = false;

	if (s->sampled_ns == now)
		return;
	for (uint32_t i = 0; i < g->n_sub_ports[plane]; i++)
		if (read_bytes(&s->rx[i], g->ifindex[plane][i], &bytes)) {
			known = true;
			sum += bytes;
		}
	/* after a pause there is nothing to compare with: the benefit of the doubt, as if no count can be read */
	if (!known || now > s->sampled_ns + 2 * p->times.interval_ns ||
	    is_flow(sum > s->bytes ? sum - s->bytes : 0, now - s->sampled_ns, g->burst_ns[plane]))
		s->heard_ns = now;
	s->bytes = sum;
	s->sampled_ns = now;
}

void prober_watch_plane(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	if (now >= p->planes[gpu][plane].sampled_ns + p->times.interval_ns / 2)
		prober_sample_plane(p, gpu, plane, now);
}

void prober_heard_plane(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now)
{
	p->planes[gpu][plane].heard_ns = now;
}
