/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status.h - is the lab what it should be by now, and if not, what is missing.
 *
 * Owns nothing. In: a lab, its faults, and what its kernels and bgpds say at this moment. Out:
 * converged or the first reason why not; carrier of every sub-link; pids; all of it as JSON for
 * programs.
 *
 * Converged means: every GPU server knows every other server's loopbacks over exactly the sub-links
 * that should work, each with the bandwidth that the destination's live sub-links add up to (raw,
 * from bgpd; expect.h), and its kernel forwards over as many; and every switch that was not
 * failed forwards.
 * Daemons run, fared too where the lab has it: that it runs is all that is asked of it here. A gray
 * sub-link may or may not hold a BGP session: either is accepted there.
 */
#ifndef STATUS_H
#define STATUS_H

#include <jansson.h>

#include "ecn.h"
#include "fault_state.h"

#define STATUS_WHY_MAX 256

struct status {
	bool converged;
	char why[STATUS_WHY_MAX];   /* "" when converged */
	bool *up;		    /* carrier by a link's number: at the server's end, or the lower
				     switch's of an uplink */
	struct ecn_counters *marks; /* by a link's number, of the leaf's end; NULL: nothing marks */
	struct fault_state faults;
};

/* Looks once. 0 also when not converged; -errno if it cannot look. status_fini() frees. */
int status_take(const struct lab *lab, struct status *out);
void status_fini(struct status *status);

/* Looks until converged (0) or the time is over (-ETIMEDOUT, *out is the last look); says progress
 * on stderr. */
int status_wait(const struct lab *lab, double seconds, struct status *out);

/*
 * Each fault in force as the command that makes it, without the lab's name (fault_state_each()); a
 * bgpd or fared that does not run counts as failed, whatever ended it.
 */
void status_faults(const struct lab *lab, const struct status *status,
		   void (*visit)(const char *text, void *arg), void *arg);

/* The contract of `farelab status --json`. The caller owns what comes back. */
json_t *status_json(const struct lab *lab, const struct status *status);

#endif
