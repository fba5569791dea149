/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_listener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <utlist.h>

#include "nccl/nccl_comm.h"
#include "nccl/nccl_wire.h"

/* ---- listening ---- */

/* Never 0. */
static int listener_random(uint64_t *out)
{
	do
		if (getrandom(out, sizeof(*out), 0) != sizeof(*out))
			return -EIO;
	while (!*out);
	return 0;
}

ncclResult_t listener_create(struct listener **out, struct device *device, void *handle)
{
	ncclResult_t result = device_open(device);
	struct handle h = {0};
	struct listener *l;

	if (result != ncclSuccess)
		return result;
	if (listener_random(&h.listener))
		return device_failed(device, "getrandom", -EIO);
	l = calloc(1, sizeof(*l));
	if (!l)
		return ncclSystemError;
	l->device = device;
	l->id = h.listener;
	fare_domain_address(device->domain, &h.address);
	handle_encode(&h, handle);
	DL_APPEND(device->listeners, l);
	*out = l;
	return ncclSuccess;
}

struct comm *listener_accept(struct listener *listener)
{
	struct comm *comm = comm_waiting(listener->device, listener->id);

	if (comm)
		comm_accept(comm);
	return comm;
}

void listener_destroy(struct listener *listener)
{
	struct comm *comm;

	while ((comm = comm_waiting(listener->device, listener->id)))
		comm_leave(comm);
	DL_DELETE(listener->device->listeners, listener);
	free(listener);
}

/* ---- connecting ---- */

static ncclResult_t connect_begin(struct comm **out, struct device *device, struct handle *h,
				  uint8_t dscp)
{
	ncclResult_t result = device_open(device);
	struct peer_group *group;
	int err;

	if (result != ncclSuccess)
		return result;
	err = listener_random(&h->ticket);
	if (!err)
		err = peer_group_open(&group, device, &h->address, dscp);
	if (err)
		return device_failed(device, "group", err);
	*out = comm_open(group, h->listener);
	if (!*out)
		return ncclSystemError;
	(*out)->ticket = h->ticket;
	return ncclSuccess;
}

static ncclResult_t connect_go_on(struct device *device, struct comm *comm)
{
	int err = comm_send_hello(comm);
	ncclResult_t result;

	if (err && err != -ENOBUFS && err != -ENOTCONN)
		return device_failed(device, "hello", err);
	result = comm_progress(device);
	return result == ncclSuccess && comm->state == COMM_OVER ? ncclRemoteError : result;
}

ncclResult_t listener_connect(struct comm **out, struct device *device, void *handle, uint8_t dscp)
{
	ncclResult_t result = ncclSuccess;
	struct comm *comm = NULL;
	struct handle h;

	if (handle_decode(handle, &h))
		return ncclInvalidArgument;
	if (h.ticket)
		comm = comm_by_ticket(device, h.ticket);
	if (h.ticket && !comm)
		return ncclInvalidArgument;
	if (!comm)
		result = connect_begin(&comm, device, &h, dscp);
	if (result == ncclSuccess)
		result = connect_go_on(device, comm);
	if (result == ncclSuccess && comm->state == COMM_GREETED && comm->group->connected)
		*out = comm;
	if (comm && (result != ncclSuccess || *out)) {
		if (!*out)
			comm_leave(comm);
		h.ticket = comm->ticket = 0;
	}
	if (!comm)
		h.ticket = 0;
	handle_encode(&h, handle);
	return result;
}
