/* SPDX-License-Identifier: BSD-2-Clause */
/* handover.c - how far apart two cores are: the time of a cache line between them (end.h) */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/stats.h"
#include "micro/transport/end.h"

#define ROUNDS 9
#define TRIPS  500 /* there and back, in a round */

/* One line, written by both. */
struct line {
	_Alignas(128) _Atomic uint64_t turn; /* odd: the far side's */
};

struct far {
	struct line *line;
	unsigned core;
	_Atomic int ready; /* 1, or -errno */
};

static bool go_to(unsigned core, cpu_set_t *before)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(core, &one);
	return !pthread_getaffinity_np(pthread_self(), sizeof(*before), before) &&
	       !pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static void handover_await(const struct line *line, uint64_t turn)
{
	while (atomic_load_explicit(&line->turn, memory_order_acquire) != turn)
		;
}

static void *far_main(void *arg)
{
	struct far *far = arg;
	cpu_set_t before;

	if (!go_to(far->core, &before)) {
		atomic_store(&far->ready, -EAGAIN);
		return NULL;
	}
	atomic_store(&far->ready, 1);
	for (uint64_t turn = 1; turn < 2u * TRIPS * ROUNDS; turn += 2) {
		handover_await(far->line, turn);
		atomic_store_explicit(&far->line->turn, turn + 1, memory_order_release);
	}
	return NULL;
}

static double play(struct line *line)
{
	double ns[ROUNDS];
	struct stats_summary s;
	uint64_t turn = 0;

	for (unsigned r = 0; r < ROUNDS; r++) {
		double start = (double)clock_now_ns();

		for (unsigned i = 0; i < TRIPS; i++, turn += 2) {
			atomic_store_explicit(&line->turn, turn + 1, memory_order_release);
			handover_await(line, turn + 2);
		}
		ns[r] = ((double)clock_now_ns() - start) / (2.0 * TRIPS);
	}
	return stats_summarise(ns, ROUNDS, &s) ? -EINVAL : s.median;
}

double handover_ns(unsigned a, unsigned b)
{
	struct line line = {0};
	struct far far = {.line = &line, .core = b};
	cpu_set_t before;
	pthread_t thread;
	double ns = -EAGAIN;
	int ready;

	if (a == b || a >= CPU_SETSIZE || b >= CPU_SETSIZE)
		return -EINVAL;
	if (!go_to(a, &before))
		return -EAGAIN;
	if (!pthread_create(&thread, NULL, far_main, &far)) {
		while (!(ready = atomic_load(&far.ready)))
			sched_yield();
		ns = ready < 0 ? ready : play(&line);
		pthread_join(thread, NULL);
	}
	pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
	return ns;
}
