/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup_peer.h - what a hash table must offer to be measured by lookup.c.
 *
 * Owns: nothing. A peer loops over the keys by itself, so that its look-up is as much inlined as
 * its authors meant it to be. Thread: one.
 */
#ifndef LOOKUP_PEER_H
#define LOOKUP_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lookup_peer {
	const char *name;
	/* Room for n keys, all inserted: key[i] -> i & 0xffff. 0 or -errno; *out is owned by the
	 * peer until destroy. */
	int (*create)(void **out, const uint64_t *keys, size_t n);
	void (*destroy)(void *table);
	/* The sum of the values found, 1 for each key that is absent; keys one at a time. */
	uint64_t (*lookup)(void *table, const uint64_t *keys, size_t n);
};

extern const struct lookup_peer lookup_peer_absl;

#ifdef __cplusplus
}
#endif

#endif
