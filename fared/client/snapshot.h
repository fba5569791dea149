/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - everything a daemon says of itself, asked for at once.
 *
 * Solely owns: the replies in it. In: a run directory. Out: replies; paths as one reply, or page by
 * page to who keeps none of them. Thread: any; taking one waits for the daemon. The replies are of
 * nearly one time, not of one.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>

#define SNAPSHOT_MAX_QPS 131072 /* five seconds' worth of requests */

enum { SNAPSHOT_PATHS = 1, SNAPSHOT_QPS = 2, SNAPSHOT_COUNTERS = 4, SNAPSHOT_EVENTS = 8 };

/* Rows of `show paths`, a page at a time (borrowed); planes: rows of `show planes`. */
struct snapshot_pages {
	void (*on_paths)(void *arg, const json_t *planes, const json_t *rows);
	void *arg;
};

struct snapshot {
	json_t *version, *planes, *paths, *counters, *events;
	json_t *qp_sums; /* path_sums.h; NULL: there are more than SNAPSHOT_MAX_QPS */
	bool has_more_qps;
	double at_s, took_s; /* CLOCK_MONOTONIC */
	char why[256];	     /* the first thing that could not be had; "": nothing */
};

/*
 * version, planes, and what `parts` names (SNAPSHOT_*): all of it, or -EREMOTEIO and nothing;
 * s.why then says why. Of events, those after that sequence number. With pages, paths are handed to
 * them, and s.paths is NULL; what they were given is not all if the rest fails.
 */
int snapshot_take(struct snapshot *s, const char *run_dir, unsigned parts, json_int_t events_after,
		  const struct snapshot_pages *pages);
void snapshot_free(struct snapshot *s);

#endif
