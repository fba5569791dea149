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
 * Measures the plan; the fault (as for fabric_fail()) strikes after that share of the window.
 * *inject_ns: when it did. *goodput: of load 0, in m. It stays in force: fabric_restore().
 */
int fault_measure(struct trial *t, const struct plan *plan, const char *spec, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput);

/* "uplink l0 sp0": the first link to a spine of the leaf that a GPU has on a plane. False: it has
 * none. */
bool fault_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec, size_t size);

/* Goodput of load 0, of a trial that recorded bins. */
struct recovery fault_goodput(const struct measured *m);

#endif
