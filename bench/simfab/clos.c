/* SPDX-License-Identifier: BSD-2-Clause */
#include "simfab/clos.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/rng.h"
#include "core/stats.h"

enum side { UP, DOWN };

struct clos_load {
	struct clos c;
	unsigned leaves;
	uint64_t random;
	double spine_share[CLOS_MAX_SPINES]; /* of a leaf's uplinks */
	double plane_share[CLOS_MAX_PLANES]; /* of a rank's ports */
	unsigned *place;		     /* of a rank: which port of which leaf */
	double *bytes, *bps;		     /* by link */
	unsigned n_links;
	void (*on_part)(void *arg, const struct clos_part *part);
	void *arg;
};

/* ---- links: ports of ranks, then between leaves and spines, both by plane and direction ---- */

static unsigned clos_port(const struct clos_load *l, unsigned rank, unsigned plane, enum side side)
{
	return (plane * 2 + side) * l->c.ranks + rank;
}

static unsigned clos_uplink(const struct clos_load *l, unsigned leaf, unsigned plane,
			    unsigned spine, enum side side)
{
	return 2 * l->c.planes * l->c.ranks +
	       ((plane * 2 + side) * l->leaves + leaf) * l->c.spines + spine;
}

static void clos_set_rates(struct clos_load *l)
{
	const struct clos *c = &l->c;

	for (unsigned p = 0; p < c->planes; p++)
		for (enum side side = UP; side <= DOWN; side++) {
			double uplink = c->plane_bps[p] * c->leaf_ranks * c->uplinks / c->spines;

			for (unsigned r = 0; r < c->ranks; r++)
				l->bps[clos_port(l, r, p, side)] = c->plane_bps[p];
			for (unsigned leaf = 0; leaf < l->leaves; leaf++)
				for (unsigned s = 0; s < c->spines; s++)
					l->bps[clos_uplink(l, leaf, p, s, side)] =
						s ? uplink : uplink * c->spine_left;
		}
}

/* Shares by bandwidth, or the same of all that carry. */
static int clos_shares(double *share, const double *bps, unsigned n, enum clos_balance by)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += share[i] = by == CLOS_ECMP ? bps[i] > 0 : bps[i];
	for (unsigned i = 0; i < n && sum > 0; i++)
		share[i] /= sum;
	return sum > 0 ? 0 : -ENETUNREACH;
}

static void clos_place(struct clos_load *l)
{
	for (unsigned r = 0; r < l->c.ranks; r++)
		l->place[r] = r;
	for (unsigned r = l->c.ranks; l->c.is_scattered && r > 1; r--) {
		unsigned other = rng_below(&l->random, r), at = l->place[other];

		l->place[other] = l->place[r - 1];
		l->place[r - 1] = at;
	}
}

static bool clos_is_fine(const struct clos *c)
{
	return c->ranks >= 2 && c->ranks <= CLOS_MAX_RANKS && c->leaf_ranks && c->planes &&
	       c->planes <= CLOS_MAX_PLANES && c->spines && c->spines <= CLOS_MAX_SPINES &&
	       c->uplinks > 0 && c->spine_left >= 0 && c->spine_left <= 1 && c->qps &&
	       c->qps <= CLOS_MAX_QPS;
}

int clos_load_create(struct clos_load **out, const struct clos *c)
{
	double spine[CLOS_MAX_SPINES];
	struct clos_load *l;
	int err;

	if (!clos_is_fine(c))
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->c = *c;
	l->random = c->seed;
	l->leaves = (c->ranks + c->leaf_ranks - 1) / c->leaf_ranks;
	l->n_links = 2 * c->planes * (c->ranks + l->leaves * c->spines);
	l->place = calloc(c->ranks, sizeof(*l->place));
	l->bytes = calloc(l->n_links, sizeof(*l->bytes));
	l->bps = calloc(l->n_links, sizeof(*l->bps));
	for (unsigned s = 0; s < c->spines; s++)
		spine[s] = s ? 1 : c->spine_left;
	err = l->place && l->bytes && l->bps ? 0 : -ENOMEM;
	if (!err)
		err = clos_shares(l->plane_share, c->plane_bps, c->planes, c->hosts);
	if (!err)
		err = clos_shares(l->spine_share, spine, c->spines, c->leaves);
	if (err) {
		clos_load_destroy(l);
		return err;
	}
	clos_set_rates(l);
	clos_place(l);
	*out = l;
	return 0;
}

void clos_load_destroy(struct clos_load *l)
{
	if (!l)
		return;
	free(l->place);
	free(l->bytes);
	free(l->bps);
	free(l);
}

/* ---- transfers ---- */

/* By chance, each as often as its share says. */
static unsigned clos_draw(struct clos_load *l, const double *share, unsigned n)
{
	double at = rng_uniform(&l->random);
	unsigned last = 0;

	for (unsigned i = 0; i < n; i++) {
		if (share[i] <= 0)
			continue;
		last = i;
		if (at < share[i])
			break;
		at -= share[i];
	}
	return last;
}

static void clos_add_part(struct clos_load *l, const struct clos_part *part)
{
	for (unsigned i = 0; i < part->n_links; i++)
		l->bytes[part->link[i]] += part->bytes;
	if (l->on_part)
		l->on_part(l->arg, part);
}

/* Over the uplinks of a plane. */
static void clos_add_plane(struct clos_load *l, unsigned src, unsigned dst, unsigned plane,
			   double bytes)
{
	unsigned from = l->place[src] / l->c.leaf_ranks, to = l->place[dst] / l->c.leaf_ranks;
	bool is_split = l->c.leaves == CLOS_SPRAY;
	unsigned spine = 0, end = l->c.spines;
	struct clos_part part = {
		bytes, 2, {clos_port(l, src, plane, UP), clos_port(l, dst, plane, DOWN), 0, 0}};

	if (from == to) {
		clos_add_part(l, &part);
		return;
	}
	if (!is_split) {
		spine = clos_draw(l, l->spine_share, l->c.spines);
		end = spine + 1;
	}
	part.n_links = 4;
	for (; spine < end; spine++) {
		part.bytes = is_split ? bytes * l->spine_share[spine] : bytes;
		part.link[2] = clos_uplink(l, from, plane, spine, UP);
		part.link[3] = clos_uplink(l, to, plane, spine, DOWN);
		if (part.bytes > 0)
			clos_add_part(l, &part);
	}
}

void clos_load_add(struct clos_load *l, unsigned src, unsigned dst, double bytes)
{
	double own = bytes / l->c.qps;

	for (unsigned q = 0; q < l->c.qps; q++) {
		if (l->c.hosts != CLOS_SPRAY) {
			clos_add_plane(l, src, dst, clos_draw(l, l->plane_share, l->c.planes), own);
			continue;
		}
		for (unsigned p = 0; p < l->c.planes; p++)
			if (l->plane_share[p] > 0)
				clos_add_plane(l, src, dst, p, own * l->plane_share[p]);
	}
}

void clos_load_parts(struct clos_load *l, unsigned src, unsigned dst, double bytes,
		     void (*on_part)(void *arg, const struct clos_part *part), void *arg)
{
	l->on_part = on_part;
	l->arg = arg;
	clos_load_add(l, src, dst, bytes);
	l->on_part = NULL;
}

/* ---- what follows ---- */

unsigned clos_load_links(const struct clos_load *l)
{
	return l->n_links;
}

double clos_load_bps(const struct clos_load *l, unsigned link)
{
	return l->bps[link];
}

double clos_load_seconds(const struct clos_load *l)
{
	double longest = 0;

	for (unsigned i = 0; i < l->n_links; i++)
		if (l->bytes[i] > 0)
			longest = fmax(longest, l->bytes[i] * 8 / l->bps[i]);
	return longest;
}

struct clos_uplinks clos_load_uplinks(const struct clos_load *l)
{
	struct clos_uplinks all = {0, 0};
	double sent = 0;

	for (unsigned at = 0; at < l->c.planes * l->leaves; at++) {
		double busy[CLOS_MAX_SPINES], most = 0, sum = 0, bytes = 0;
		unsigned n = 0;

		for (unsigned s = 0; s < l->c.spines; s++) {
			unsigned link = clos_uplink(l, at % l->leaves, at / l->leaves, s, UP);

			if (!(l->bps[link] > 0))
				continue;
			busy[n] = l->bytes[link] / l->bps[link];
			bytes += l->bytes[link];
			most = fmax(most, busy[n]);
			sum += busy[n++];
		}
		if (!(sum > 0))
			continue;
		sent += bytes;
		all.mmr += bytes * most * n / sum;
		all.jfi += bytes * stats_jfi(busy, n);
	}
	all.mmr /= sent; /* of no bytes: NaN */
	all.jfi /= sent;
	return all;
}
