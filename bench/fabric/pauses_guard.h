/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pauses_guard.h - another headroom, watchdog or XOFF of a lab, given back however this process
 * ends.
 *
 * Owns: a guard (undo_guard.h). In: settings; out: those of the lab's topology again. Thread: the
 * coordinator's.
 */
#ifndef PAUSES_GUARD_H
#define PAUSES_GUARD_H

#include "fabric/lab.h"

enum pauses_setting { PAUSES_HEADROOM, PAUSES_WATCHDOG, PAUSES_XOFF, PAUSES_SETTINGS };

struct pauses_guard;

/* Both are copied. */
int pauses_guard_create(struct pauses_guard **out, const struct lab *lab,
			const struct topo_pfc *pfc);
/* Bytes, or ms. -errno after saying why. */
int pauses_guard_set(struct pauses_guard *g, enum pauses_setting setting, uint64_t value);
/* Gives back what was set. NULL is fine. */
int pauses_guard_destroy(struct pauses_guard *g);

#endif
