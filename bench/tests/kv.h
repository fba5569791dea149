/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kv.h - point-to-point KV-cache transfer: one-sided writes from one GPU to another
 * (methodology 5.1).
 *
 * Owns: nothing. In: a cluster and a pair; out: goodput against the optimum: bytes acknowledged
 * while it was measured, so that messages of any size count for what of them was moved then; a run
 * of which not every byte is verified in the end fails. Thread: the coordinator's.
 */
#ifndef KV_H
#define KV_H

#include "engine/traffic.h"

#define KV_BIN_NS 10000000u

struct kv_options {
	struct traffic_options traffic;
	unsigned src, dst;
	uint64_t size_bytes; /* of a message */
	unsigned depth;	     /* messages in flight, 1..STREAM_MAX_SLOTS */
	double warm_s, measure_s;
	json_t *timeline; /* not NULL: an array of goodput (bit/s) per KV_BIN_NS is appended for
			     each repetition */
};

/* The bytes of arena that kv needs. */
uint64_t kv_arena_bytes(const struct kv_options *kv);

/* One repetition with fresh QPs. */
int kv_run(struct cluster *cluster, const struct topo *topo, const struct kv_options *kv,
	   struct traffic_result *result);

/* The same in two halves, for those who do something meanwhile: kv_end() stops, drains and tells
 * when what arrived. */
int kv_begin(struct cluster *cluster, const struct topo *topo, const struct kv_options *kv);
int kv_end(struct cluster *cluster, const struct kv_options *kv, struct traffic_result *result,
	   uint64_t **times_ns, size_t *n_times);

/* `farebench kv ...` */
int kv_main(int argc, char **argv);

#endif
