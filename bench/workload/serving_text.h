/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serving_text.h - the requests of a service in words, as section 14 of the methodology asks for
 * them: lengths (law, mean, P50, P99), arrivals, common prefixes.
 *
 * Owns: nothing; pure. In: options of a service; out: text, and a row of a trial. Thread: any.
 */
#ifndef SERVING_TEXT_H
#define SERVING_TEXT_H

#include "workload/serving.h"

#define SERVING_TEXT_MAX 600

/* "prompts: ...; outputs: ...; arrivals: ...; prefixes: ..." */
void serving_text(const struct serving_options *o, char *out, size_t size);
/* That as a row SUITE_REQUESTS, once for each text of a trial. */
void serving_text_add(struct trial *t, const struct serving_options *o);

#endif
