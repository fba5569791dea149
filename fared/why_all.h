/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * why_all.h - all that is wrong now, grouped by its cause, the worst first.
 *
 * Owns nothing. In: path table, links, addresses, sources, all read only. Out: JSON: a cause each,
 * with how many paths it takes or lessens, and what to look at next. Thread: the loop's.
 */
#ifndef WHY_ALL_H
#define WHY_ALL_H

#include "report.h"

/* NULL: out of memory. */
json_t *why_all_reply(const struct report *r);

/*
 * Why no source has shown that peer: what is wrong with BMP, or what it has shown instead. "": not
 * known.
 */
void why_all_missing(const struct report *r, char *out, size_t size);

#endif
