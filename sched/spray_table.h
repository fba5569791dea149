/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spray_table.h - the exact interleaved schedule of one weight vector (pure).
 *
 * The table is one whole period W long, so that no rounding accumulates: after every W units each
 * plane has had exactly its weight. Inside a period each plane is less than one unit away from its
 * ideal share at every step (Tijdeman's chairman assignment: |error| <= 1 - 1/(2n-2)).
 *
 * Owns its table; immutable once built, so that threads may share it with a cursor each.
 */
#ifndef SPRAY_TABLE_H
#define SPRAY_TABLE_H

#include "weights.h"

struct spray_table {
	uint32_t period; /* 0: nothing usable */
	uint8_t plane[WEIGHTS_MAX_SUM];
};

void spray_table_build(struct spray_table *out, const struct weights *weights);
/*
 * The plane that is owed the next unit when planes have had counts[] so far: the rule the table is
 * built by, for any starting point. -1: nothing usable.
 */
int spray_table_owed(const struct weights *weights, const uint64_t *counts);

#endif
