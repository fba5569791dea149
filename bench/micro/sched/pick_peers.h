/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pick_peers.h - other ways to choose a plane for each packet, each in its best form.
 *
 * Owns: nothing. In: integer weights; out: planes. Thread: any.
 *
 * smooth WRR and stride are exact but look at every plane for each pick; alias and Maglev pick at
 * once but by chance; a table of 4,096 picks at once and is not exact.
 */
#ifndef PICK_PEERS_H
#define PICK_PEERS_H

#include <stddef.h>
#include <stdint.h>

#define PICK_PEERS_MAX_PLANES 16
#define PICK_PEERS	      5
#define PICK_PEERS_NAMES      "smooth-wrr,stride,alias,maglev,table-4096"

struct pick_peer {
	const char *name;
	void *(*create)(const uint32_t *weights, unsigned n); /* free() it; NULL: no memory */
	uint64_t (*sum)(void *state, size_t n);		      /* n picks; the sum of the planes */
	void (*fill)(void *state, uint8_t *planes, size_t n); /* n picks, kept */
};

extern const struct pick_peer pick_peers[PICK_PEERS];

#endif
