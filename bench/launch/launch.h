/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch.h - starts an agent on each host, or says how to.
 *
 * Owns: the processes that it started. In: an inventory and how to reach its hosts; out:
 * agents that
 * connect by themselves. Thread: the coordinator's.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdio.h>

#include "launch/inventory.h"

#define LAUNCH_LINE_MAX 8192

struct launch_options {
	const char *inventory, *listen, *key; /* as of the command line */
	/*
	 * NULL: nothing is started; "ssh" or "ssh:FILE" (a configuration, ssh_config(5)); else a
	 * command for /bin/sh with "{agent}" in it, and "{host}" where that is wanted
	 */
	const char *how;
	const char *mpirun; /* starts MPI's ranks on the hosts, by this coordinator; NULL: none */
};

struct launch;

/* The command line of a host's agent, quoted for a shell. -ENAMETOOLONG, -errno of the paths. */
int launch_line(const struct launch_options *o, const char *host, char *out, size_t size);
/* How with {host} and {agent} replaced. -EINVAL: no {agent} in it; -ENAMETOOLONG. Pure. */
int launch_fill(const char *how, const char *host, const char *agent, char *out, size_t size);

/* Starts all; -errno after saying why. With how == NULL it prints a line for each host. */
int launch_start(struct launch **out, const struct launch_options *o,
		 const struct inventory *inventory);
/* The first host whose process has ended, *status as of wait(2); below 0: none has. */
int launch_ended(struct launch *launch, int *status);
/* Ends what still runs. NULL is fine. */
void launch_end(struct launch *launch);

#endif
