/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover_guard.h - undoes the fault that a benchmark leaves behind, however it ends.
 *
 * Owns: an undo_guard (undo_guard.h) whose memory is the scenario in force. In: what is about to be
 * broken, and that it is healed. Out: what is still broken when the benchmark ends is undone; who
 * kills benchmark and guard with SIGKILL has `farelab heal`. Thread: the coordinator's.
 */
#ifndef FAILOVER_GUARD_H
#define FAILOVER_GUARD_H

#include "resilience/failover_scenario.h"
#include "lab.h"

struct failover_guard;

int failover_guard_create(struct failover_guard **out, const struct lab *lab); /* lab is copied */

/*
 * Before the first system call that breaks anything. -EPIPE after saying so: the guard is gone,
 * break nothing.
 */
int failover_guard_begin(struct failover_guard *guard, const struct failover_scenario *scenario);
/* After the last that heals it. */
void failover_guard_end(struct failover_guard *guard);

/*
 * Returns when nothing of the scenario in force is left: 0; or -EREMOTEIO after saying what is.
 * NULL is fine.
 */
int failover_guard_destroy(struct failover_guard *guard);

#endif
