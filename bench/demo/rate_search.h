/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rate_search.h - at which link rate this machine has time to spare.
 *
 * Owns: nothing. In: what was idle at one rate, and without traffic. Out: whether that rate holds,
 * or which to try next. Every next rate is lower, so the search ends. Pure. Thread: any.
 *
 * The cost of traffic is taken as proportional to what arrives: true of copies, checksums and
 * interrupts, too high where probes give way to data. A rate that follows from it is measured
 * again before it holds.
 */
#ifndef RATE_SEARCH_H
#define RATE_SEARCH_H

#define RATE_SEARCH_IDLE_PERCENT 30. /* of the machine: what a rate must leave */
#define RATE_SEARCH_AIM_PERCENT	 35. /* what the next one is to: readings differ by a few percent */

struct rate_step {
	unsigned mbps;	     /* of a sub-port */
	double idle_percent; /* of the machine, under the heaviest traffic at that rate */
	double core_percent; /* idle share of the busiest core meanwhile */
	double of_optimum;   /* what arrived of what the links carry at that rate, 0..1 */
};

enum rate_verdict {
	RATE_HOLDS,
	RATE_LOWER,    /* *next_mbps is to be tried */
	RATE_TOO_SLOW, /* not even the slowest useful rate holds */
};

/*
 * The slowest useful rate of a sub-port, where as many peers send to one GPU at once. Below it the
 * windows of all of them take longer than 100 ms in the leaf's queue: 192 KiB a sub-port and peer
 * (fare.h), against the most that fared's prober grants to queues. Full queues would be taken for
 * faults. The probes themselves (0.29 Mb/s a sub-port and peer at 10 ms and two sub-ports) then
 * take 2% of the link, half of what spray may miss of the optimum.
 */
unsigned rate_search_slowest_mbps(unsigned peers);

/* unloaded_percent: what is idle without traffic. */
enum rate_verdict rate_search_next(const struct rate_step *step, double unloaded_percent,
				   unsigned slowest_mbps, unsigned *next_mbps);

#endif
