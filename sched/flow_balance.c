/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow_balance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ABSENT	 UINT16_MAX
#define MEASURED 2
/* at what a flow would do to a plane, before the next tick: some milliseconds */
#define VISITS_MOST (1u << 20)
#define LEAST_GAIN  (FLOW_BALANCE_BAND / 8) /* of the mean load, is a reason to move */

struct balanced {
	double load;	 /* bytes per tick */
	uint64_t recent; /* bytes since the last tick */
	uint16_t plane;
	/*
	 * ticks, up to MEASURED; before that its load is a guess: it was not there for a whole tick
	 */
	uint8_t age;
};

struct flow_balance {
	uint32_t n_flows, n_measured;
	double measured_load; /* of all n_measured */
	double plane_load[FARE_MAX_PLANES];
	unsigned streak; /* ticks beyond the band, on end */
	struct balanced *flow;
};

int flow_balance_create(struct flow_balance **out, uint32_t n_flows)
{
	struct flow_balance *b = calloc(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return -ENOMEM;
	b->n_flows = n_flows;
	b->flow = calloc(n_flows, sizeof(*b->flow));
	if (!b->flow) {
		free(b);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_flows; i++)
		b->flow[i].plane = ABSENT;
	*out = b;
	return 0;
}

void flow_balance_destroy(struct flow_balance *b)
{
	if (!b)
		return;
	free(b->flow);
	free(b);
}

static double mean_load(const struct flow_balance *b)
{
	return b->n_measured ? b->measured_load / b->n_measured : 1;
}

bool flow_balance_measured(const struct flow_balance *b)
{
	return b->n_measured > 0 && b->measured_load > 0;
}

void flow_balance_enter(struct flow_balance *b, uint32_t flow, unsigned plane)
{
	struct balanced *f = &b->flow[flow];

	if (f->plane == ABSENT)
		*f = (struct balanced){.load = mean_load(b)};
	else
		b->plane_load[f->plane] -= f->load;
	f->plane = (uint16_t)plane;
	b->plane_load[plane] += f->load;
}

void flow_balance_leave(struct flow_balance *b, uint32_t flow)
{
	struct balanced *f = &b->flow[flow];

	b->plane_load[f->plane] -= f->load;
	if (f->age == MEASURED) {
		b->n_measured--;
		b->measured_load -= f->load;
	}
	f->plane = ABSENT;
}

void flow_balance_account(struct flow_balance *b, uint32_t flow, uint64_t bytes)
{
	b->flow[flow].recent += bytes;
}

unsigned flow_balance_best_plane(const struct flow_balance *b, const struct weights *w,
				 uint32_t flow)
{
	double load = flow == UINT32_MAX ? mean_load(b) : b->flow[flow].load, best_load = INFINITY;
	unsigned best = 0;

	for (unsigned p = 0; p < w->n; p++) {
		double would = w->w[p] ? (b->plane_load[p] + load) / w->w[p] : INFINITY;

		if (would < best_load) {
			best_load = would;
			best = p;
		}
	}
	return best;
}

/* The fullest usable plane; *mean: the load if all were equal. */
static unsigned fullest(const struct flow_balance *b, const struct weights *w, double *mean)
{
	unsigned worst = UINT32_MAX;
	double sum = 0;

	for (unsigned p = 0; p < w->n; p++) {
		if (!w->w[p])
			continue;
		sum += b->plane_load[p];
		if (worst == UINT32_MAX ||
		    b->plane_load[p] / w->w[p] > b->plane_load[worst] / w->w[worst])
			worst = p;
	}
	*mean = sum / w->sum;
	return worst;
}

/* The load of a plane's flows each of which is too small to be a reason to move. */
static double small_ones(const struct flow_balance *b, double weight, unsigned plane,
			 double least_gain)
{
	double sum = 0;

	for (uint32_t i = 0; i < b->n_flows; i++)
		if (b->flow[i].plane == plane && b->flow[i].load / weight < least_gain)
			sum += b->flow[i].load / weight;
	return sum;
}

/*
 * The move from plane `from` that leaves the higher of both planes lowest. False: none gains
 * enough.
 */
static bool best_move(const struct flow_balance *b, const struct weights *w, unsigned from,
		      double least_gain, uint32_t *flow, unsigned *to)
{
	double now = b->plane_load[from] / w->w[from], best = INFINITY, best_there = INFINITY;
	bool small_too = small_ones(b, w->w[from], from, least_gain) >= least_gain;

	for (uint32_t i = 0; i < b->n_flows; i++) {
		double load = b->flow[i].load, own = load / w->w[from];

		for (unsigned p = 0; b->flow[i].plane == from && p < w->n; p++) {
			double there = w->w[p] && p != from ? (b->plane_load[p] + load) / w->w[p]
							    : INFINITY;
			double higher = fmax(now - own, there);

			if (higher > best || (higher == best && there >= best_there) ||
			    higher >= now ||
			    now - higher < (small_too ? fmin(least_gain, own / 2) : least_gain))
				continue;
			best = higher;
			/*
			 * of equals the emptiest plane: else one would be filled, and emptied again
			 */
			best_there = there;
			*flow = i;
			*to = p;
		}
	}
	return best < INFINITY;
}

static unsigned even_out(struct flow_balance *b, const struct weights *w,
			 flow_balance_on_move *on_move, void *context)
{
	unsigned moved = 0;

	for (uint64_t visits = 0; visits < VISITS_MOST;
	     visits += (uint64_t)b->n_flows * (1 + w->n)) {
		double mean;
		unsigned from = fullest(b, w, &mean), to = 0;
		uint32_t flow = 0;

		b->streak = 0;
		if (b->plane_load[from] / w->w[from] <= mean * (1 + FLOW_BALANCE_BAND / 2) ||
		    !best_move(b, w, from, mean * LEAST_GAIN, &flow, &to))
			return moved;
		on_move(context, flow, to);
		moved++;
	}
	b->streak = FLOW_BALANCE_TICKS; /* to be gone on with */
	return moved;
}

static bool beyond_band(const struct flow_balance *b, const struct weights *w)
{
	double mean;
	unsigned worst = fullest(b, w, &mean);

	return b->plane_load[worst] / w->w[worst] > mean * (1 + FLOW_BALANCE_BAND);
}

/*
 * Takes the bytes since the last tick into every load; sums are made anew, so that no rounding adds
 * up.
 */
static void flow_balance_measure(struct flow_balance *b)
{
	b->n_measured = 0;
	b->measured_load = 0;
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		b->plane_load[p] = 0;
	for (uint32_t i = 0; i < b->n_flows; i++) {
		struct balanced *f = &b->flow[i];

		if (f->plane == ABSENT)
			continue;
		if (f->age == MEASURED)
			f->load += FLOW_BALANCE_ALPHA * ((double)f->recent - f->load);
		else if (++f->age == MEASURED)
			f->load = (double)f->recent;
		f->recent = 0;
		b->n_measured += f->age == MEASURED;
		b->measured_load += f->age == MEASURED ? f->load : 0;
	}
	for (uint32_t i = 0; i < b->n_flows; i++) {
		if (b->flow[i].plane == ABSENT)
			continue;
		if (b->flow[i].age < MEASURED)
			b->flow[i].load = mean_load(b);
		b->plane_load[b->flow[i].plane] += b->flow[i].load;
	}
}

unsigned flow_balance_tick(struct flow_balance *b, const struct weights *w,
			   flow_balance_on_move *on_move, void *context)
{
	flow_balance_measure(b);
	if (!w->sum || !flow_balance_measured(b))
		return 0;
	b->streak = beyond_band(b, w) ? b->streak + 1 : 0;
	if (b->streak < FLOW_BALANCE_TICKS)
		return 0;
	return even_out(b, w, on_move, context);
}

unsigned flow_balance_settle(struct flow_balance *b, const struct weights *w,
			     flow_balance_on_move *on_move, void *context)
{
	unsigned moved = 0;

	for (uint32_t i = 0; i < b->n_flows; i++) {
		if (b->flow[i].plane == ABSENT || w->w[b->flow[i].plane])
			continue;
		on_move(context, i, flow_balance_best_plane(b, w, i));
		moved++;
	}
	b->streak = 0;
	return moved + (beyond_band(b, w) ? even_out(b, w, on_move, context) : 0);
}
