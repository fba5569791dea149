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

#endif
