/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.h - a lab for the length of one command, gone afterwards whatever happens.
 *
 * Owns the lab it makes. In: a topology and a command. Out: the command's exit status. A supervisor
 * process in a session of its own holds the other end of a pipe: when the front dies, even of
 * SIGKILL, the pipe closes and the supervisor kills the command's process group and takes the lab
 * down. When the supervisor dies, the front takes the lab down itself. Both dead, the lab counts as
 * dead and `farelab sweep` removes it.
 */
#ifndef RUN_H
#define RUN_H

#include "lab.h"

/* Exit status for main(): the command's, 128+n for a signal, 1 if the lab did not come up and
 * converge. */
int run_command(struct lab_up_options *options, double wait_s, char *const argv[]);

/* Replaces this process by argv in a host's namespace, with that namespace's /sys. Returns only on
 * error. */
int run_inside(const struct lab *lab, struct plan_host host, char *const argv[]);

#endif
