/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.h - one schedule from its seed: what there is, what goes wrong, and when it must be well
 * again.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "seeds.h"
#include "sim.h"

void schedule_create(struct sim **out);
void schedule_destroy(struct sim *sim);
struct seeds_schedule schedule_run(struct sim *sim, struct sim_trace *trace);

#endif
