/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.h - one schedule from its seed: what there is, what goes wrong, and when it must be well
 * again.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

void schedule_create(struct sim **out);
void schedule_destroy(struct sim *sim);
/* True: nothing was violated. Otherwise sim->check, what and failed_ns say what was. */
bool schedule_run(struct sim *sim, uint64_t seed);

#endif
