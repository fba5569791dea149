/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "nccl/nccl_comm.h"

#define MAGIC 0x4641524e43434c32ull /* "FARNCCL2" */

struct handle {
	uint64_t magic, listener;
	struct fare_address address;
	struct comm *stage; /* connect() so far; NULL in what is exchanged */
};
_Static_assert(sizeof(struct handle) <= NCCL_NET_HANDLE_MAXSIZE, "NCCL's limit");

/* ---- listening ---- */

ncclResult_t listener_create(struct listener **out, struct device *device, void *handle)
{
	ncclResult_t result = device_open(device);
	struct handle h = {.magic = MAGIC};
	struct listener *l;

	if (result != ncclSuccess)
		return result;
	l = calloc(1, sizeof(*l));
	if (!l)
		return ncclSystemError;
	l->device = device;
	l->id = h.listener = ++device->last_listener;
	fare_domain_address(device->domain, &h.address);
	memset(handle, 0, NCCL_NET_HANDLE_MAXSIZE);
	memcpy(handle, &h, sizeof(h));
	DL_APPEND(device->listeners, l);
	*out = l;
	return ncclSuccess;
}

bool listener_exists(const struct device *device, uint64_t id)
{
	const struct listener *l;

	DL_FOREACH (device->listeners, l)
		if (l->id == id)
			return true;
	return false;
}

static struct comm *waiting_comm(const struct listener *l)
{
	struct peer_group *g;

	DL_FOREACH (l->device->groups, g)
		for (struct comm *c = g->comms; c; c = comm_after(c))
			if (c->state == COMM_WAITING && c->listener == l->id)
				return c;
	return NULL;
}

struct comm *listener_accept(struct listener *listener)
{
	struct comm *comm = waiting_comm(listener);

	if (comm)
		comm->state = COMM_RECEIVING;
	return comm;
}

void listener_destroy(struct listener *listener)
{
	struct comm *comm;

	while ((comm = waiting_comm(listener)))
		comm_leave(comm);
	DL_DELETE(listener->device->listeners, listener);
	free(listener);
}

/* ---- connecting ---- */

/* The handle came from the peer: what it has for a stage must be one of ours. */
static bool is_stage(const struct device *device, const struct comm *comm)
{
	struct peer_group *g;

	DL_FOREACH (device->groups, g)
		for (struct comm *c = g->opened ? g->comms : NULL; c; c = comm_after(c))
			if (c == comm)
				return true;
	return false;
}

static ncclResult_t begin(struct device *device, struct handle *h, uint8_t dscp)
{
	ncclResult_t result = device_open(device);
	struct peer_group *group;
	int err;

	if (result != ncclSuccess)
		return result;
	err = peer_group_open(&group, device, &h->address, dscp);
	if (err)
		return device_failed(device, "group", err);
	h->stage = comm_create(group, peer_group_new_number(group), COMM_GREETING, h->listener);
	return h->stage ? ncclSuccess : ncclSystemError;
}

static ncclResult_t go_on(struct device *device, struct comm *comm)
{
	int err = comm_says_hello(comm);
	ncclResult_t result;

	if (err && err != -ENOBUFS && err != -ENOTCONN)
		return device_failed(device, "hello", err);
	result = device_progress(device);
	return result == ncclSuccess && comm->state == COMM_OVER ? ncclRemoteError : result;
}

ncclResult_t listener_connect(struct comm **out, struct device *device, void *handle, uint8_t dscp)
{
	ncclResult_t result = ncclSuccess;
	struct handle h;

	memcpy(&h, handle, sizeof(h));
	if (h.magic != MAGIC || (h.stage && !is_stage(device, h.stage)))
		return ncclInvalidArgument;
	if (!h.stage)
		result = begin(device, &h, dscp);
	if (result == ncclSuccess)
		result = go_on(device, h.stage);
	if (result == ncclSuccess && h.stage->state == COMM_GREETED && h.stage->group->connected)
		*out = h.stage;
	if (h.stage && (result != ncclSuccess || *out)) {
		if (!*out)
			comm_leave(h.stage);
		h.stage = NULL;
	}
	memcpy(handle, &h, sizeof(h));
	return result;
}
