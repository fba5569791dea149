/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seeds.h - what runs a simulation: schedules by their seeds, one after the other, in jobs side by
 * side, and with each planted defect in turn; and the command line that says so.
 *
 * Owns nothing. In: the simulation's functions, options of the command line. Out: how many
 * schedules ran, and how many were violated.
 */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_trace.h"

struct seeds_plant {
	const char *name, *what;
};

/* All entries of a PLANTED_LIST, as struct seeds_plant. */
#define SEEDS_PLANT(name, what) {#name, what},

struct seeds_schedule {
	uint64_t events, digest;
};

struct seeds_simulation {
	const char *name;
	const struct seeds_plant *plants; /* the first is none */
	int n_plants;			  /* it included */
	void (*set_plant)(int plant);
	uint64_t plant_schedules; /* that find each, unless so many are asked for */
	struct seeds_schedule (*run)(struct sim_trace *trace);
	/* options of its own, with an entry of zeros behind them; NULL: it has none */
	const struct option *longs;
	const char *usage;
	bool (*set_option)(int option, const char *value); /* false: it is wrong */
	bool has_one_job; /* what it counts, besides, is in the process */
};

struct seeds_options {
	double seconds;
	uint64_t seed;	    /* the first */
	uint64_t schedules; /* 0: as many as the time allows */
	unsigned jobs;	    /* processes; each has seeds of its own */
	/* true or not; getopt_long() sets them */
	int goes_on; /* after a violation */
	int finds_plants, is_traced, prints_digest;
};

struct seeds_result {
	uint64_t schedules, violations, events;
	double seconds, cpu_seconds;
};

/* False: it is wrong, and usage was printed. --help and --list-plants end the process. */
bool seeds_parse(const struct seeds_simulation *s, struct seeds_options *out, int argc,
		 char **argv);
struct seeds_result seeds_run(const struct seeds_simulation *s, const struct seeds_options *o);
/* 0; 1: one was not found. */
int seeds_find_plants(const struct seeds_simulation *s, const struct seeds_options *o);

#endif
