/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_comm.h - communicators of NCCL's, sending or receiving, and their requests.
 *
 * Solely owns: communicators and requests. In: the domain's events, which bring what the peer says
 * (nccl_wire.h); isend, irecv, test. Out: requests that are done. Thread: any that holds the
 * device's lock.
 *
 * A receive tells the peer a buffer, as a credit. A send takes the oldest credit of its tag and
 * writes there; the notification of that completes the receive. A group delivers each exactly once,
 * whatever becomes of a plane.
 */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#include <stdbool.h>

#include "base/hash_table.h"
#include "nccl/nccl_credits.h"
#include "nccl/nccl_peer_group.h"

struct request {
	struct comm *comm;
	uint16_t id; /* of the credit; its place is id modulo NCCL_REQUESTS */
	bool in_use, done;
	int status;
	size_t size; /* of the receive's buffer, then of what came */
};

enum comm_state {
	COMM_GREETING,	/* sending: the listener's end does not have our HELLO yet */
	COMM_GREETED,	/* sending: so it has */
	COMM_WAITING,	/* receiving: its listener is to accept it */
	COMM_RECEIVING, /* accepted */
	COMM_OVER,	/* the peer closed it */
	COMM_LEAVING,	/* NCCL closed it here, and the peer is still to be sent BYE */
};

struct comm {
	UT_hash_handle hh; /* of its group's, by number */
	struct peer_group *group;
	uint16_t number;
	enum comm_state state;
	uint64_t listener;
	uint64_t ticket; /* sending, until NCCL has it: nccl_wire.h; else 0 */
	bool hello_queued;
	bool is_unaccepted;	/* receiving: it is there because the peer wants it */
	struct credits credits; /* sending */
	uint16_t next_id;	/* receiving */
	struct request requests[NCCL_REQUESTS];
};

/*
 * Polls the device's domain, and moves all communicators on. Frees those that NCCL has closed, once
 * the peer is sent BYE, and groups without any. Never blocks.
 */
ncclResult_t comm_progress(struct device *device);
void comm_sweep(struct device *device); /* the second half of it alone */

/* One to send on, toward that listener of the peer's. NULL: no memory. */
struct comm *comm_open(struct peer_group *group, uint64_t listener);
/* The one that an earlier call has opened, and NCCL has not yet; NULL: there is none. */
struct comm *comm_by_ticket(const struct device *device, uint64_t ticket);
/* One that a peer has connected to that listener, and NCCL has not accepted; NULL: none yet. */
struct comm *comm_waiting(const struct device *device, uint64_t listener);
/*
 * Queues what the peer's end needs to know first, unless it is queued. 0 or -errno; -ENOBUFS: poll
 * first.
 */
int comm_send_hello(struct comm *comm);
/* NCCL has accepted it. */
void comm_accept(struct comm *comm);
/* Of no use to NCCL any more. */
void comm_leave(struct comm *comm);

/* Both succeed with *request NULL if they cannot go on yet. */
ncclResult_t comm_send(struct comm *comm, void *data, size_t size, int tag, struct fare_mr *mr,
		       struct request **request);
ncclResult_t comm_receive(struct comm *comm, void *data, size_t size, int tag, struct fare_mr *mr,
			  struct request **request);
/* Done: the request is free for another. */
ncclResult_t comm_test(struct request *request, int *done, int *size);

#endif
