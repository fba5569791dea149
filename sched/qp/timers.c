/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/timers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void timers_fini(struct timers *timers)
{
	free(timers->heap);
	memset(timers, 0, sizeof(*timers));
}

int timers_reserve(struct timers *timers, size_t n)
{
	size_t room = timers->room ? timers->room : 16;
	struct timer **heap;

	if (n <= timers->room)
		return 0;
	while (room < n)
		room *= 2;
	heap = realloc(timers->heap, (room + 1) * sizeof(struct timer *));
	if (!heap)
		return -ENOMEM;
	timers->heap = heap;
	timers->room = room;
	return 0;
}

static void timers_put(struct timers *timers, size_t place, struct timer *timer)
{
	timers->heap[place] = timer;
	timer->place = place;
}

static void sift_up(struct timers *timers, struct timer *timer)
{
	size_t at = timer->place;

	for (; at > 1 && timers->heap[at / 2]->queued_ns > timer->queued_ns; at /= 2)
		timers_put(timers, at, timers->heap[at / 2]);
	timers_put(timers, at, timer);
}

static void sift_down(struct timers *timers, struct timer *timer)
{
	size_t at = timer->place, child;

	while ((child = at * 2) <= timers->n) {
		if (child < timers->n &&
		    timers->heap[child + 1]->queued_ns < timers->heap[child]->queued_ns)
			child++;
		if (timers->heap[child]->queued_ns >= timer->queued_ns)
			break;
		timers_put(timers, at, timers->heap[child]);
		at = child;
	}
	timers_put(timers, at, timer);
}

void timers_set(struct timers *timers, struct timer *timer, uint64_t when_ns)
{
	timer->when_ns = when_ns;
	if (!when_ns || (timer->place && timer->queued_ns <= when_ns))
		return;
	if (!timer->place)
		timers_put(timers, ++timers->n, timer);
	timer->queued_ns = when_ns;
	sift_up(timers, timer);
}

void timers_remove(struct timers *timers, struct timer *timer)
{
	struct timer *last;

	timer->when_ns = 0;
	if (!timer->place)
		return;
	last = timers->heap[timers->n--];
	if (last != timer) {
		timers_put(timers, timer->place, last);
		sift_up(timers, last);
		sift_down(timers, last);
	}
	timer->place = 0;
}

struct timer *timers_expire(struct timers *timers, uint64_t now_ns)
{
	while (timers->n && timers->heap[1]->queued_ns <= now_ns) {
		struct timer *timer = timers->heap[1];

		if (timer->when_ns > now_ns) {
			timer->queued_ns = timer->when_ns;
			sift_down(timers, timer);
			continue;
		}
		if (!timer->when_ns) {
			timers_remove(timers, timer);
			continue;
		}
		timers_remove(timers, timer);
		return timer;
	}
	return NULL;
}

uint64_t timers_next(const struct timers *timers)
{
	return timers->n ? timers->heap[1]->queued_ns : 0;
}
