/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - a fault in the middle of what a trial measures (methodology 12.3).
 *
 * Owns: nothing. In: a plan, the fault, when it strikes; out: what was measured, and goodput around
 * the fault as recovery.h reads it. Thread: the coordinator's.
 */
#ifndef FAULT_H
#define FAULT_H

#include "procedure/recovery.h"
#include "suite/trial.h"

/*
 * Measures the plan; the fault (words of fabric_fail()) strikes after that share of the window.
 * *inject_ns: when it did. *goodput: of load 0, in m. It stays in force: fabric_restore().
 */
int fault_measure(struct trial *t, const struct plan *plan, const char *words, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput);

/* Goodput of load 0, of a trial that recorded bins. */
struct recovery fault_goodput(const struct measured *m);

#endif
