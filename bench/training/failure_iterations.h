/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failure_iterations.h - what a fault did to the iterations of a job.
 *
 * Owns: nothing; pure. In: when each iteration began and how long it took, when the fault came;
 * out: the steady state before, the iteration that the fault fell into, when the rest is steady
 * again. Thread: any.
 */
#ifndef FAILURE_ITERATIONS_H
#define FAILURE_ITERATIONS_H

#include <stdbool.h>
#include <stdint.h>

struct failure_iterations {
	bool recovered;	      /* after_ns is within 10% of the longest before the fault */
	unsigned n_before;    /* iterations that ended before the fault */
	double steady_ns;     /* their median */
	double steady_p99_ns; /* NaN: fewer than 300 of them */
	double steady_max_ns;
	double failure_ns; /* the iteration that the fault fell into */
	double worst_ns;   /* the longest of that and those after it */
	double after_ns;   /* median of the last quarter of those after it */
	/*
	 * From the fault to the end of the last iteration that is 10% longer than the spread before
	 * it explains: over after_ns times steady_max_ns / steady_ns. 0: there is none. NaN: fewer
	 * than ten iterations before it tell no spread, or it has not recovered.
	 */
	double redistributed_ns;
};

/* -ERANGE: no iteration before the fault, or fewer than four after it. -ENOMEM. */
int failure_iterations(const uint64_t *start_ns, const uint64_t *took_ns, unsigned n,
		       uint64_t fault_ns, struct failure_iterations *out);

#endif
