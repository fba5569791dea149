/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_comm.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <utlist.h>

/* what COMPLETED is of: data has its tag, 32 bits */
#define CONTEXT_HELLO (UINT64_C(1) << 32) /* | communicator's number */
#define CONTEXT_OTHER (UINT64_C(2) << 32) /* nobody waits for it */

/*
 * Communicators of a group that wait to be accepted, or whose peer has not taken that they are
 * refused. NCCL connects one for each channel, of which it has 64 at most, and accepts each.
 */
#define UNACCEPTED_MAX 1024u

#define POLL_EVENTS 32
#define POLL_ROUNDS 64 /* then the caller goes on, however much arrives */

/* ---- making and ending ---- */

static struct comm *comm_create(struct peer_group *group, uint16_t number, enum comm_state state,
				uint64_t listener)
{
	struct comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->group = group;
	comm->number = number;
	comm->state = state;
	comm->listener = listener;
	HASH_ADD(hh, group->comms, number, sizeof(comm->number), comm);
	if (!comm->hh.tbl) {
		free(comm);
		return NULL;
	}
	return comm;
}

static void comm_free(struct comm *comm)
{
	if (comm->state == COMM_LEAVING)
		comm->group->n_leaving--;
	comm->group->n_unaccepted -= comm->is_unaccepted;
	HASH_DEL(comm->group->comms, comm);
	free(comm);
}

static struct comm *comm_find(struct peer_group *group, uint16_t number)
{
	struct comm *comm;

	HASH_FIND(hh, group->comms, &number, sizeof(number), comm);
	return comm;
}

static struct comm *comm_after(const struct comm *comm)
{
	return comm->hh.next;
}

/* Not the number that became free last: what the peer has under way may still name it. */
struct comm *comm_open(struct peer_group *group, uint64_t listener)
{
	do
		group->last_comm++;
	while (comm_find(group, group->last_comm));
	return comm_create(group, group->last_comm, COMM_GREETING, listener);
}

struct comm *comm_by_ticket(const struct device *device, uint64_t ticket)
{
	struct peer_group *g;

	DL_FOREACH (device->groups, g)
		for (struct comm *c = g->opened ? g->comms : NULL; c; c = comm_after(c))
			if (c->ticket == ticket)
				return c;
	return NULL;
}

struct comm *comm_waiting(const struct device *device, uint64_t listener)
{
	struct peer_group *g;

	DL_FOREACH (device->groups, g)
		for (struct comm *c = g->comms; c; c = comm_after(c))
			if (c->state == COMM_WAITING && c->listener == listener)
				return c;
	return NULL;
}

int comm_send_hello(struct comm *comm)
{
	const struct wire_message m = {
		.kind = WIRE_HELLO, .comm = comm->number, .listener = comm->listener};
	int err = 0;

	if (!comm->hello_queued)
		err = peer_group_send(comm->group, &m, CONTEXT_HELLO | comm->number);
	comm->hello_queued |= !err;
	return err;
}

void comm_accept(struct comm *comm)
{
	comm->state = COMM_RECEIVING;
	comm->group->n_unaccepted -= comm->is_unaccepted;
	comm->is_unaccepted = false;
}

void comm_leave(struct comm *comm)
{
	if (comm->state == COMM_LEAVING)
		return;
	comm->state = COMM_LEAVING;
	comm->group->n_leaving++;
}

/* false: poll first. */
static bool comm_send_bye(struct comm *comm)
{
	const struct wire_message m = {.kind = WIRE_BYE, .comm = comm->number};

	return peer_group_send(comm->group, &m, CONTEXT_OTHER) != -ENOBUFS;
}

/* ---- events ---- */

static void on_hello(struct peer_group *group, const struct wire_message *m)
{
	struct comm *comm;

	if (comm_find(group, m->comm))
		return;
	if (group->n_unaccepted == UNACCEPTED_MAX) {
		peer_group_cut(group, "it wants more communicators than NCCL accepts");
		return;
	}
	comm = comm_create(group, m->comm, COMM_WAITING, m->listener);
	if (!comm)
		return;
	comm->is_unaccepted = true;
	group->n_unaccepted++;
	if (!device_has_listener(group->device, m->listener))
		comm_leave(comm);
}

/* Of what follows comm is NULL if the peer named one that is not there (any more). */

static void on_credit(struct comm *comm, const struct credit *credit)
{
	if (comm && comm->group->opened)
		credits_add(&comm->credits, credit);
}

static void on_bye(struct comm *comm)
{
	if (!comm || comm->state == COMM_LEAVING)
		return;
	if (comm->state == COMM_WAITING) /* NCCL has not seen it */
		comm_leave(comm);
	else
		comm->state = COMM_OVER;
}

static void on_data(struct comm *comm, uint16_t id, uint64_t bytes)
{
	struct request *r = comm ? &comm->requests[id % NCCL_REQUESTS] : NULL;

	if (!r || comm->group->opened || !r->in_use || r->done || r->id != id)
		return;
	if (bytes > r->size)
		r->status = -EMSGSIZE; /* not what was allowed: its neighbour's memory may be hit */
	r->size = bytes;
	r->done = true;
}

static void on_written(struct comm *comm, uint16_t id, int status)
{
	struct request *r = &comm->requests[id % NCCL_REQUESTS];

	if (!r->in_use || r->id != id)
		return;
	r->status = status;
	r->done = true;
}

static void on_completed(struct peer_group *group, const struct fare_event *event)
{
	bool is_hello = event->context & CONTEXT_HELLO;
	struct comm *comm =
		comm_find(group, (uint16_t)(is_hello ? event->context : event->context >> 16));

	if (!comm || event->context & CONTEXT_OTHER)
		return;
	if (!is_hello)
		on_written(comm, (uint16_t)event->context, event->status);
	else if (!event->status && comm->state == COMM_GREETING)
		comm->state = COMM_GREETED;
}

static void comm_on_message(struct peer_group *g, const struct fare_event *e)
{
	struct wire_message m;

	if (g->is_cut || wire_decode(e->data, e->bytes, &m))
		return;
	if (m.kind == WIRE_HELLO && !g->opened)
		on_hello(g, &m);
	else if (m.kind == WIRE_CREDIT)
		on_credit(comm_find(g, m.comm), &m.credit);
	else if (m.kind == WIRE_BYE)
		on_bye(comm_find(g, m.comm));
}

static void nccl_comm_on_event(struct device *device, const struct fare_event *event)
{
	struct peer_group *g = fare_group_context(event->group);

	if (event->kind == FARE_EVENT_ACCEPTED)
		peer_group_on_accepted(device, event->group);
	if (!g)
		return;
	switch (event->kind) {
	case FARE_EVENT_CONNECTED:
		peer_group_on_connected(g);
		break;
	case FARE_EVENT_MESSAGE:
		comm_on_message(g, event);
		break;
	case FARE_EVENT_RECEIVED:
		on_data(comm_find(g, (uint16_t)(event->tag >> 16)), (uint16_t)event->tag,
			event->bytes);
		break;
	case FARE_EVENT_COMPLETED:
		on_completed(g, event);
		break;
	case FARE_EVENT_CLOSED:
		peer_group_on_closed(g, event->status);
		break;
	case FARE_EVENT_ACCEPTED:
	case FARE_EVENT_SHIFTED:
	case FARE_EVENT_BLOCKED:
	case FARE_EVENT_RESUMED:
	case FARE_EVENT_RELEASED: /* no write of ours has a deadline */
		break;
	}
}

/* The group's end ends its last communicator, too: the peer needs no message of that one. */
static bool is_last(const struct peer_group *g, const struct comm *comm)
{
	return g->opened && g->comms == comm && !comm_after(comm);
}

static void sweep_group(struct peer_group *g)
{
	struct comm *next;

	for (struct comm *c = g->comms; c; c = next) {
		next = comm_after(c);
		if (g->closed)
			on_bye(c);
		if (c->state == COMM_LEAVING && (g->closed || is_last(g, c) || comm_send_bye(c)))
			comm_free(c);
	}
}

void comm_sweep(struct device *device)
{
	struct peer_group *g, *next;

	DL_FOREACH_SAFE (device->groups, g, next) {
		if (g->n_leaving || g->closed)
			sweep_group(g);
		if (!g->comms && (g->opened || g->closed))
			peer_group_close(g);
	}
}

ncclResult_t comm_progress(struct device *device)
{
	struct fare_event events[POLL_EVENTS];
	int n = POLL_EVENTS;

	for (int round = 0; n == POLL_EVENTS && round < POLL_ROUNDS; round++) {
		n = fare_domain_poll(device->domain, events, POLL_EVENTS);
		if (n < 0)
			return device_failed(device, "poll", n);
		for (int i = 0; i < n; i++)
			nccl_comm_on_event(device, &events[i]);
		/* now that no event is left which names a group that this closes */
		comm_sweep(device);
	}
	return ncclSuccess;
}

/* ---- data ---- */

static struct request *comm_take_request(struct comm *comm, uint16_t id, size_t size)
{
	struct request *r = &comm->requests[id % NCCL_REQUESTS];

	*r = (struct request){.comm = comm, .id = id, .in_use = true, .size = size};
	return r;
}

static bool is_free(const struct comm *comm, uint16_t id)
{
	return !comm->requests[id % NCCL_REQUESTS].in_use;
}

static ncclResult_t result_of(const struct comm *comm, const char *what, int err)
{
	if (!err || err == -ENOBUFS)
		return ncclSuccess;
	return err == -ENOTCONN ? ncclRemoteError : device_failed(comm->group->device, what, err);
}

ncclResult_t comm_send(struct comm *comm, void *data, size_t size, int tag, struct fare_mr *mr,
		       struct request **request)
{
	const struct credit *credit = credits_find(&comm->credits, tag);
	struct fare_write w = {.data = data, .mr = mr, .length = size, .flags = FARE_WRITE_NOTIFY};
	int err;

	if (comm->state == COMM_OVER)
		return ncclRemoteError;
	if (!credit || !is_free(comm, credit->id))
		return ncclSuccess;
	if (size > credit->size)
		return ncclInvalidUsage;
	w.remote_addr = credit->address;
	w.rkey = credit->rkey;
	w.tag = wire_data_tag(comm->number, credit->id);
	w.context = w.tag;
	err = fare_group_write(comm->group->group, &w);
	if (err)
		return result_of(comm, "write", err);
	*request = comm_take_request(comm, credit->id, size);
	credits_use(&comm->credits, credit->id);
	return ncclSuccess;
}

ncclResult_t comm_receive(struct comm *comm, void *data, size_t size, int tag, struct fare_mr *mr,
			  struct request **request)
{
	const struct wire_message m = {.kind = WIRE_CREDIT,
				       .comm = comm->number,
				       .credit = {.address = (uint64_t)(uintptr_t)data,
						  .size = size,
						  .rkey = fare_mr_rkey(mr),
						  .tag = tag,
						  .id = comm->next_id}};
	int err;

	if (comm->state == COMM_OVER)
		return ncclRemoteError;
	if (!is_free(comm, comm->next_id))
		return ncclSuccess;
	err = peer_group_send(comm->group, &m, CONTEXT_OTHER);
	if (err)
		return result_of(comm, "credit", err);
	*request = comm_take_request(comm, comm->next_id++, size);
	return ncclSuccess;
}

/*
 * A receive that the peer has closed its communicator before is never done. A send is, or has
 * failed, before its group is closed.
 */
ncclResult_t comm_test(struct request *request, int *done, int *size)
{
	struct comm *comm = request->comm;

	*done = 0;
	if (request->status || (!request->done && comm->state == COMM_OVER && !comm->group->opened))
		return ncclRemoteError;
	if (!request->done)
		return ncclSuccess;
	*done = 1;
	if (size)
		*size = request->size < INT_MAX ? (int)request->size : INT_MAX;
	request->in_use = false;
	return ncclSuccess;
}
