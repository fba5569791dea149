/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim - runs schedules of QP groups, one seed after the other, until the time is over or one is
 * violated.
 */
#include <getopt.h>
#include <stdio.h>
#include <time.h>

#include "qp/planted.h"
#include "schedule.h"
#include "seeds.h"

enum planted planted_active;

static const struct seeds_plant plants[] = {{"none", ""}, PLANTED_LIST(SEEDS_PLANT)};
static struct sim *sim;
static bool is_traced, prints_digest;

static void set_plant(int plant)
{
	planted_active = (enum planted)plant;
}

static void report(void)
{
	printf("violation: seed %llu at %.6f ms: %s: %s\n", (unsigned long long)sim->config.seed,
	       (double)(sim->failed_ns - SIM_START_NS) / 1e6, sim->check, sim->what);
	printf("  again: sim --schedules 1 --seed %llu --trace%s%s\n",
	       (unsigned long long)sim->config.seed, planted_active ? " --plant " : "",
	       planted_active ? plants[planted_active].name : "");
	fflush(stdout);
}

static bool run(uint64_t seed, uint64_t *events)
{
	bool holds;

	sim->is_traced = is_traced;
	holds = schedule_run(sim, seed);
	if (!holds)
		report();
	*events += sim->n_events;
	if (prints_digest)
		printf("%llu %016llx\n", (unsigned long long)seed,
		       (unsigned long long)sim->net.loop.digest);
	return holds;
}

static const struct seeds_simulation simulation = {.name = "sim",
						   .plants = plants,
						   .n_plants = PLANTED_END,
						   .set_plant = set_plant,
						   .plant_schedules = 10000,
						   .run = run};

int main(int argc, char **argv)
{
	static const struct option longs[] = {SEEDS_LONG_OPTIONS,
					      {"trace", 0, NULL, 't'},
					      {"digest", 0, NULL, 'd'},
					      {"help", 0, NULL, 'h'},
					      {0}};
	struct seeds_options o = SEEDS_DEFAULTS;
	struct seeds_result r;
	int c, status = 0;

	o.seed = (uint64_t)time(NULL);
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 't') {
			is_traced = true;
		} else if (c == 'd') {
			prints_digest = true;
		} else if (c == 'h' || !seeds_option(&simulation, &o, c, optarg)) {
			fputs("usage: sim [OPTION...]\n"
			      "  --trace          print everything that happens\n"
			      "  --digest         print seed and digest of each "
			      "schedule\n" SEEDS_USAGE,
			      c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
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
