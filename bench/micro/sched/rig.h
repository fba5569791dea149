/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.h - a daemon's segment and clients of it, all in this process: the real thing, without a
 * fabric.
 *
 * Owns: a run directory below /tmp, its segment, and the pairs and sprays that clients opened on
 * it. In: bandwidths; out: sprays. Thread: publishing in one, each client in one.
 */
#ifndef RIG_H
#define RIG_H

#include <stdint.h>

#include "fare.h"
#include "shm_writer.h"

#define RIG_MAX_PLANES	16
#define RIG_MAX_CLIENTS 2
/*
 * Where packets go to one destination, each repetition takes another of so many: where a pair's
 * head and word happen to lie may make its picks twice as slow, as long as the process lives, and
 * a median over one pair would be of that.
 */
#define RIG_STREAMS 16

struct rig_client {
	struct fare *fare;
	struct fare_pair **pairs;
	struct fare_spray **sprays; /* one of each pair */
};

struct rig {
	char dir[32];
	unsigned n_pairs, n_planes, n_clients;
	struct shm_writer *writer;
	struct rig_client client[RIG_MAX_CLIENTS];
};

/* n_pairs: 1 .. FARE_MAX_PAIRS; two sub-ports a plane, all up; every pair at bps[]; n_clients: 1 ..
 * RIG_MAX_CLIENTS. 0 or -errno. */
int rig_open(struct rig *rig, unsigned n_pairs, const uint64_t *bps, unsigned n_planes,
	     unsigned n_clients);
void rig_close(struct rig *rig);
void rig_publish(struct rig *rig, unsigned pair, const uint64_t *bps);

/* Keeps the compiler from dropping what was computed. */
static inline void rig_keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value) : "memory");
}

#endif
