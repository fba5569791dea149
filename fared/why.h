/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * why.h - the answer to "why has this path that bandwidth?", as text.
 *
 * Owns nothing. In: the path table, read only. Out: JSON: per path the verdict, the rule that gave
 * it, the inputs with values and ages, what to look at next, and the same as lines for people.
 * Thread: the loop's.
 */
#ifndef WHY_H
#define WHY_H

#include "report.h"

/* NULL: out of memory. A peer or plane that nobody knows is an error reply. */
json_t *why_reply(const struct report *r, const struct control_request *request);
/*
 * All that is wrong now, grouped by its cause, the worst first: a cause each, with how many paths
 * it takes or lessens, and what to look at next (why_all.c). NULL: out of memory.
 */
json_t *why_all_reply(const struct report *r);
/*
 * Why no source has shown that peer: what is wrong with BMP, or what it has shown instead. "": not
 * known.
 */
void why_all_missing(const struct report *r, char *out, size_t size);

#endif
