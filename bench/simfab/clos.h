/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clos.h - what a fabric of planes of two tiers carries as fluid, at sizes that no machine here can
 * emulate. Simulated: a report of it must say so.
 *
 * Owns: the bytes on each link of one pattern. In: a fabric by its numbers, transfers between
 * ranks; out: when the last one ends, and how evenly leaves use their uplinks. Pure; the same seed
 * gives the same numbers on every machine. Thread: one for each load.
 *
 * All transfers start at once and share links max-min fairly, each part of one weighted by its
 * bytes (parts of one size: plainly). Then the link with the most seconds of bytes fills at the
 * lowest level, and so its parts have the lowest rates for their bytes: they end together, after
 * those seconds, and all others before. So the time needs no solver, and 1,024 ranks that all send
 * to each other take less than a second. The unit test holds it against micro/fluid's solver.
 */
#ifndef CLOS_H
#define CLOS_H

#include <stdbool.h>
#include <stdint.h>

#include "fare_limits.h"

#define CLOS_MAX_RANKS	4096
#define CLOS_MAX_SPINES 64
#define CLOS_MAX_PLANES (FARE_MAX_PLANES * FARE_MAX_SUB_PORTS) /* a sub-port is one of its own */
#define CLOS_MAX_QPS	64

/* One hash for each QP, equal or weighted by bandwidth; or every transfer split by bandwidth. */
enum clos_balance { CLOS_ECMP, CLOS_WECMP, CLOS_SPRAY };

struct clos {
	unsigned ranks, leaf_ranks;	   /* leaf_ranks: at each leaf */
	unsigned planes, spines;	   /* spines: of each plane */
	double plane_bps[CLOS_MAX_PLANES]; /* of a rank's port; 0: the plane is lost */
	double uplinks;			   /* of a leaf over its ranks' ports: 1 does not block */
	double spine_left; /* share of spine 0's links that is left, in every plane: 1 is whole */
	bool is_scattered; /* ranks are at leaves by chance; else in their order */
	enum clos_balance hosts, leaves; /* over planes; over uplinks */
	unsigned qps;			 /* of each pair: its bytes are cut evenly */
	uint64_t seed;
};

/* A part of a transfer: its bytes, and the links that it crosses. */
struct clos_part {
	double bytes;
	unsigned n_links; /* 2 below one leaf, else 4 */
	unsigned link[4];
};

struct clos_load;

/* -EINVAL: a number out of range. -ENETUNREACH: no plane carries. -ENOMEM. */
int clos_load_create(struct clos_load **out, const struct clos *clos);
void clos_load_destroy(struct clos_load *load); /* NULL is fine */

/* src and dst are ranks, not the same. */
void clos_load_add(struct clos_load *load, unsigned src, unsigned dst, double bytes);
/* The same, and each part is given to on_part as well. */
void clos_load_parts(struct clos_load *load, unsigned src, unsigned dst, double bytes,
		     void (*on_part)(void *arg, const struct clos_part *part), void *arg);

unsigned clos_load_links(const struct clos_load *load);
double clos_load_bps(const struct clos_load *load, unsigned link);
/* When the last byte is across, headers left out. */
double clos_load_seconds(const struct clos_load *load);

/* Means of leaves, each counted as often as it sent bytes up; NaN: none did. */
struct clos_uplinks {
	double mmr; /* seconds of the busiest uplink over the mean of its leaf */
	double jfi;
};

struct clos_uplinks clos_load_uplinks(const struct clos_load *load);

#endif
