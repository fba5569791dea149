/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

#include "prng.h"

#define ARITY 4 /* of the heap of events: half as deep as two would make it */

static void make_room(struct loop *loop)
{
	loop->room = loop->room ? 2 * loop->room : 1024;
	loop->heap = realloc(loop->heap, loop->room * sizeof(*loop->heap));
	if (!loop->heap)
		abort();
}

void loop_init(struct loop *loop)
{
	*loop = (struct loop){.heap = loop->heap, .room = loop->room, .now_ns = LOOP_START_NS};
	if (!loop->room)
		make_room(loop);
}

void loop_fini(struct loop *loop)
{
	free(loop->heap);
	memset(loop, 0, sizeof(*loop));
}

static bool before(const struct loop_event *a, const struct loop_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

void loop_add(struct loop *loop, uint64_t at_ns, enum loop_kind kind, uint32_t index,
	      uint64_t token, void *object)
{
	struct loop_event e = {.at_ns = at_ns > loop->now_ns ? at_ns : loop->now_ns,
			       .sequence = loop->sequence++,
			       .kind = kind,
			       .index = index,
			       .token = token,
			       .object = object};
	size_t i = loop->n++;

	if (loop->n > loop->room)
		make_room(loop);
	loop->n_of[kind]++;
	for (; i && before(&e, &loop->heap[(i - 1) / ARITY]); i = (i - 1) / ARITY)
		loop->heap[i] = loop->heap[(i - 1) / ARITY];
	loop->heap[i] = e;
}

bool loop_next(struct loop *loop, struct loop_event *out)
{
	struct loop_event last;
	size_t i = 0, child;

	if (!loop->n)
		return false;
	*out = loop->heap[0];
	last = loop->heap[--loop->n];
	while ((child = ARITY * i + 1) < loop->n) {
		size_t end = child + ARITY < loop->n ? child + ARITY : loop->n, first = child;

		while (++child < end)
			if (before(&loop->heap[child], &loop->heap[first]))
				first = child;
		if (!before(&loop->heap[first], &last))
			break;
		loop->heap[i] = loop->heap[first];
		i = first;
	}
	loop->heap[i] = last;
	loop->now_ns = out->at_ns;
	loop->n_of[out->kind]--;
	loop->digest = prng_mix(loop->digest ^ out->at_ns ^ (uint64_t)out->kind << 56 ^
				(uint64_t)out->index << 48);
	return true;
}
