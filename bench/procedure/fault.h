/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - a fault in the middle of what a trial measures (methodology 12.3).
 *
 * Owns: nothing. In: a plan, the fault, when it strikes; out: what was measured, and goodput around
 * the fault as recovery.h reads it. Thread: the coordinator's.
 */
#ifndef FAULT_H
#define FAULT_H

#include "procedure/fault_links.h"
#include "procedure/recovery.h"
#include "resilience/observe.h"
#include "suite/trial.h"

/*
 * Measures the plan; the fault (as for fabric_fail()) strikes after that share of the window.
 * *inject_ns: when it did. *goodput: of load 0, in m. It stays in force: fabric_restore().
 */
int fault_measure(struct trial *t, const struct plan *plan, const char *spec, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput);

/* The same, with the busiest of these links just before it: links->spec, links->text. */
int fault_measure_busiest(struct trial *t, const struct plan *plan, struct fault_links *links,
			  double share, uint64_t *inject_ns, struct measured *m,
			  struct recovery *goodput);

/* "uplink l0 sp0": the first link to a spine of the leaf that a GPU has on a plane. False: it has
 * none. */
bool fault_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec, size_t size);

/* The same of that leaf's spines: its first link to a superspine. */
bool fault_spine_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec,
			size_t size);

/*
 * Waits until all see the healed fabric. The KPI's row: ms from then until weights were published
 * as they were when observe began; NULL: hosts, and it is missing.
 */
int fault_settle(struct trial *t, const struct observe *observe, uint64_t healed_ns,
		 const char *kpi);
#define FAULT_MAX_EVENTS (1u << 20) /* for observe_start() */

/* Goodput of load 0, of a trial that recorded bins. */
struct recovery fault_goodput(const struct measured *m);

#endif
