/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup_peer.h - what a hash table must offer to be measured beside the others.
 *
 * Owns: nothing. Each peer stands in a file of its own and loops over the keys by itself, so that
 * its lookup is as much inlined as its authors meant it to be. Peers that were not found when this
 * was built are not in the list. Thread: fill in one; lookups in any.
 */
#ifndef LOOKUP_PEER_H
#define LOOKUP_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOOKUP_PEER_BATCH  64 /* what rte_hash takes at once */
#define LOOKUP_PEER_ABSENT UINT32_MAX

struct lookup_peer {
	const char *name;
	/* Room for n keys, all inserted: key[i] -> i & 0xffff. 0 or -errno; *out is owned by the
	 * peer until destroy. */
	int (*create)(void **out, const uint64_t *keys, size_t n);
	void (*destroy)(void *table);
	/*
	 * The sum of the values found, 1 for each key that is absent: one at a time, and many at a
	 * time, at most LOOKUP_PEER_BATCH (NULL: cannot).
	 */
	uint64_t (*lookup)(void *table, const uint64_t *keys, size_t n);
	uint64_t (*batch)(void *table, const uint64_t *keys, size_t n, size_t at_once);
};

/* Ends with NULL. The first two are ours. */
extern const struct lookup_peer *const lookup_peers[];

extern const struct lookup_peer lookup_peer_conn, lookup_peer_flow_id, lookup_peer_absl,
	lookup_peer_rte, lookup_peer_ck, lookup_peer_urcu, lookup_peer_glib, lookup_peer_uthash;

/* A good 64-bit mix, for peers that leave the hash to the user. */
static inline uint64_t lookup_peer_mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

#ifdef __cplusplus
}
#endif

#endif
