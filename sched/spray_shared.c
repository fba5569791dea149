/* SPDX-License-Identifier: BSD-2-Clause */
#include "spray_shared.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "spray_fly.h"
#include "weights.h"

#define LENGTH_LEAST 256u /* shorter ones are repeated: the end is reached seldom */
#define BLOCK_BYTES  32768u
#define BLOCK_ALIGN  4096u

/* ---- runs ---- */

/* Are w[] the bandwidths' exact proportions, or were they rounded? */
static bool is_exact(const struct weights *w, const struct spray_weights *of)
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
		own = ports / (uint32_t)weights_gcd(ports, w->w[p]);
		n = n / (uint32_t)weights_gcd(n, own) * own;
		if ((uint64_t)n * w->sum > SPRAY_RUN_MAX)
			return 0;
	}
	return n;
}

static void run_fill(struct spray_run *run)
{
	unsigned sub_port[FARE_MAX_PLANES];
	struct spray_fly fly;

	spray_fly_init(&fly, run->weights.bps, run->weights.n, NULL);
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		sub_port[p] = 31; /* the first is the lowest */
	for (uint32_t t = 0; t < run->length; t++) {
		unsigned p = (unsigned)spray_fly_next(&fly);

		sub_port[p] = spray_shared_next_live(run->weights.live[p], sub_port[p]);
		run->unit[t] = (struct fare_slot){(uint16_t)p, (uint16_t)sub_port[p]};
	}
	run->unit[run->length].plane = FARE_SPRAY_END;
}

static int run_create(struct spray_run **out, const struct spray_weights *key,
		      const struct weights *w)
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
	run_fill(*out);
	return 0;
}

/* What runs are found by: the weights reduced, so that equal proportions are equal. */
static int run_key(const struct spray_weights *weights, const struct weights *w,
		   struct spray_weights *key)
{
	memset(key, 0, sizeof(*key)); /* padding too: it is compared whole */
	if (!w->sum)
		return -ENETUNREACH;
	if (!is_exact(w, weights))
		return -E2BIG;
	key->n = w->n;
	for (unsigned p = 0; p < w->n; p++) {
		key->bps[p] = w->w[p];
		key->live[p] = w->w[p] ? weights->live[p] & 0xff : 0;
		if (w->w[p] && !key->live[p])
			return -ENETUNREACH;
	}
	return 0;
}

int spray_shared_take_run(struct spray_shared *shared, const struct spray_weights *weights,
			  const struct spray_run **out)
{
	struct spray_weights key;
	struct spray_run *run;
	struct weights w;
	int err;

	*out = NULL;
	weights_from_bps(&w, weights->bps, weights->n);
	err = run_key(weights, &w, &key);
	if (err)
		return err;
	for (run = shared->runs; run; run = run->next)
		if (!memcmp(&run->weights, &key, sizeof(key)))
			break;
	if (!run) {
		err = run_create(&run, &key, &w);
		if (err)
			return err;
		run->next = shared->runs;
		shared->runs = run;
	}
	run->users++;
	*out = run;
	return 0;
}

void spray_shared_give_run(struct spray_shared *shared, const struct spray_run *run)
{
	struct spray_run **link, *gone;

	if (!run)
		return;
	for (link = &shared->runs; *link != run; link = &(*link)->next)
		;
	gone = *link;
	if (--gone->users)
		return;
	*link = gone->next;
	free(gone);
}

/* ---- heads ---- */

struct spray_heads_block {
	struct spray_heads_block *next;
	uint64_t pad[7];
	struct fare_spray_head head[(BLOCK_BYTES - 64) / sizeof(struct fare_spray_head)];
};

_Static_assert(sizeof(struct fare_spray_head) == 32, "two to a cache line");
_Static_assert(sizeof(struct spray_heads_block) == BLOCK_BYTES, "whole pages");

static int add_block(struct spray_shared *shared)
{
	struct spray_heads_block *block;
	void *memory;

	if (posix_memalign(&memory, BLOCK_ALIGN, BLOCK_BYTES))
		return -ENOMEM;
	block = memory;
	block->next = shared->blocks;
	shared->blocks = block;
	for (size_t i = sizeof(block->head) / sizeof(block->head[0]); i-- > 0;)
		spray_shared_give_head(shared, &block->head[i]);
	return 0;
}

struct fare_spray_head *spray_shared_take_head(struct spray_shared *shared)
{
	struct fare_spray_head *head;

	if (!shared->vacant && add_block(shared))
		return NULL;
	head = shared->vacant;
	shared->vacant = (struct fare_spray_head *)(void *)head->body;
	*head = (struct fare_spray_head){0};
	return head;
}

void spray_shared_give_head(struct spray_shared *shared, struct fare_spray_head *head)
{
	head->body = (struct fare_spray_body *)(void *)shared->vacant;
	shared->vacant = head;
}

void spray_shared_fini(struct spray_shared *shared)
{
	while (shared->blocks) {
		struct spray_heads_block *block = shared->blocks;

		shared->blocks = block->next;
		free(block);
	}
	shared->vacant = NULL;
}
