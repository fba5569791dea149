/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kv.h - point-to-point KV-cache transfer: one-sided writes from one GPU to another, as long as
 * wanted, while something else happens.
 *
 * Owns: nothing. In: a cluster and a pair; out: what arrived when. A run of which not every byte is
 * verified in the end fails. Thread: the coordinator's.
 */
#ifndef KV_H
#define KV_H

#include "engine/traffic.h"

struct kv_options {
	struct traffic_options traffic;
	unsigned src, dst;
	uint64_t size_bytes; /* of a message */
	unsigned depth;	     /* messages in flight, 1..STREAM_MAX_SLOTS */
};

/* The bytes of arena that kv needs. */
uint64_t kv_arena_bytes(const struct kv_options *kv);

/* Opens and starts. */
int kv_begin(struct cluster *cluster, const struct topo *topo, const struct kv_options *kv);
/* Stops, drains, closes; *times_ns (the caller's): when each message was verified. */
int kv_end(struct cluster *cluster, const struct kv_options *kv, struct traffic_result *result,
	   uint64_t **times_ns, size_t *n_times);

#endif
