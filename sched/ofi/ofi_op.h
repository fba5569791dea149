/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_op.h - one operation of this process toward a peer: a message, its answer, a read, a write.
 *
 * Owns an operation's memory: its copy of a message, the regions registered for it. An operation
 * is created by who asks for it, belongs to its peer from ofi_queue_submit() on, and is over when
 * nothing is waited for any more (ofi_op_settle) and libfare has nothing of it. Under the domain's
 * lock.
 */
#ifndef OFI_OP_H
#define OFI_OP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fare.h"

struct ofi_domain;
struct ofi_ep;
struct ofi_peer;
struct ofi_recv;
struct ofi_wire;

enum ofi_op_kind {
	OFI_OP_MESSAGE, /* fare_group_send() */
	OFI_OP_WRITE,
	OFI_OP_READ,
};

/* what an operation waits for before it is over */
#define OFI_WAIT_FARE 1u /* its FARE_EVENT_COMPLETED */
#define OFI_WAIT_FIN  2u /* the peer's OFI_FIN */

struct ofi_op {
	struct ofi_op *prev, *next;	    /* in its peer's queue */
	struct ofi_op *all_prev, *all_next; /* of the domain */
	struct ofi_domain *domain;
	struct ofi_peer *peer;
	struct ofi_ep *ep; /* whose completion it is; NULL: nobody's */
	enum ofi_op_kind kind;
	uint8_t waits;
	bool submitted;	   /* out of its peer's queue: the group has it as a whole, or it failed */
	unsigned n_held;   /* what the group still has of it: its memory is not free before */
	bool reported;	   /* its completion was written */
	bool after_writes; /* starts when no write to the peer is outstanding */
	int status;	   /* 0 or -errno */
	uint64_t deadline_ns;

	/* for its completion */
	void *context;
	uint64_t flags; /* FI_SEND, FI_MSG ... of the entry */
	uint64_t length;
	bool wants_entry; /* an entry in the CQ also if it succeeds */
	bool ends_early;  /* it is reported when a group has it: its memory is a copy */

	/* OFI_OP_MESSAGE: its records, each but the last of OFI_RECORD_BYTES */
	uint8_t *message;
	uint32_t message_bytes;
	uint32_t sent_bytes; /* that the group has taken */
	uint32_t cookie;     /* 0: no answer is waited for */
	bool is_question;    /* OFI_FIND of key */
	uint32_t charged;    /* ofi_peer_charge() */

	/* OFI_OP_MESSAGE with an OFI_ATOMIC: where its result goes (ofi_atomic_rx.h) */
	bool is_atomic;
	unsigned n_results;
	struct iovec *results;

	/* memory: of a read or write, or of a message that the peer reads */
	struct fare_piece pieces[FARE_PIECES_MAX];
	struct fare_mr *registered[FARE_PIECES_MAX]; /* for this operation alone */
	void *bounce;				     /* a copy of what was injected */
	unsigned n_pieces;
	uint64_t remote_addr; /* as libfare names it */
	uint32_t rkey;

	/* of a read or write: as the application names it, which ofi_tables.h is for (by_key) */
	uint64_t key, address;
	bool by_key;
	bool has_asked; /* the peer was asked since the operation was submitted */

	/* OFI_OP_WRITE: starts when this one has succeeded, and completes for it */
	struct ofi_op *announces;

	/* OFI_OP_READ of a message */
	struct ofi_recv *recv;
	uint32_t fin_cookie;
};

/* NULL: no memory. ep may be NULL. */
struct ofi_op *ofi_op_create(struct ofi_domain *domain, struct ofi_ep *ep, struct ofi_peer *peer,
			     enum ofi_op_kind kind);
/* Without any completion. */
void ofi_op_destroy(struct ofi_op *op);
/* Gives it its message: w, which has no payload. 0 or -ENOMEM. */
int ofi_op_set_message(struct ofi_op *op, const struct ofi_wire *w);
/* The same: of one record. *payload: where so many bytes behind w go. */
int ofi_op_set_record(struct ofi_op *op, const struct ofi_wire *w, size_t bytes, uint8_t **payload);
/* The same: an eager one, with a copy of so many bytes of iov, which has no fewer. */
int ofi_op_set_eager(struct ofi_op *op, const struct ofi_wire *w, const struct iovec *iov,
		     uint64_t bytes);
/*
 * Takes the application's memory as the operation's: at most length bytes of it. desc: of the
 * application's regions, or NULL: registered here. 0 or -errno.
 */
int ofi_op_take_memory(struct ofi_op *op, const struct iovec *iov, void **desc, size_t count,
		       uint64_t length, unsigned rights);
/* The same of a copy. */
int ofi_op_copy_memory(struct ofi_op *op, const struct iovec *iov, size_t count, uint64_t length,
		       unsigned rights);

/* Gives it a cookie by which the peer answers. 0 or -errno: too many wait. */
int ofi_op_await_fin(struct ofi_op *op);
/* The operation that a peer's cookie names; NULL: none toward that peer. */
struct ofi_op *ofi_op_find(struct ofi_domain *domain, const struct ofi_peer *peer, uint32_t cookie);

/* A group has it: it is reported if nobody waits for more. */
void ofi_op_started(struct ofi_op *op);
/*
 * What it waited for has come, with a status that counts if there was none before. Completes it
 * when nothing else is waited for; it is gone then.
 */
void ofi_op_settle(struct ofi_op *op, uint8_t waits, int status);

/*
 * The endpoint is about to be closed. Operations of it that a group has, in regions of the
 * application, which stay registered: the connection to their peer is ended, and they report
 * nothing. True: there are some. They are over when libfare says so: progress, and call it again.
 */
bool ofi_op_end_ep(struct ofi_domain *domain, const struct ofi_ep *ep);
/*
 * The endpoint is closed: its operations report nothing and leave its memory alone. What groups
 * have of them names regions that are deregistered here.
 */
void ofi_op_forget_ep(struct ofi_domain *domain, const struct ofi_ep *ep);
/* The application closes that region: what is not with a group yet fails (-EINVAL). */
void ofi_op_forget_mr(struct ofi_domain *domain, const struct fare_mr *mr);
/* libfare's domain has no groups any more. */
void ofi_op_destroy_all(struct ofi_domain *domain);

#endif
