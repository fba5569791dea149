/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault_commands.h - the commands that break a lab, as they are typed.
 *
 * Owns nothing. In: words: argv[0] the lab's name, argv[1] what is meant, then which. Out: exit
 * status; on failure a line on stderr said why. Single-threaded programs only.
 */
#ifndef FAULT_COMMANDS_H
#define FAULT_COMMANDS_H

#include "lab.h"

/* "s3", "l0", "sp1" or "ss0"; -EINVAL after saying which there are. */
int fault_commands_host(const struct lab *lab, const char *text, struct plan_host *host);

/* What the command line has beside a command's words. */
struct options {
	const char *name;
	const char *fared;
	const char *frr;
	double wait_s; /* < 0: not given */
	double loss_percent;
	const char *direction;
	bool json;
	double seed;   /* < 0: not given */
	double faults; /* 0: not given */
};

/* As the table of farelab.c has them. */
int fault_commands_fail(const struct options *o, int argc, char **argv);
int fault_commands_heal(const struct options *o, int argc, char **argv);
int fault_commands_gray(const struct options *o, int argc, char **argv);
int fault_commands_rate(const struct options *o, int argc, char **argv);
int fault_commands_throttle(const struct options *o, int argc, char **argv);
int fault_commands_ecn(const struct options *o, int argc, char **argv);
int fault_commands_lb(const struct options *o, int argc, char **argv);
/* argc: 3 */
int fault_commands_pfc(int argc, char **argv);

#endif
