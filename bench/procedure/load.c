/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

bool load_is_read(struct trial *t, bool *can)
{
	bool read = strcmp(trial_text(t, "verb"), "read") == 0;

	if (read && strategy_mode(t->strategy) == FARE_MODE_PACKET) {
		trial_missing(t, NULL,
			      "the answer to a READ comes in order: its packets cannot be spread");
		*can = false;
	}
	return read;
}

static const struct topo_sub_port *sub_port_of(const struct topo *topo,
					       const struct measured_link *link)
{
	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++) {
		if (topo->gpus[gpu].server != link->server)
			continue;
		for (unsigned plane = 0; plane < topo->n_planes; plane++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[plane].n_sub_ports; s++)
				if (strcmp(topo->gpus[gpu].plane[plane].sub_port[s].dev,
					   link->dev) == 0)
					return &topo->gpus[gpu].plane[plane].sub_port[s];
	}
	return NULL;
}

struct load_links load_links(const struct trial *t, const struct measured *m, bool only_busy,
			     int server)
{
	struct load_links use = {.min = INFINITY, .jfi = NAN};
	double *share = calloc(m->n_links + 1, sizeof(*share)), packets = 0, dropped = 0;

	for (unsigned i = 0; share && i < m->n_links; i++) {
		const struct topo_sub_port *port = sub_port_of(t->fabric->topo, &m->link[i]);
		double of = port && port->up ? m->link[i].tx_bps / (double)port->rate_bps : 0;

		if (!port || !port->up || (only_busy && of < 0.02) ||
		    (server >= 0 && m->link[i].server != (unsigned)server))
			continue;
		packets += (double)m->link[i].tx_packets;
		dropped += (double)(m->link[i].tx_dropped + m->link[i].rx_dropped);
		use.max = fmax(use.max, of);
		use.min = fmin(use.min, of);
		use.mean += of;
		share[use.n++] = of;
	}
	if (use.n) {
		use.mean /= use.n;
		use.jfi = stats_jfi(share, use.n);
	}
	if (m->fabric_sent) {
		packets = (double)m->fabric_sent;
		dropped = (double)m->fabric_dropped;
	}
	use.drop_ppm = packets > 0 ? dropped / packets * 1e6 : 0;
	free(share);
	return use;
}

unsigned load_pools(const struct trial *t, struct plan *plan, const struct traffic_load *load,
		    unsigned slots, uint64_t bytes)
{
	unsigned first = trial_prefill(t), decode = trial_gpus(t) - first,
		 added = plan_load(plan, load);

	for (unsigned i = 0; i < first; i++)
		plan_stream(plan, added, i, first + i % decode, slots, bytes);
	return added;
}

void load_add_settled(struct trial *t, const char *kpi, double ms, size_t smooth_ms, double within)
{
	if (isfinite(ms))
		trial_value(t, kpi, ms, 1);
	else
		trial_missing(t, kpi, "means of %zu ms did not stay within %.0f%%", smooth_ms,
			      within * 100);
}
