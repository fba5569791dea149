/* SPDX-License-Identifier: BSD-2-Clause */
#include "wheel.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS 1024u
#define READY SLOTS /* the list of those that are due */

struct entry {
	uint64_t tick;
	uint32_t next, prev; /* entry + 1; 0: none */
	uint32_t list;	     /* slot or READY */
	bool is_set;	     /* what never was is all zero: pages not written to cost nothing */
};

struct wheel {
	uint64_t tick_ns;
	uint64_t at; /* the last tick whose slot was emptied */
	uint32_t heads[SLOTS + 1];
	uint64_t used[SLOTS / 64]; /* bit: that slot is not empty */
	struct entry entries[];
};

int wheel_create(struct wheel **out, uint32_t n, uint64_t tick_ns, uint64_t now)
{
	struct wheel *w = calloc(1, sizeof(*w) + n * sizeof(w->entries[0]));

	*out = w;
	if (!w)
		return -ENOMEM;
	w->tick_ns = tick_ns;
	w->at = now / tick_ns;
	return 0;
}

void wheel_destroy(struct wheel *w)
{
	free(w);
}

static void link_in(struct wheel *w, uint32_t i, uint32_t list)
{
	struct entry *e = &w->entries[i];

	e->is_set = true;
	e->list = list;
	e->prev = 0;
	e->next = w->heads[list];
	if (e->next)
		w->entries[e->next - 1].prev = i + 1;
	w->heads[list] = i + 1;
	if (list < SLOTS)
		w->used[list / 64] |= UINT64_C(1) << list % 64;
}

void wheel_clear(struct wheel *w, uint32_t i)
{
	struct entry *e = &w->entries[i];

	if (!e->is_set)
		return;
	if (e->next)
		w->entries[e->next - 1].prev = e->prev;
	if (e->prev)
		w->entries[e->prev - 1].next = e->next;
	else
		w->heads[e->list] = e->next;
	if (e->list < SLOTS && !w->heads[e->list])
		w->used[e->list / 64] &= ~(UINT64_C(1) << e->list % 64);
	e->is_set = false;
}

void wheel_set(struct wheel *w, uint32_t i, uint64_t due_ns)
{
	uint64_t tick = due_ns / w->tick_ns + 1;

	wheel_clear(w, i);
	if (tick <= w->at)
		tick = w->at + 1;
	w->entries[i].tick = tick;
	link_in(w, i, (uint32_t)(tick % SLOTS));
}

/* The slot of tick w->at: those of this turn become ready. */
static void empty_slot(struct wheel *w)
{
	uint32_t slot = (uint32_t)(w->at % SLOTS);

	for (uint32_t next, i = w->heads[slot]; i; i = next) {
		next = w->entries[i - 1].next;
		if (w->entries[i - 1].tick > w->at)
			continue;
		wheel_clear(w, i - 1);
		link_in(w, i - 1, READY);
	}
}

bool wheel_take(struct wheel *w, uint64_t now, uint32_t *out)
{
	uint64_t to = now / w->tick_ns;

	if (to > w->at + SLOTS) /* after a long sleep one turn meets them all */
		w->at = to - SLOTS;
	while (!w->heads[READY] && w->at < to) {
		w->at++;
		empty_slot(w);
	}
	if (!w->heads[READY])
		return false;
	*out = w->heads[READY] - 1;
	wheel_clear(w, *out);
	return true;
}

uint64_t wheel_next_ns(const struct wheel *w)
{
	if (w->heads[READY])
		return w->at * w->tick_ns;
	for (uint64_t i = 1; i <= SLOTS; i++) {
		uint32_t slot = (uint32_t)((w->at + i) % SLOTS);

		if (!w->used[slot / 64] && slot % 64 == 0) {
			i += 63;
			continue;
		}
		if (w->used[slot / 64] >> slot % 64 & 1)
			return (w->at + i) * w->tick_ns;
	}
	return 0;
}
