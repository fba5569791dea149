/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach.h - inside of struct fare and struct fare_pair: the client's view of the daemon (private
 * to libfare).
 *
 * Solely owns: the read-only mapping of the daemon's segment, the control-socket connection, and
 * the client's own segment (conn_segment.h). One thread per struct fare.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include "conn_segment.h"
#include "fare.h"
#include "shm_layout.h"
#include "spray_shared.h"

/*
 * What every public function asks first. 0; -EINVAL: NULL; -ECHILD: fork() has copied it, and the
 * parent's is the one that is in use.
 */
int attach_check(const struct fare *fare);
int attach_check_pair(const struct fare_pair *pair);
/*
 * Looks for a daemon that replaced the segment, and offers it our own, once a second: one
 * comparison when nothing is due.
 */
void attach_refresh(struct fare *fare, uint64_t now_ns);
/*
 * The segment in force was retired: it says nothing new any more, and fare_pair_paths() looks for
 * its successor.
 */
bool attach_retired(const struct fare *fare);
/*
 * Changes whenever anything that the daemon publishes may have: one look for the pairs of all
 * groups.
 */
uint64_t attach_generation(const struct fare *fare);
/* The client's own segment, which the daemon sees. */
struct conn_segment *attach_segment(const struct fare *fare);
/*
 * A local GPU as the daemon published it. Its numbers were read once and are within bounds,
 * whatever is written there since.
 */
struct attach_gpu {
	unsigned n_planes;		       /* 1 .. FARE_MAX_PLANES */
	unsigned n_sub_ports[FARE_MAX_PLANES]; /* .. FARE_MAX_SUB_PORTS */
	/* addresses, names, speeds: any bytes. Valid until the next attach_refresh() */
	const struct shm_local_gpu *shm;
};
/* false: there is none */
bool attach_local_gpu(const struct fare *fare, unsigned local_gpu, struct attach_gpu *out);
/* Whether a GPU of this server has that address: no plane leads there. */
bool attach_is_local(const struct fare *fare, const struct in6_addr *address);
/*
 * A pair's phase and turn (weights.h; among the addresses that the daemon knows now), its peer and
 * local GPU.
 */
double attach_pair_phase(const struct fare_pair *pair);
int64_t attach_pair_turn(const struct fare_pair *pair);
/*
 * Payload bytes of a packet that all usable planes carry, where that is less than what this
 * server's devices do; UINT32_MAX: nothing is known to be less.
 */
uint32_t attach_pair_path_mtu(const struct fare_pair *pair);
void attach_pair_identity(const struct fare_pair *pair, struct in6_addr *peer, uint32_t *local_gpu);
struct fare *attach_pair_owner(const struct fare_pair *pair);
struct spray_shared *attach_spray_shared(struct fare *fare);

/*
 * Who looks at a pair's word without a call, by the head of a spray: its word is kept right when
 * the pair moves to another segment, and what it has seen then differs from that. Memory is the
 * caller's until removed.
 */
struct attach_watch {
	struct attach_watch *next;
	struct fare_spray_head *head;
};
void attach_watch_add(struct fare_pair *pair, struct attach_watch *watch,
		      struct fare_spray_head *head);
void attach_watch_remove(struct fare_pair *pair, struct attach_watch *watch);
/* What was seen becomes what the word was when fare_pair_paths() gave this generation. */
void attach_watch_seen(const struct fare_pair *pair, struct attach_watch *watch,
		       uint64_t generation);

#endif
