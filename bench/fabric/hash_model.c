/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/hash_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "core/stats.h"
#include "fabric/optimum.h"

#define MAX_LINKS (2 * FARE_MAX_PLANES * FARE_MAX_SUB_PORTS)

/* Live sub-ports, those of the sender first. */
struct links {
	double bps[MAX_LINKS];
	unsigned n;
	unsigned tx[FARE_MAX_PLANES], n_tx[FARE_MAX_PLANES]; /* first of a plane, how many */
	unsigned rx[FARE_MAX_PLANES], n_rx[FARE_MAX_PLANES];
	double weight[FARE_MAX_PLANES]; /* of one of the sender's sub-ports there */
};

struct flow {
	unsigned link[2];
};

static unsigned links_add(struct links *links, const struct topo *topo, unsigned gpu,
			  unsigned plane, unsigned *first)
{
	const struct topo_plane *p = &topo->gpus[gpu].plane[plane];

	*first = links->n;
	for (unsigned s = 0; s < p->n_sub_ports; s++)
		if (p->sub_port[s].up)
			links->bps[links->n++] = (double)p->sub_port[s].rate_bps;
	return links->n - *first;
}

/* Planes that carry nothing between the two have weight 0. */
static void links_make(struct links *links, const struct hash_model *model, const struct topo *topo)
{
	memset(links, 0, sizeof(*links));
	for (unsigned p = 0; p < topo->n_planes; p++) {
		double path = (double)optimum_path_bps(topo, model->src, model->dst, p);

		links->n_tx[p] = links_add(links, topo, model->src, p, &links->tx[p]);
		links->n_rx[p] = links_add(links, topo, model->dst, p, &links->rx[p]);
		if (path > 0)
			links->weight[p] = model->weighted ? path / links->n_tx[p] : 1;
	}
}

/* A sub-port of the sender by its weight, then one of the receiver's in that plane. */
static struct flow flow_draw(const struct links *links, unsigned planes, double sum,
			     uint64_t *random)
{
	double at = rng_uniform(random) * sum;
	unsigned last = 0, s = 0;

	for (unsigned p = 0; p < planes; p++) {
		double all = links->weight[p] * links->n_tx[p];

		if (all <= 0)
			continue;
		last = p;
		if (at < all)
			break;
		at -= all;
	}
	s = (unsigned)(at / links->weight[last]);
	s = s < links->n_tx[last] ? s : links->n_tx[last] - 1;
	return (struct flow){
		{links->tx[last] + s, links->rx[last] + rng_below(random, links->n_rx[last])}};
}

/* All as fast as the slowest: the sum of their rates. */
static double striped(const struct links *links, const struct flow *flow, unsigned n)
{
	unsigned count[MAX_LINKS] = {0};
	double slowest = INFINITY;

	for (unsigned i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			count[flow[i].link[k]]++;
	for (unsigned l = 0; l < links->n; l++)
		if (count[l])
			slowest = fmin(slowest, links->bps[l] / count[l]);
	return slowest * n;
}

/* Max-min: the most crowded link divides what it has left among its flows, and so on. */
static double independent(const struct links *links, const struct flow *flow, unsigned n)
{
	double left[MAX_LINKS], sum = 0;
	unsigned count[MAX_LINKS] = {0};
	bool done[HASH_MODEL_MAX_FLOWS] = {false};

	memcpy(left, links->bps, sizeof(left));
	for (unsigned i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			count[flow[i].link[k]]++;
	for (;;) {
		unsigned at = MAX_LINKS;
		double share;

		for (unsigned l = 0; l < links->n; l++)
			if (count[l] &&
			    (at == MAX_LINKS || left[l] / count[l] < left[at] / count[at]))
				at = l;
		if (at == MAX_LINKS)
			return sum;
		share = left[at] / count[at];
		for (unsigned i = 0; i < n; i++) {
			if (done[i] || (flow[i].link[0] != at && flow[i].link[1] != at))
				continue;
			done[i] = true;
			sum += share;
			for (int k = 0; k < 2; k++) {
				left[flow[i].link[k]] -= share;
				count[flow[i].link[k]]--;
			}
		}
	}
}

int hash_model_run(const struct hash_model *model, const struct topo *topo,
		   struct hash_model_share *out)
{
	double total = (double)optimum_pair_bps(topo, model->src, model->dst), sum = 0;
	uint64_t random = model->seed;
	struct flow flow[HASH_MODEL_MAX_FLOWS];
	struct links links;
	double *share;

	if (model->flows < 1 || model->flows > HASH_MODEL_MAX_FLOWS || model->draws < 1 ||
	    model->draws > HASH_MODEL_MAX_DRAWS)
		return -EINVAL;
	if (total <= 0)
		return -ENETUNREACH;
	share = calloc(model->draws, sizeof(*share));
	if (!share)
		return -ENOMEM;
	links_make(&links, model, topo);
	for (unsigned p = 0; p < topo->n_planes; p++)
		sum += links.weight[p] * links.n_tx[p];
	for (unsigned d = 0; d < model->draws; d++) {
		for (unsigned i = 0; i < model->flows; i++)
			flow[i] = flow_draw(&links, topo->n_planes, sum, &random);
		share[d] = (model->striped ? striped(&links, flow, model->flows)
					   : independent(&links, flow, model->flows)) /
			   total;
	}
	qsort(share, model->draws, sizeof(*share), stats_ascending);
	out->median = share[model->draws / 2];
	out->p10 = share[model->draws / 10];
	out->p90 = share[model->draws - 1 - model->draws / 10];
	free(share);
	return 0;
}
