/* SPDX-License-Identifier: BSD-2-Clause */
#include "drill_random.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define BACK_S	   4.0 /* for BGP, hold-down and ramp, after healing */
#define TRIES	   200
#define MAX_PLANES 16
#define ANY_SUB	   ~0u

/* What a kind breaks. */
enum part { PART_PORT, PART_LEAF, PART_GRAY, PART_FRR, PART_FARED, PART_RELOAD };

static const struct kind {
	const char *name;
	enum part part;
	const char *text; /* for PART_GRAY: what follows the leaf's name */
} kinds[] = {
	{"subport", PART_PORT, NULL},
	{"plane", PART_PORT, NULL},
	{"leaf", PART_LEAF, NULL},
	{"leaf-gray", PART_GRAY, "--loss-percent 100"},
	{"leaf-gray-one-way", PART_GRAY, "--loss-percent 100 --direction to-leaf"},
	{"leaf-loss", PART_GRAY, "--loss-percent 5"},
	{"bgpd", PART_FRR, NULL},
	{"zebra", PART_FRR, NULL},
	{"fared", PART_FARED, NULL},
	{"reload", PART_RELOAD, NULL},
};

struct fault {
	const struct kind *kind;
	unsigned server, gpu, plane, sub;
	double until_s; /* healed then */
};

/* SplitMix64. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static unsigned draw(uint64_t *state, unsigned below)
{
	return (unsigned)(next(state) % below);
}

/* Milliseconds are all that a plan needs. */
static double draw_s(uint64_t *state, double most_s)
{
	return (double)(next(state) % ((uint64_t)(most_s * 1000) + 1)) / 1000;
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static bool same_part(const struct fault *a, const struct fault *b)
{
	if (a->kind->part != b->kind->part)
		return false;
	switch (a->kind->part) {
	case PART_PORT:
		return a->server == b->server && a->gpu == b->gpu && a->plane == b->plane &&
		       (a->sub == b->sub || a->sub == ANY_SUB || b->sub == ANY_SUB);
	case PART_LEAF:
	case PART_GRAY:
		return a->plane == b->plane;
	case PART_FRR:
	case PART_FARED:
	case PART_RELOAD:
		break;
	}
	return a->server == b->server;
}

/*
 * Does that fault take the plane away from that GPU? A sub-port of several does when the others are
 * gone as well.
 */
static unsigned lost_subs(const struct fault *f, const struct topology *t, unsigned server,
			  unsigned gpu, unsigned plane)
{
	bool is_leaf = f->kind->part == PART_LEAF || f->kind->part == PART_GRAY;

	if ((f->kind->part != PART_PORT && !is_leaf) || f->plane != plane)
		return 0;
	if (is_leaf)
		return t->sub_ports;
	if (f->server != server || f->gpu != gpu)
		return 0;
	return f->sub == ANY_SUB ? t->sub_ports : 1;
}

/* Planes on which that GPU has nothing left, as bits. */
static unsigned dark_planes(const struct fault *active, unsigned n, const struct topology *t,
			    unsigned server, unsigned gpu)
{
	unsigned dark = 0;

	for (unsigned plane = 0; plane < t->planes && plane < MAX_PLANES; plane++) {
		unsigned lost = 0;

		for (unsigned i = 0; i < n; i++)
			lost += lost_subs(&active[i], t, server, gpu, plane);
		dark |= (lost >= t->sub_ports) << plane;
	}
	return dark;
}

static bool is_bearable(const struct fault *active, unsigned n, const struct topology *t)
{
	unsigned all = (1u << t->planes) - 1, n_gpus = t->servers * t->gpus_per_server;

	for (unsigned a = 0; a < n_gpus; a++) {
		unsigned dark =
			dark_planes(active, n, t, a / t->gpus_per_server, a % t->gpus_per_server);

		for (unsigned b = a + 1; b < n_gpus; b++)
			if ((dark | dark_planes(active, n, t, b / t->gpus_per_server,
						b % t->gpus_per_server)) == all)
				return false;
	}
	return true;
}

/* May it be added to the n that are active? */
static bool fits(struct fault *active, unsigned n, const struct fault *f, const struct topology *t)
{
	for (unsigned i = 0; i < n; i++)
		if (same_part(&active[i], f))
			return false;
	active[n] = *f;
	return is_bearable(active, n + 1, t);
}

static void fault_text(const struct fault *f, const struct topology *t,
		       char out[DRILL_PLAN_TEXT_MAX])
{
	unsigned leaf = plan_leaf_of(t, f->server, f->plane).index;

	switch (f->kind->part) {
	case PART_PORT:
		if (f->sub == ANY_SUB)
			snprintf(out, DRILL_PLAN_TEXT_MAX, "fail plane s%u/g%u %u", f->server,
				 f->gpu, f->plane);
		else
			snprintf(out, DRILL_PLAN_TEXT_MAX, "fail subport s%u/g%u %u %u", f->server,
				 f->gpu, f->plane, f->sub);
		break;
	case PART_LEAF:
		snprintf(out, DRILL_PLAN_TEXT_MAX, "fail leaf l%u", leaf);
		break;
	case PART_GRAY:
		snprintf(out, DRILL_PLAN_TEXT_MAX, "gray leaf l%u %s", leaf, f->kind->text);
		break;
	case PART_FRR:
	case PART_FARED:
		snprintf(out, DRILL_PLAN_TEXT_MAX, "fail %s s%u", f->kind->name, f->server);
		break;
	case PART_RELOAD:
		snprintf(out, DRILL_PLAN_TEXT_MAX, "reload s%u", f->server);
		break;
	}
}

static int draw_one(const struct drill_random *r, const struct topology *t, uint64_t *state,
		    double from_s, struct fault *active, unsigned n, const char **bad)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		const char *name = r->kinds[draw(state, r->n_kinds)];
		struct fault f = {
			.kind = find_kind(name),
			.server = draw(state, t->servers),
			.gpu = draw(state, t->gpus_per_server),
			.plane = draw(state, t->planes),
			.sub = draw(state, t->sub_ports),
			.until_s = from_s + r->hold_s / 2 + draw_s(state, r->hold_s),
		};

		*bad = name;
		if (!f.kind)
			return -EINVAL;
		if (!strcmp(name, "plane"))
			f.sub = ANY_SUB;
		if (fits(active, n, &f, t))
			return 0;
	}
	return -EDOM;
}

int drill_random_draw(const struct drill_random *r, const struct topology *t, uint64_t seed,
		      struct drill_step *steps, const char **bad)
{
	struct fault *active = calloc((size_t)r->faults + 1, sizeof(*active));
	unsigned n = 0;
	int rc = active ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < r->faults; i++) {
		double from_s = r->start_s + i * r->every_s + draw_s(&seed, r->every_s);
		unsigned kept = 0;

		for (unsigned k = 0; k < n; k++)
			if (active[k].until_s + BACK_S > from_s)
				active[kept++] = active[k];
		n = kept;
		rc = draw_one(r, t, &seed, from_s, active, n, bad);
		if (rc)
			break;
		fault_text(&active[n], t, steps[0].text);
		steps[0].at_s = from_s;
		steps[1].at_s = active[n].until_s;
		steps += 2;
		n++;
	}
	free(active);
	return rc;
}
