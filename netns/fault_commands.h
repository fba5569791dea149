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

/* `fail`, or `heal`. argc: 3 or more. */
int fault_commands_break(int argc, char **argv, bool fail);
/* direction: both, from-leaf, to-leaf. argc: 3 or more. */
int fault_commands_gray(int argc, char **argv, double loss_percent, const char *direction);
/* argc: 3 or more; throttle: 5 or more. */
int fault_commands_rate(int argc, char **argv);
int fault_commands_throttle(int argc, char **argv);
/* argv[1]: KiB. */
int fault_commands_ecn(char **argv);
int fault_commands_pfc(int argc, char **argv);
/* argc: 3 or more. */
int fault_commands_lb(int argc, char **argv);

#endif
