/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_queue.h - a peer's operations that no group has yet, in order; each starts when the group has
 * room and nothing before it waits.
 *
 * Owns peer->queue. An operation leaves it when its group has taken it, or when it fails. Under the
 * domain's lock.
 */
#ifndef OFI_QUEUE_H
#define OFI_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct ofi_op;
struct ofi_peer;

/* Takes the operation, and starts it if nothing is in its way. */
void ofi_queue_submit(struct ofi_op *op);
/* The same before all others: an answer that the peer cannot go on without. */
void ofi_queue_submit_first(struct ofi_op *op);
/*
 * The peer has refused a read or write. True: it was by a key that may have a new meaning, and it
 * waits until the peer was asked.
 */
bool ofi_queue_again(struct ofi_op *op);
/* Starts what can start. */
void ofi_queue_run(struct ofi_peer *peer);
/* Operations of a peer that nothing was sent to are another's, behind those that it has. */
void ofi_queue_move(struct ofi_peer *from, struct ofi_peer *to);
/* It is not started again, nor what is left of it sent, if it still waits. */
void ofi_queue_drop(struct ofi_op *op);
/* All of them end with that status (-errno). */
void ofi_queue_fail(struct ofi_peer *peer, int status);
/* Those that are past their deadline end; a group ends by itself those that it has. */
void ofi_queue_expire(struct ofi_peer *peer, uint64_t now_ns);

#endif
