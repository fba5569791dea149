/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon.h - what fared publishes on each host: the truth, later, or something else.
 *
 * Solely owns: struct fare and struct fare_pair of the simulation, in place of sched/attach.c and
 * sched/conn_segment.c.
 */
#ifndef SIM_DAEMON_H
#define SIM_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "sim.h"

/* One host's. */
struct fare {
	struct sim *sim;
	unsigned host;
	uint64_t generation;
	uint64_t pair_generation[SIM_HOSTS];
	struct fare_paths paths[SIM_HOSTS]; /* by peer */
	uint64_t late_ns;		    /* between a change and its publication, at most */
	uint64_t frozen_until_ns;	    /* away: what it published stays */
	bool is_lying[NET_PLANES];	    /* takes the plane for dead */
	uint64_t bps[NET_PLANES];
};

struct daemon {
	struct fare fare;
};

void daemon_init(struct sim *sim, unsigned host);
/* Something changed: all daemons find out in their time (LOOP_DAEMON). */
void daemon_changed(struct sim *sim);
/* Publishes what is so now. */
void daemon_publish(struct sim *sim, unsigned host);

#endif
