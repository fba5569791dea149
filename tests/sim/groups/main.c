/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim - runs schedules of QP groups, one seed after the other, until the time is over or one is
 * violated.
 */
#include <stdio.h>

#include "qp/planted.h"
#include "schedule.h"

enum planted planted_active;

static const struct seeds_plant plants[] = {{"none", ""}, PLANTED_LIST(SEEDS_PLANT)};
static struct sim *sim;

static void set_plant(int plant)
{
	planted_active = (enum planted)plant;
}

static struct seeds_schedule run(struct sim_trace *trace)
{
	return schedule_run(sim, trace);
}

static const struct seeds_simulation simulation = {.name = "sim",
						   .plants = plants,
						   .n_plants = PLANTED_END,
						   .set_plant = set_plant,
						   .plant_schedules = 10000,
						   .run = run};

int main(int argc, char **argv)
{
	struct seeds_options o;
	struct seeds_result r;
	int status;

	if (!seeds_parse(&simulation, &o, argc, argv))
		return 2;
	schedule_create(&sim);
	if (o.finds_plants) {
		status = seeds_find_plants(&simulation, &o);
	} else {
		r = seeds_run(&simulation, &o);
		printf("%llu schedules from seed %llu in %.1f s (%.0f/s, %.0f for a second of CPU; "
		       "%.0f events each), %llu violations\n",
		       (unsigned long long)r.schedules, (unsigned long long)o.seed, r.seconds,
		       (double)r.schedules / r.seconds, (double)r.schedules / r.cpu_seconds,
		       r.schedules ? (double)r.events / (double)r.schedules : 0.0,
		       (unsigned long long)r.violations);
		status = r.violations ? 1 : 0;
	}
	schedule_destroy(sim);
	return status;
}
