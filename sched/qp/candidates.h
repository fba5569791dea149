/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * candidates.h - UDP source ports whose way is known, or being asked for; whether those in use are
 * even, and what would make them so (pure).
 *
 * Owns nothing. A lane's ways, in use, are the first n_own of n; the others are what it might take
 * instead.
 */
#ifndef CANDIDATES_H
#define CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

struct candidate {
	uint16_t port;
	uint16_t local_sub_port;
	int16_t remote_sub_port; /* -1: not known */
	bool answered;		 /* by the peer, to our own echo */
	bool used;
};

/* Bit r: one that was answered leads to remote sub-port r. */
uint32_t candidates_remotes(const struct candidate *c, unsigned n);
/*
 * Each of these remote sub-ports gets as many of the n as any other, or one more; and no other gets
 * any.
 */
bool candidates_are_even(const struct candidate *c, unsigned n, uint32_t remotes);
/*
 * One step toward even: way *from (< n_own) had better be candidate *to, which is unused, was
 * answered, and leaves by the same local sub-port. Each step taken brings the loads closer, so
 * there is a last one. false: there is none.
 */
bool candidates_improve(const struct candidate *c, unsigned n_own, unsigned n, unsigned *from,
			unsigned *to);

#endif
