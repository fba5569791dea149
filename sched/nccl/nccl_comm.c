/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_comm.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define POLL_EVENTS 32
#define POLL_ROUNDS 64

ncclResult_t comm_failed(const struct device *device, const char *what, int err)
{
	if (device->log)
		device->log(NCCL_LOG_WARN, NCCL_NET, __FILE__, __LINE__, "NET/FARE: %s: %s", what,
			    strerror(-err));
	return ncclSystemError;
}

/* ---- communicators ---- */

struct comm *comm_create(struct device *device, struct fare_group *group, bool sender)
{
	struct comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->device = device;
	comm->group = group;
	comm->sender = sender;
	comm->ring = calloc(REQUESTS, sizeof(*comm->ring));
	if (!comm->ring || fare_mr_register(&comm->ring_mr, device->domain, comm->ring,
					    REQUESTS * sizeof(*comm->ring), sender)) {
		free(comm->ring);
		free(comm);
		return NULL;
	}
	comm->next = device->comms;
	device->comms = comm;
	return comm;
}

void comm_destroy(struct comm *comm)
{
	struct comm **link = &comm->device->comms;

	while (*link != comm)
		link = &(*link)->next;
	*link = comm->next;
	if (comm->group)
		fare_group_close(comm->group);
	fare_mr_deregister(comm->ring_mr);
	free(comm->ring);
	free(comm);
}

static struct comm *comm_of(struct device *device, const struct fare_group *group)
{
	struct comm *comm = device->comms;

	while (comm && comm->group != group)
		comm = comm->next;
	return comm;
}

/* ---- the greeting ---- */

static void fill_pieces(struct comm *comm)
{
	uint64_t ring = (uint64_t)(uintptr_t)comm->ring;
	uint32_t key = fare_mr_rkey(comm->ring_mr);
	const uint32_t pieces[PIECES] = {(uint32_t)comm->listener,
					 (uint32_t)(comm->listener >> 24),
					 (uint32_t)ring,
					 (uint32_t)(ring >> 24),
					 (uint32_t)(ring >> 48),
					 key,
					 key >> 24};

	for (unsigned i = 0; i < PIECES; i++)
		comm->pieces[i] = pieces[i] & TAG_MASK;
}

/* Sends what the group takes of it; called again until all is sent. */
ncclResult_t comm_greet(struct comm *comm)
{
	fill_pieces(comm);
	while (comm->n_pieces < PIECES) {
		struct fare_write w = {.flags = FARE_WRITE_NOTIFY,
				       .context = UINT64_MAX,
				       .tag = (TAG_HELLO + comm->n_pieces) << TAG_BITS |
					      comm->pieces[comm->n_pieces]};
		int err = fare_group_write(comm->group, &w);

		if (err == -ENOBUFS)
			return ncclSuccess;
		if (err)
			return comm_failed(comm->device, "greeting", err);
		comm->n_pieces++;
	}
	comm->greeted = true;
	return ncclSuccess;
}

static void on_piece(struct comm *comm, unsigned i, uint32_t value)
{
	const uint32_t *p = comm->pieces;

	if (i >= PIECES || comm->sender)
		return;
	comm->pieces[i] = value;
	comm->has_pieces |= 1u << i;
	if (comm->has_pieces != (1u << PIECES) - 1)
		return;
	comm->listener = p[0] | (uint64_t)p[1] << 24;
	comm->peer_ring = p[2] | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 48;
	comm->peer_ring_key = p[5] | p[6] << 24;
	comm->greeted = true;
}

/* ---- events ---- */

static void on_credit(struct comm *comm, uint32_t id)
{
	uint32_t place = id % REQUESTS;

	/* written by the peer: only a new one, within the ring, is believed */
	if (!comm->sender || ((id - comm->oldest_id) & TAG_MASK) >= REQUESTS ||
	    comm->ring[place].id != id || comm->credit_state[place] != CREDIT_AWAITED)
		return;
	comm->credits[place] = comm->ring[place];
	comm->credit_state[place] = CREDIT_HERE;
}

static void on_data(struct comm *comm, uint32_t id, uint64_t bytes)
{
	struct request *r = &comm->requests[id % REQUESTS];

	if (comm->sender || !r->in_use || r->done || comm->ring[id % REQUESTS].id != id)
		return;
	if (bytes > comm->ring[id % REQUESTS].size)
		r->status = -EMSGSIZE; /* not what was allowed: its neighbour's memory may be hit */
	r->size = (int)(bytes < INT_MAX ? bytes : INT_MAX);
	r->done = true;
}

static void on_received(struct comm *comm, const struct fare_event *e)
{
	uint32_t kind = e->tag >> TAG_BITS, value = e->tag & TAG_MASK;

	if (kind == TAG_CREDIT)
		on_credit(comm, value);
	else if (kind == TAG_DATA)
		on_data(comm, value, e->bytes);
	else
		on_piece(comm, kind - TAG_HELLO, value);
}

static void on_completed(struct comm *comm, const struct fare_event *e)
{
	struct request *r;

	if (e->context >= REQUESTS) /* of the greeting */
		return;
	r = &comm->requests[e->context];
	if (e->status)
		r->status = e->status;
	r->credit_out = false;
	if (comm->sender)
		r->done = true;
}

static void on_event(struct device *device, const struct fare_event *e)
{
	struct comm *comm = comm_of(device, e->group);

	switch (e->kind) {
	case FARE_EVENT_ACCEPTED:
		if (!comm)
			comm_create(device, e->group, false);
		break;
	case FARE_EVENT_CONNECTED:
		if (comm)
			comm->connected = true;
		break;
	case FARE_EVENT_RECEIVED:
		if (comm)
			on_received(comm, e);
		break;
	case FARE_EVENT_COMPLETED:
		if (comm)
			on_completed(comm, e);
		break;
	case FARE_EVENT_CLOSED:
		if (comm)
			comm->closed = true;
		break;
	case FARE_EVENT_MESSAGE:
	case FARE_EVENT_SHIFTED:
	case FARE_EVENT_BLOCKED:
	case FARE_EVENT_RESUMED:
	case FARE_EVENT_RELEASED: /* no write of ours has a deadline */
		break;
	}
}

/* Groups that strangers opened and closed again, and nobody accepted. No event names them any more.
 */
static void sweep(struct device *device)
{
	struct comm *next;

	for (struct comm *c = device->comms; c; c = next) {
		next = c->next;
		if (!c->sender && !c->connected && c->closed)
			comm_destroy(c);
	}
}

ncclResult_t comm_progress(struct device *device)
{
	struct fare_event events[POLL_EVENTS];
	int n = POLL_EVENTS;

	for (int round = 0; n == POLL_EVENTS && round < POLL_ROUNDS; round++) {
		n = fare_domain_poll(device->domain, events, POLL_EVENTS);
		if (n < 0)
			return comm_failed(device, "poll", n);
		for (int i = 0; i < n; i++)
			on_event(device, &events[i]);
	}
	if (n < POLL_EVENTS)
		sweep(device);
	return ncclSuccess;
}

/* ---- data ---- */

/* The oldest credit of that tag, or NULL. One that was overtaken may have the tag, too: nothing
 * goes past it. */
static struct credit *find_credit(struct comm *comm, int tag)
{
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint32_t place = (comm->oldest_id + i) % REQUESTS;

		if (comm->credit_state[place] == CREDIT_AWAITED)
			return NULL;
		if (comm->credit_state[place] == CREDIT_HERE && comm->credits[place].tag == tag)
			return &comm->credits[place];
	}
	return NULL;
}

static void use_up(struct comm *comm, const struct credit *credit)
{
	comm->credit_state[credit->id % REQUESTS] = CREDIT_USED;
	while (comm->credit_state[comm->oldest_id % REQUESTS] == CREDIT_USED) {
		comm->credit_state[comm->oldest_id % REQUESTS] = CREDIT_AWAITED;
		comm->oldest_id = (comm->oldest_id + 1) & TAG_MASK;
	}
}

static struct request *free_request(struct comm *comm)
{
	for (unsigned i = 0; i < REQUESTS; i++)
		if (!comm->requests[i].in_use)
			return &comm->requests[i];
	return NULL;
}

ncclResult_t comm_send(struct comm *comm, void *data, int size, int tag, struct fare_mr *mr,
		       void **request)
{
	struct credit *credit = find_credit(comm, tag);
	struct request *r = free_request(comm);
	struct fare_write w = {
		.data = data, .mr = mr, .length = (uint64_t)size, .flags = FARE_WRITE_NOTIFY};
	int err;

	if (comm->closed)
		return ncclRemoteError;
	if (!credit || !r)
		return ncclSuccess; /* again later */
	if ((uint32_t)size > credit->size)
		return ncclInvalidUsage;
	w.remote_addr = credit->address;
	w.rkey = credit->rkey;
	w.tag = TAG_DATA << TAG_BITS | credit->id;
	w.context = (uint64_t)(r - comm->requests);
	err = fare_group_write(comm->group, &w);
	if (err)
		return err == -ENOBUFS ? ncclSuccess : comm_failed(comm->device, "write", err);
	use_up(comm, credit);
	*r = (struct request){.comm = comm, .in_use = true, .size = size};
	*request = r;
	return ncclSuccess;
}

ncclResult_t comm_receive(struct comm *comm, void *data, int size, int tag, struct fare_mr *mr,
			  void **request)
{
	uint32_t place = comm->next_id % REQUESTS;
	struct request *r = &comm->requests[place];
	struct fare_write w = {.data = &comm->ring[place],
			       .mr = comm->ring_mr,
			       .length = sizeof(struct credit),
			       .remote_addr = comm->peer_ring + place * sizeof(struct credit),
			       .rkey = comm->peer_ring_key,
			       .tag = TAG_CREDIT << TAG_BITS | comm->next_id,
			       .flags = FARE_WRITE_NOTIFY,
			       .context = place};
	int err;

	if (comm->closed)
		return ncclRemoteError;
	if (r->in_use || r->credit_out)
		return ncclSuccess;
	comm->ring[place] = (struct credit){.address = (uint64_t)(uintptr_t)data,
					    .rkey = fare_mr_rkey(mr),
					    .size = (uint32_t)size,
					    .tag = tag,
					    .id = comm->next_id};
	err = fare_group_write(comm->group, &w);
	if (err)
		return err == -ENOBUFS ? ncclSuccess : comm_failed(comm->device, "credit", err);
	*r = (struct request){.comm = comm, .in_use = true, .credit_out = true};
	comm->next_id = (comm->next_id + 1) & TAG_MASK;
	*request = r;
	return ncclSuccess;
}
