/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - everything a daemon says of itself, asked for at once.
 *
 * Solely owns: the replies in it. In: a run directory. Out: replies, NULL where one could not be
 * had. Thread: any; taking one waits for the daemon. The replies are of nearly one time, not of
 * one.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <jansson.h>

enum { SNAPSHOT_PATHS = 1, SNAPSHOT_QPS = 2, SNAPSHOT_COUNTERS = 4, SNAPSHOT_EVENTS = 8 };

struct snapshot {
	json_t *version, *planes, *paths, *qps, *counters, *events;
	double at_s, took_s; /* CLOCK_MONOTONIC */
	char why[256];	     /* the first thing that could not be had; "": nothing */
};

/*
 * version, planes, and what `parts` names (SNAPSHOT_*). 0, or -EREMOTEIO: no version, so the daemon
 * does not answer; s.why says why. Of events, those after that sequence number.
 */
int snapshot_take(struct snapshot *s, const char *run_dir, unsigned parts, json_int_t events_after);
/* CLOCK_MONOTONIC. */
double snapshot_now_s(void);
void snapshot_free(struct snapshot *s);

#endif
