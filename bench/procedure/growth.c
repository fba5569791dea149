/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/growth.h"

#include <stdlib.h>

#include "procedure/soak.h"

#define SECOND_NS UINT64_C(1000000000)

struct growth *growth_create(const struct topo *topo)
{
	struct growth *g = calloc(1, sizeof(*g));

	if (g)
		g->topo = topo;
	return g;
}

void growth_destroy(struct growth *g)
{
	free(g);
}

void growth_sample(struct growth *g, uint64_t now_ns)
{
	double memory = 0, descriptors = 0;

	if (now_ns < g->next_ns || g->n == GROWTH_MAX)
		return;
	g->next_ns = now_ns + SECOND_NS;
	for (unsigned i = 0; i < g->topo->n_servers; i++) {
		double kib = soak_rss_kib(g->topo->servers[i].fared_pid);

		g->ended |= kib <= 0;
		memory += kib;
		descriptors += soak_descriptors(g->topo->servers[i].fared_pid);
	}
	g->at_h[g->n] = (double)now_ns / 1e9 / 3600;
	g->memory_kib[g->n] = memory / g->topo->n_servers;
	g->descriptors[g->n++] = descriptors / g->topo->n_servers;
}

void growth_add(const struct growth *g, struct trial *t)
{
	unsigned from = g->n / 4, n = g->n - from;
	double at_h[GROWTH_MAX];

	if (g->ended || n < 3) {
		const char *why = g->ended ? "the plan kills fared" : "too short";

		trial_missing(t, "slope_fared", "%s", why);
		trial_missing(t, "slope_descriptors", "%s", why);
		trial_missing(t, "fared_memory", "%s", why);
		return;
	}
	for (unsigned i = 0; i < n; i++) /* small numbers: their squares are summed up */
		at_h[i] = g->at_h[from + i] - g->at_h[from];
	trial_value(t, "slope_fared", soak_regression(at_h, g->memory_kib + from, n), n);
	trial_value(t, "slope_descriptors", soak_regression(at_h, g->descriptors + from, n), n);
	trial_value(t, "fared_memory", g->memory_kib[g->n - 1], n);
}
