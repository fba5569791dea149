/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.h - one schedule from its seed: what goes wrong, and whether verdicts are right.
 *
 * Checked: no path goes down, and no sub-port is marked gray, that no fault touched within GRACE;
 * a dead plane is found; no path MTU is found small that is not, and one that is is found; nothing
 * recovers while most probes are lost; peers know of a lost sub-port; all is up in the end; what
 * each server publishes of a path is what its sources, probes and peers say (path_check.h). In half
 * of the schedules pairs of servers without traffic are known as such, and probed slowly.
 */
#ifndef SIM_HEALTH_SCHEDULE_H
#define SIM_HEALTH_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_trace.h"

enum fault_kind {
	FAULT_LEAF_GRAY,     /* drops all */
	FAULT_ONE_WAY,	     /* drops all that one server sends, or is sent */
	FAULT_LEAF_LOSSY,    /* drops 60 to 90%, or 5 to 8% */
	FAULT_SUB_PORT_GRAY, /* one cable drops half or all */
	FAULT_SUB_PORT_DOWN, /* no carrier */
	FAULT_RESTART,	     /* of one fared */
	FAULT_MTU,	     /* one cable, or a leaf, passes only smaller packets */
	FAULT_UNROUTED,	     /* one sub-port of two has no route, there, back, or both */
	FAULT_KINDS,
};

enum schedule_when {
	SCHEDULE_ALONE,
	SCHEDULE_BESIDE, /* something else that is bad */
	SCHEDULE_SELDOM, /* more paths than the budget pays for: they are probed less often */
	SCHEDULE_WHENS,
};

#define SCHEDULE_TIMES 65536u

struct schedule_stats {
	/* [1]: of schedules with more paths than the budget of probes pays for */
	uint64_t false_downs[2];
	double path_hours[2];
	/* of these, with a queue at one of the path's ports, or with one of its servers late */
	double bad_hours;
	/* of paths of which one cable of two was bad, and nothing else: how often they were down */
	uint64_t cable_paths, cable_downs;
	/* down for as long as it, because none of the source ports of probes leads round it */
	uint64_t cable_all;
	/* paths that a fault cut, or made lossy, and that had not gone down when it ended */
	uint32_t missed[FAULT_KINDS][SCHEDULE_WHENS];
	/* how long verdicts and recoveries took */
	struct schedule_times {
		uint32_t n;
		float ms[SCHEDULE_TIMES];
	} found[FAULT_KINDS][SCHEDULE_WHENS], recovered[SCHEDULE_WHENS];
	/* of gray leaves, less the time in which one of the path's two servers had no CPU time */
	struct schedule_times found_running[SCHEDULE_WHENS];
};

struct schedule_options {
	uint64_t interval_ns; /* of probes; fared.yaml(5): interval_ms, multiplier */
	uint32_t multiplier;
	unsigned n_servers; /* 0: as the seed has it */
	/* true or not; getopt_long() sets them */
	int is_harsh;	 /* several queues of a plane at once, stalls of up to 400 ms */
	int has_no_band; /* queues keep probes as they keep data */
	int is_alone;	 /* faults, and nothing else that is bad */
	int is_unrouted; /* the one fault is FAULT_UNROUTED */
};

/* A digest of what happened. Adds to stats. */
uint64_t schedule_run(struct sim_trace *trace, const struct schedule_options *options,
		      struct schedule_stats *stats);
const char *schedule_fault_name(enum fault_kind kind);

#endif
