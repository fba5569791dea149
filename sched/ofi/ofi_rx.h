/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_rx.h - what arrives: messages meet receives; long ones are read from the sender's memory.
 *
 * Owns unexpected messages and posted receives until they complete. All that a message of a peer
 * makes this process keep is counted against that peer (ofi_wire.h).
 */
#ifndef OFI_RX_H
#define OFI_RX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fare.h"
#include "ofi/ofi_tables.h"
#include "ofi/ofi_wire.h"

struct ofi_domain;
struct ofi_ep;
struct ofi_op;
struct ofi_peer;

/* a posted receive */
struct ofi_recv {
	struct ofi_posted posted; /* first */
	struct ofi_ep *ep;
	struct iovec iov[FARE_PIECES_MAX];
	void *desc[FARE_PIECES_MAX];
	size_t n_iov;
	uint64_t room;
	void *context;
	bool wants_entry;
	/* FI_MULTI_RECV (ofi_multi.h) */
	bool is_multi, is_spent;
	uint64_t used, least;	/* bytes taken; spent when fewer than least are left */
	unsigned n_parts;	/* that have not completed */
	struct ofi_recv *whole; /* what this is a part of */
	/* of the message that it took */
	struct ofi_wire wire;
	uint64_t source, length;
	struct ofi_address from;
	/* a part of a buffer for several: its entry in the CQ counts until it is read */
	struct ofi_peer *peer;
	uint32_t kept_bytes;
};

/*
 * A message; on the heap, with its payload behind it, while no receive has taken it, or while
 * records of it are to come.
 */
struct ofi_message {
	struct ofi_arrived arrived; /* first */
	struct ofi_peer *peer;
	struct ofi_wire wire;
	const uint8_t *payload; /* OFI_EAGER */
	/* instead, while it is in several records in libfare's memory (struct ofi_gather) */
	const struct iovec *parts;
	unsigned n_parts;
	uint64_t length;  /* of the message, wherever it is */
	uint32_t missing; /* bytes of an OFI_EAGER that are still to come */
	void *claimed_by; /* the context of FI_CLAIM */
};

_Static_assert(sizeof(struct ofi_message) <= OFI_KEPT_BYTES, "the window counts it");

/*
 * A message of several records whose records arrive together is not copied before a receive takes
 * it. One at a time; if the rest is not here when libfare is polled again, it goes to the heap.
 */
#define OFI_GATHER_MAX 16u
struct ofi_gather {
	struct ofi_message **partial; /* of its link; NULL: there is none */
	struct ofi_message m;
	struct iovec parts[OFI_GATHER_MAX];
};

/*
 * A record has arrived. *partial: the message that further records of the same link belong to; NULL
 * where a message has one record.
 */
void ofi_rx_record(struct ofi_peer *peer, struct ofi_message **partial, const void *data,
		   size_t bytes);
/* Records that have arrived are in libfare's memory no longer: after each batch of events. */
void ofi_rx_settle(struct ofi_domain *domain);
/* The link has ended: the rest of its message will not come. */
void ofi_rx_end(struct ofi_message **partial);
/* Sends a message that nobody waits for the completion of. 0 or -errno. */
int ofi_rx_answer(struct ofi_peer *peer, const struct ofi_wire *w);
/* The receive takes the message, and completes now or when it was read. */
void ofi_rx_deliver(struct ofi_recv *recv, const struct ofi_message *m);
/* The application does not want the message: whoever waits for it is told. */
void ofi_rx_discard(const struct ofi_message *m);
/* All messages of that peer that no receive has taken. Nobody is told. */
void ofi_rx_drop(struct ofi_peer *peer);
/* Whoever waits for OFI_FIN of that cookie is told that its message was not taken. */
void ofi_rx_refuse(struct ofi_peer *peer, uint32_t cookie);
/* An OFI_OP_READ with a receive is over. */
void ofi_rx_read_done(struct ofi_op *op);

#endif
