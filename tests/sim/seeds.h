/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seeds.h - what runs a simulation: schedules by their seeds, one after the other, in jobs side by
 * side, and with each planted defect in turn.
 *
 * Owns nothing. In: the simulation's functions, options of the command line. Out: how many
 * schedules ran, and how many were violated.
 */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct seeds_plant {
	const char *name, *what;
};

/* All entries of a PLANTED_LIST, as struct seeds_plant. */
#define SEEDS_PLANT(name, what) {#name, what},

struct seeds_simulation {
	const char *name;
	const struct seeds_plant *plants; /* the first is none */
	int n_plants;			  /* it included */
	void (*set_plant)(int plant);
	uint64_t plant_schedules; /* that find each, unless so many are asked for */
	/* One schedule; false: it was violated, which has been printed. Adds to events. */
	bool (*run)(uint64_t seed, uint64_t *events);
};

struct seeds_options {
	double seconds;
	uint64_t seed;	    /* the first */
	uint64_t schedules; /* 0: as many as the time allows */
	unsigned jobs;	    /* processes; each has seeds of its own */
	bool goes_on;	    /* after a violation */
	bool finds_plants;
};

#define SEEDS_DEFAULTS                                                                             \
	{                                                                                          \
		.seconds = 10, .jobs = 1                                                           \
	}

struct seeds_result {
	uint64_t schedules, violations, events;
	double seconds, cpu_seconds;
};

/* For getopt_long(), with the simulation's own options, and what seeds_option() takes. */
#define SEEDS_LONG_OPTIONS                                                                         \
	{"seconds", 1, NULL, 's'}, {"schedules", 1, NULL, 'n'}, {"seed", 1, NULL, 'e'},            \
		{"jobs", 1, NULL, 'j'}, {"keep-going", 0, NULL, 'k'}, {"plant", 1, NULL, 'p'},     \
		{"list-plants", 0, NULL, 'l'},                                                     \
	{                                                                                          \
		"find-plants", 0, NULL, 'f'                                                        \
	}
#define SEEDS_USAGE                                                                                \
	"  --seconds S      run that long (default 10)\n"                                          \
	"  --schedules N    or so many, whatever it takes\n"                                       \
	"  --seed N         the first seed (default: the time)\n"                                  \
	"  --jobs N         processes side by side (default 1)\n"                                  \
	"  --keep-going     do not stop at the first violation\n"                                  \
	"  --plant NAME     switch on a planted defect\n"                                          \
	"  --list-plants    their names\n"                                                         \
	"  --find-plants    run with each, up to --schedules seeds\n"                              \
	"Exit status: 0, 1 (a violation, or a planted defect that was not found), 2 (usage).\n"    \
	"SIGINT and SIGTERM end a run after the schedule.\n"

/* False: the option is none of SEEDS_LONG_OPTIONS, or its value is wrong. */
bool seeds_option(const struct seeds_simulation *s, struct seeds_options *o, int option,
		  const char *value);
struct seeds_result seeds_run(const struct seeds_simulation *s, const struct seeds_options *o);
/* 0; 1: one was not found. */
int seeds_find_plants(const struct seeds_simulation *s, const struct seeds_options *o);

#endif
