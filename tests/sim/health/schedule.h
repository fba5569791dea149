/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.h - one schedule from its seed: what goes wrong, and whether verdicts are right.
 *
 * Checked: no path goes down, and no sub-port is marked gray, that no fault touched within GRACE;
 * a dead plane is found; nothing recovers while most probes are lost; peers know of a lost
 * sub-port; all is up in the end.
 */
#ifndef SIM_HEALTH_SCHEDULE_H
#define SIM_HEALTH_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_LEAF_GRAY,     /* drops all */
	FAULT_ONE_WAY,	     /* drops all that one server sends, or is sent */
	FAULT_LEAF_LOSSY,    /* drops 60 to 90% */
	FAULT_SUB_PORT_GRAY, /* one cable drops half or all */
	FAULT_SUB_PORT_DOWN, /* no carrier */
	FAULT_RESTART,	     /* of one fared */
	FAULT_KINDS,
};

#define SCHEDULE_TIMES 4096u

struct schedule_stats {
	uint64_t schedules, false_downs, violations;
	double path_hours;
	/* how long each path's verdict took, of kinds that make a path go down */
	uint32_t n_found[FAULT_KINDS];
	float found_ms[FAULT_KINDS][SCHEDULE_TIMES];
};

/* false: something was violated, and has been said on standard output. */
bool schedule_run(uint64_t seed, bool is_traced, struct schedule_stats *stats);
const char *schedule_fault_name(enum fault_kind kind);

#endif
