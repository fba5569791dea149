/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arrivals.h - when messages are due: closed loop, at a rate, or when they are asked for.
 *
 * Owns: nothing but the state of a stream's arrivals. Open loop: arrivals do not wait for the
 * transport, and what cannot be posted in time keeps the time it was due, so that waiting counts
 * (no coordinated omission). Pure. Thread: one per state.
 */
#ifndef ARRIVALS_H
#define ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

enum arrival_law {
	ARRIVAL_CLOSED,	 /* as soon as a slot is free */
	ARRIVAL_EVEN,	 /* at equal distances */
	ARRIVAL_POISSON, /* exponential distances */
	ARRIVAL_BURST,	 /* each stream one in the first spread_ns of each mean_ns */
	ARRIVAL_COMMAND, /* when the coordinator says so */
	ARRIVAL_COUNT
};

const char *arrival_name(enum arrival_law law);
int arrival_parse(const char *name);	    /* enum arrival_law, or -ENOENT */
bool arrival_is_open(enum arrival_law law); /* messages are due by themselves, at times */

struct arrivals {
	enum arrival_law law;
	double mean_ns;		    /* between two; EVEN, POISSON and BURST */
	double spread_ns, burst_ns; /* BURST: of a burst, and when the present one began */
	double next_ns;		    /* when the next is due */
	uint64_t random;
};

/*
 * The first is due after a random part of the mean distance (a burst's: of its spread), so that
 * streams do not march in step.
 */
void arrivals_start(struct arrivals *a, uint64_t now_ns);
/* The next one was taken. */
void arrivals_take(struct arrivals *a);

#endif
