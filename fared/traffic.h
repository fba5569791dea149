/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traffic.h - what clients say of their paths, read in rounds.
 *
 * Owns how far the present round has come. In: clients' segments (flows.h). Out: their rows of
 * paths; whether it is known who has traffic. Thread: the loop's.
 *
 * A reading has a bound, whatever clients do, and the next one goes on where it stopped. A client's
 * part of a round is bounded, too (CONN_SHM_MAX_PATHS): if all 64 show as many, each is read every
 * 64th time.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "flows.h"

#define TRAFFIC_ROWS 16384u /* told of per reading */

/* All zero: nothing is read yet, and nothing known. */
struct traffic {
	uint64_t cursor;
	bool told;  /* of a path, in this round */
	bool known; /* after the last whole round */
};

/*
 * Reads on, to the end of the round at most. Returns whether it is known which paths have traffic:
 * the last whole round told of some, and no client picks planes for traffic that no row tells of.
 */
bool traffic_read(struct traffic *t, const struct flows *flows,
		  void (*on_path)(void *arg, const struct flow_path *path), void *arg);

#endif
