/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_options.h - farectl's options, and which command takes which.
 *
 * Owns nothing; what it returns points into argv. In: argv. Out: options, or an exit status with
 * the reason printed. Thread: the main one.
 */
#ifndef FARECTL_OPTIONS_H
#define FARECTL_OPTIONS_H

#include <stdbool.h>

#include "farectl_top.h"

struct farectl_options {
	const char *run_dir;
	const char *gpu;			   /* NULL: any */
	const char *confirm;			   /* seconds, as given; NULL: not */
	const char *count;			   /* of a trace, as given; NULL: not */
	const char *since, *topic, *level, *plane; /* of events; NULL: all */
	double wait_s;				   /* of a drain; 0: not */
	const char *config;			   /* of doctor; NULL: the usual one */
	bool quiet;				   /* likewise: only what is wrong */
	bool dry_run;
	bool json;
	struct farectl_top_options top;
};

/*
 * Below 0: go on, with what follows from optind; else the exit status. An option that the command
 * does not take is refused: what it was meant to narrow down would be done to everything.
 */
int farectl_options_parse(struct farectl_options *out, int argc, char **argv);
/* Prints the problem and returns the exit status of wrong usage. */
int farectl_usage(const char *problem);

#endif
