/* SPDX-License-Identifier: BSD-2-Clause */
#include "spray_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "spray_table.h"

#define LENGTH_LEAST 256u /* shorter ones are repeated: the end is reached seldom */

struct spray_runs {
	pthread_mutex_t lock;
	struct spray_run *first;
};

int spray_runs_create(struct spray_runs **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

void spray_runs_destroy(struct spray_runs *runs)
{
	if (!runs)
		return;
	pthread_mutex_destroy(&runs->lock);
	free(runs);
}

unsigned spray_run_next_live(uint32_t live, unsigned last)
{
	uint32_t above = last < 31 ? live >> (last + 1) << (last + 1) : 0;

	return (unsigned)__builtin_ctz(above ? above : live);
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* Are w[] the bandwidths' exact proportions, or were they rounded? */
static bool exact(const struct weights *w, const struct spray_weights *of)
{
	unsigned r = 0;

	while (!w->w[r])
		r++;
	for (unsigned p = 0; p < of->n; p++)
		if ((unsigned __int128)of->bps[p] * w->w[r] !=
		    (unsigned __int128)of->bps[r] * w->w[p])
			return false;
	return true;
}

/* How many periods until each plane has gone round its sub-ports whole times; 0: too many. */
static uint32_t rounds(const struct weights *w, const uint32_t *live)
{
	uint32_t n = 1;

	for (unsigned p = 0; p < w->n; p++) {
		uint32_t ports = (uint32_t)__builtin_popcount(live[p]), own;

		if (!w->w[p])
			continue;
		own = ports / gcd(ports, w->w[p]);
		n = n / gcd(n, own) * own;
		if ((uint64_t)n * w->sum > SPRAY_RUN_MAX)
			return 0;
	}
	return n;
}

static void fill(struct spray_run *run, const struct weights *w)
{
	unsigned sub_port[FARE_MAX_PLANES];
	struct spray_table table;

	spray_table_build(&table, w);
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		sub_port[p] = 31; /* the first is the lowest */
	for (uint32_t t = 0; t < run->length; t++) {
		unsigned p = table.plane[t % table.period];

		sub_port[p] = spray_run_next_live(run->weights.live[p], sub_port[p]);
		run->unit[t] = (struct fare_slot){(uint16_t)p, (uint16_t)sub_port[p]};
	}
	run->unit[run->length].plane = FARE_SPRAY_END;
}

static int make(struct spray_run **out, const struct spray_weights *key, const struct weights *w)
{
	uint32_t n = rounds(w, key->live), length;

	if (!n)
		return -E2BIG;
	length = n * w->sum;
	while (length < LENGTH_LEAST)
		length *= 2;
	*out = calloc(1, sizeof(**out) + (length + 1) * sizeof((*out)->unit[0]));
	if (!*out)
		return -ENOMEM;
	(*out)->weights = *key;
	(*out)->period = w->sum;
	(*out)->length = length;
	fill(*out, w);
	return 0;
}

static int find_or_make(struct spray_runs *runs, const struct spray_weights *key,
			const struct weights *w, const struct spray_run **out)
{
	struct spray_run *run;
	int err;

	for (run = runs->first; run; run = run->next)
		if (!memcmp(&run->weights, key, sizeof(*key)))
			break;
	if (!run) {
		err = make(&run, key, w);
		if (err)
			return err;
		run->next = runs->first;
		runs->first = run;
	}
	run->users++;
	*out = run;
	return 0;
}

int spray_runs_get(struct spray_runs *runs, const struct spray_weights *weights,
		   const struct spray_run **out)
{
	struct spray_weights key;
	struct weights w;
	int err;

	*out = NULL;
	weights_from_bps(&w, weights->bps, weights->n);
	if (!w.sum)
		return -ENETUNREACH;
	if (!exact(&w, weights))
		return -E2BIG;
	memset(&key, 0, sizeof(key)); /* padding too: it is compared whole */
	key.n = w.n;
	for (unsigned p = 0; p < w.n; p++) {
		key.bps[p] = w.w[p];
		key.live[p] = w.w[p] ? weights->live[p] & 0xff : 0;
		if (w.w[p] && !key.live[p])
			return -ENETUNREACH;
	}
	pthread_mutex_lock(&runs->lock);
	err = find_or_make(runs, &key, &w, out);
	pthread_mutex_unlock(&runs->lock);
	return err;
}

void spray_runs_put(struct spray_runs *runs, const struct spray_run *run)
{
	struct spray_run **link, *gone = NULL;

	if (!run)
		return;
	pthread_mutex_lock(&runs->lock);
	for (link = &runs->first; *link != run; link = &(*link)->next)
		;
	if (!--(*link)->users) {
		gone = *link;
		*link = gone->next;
	}
	pthread_mutex_unlock(&runs->lock);
	free(gone);
}
