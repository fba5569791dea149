/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_comm.h - communicators of NCCL's plugin: one QP group each, and what goes over it.
 *
 * Solely owns: communicators, their requests and rings of credits. In: events of a device's domain.
 * Out: requests that are done. Thread: whoever holds the device's lock.
 *
 * The connecting end says by bare notifications which listener is meant and where its ring of
 * credits is (24 bits each: notifications may overtake one another). A receive is a credit, the
 * buffer's place and key, written into that ring. A send takes the oldest credit of its tag and
 * writes there; the notification completes the receive. Whatever a plane's death does to any of
 * these, a group delivers each exactly once.
 */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#include <pthread.h>
#include <stdbool.h>

#include "fare.h"
#include "nccl/nccl_net.h"

#define REQUESTS 64 /* outstanding per communicator and direction; the ring has as many places */

/* kinds of notification: the tag's high byte; 24 bits are left to say something */
#define TAG_HELLO  0x10u /* and pieces after it */
#define TAG_CREDIT 0x20u
#define TAG_DATA   0x30u
#define TAG_BITS   24
#define TAG_MASK   ((1u << TAG_BITS) - 1)
#define PIECES	   7 /* listener 2, ring address 3, ring key 2 */

/* As it stands in the ring. Both ends are of one byte order, as NCCL itself requires. */
struct credit {
	uint64_t address;
	uint32_t rkey, size;
	int32_t tag;
	uint32_t id;
};

enum credit_state { CREDIT_AWAITED, CREDIT_HERE, CREDIT_USED };

struct request {
	struct comm *comm;
	bool in_use, done;
	bool credit_out; /* its credit's write is not completed yet: the place is not free */
	int status, size;
};

struct comm {
	struct comm *next;
	struct device *device;
	struct fare_group *group;
	bool sender, connected, greeted, closed; /* receiver, connected: accept() gave it away */
	uint64_t listener;
	uint32_t pieces[PIECES], n_pieces, has_pieces;

	struct credit *ring; /* sender: written by the receiver. Receiver: what it writes from */
	struct fare_mr *ring_mr;
	uint64_t peer_ring;
	uint32_t peer_ring_key;
	struct credit credits[REQUESTS]; /* sender: by id modulo REQUESTS, from oldest_id on */
	enum credit_state credit_state[REQUESTS];
	uint32_t next_id, oldest_id;
	struct request requests[REQUESTS];
};

struct device {
	pthread_mutex_t lock; /* of all that follows, and of every communicator on it */
	struct fare *fare;
	struct fare_domain *domain;
	struct in6_addr address;
	char name[16];
	struct comm *comms;
	ncclDebugLogger_t log;
};

/* Says what failed and why; returns ncclSystemError. */
ncclResult_t comm_failed(const struct device *device, const char *what, int err);
/* Takes over the group. NULL: no memory. */
struct comm *comm_create(struct device *device, struct fare_group *group, bool sender);
void comm_destroy(struct comm *comm);
/* Sends what the group takes of the greeting; to be called until comm->greeted. */
ncclResult_t comm_greet(struct comm *comm);
/* Takes the domain's events. */
ncclResult_t comm_progress(struct device *device);
/* Both succeed with *request NULL if they cannot go on yet. */
ncclResult_t comm_send(struct comm *comm, void *data, int size, int tag, struct fare_mr *mr,
		       void **request);
ncclResult_t comm_receive(struct comm *comm, void *data, int size, int tag, struct fare_mr *mr,
			  void **request);

#endif
