/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_model.h - what `farectl top` shows, from one snapshot after the other.
 *
 * Solely owns: the rows, and the byte counts of the snapshot before. In: snapshots. Out: rows.
 * Pure. Thread: one. Rates are over the time between two snapshots; the first has none.
 */
#ifndef TOP_MODEL_H
#define TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot.h"

#define TOP_EVENTS 32

struct top_plane {
	char gpu[32];
	int plane;
	double local_bps;	   /* of live sub-ports */
	double usable_bps, tx_bps; /* over all peers */
	/*
	 * Of the GPU's traffic: what went over this plane, and what would have if each peer's
	 * traffic followed the bandwidth of its paths. 0 to 1; below 0: no traffic.
	 */
	double share, ideal_share;
	int paths, usable_paths, sub_ports, live_sub_ports;
	char ports_down[64]; /* devices without carrier */
};

struct top_path {
	char gpu[32], peer[64], verdict[24], reason[160];
	int plane;
	bool drained;
	double usable_bps, local_bps, tx_bps, loss, rtt_p99_s, since_s; /* below 0: not known */
};

/* Less than its local sub-ports carry, by more than 1%. */
bool top_path_is_degraded(const struct top_path *path);

struct top_event {
	double wall_s;
	char text[240];
};

struct top_model {
	char node[64], version[32], sources[128], why[256]; /* why: what could not be had */
	double uptime_s;
	struct top_plane *planes;
	struct top_path *paths; /* the worst first: without bandwidth, with less, others */
	size_t n_planes, n_paths, n_degraded;
	struct top_event events[TOP_EVENTS]; /* the newest first */
	size_t n_events;
	json_int_t last_event;
	json_t *sums; /* path_sums.h, of the snapshot before */
	double sums_at_s;
};

/* All zero is a model that has seen nothing. 0 or -ENOMEM, and the model is as it was. */
int top_model_update(struct top_model *m, const struct snapshot *s);
void top_model_fini(struct top_model *m);

#endif
