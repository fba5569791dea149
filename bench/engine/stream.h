/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - the books of one direction between two GPUs: which slot carries which message.
 *
 * Owns: slot states. A stream has a fixed number of slots at both ends; message seq lives in slot
 * seq % slots, and slots advance independently, so that one late message does not hold the others
 * up. The sender reuses a slot only after the transport gave its source back (completed) and the
 * receiver has verified it (credited); so at the receiver each slot has exactly one message that
 * may come next, and anything else is loss or duplication. Pure: no transport, no clock. Thread:
 * one per stream.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stdint.h>

#define STREAM_MAX_SLOTS 64

struct stream_tx {
	unsigned slots;
	uint64_t
		next[STREAM_MAX_SLOTS]; /* sequence number that the slot carries, or carries next */
	bool posted[STREAM_MAX_SLOTS], completed[STREAM_MAX_SLOTS], credited[STREAM_MAX_SLOTS];
	uint64_t n_posted, n_credited;
};

struct stream_rx {
	unsigned slots;
	uint64_t expected[STREAM_MAX_SLOTS];
	uint64_t n_verified;
};

void stream_tx_init(struct stream_tx *tx, unsigned slots);
void stream_rx_init(struct stream_rx *rx, unsigned slots);

/* The lowest sequence number below limit whose slot is free; false if there is none. */
bool stream_tx_next(const struct stream_tx *tx, uint64_t limit, uint64_t *seq);
void stream_tx_post(struct stream_tx *tx, uint64_t seq);
/* tag: the low 32 bits of the sequence number. -EPROTO: that message is not under way, or said so
 * already. */
int stream_tx_complete(struct stream_tx *tx, uint32_t tag);
/* The slot that it lay in. */
int stream_tx_credit(struct stream_tx *tx, uint32_t tag);
bool stream_tx_idle(const struct stream_tx *tx); /* nothing under way */

/* The message that tag names, if it is the one its slot expects; else -EPROTO (lost, duplicate or
 * invented). */
int stream_rx_accept(const struct stream_rx *rx, uint32_t tag, uint64_t *seq);
void stream_rx_verified(struct stream_rx *rx, uint64_t seq);
/* All messages below this sequence number are verified. */
uint64_t stream_rx_floor(const struct stream_rx *rx);

#endif
