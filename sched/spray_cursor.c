/* SPDX-License-Identifier: BSD-2-Clause */
#include "spray_cursor.h"

#include <math.h>
#include <string.h>

#define PHASE_STEPS 1024 /* of a computed schedule, which has no period to take a part of */

static double share_of(const struct spray_weights *w, unsigned plane)
{
	double sum = 0;

	for (unsigned p = 0; p < w->n; p++)
		sum += (double)w->bps[p];
	return sum > 0 ? (double)w->bps[plane] / sum : 0;
}

/* Arrears now: those at the block's begin, and what planes were due and had since. */
static void arrears_now(const struct spray_cursor *c, double *arrears)
{
	double done = (double)(c->at - c->begin);

	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		arrears[p] =
			c->arrears[p] + (p < c->weights.n ? share_of(&c->weights, p) * done : 0);
	for (const struct fare_slot *u = c->begin; u != c->at; u++)
		arrears[u->plane] -= 1;
}

/* Unusable planes' arrears: the others take them over by weight, so that the sum stays 0. */
static void share_out(const struct spray_weights *w, double *arrears)
{
	double lost = 0;

	for (unsigned p = 0; p < FARE_MAX_PLANES; p++) {
		if (p < w->n && w->bps[p])
			continue;
		lost += arrears[p];
		arrears[p] = 0;
	}
	for (unsigned p = 0; p < w->n; p++)
		arrears[p] += lost * share_of(w, p);
}

/* The place of the run where arrears are nearest to these; rest: by how much they differ there. */
static uint32_t nearest(const struct spray_run *run, const double *arrears, double *rest)
{
	double here[FARE_MAX_PLANES] = {0}, share[FARE_MAX_PLANES], best = INFINITY;
	uint32_t found = 0;

	for (unsigned p = 0; p < run->weights.n; p++)
		share[p] = share_of(&run->weights, p);
	for (uint32_t t = 0; t < run->period; t++) {
		double worst = 0;

		for (unsigned p = 0; p < run->weights.n; p++)
			worst = fmax(worst, fabs(arrears[p] - here[p]));
		if (worst < best) {
			best = worst;
			found = t;
			for (unsigned p = 0; p < run->weights.n; p++)
				rest[p] = arrears[p] - here[p];
		}
		for (unsigned p = 0; p < run->weights.n; p++)
			here[p] += share[p];
		here[run->unit[t].plane] -= 1;
	}
	return found;
}

static bool enter_run(struct spray_cursor *c, const double *arrears)
{
	double rest[FARE_MAX_PLANES] = {0}, worst = 0;
	uint32_t at = nearest(c->run, arrears, rest);

	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		worst = fmax(worst, fabs(rest[p]));
	if (worst > SPRAY_CURSOR_SLACK)
		return false;
	memcpy(c->arrears, rest, sizeof(c->arrears));
	c->begin = c->run->unit;
	c->end = c->begin + c->run->length;
	c->at = c->begin + at;
	return true;
}

static void compute_block(struct spray_cursor *c)
{
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		c->arrears[p] = p < c->fly.n ? spray_fly_arrears(&c->fly, p) : 0;
	for (unsigned i = 0; i < SPRAY_CURSOR_BLOCK; i++) {
		unsigned p = (unsigned)spray_fly_next(&c->fly);

		c->last_sub_port[p] =
			(uint8_t)spray_shared_next_live(c->weights.live[p], c->last_sub_port[p]);
		c->block[i] = (struct fare_slot){(uint16_t)p, c->last_sub_port[p]};
	}
	c->block[SPRAY_CURSOR_BLOCK].plane = FARE_SPRAY_END;
	c->begin = c->at = c->block;
	c->end = c->block + SPRAY_CURSOR_BLOCK;
}

static bool usable(const struct spray_weights *w)
{
	for (unsigned p = 0; p < w->n; p++)
		if (w->bps[p])
			return true;
	return false;
}

static void spray_cursor_stop(struct spray_cursor *c)
{
	memset(c->arrears, 0, sizeof(c->arrears));
	c->block[0].plane = FARE_SPRAY_END;
	c->begin = c->at = c->end = c->block;
}

void spray_cursor_init(struct spray_cursor *c)
{
	memset(c, 0, sizeof(*c));
	memset(c->last_sub_port, 31, sizeof(c->last_sub_port)); /* the first is the lowest */
	spray_cursor_stop(c);
}

void spray_cursor_start(struct spray_cursor *c, const struct spray_weights *weights,
			const struct spray_run *run, double phase)
{
	c->weights = *weights;
	c->run = run;
	spray_cursor_stop(c);
	if (run) {
		c->begin = run->unit;
		c->end = c->begin + run->length;
		c->at = c->begin + (uint32_t)(phase * run->period);
	} else if (usable(weights)) {
		spray_fly_init(&c->fly, weights->bps, weights->n, NULL);
		for (unsigned i = (unsigned)(phase * PHASE_STEPS); i; i--)
			spray_fly_next(&c->fly);
		compute_block(c);
	}
}

void spray_cursor_reweight(struct spray_cursor *c, const struct spray_weights *weights,
			   const struct spray_run *run)
{
	double arrears[FARE_MAX_PLANES];

	arrears_now(c, arrears);
	c->weights = *weights;
	c->run = run;
	if (!usable(weights)) {
		spray_cursor_stop(c);
		return;
	}
	share_out(weights, arrears);
	if (run && enter_run(c, arrears))
		return;
	spray_fly_init(&c->fly, weights->bps, weights->n, arrears);
	compute_block(c);
}

bool spray_cursor_refill(struct spray_cursor *c)
{
	double arrears[FARE_MAX_PLANES];

	if (!usable(&c->weights))
		return false;
	if (c->run && c->begin == c->run->unit) {
		c->at = c->begin; /* whole periods: arrears are what they were there */
		return true;
	}
	arrears_now(c, arrears);
	if (!c->run || !enter_run(c, arrears))
		compute_block(c);
	return true;
}
