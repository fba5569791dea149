/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_comm.h - communicators of NCCL's, sending or receiving, and their requests.
 *
 * Solely owns: communicators and requests. In: what the peer says (nccl_wire.h); isend, irecv,
 * test. Out: requests that are done. Thread: any that holds the device's lock.
 *
 * A receive tells the peer a buffer, as a credit. A send takes the oldest credit of its tag and
 * writes there; the notification of that completes the receive. A group delivers each exactly once,
 * whatever becomes of a plane.
 */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#include <stdbool.h>

/* out of memory is an error to return: the hash table leaves hh.tbl NULL */
#define HASH_NONFATAL_OOM 1
/* the default's jump table does not pass clang's -Wimplicit-fallthrough */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>

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
	COMM_LEAVING,	/* NCCL closed it here, and the peer is still to be told */
};

struct comm {
	UT_hash_handle hh; /* of its group's, by number */
	struct peer_group *group;
	uint16_t number;
	enum comm_state state;
	uint64_t listener;
	uint64_t ticket; /* sending, until NCCL has it: nccl_handle.h; else 0 */
	bool hello_queued;
	bool is_unaccepted;	/* receiving: it is there because the peer wants it */
	struct credits credits; /* sending */
	uint16_t next_id;	/* receiving */
	struct request requests[NCCL_REQUESTS];
};

/* NULL: no memory. */
struct comm *comm_create(struct peer_group *group, uint16_t number, enum comm_state state,
			 uint64_t listener);
void comm_free(struct comm *comm);
struct comm *comm_find(struct peer_group *group, uint16_t number);
struct comm *comm_after(const struct comm *comm);

/*
 * Queues what the peer's end needs to know first, unless it is queued. 0 or -errno; -ENOBUFS: poll
 * first.
 */
int comm_says_hello(struct comm *comm);
/* NCCL has accepted it. */
void comm_accept(struct comm *comm);
/* Of no use to NCCL any more. peer_group_sweep() frees it. */
void comm_leave(struct comm *comm);
bool comm_is_leaving(const struct comm *comm);
/* true: the peer is told, or cannot be. */
bool comm_says_bye(struct comm *comm);

/* What the peer says; comm is NULL if it named one that is not there (any more). */
void comm_on_hello(struct peer_group *group, const struct wire_message *m);
void comm_on_credit(struct comm *comm, const struct credit *credit);
void comm_on_bye(struct comm *comm); /* or the group's end */
void comm_on_data(struct comm *comm, uint16_t id, uint64_t bytes);
void comm_on_completed(struct peer_group *group, const struct fare_event *event);

/* Both succeed with *request NULL if they cannot go on yet. */
ncclResult_t comm_send(struct comm *comm, void *data, size_t size, int tag, struct fare_mr *mr,
		       struct request **request);
ncclResult_t comm_receive(struct comm *comm, void *data, size_t size, int tag, struct fare_mr *mr,
			  struct request **request);
/* Done: the request is free for another. */
ncclResult_t comm_test(struct request *request, int *done, int *size);

#endif
