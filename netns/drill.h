/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill.h - runs a plan of faults against a lab that is up, and prints what each took to heal.
 *
 * Owns no state. In: an open lab, a plan. Out: the faults, by this program's own commands; a line,
 * or a JSON object, per step. Whatever happens in between (a failed step; SIGINT, SIGTERM, SIGHUP),
 * everything that the plan broke is healed at the end. Single-threaded programs only.
 */
#ifndef DRILL_H
#define DRILL_H

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"

/* 0: every step was done and the lab converged again afterwards; else -errno after saying why. */
int drill_run(const struct lab *lab, const char *plan_path, uint64_t seed, uint32_t faults,
	      bool json);

#endif
