/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * candidates.h - UDP source ports of which it is known where they lead; whether those in use are
 * even over the remote sub-ports, and which change makes them more even (pure).
 *
 * Owns nothing. Of n candidates, the first n_own are the ports that a lane uses. It may use the
 * others instead.
 */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

struct candidate {
	uint16_t port;
	uint16_t local_sub_port;
	int16_t remote_sub_port; /* -1: not known */
	bool used;
};

/*
 * True: the numbers of candidates that lead to each of these remote sub-ports differ by at most
 * one, and no candidate leads to another.
 */
bool candidates_are_even(const struct candidate *c, unsigned n, uint32_t remotes);
/*
 * Finds one change that makes the loads more even: candidate *from (< n_own) is to be replaced by
 * *to, which is not used, is known, and has the same local sub-port. Each change brings the
 * loads closer, so repeated calls end. False: no change helps.
 */
bool candidates_improve(const struct candidate *c, unsigned n_own, unsigned n, unsigned *from,
			unsigned *to);

#endif
