/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"

#include <string.h>

#include "heap.h"
#include "prng.h"

void loop_init(struct loop *loop, uint64_t now_ns)
{
	struct loop_event *heap = loop->heap;
	size_t room = loop->room;

	*loop = (struct loop){.heap = heap, .room = room, .now_ns = now_ns};
}

void loop_fini(struct loop *loop)
{
	heap_untracked_free(loop->heap);
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

	if (loop->n > loop->room) {
		loop->room = loop->room ? 2 * loop->room : 1024;
		loop->heap = heap_untracked_realloc(loop->heap, loop->room * sizeof(*loop->heap));
	}
	loop->n_of[kind]++;
	for (; i && before(&e, &loop->heap[(i - 1) / 2]); i = (i - 1) / 2)
		loop->heap[i] = loop->heap[(i - 1) / 2];
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
	while ((child = 2 * i + 1) < loop->n) {
		if (child + 1 < loop->n && before(&loop->heap[child + 1], &loop->heap[child]))
			child++;
		if (!before(&loop->heap[child], &last))
			break;
		loop->heap[i] = loop->heap[child];
		i = child;
	}
	loop->heap[i] = last;
	loop->now_ns = out->at_ns;
	loop->n_of[out->kind]--;
	loop->digest = prng_mix(loop->digest ^ out->at_ns ^ (uint64_t)out->kind << 56 ^
				(uint64_t)out->index << 48);
	return true;
}
