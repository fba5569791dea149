/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_fare.c - NCCL's network over QP groups, libnccl-net-fare.so: the table that NCCL calls.
 *
 * Owns: for each local GPU an attachment to the daemon ($FARE_RUN_DIR) and a domain
 * ($FARE_PROVIDER, $FARE_KEY_FILE or $FARE_TRUSTED_NETWORK); listeners. What a communicator does is
 * in nccl_comm.c. NCCL calls from several threads: a device's lock covers everything on it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "attach.h"
#include "nccl/nccl_comm.h"

#define MAGIC 0x4641524e43434c38ull /* "FARNCCL8" */

struct handle { /* what listen() gives and connect() gets */
	uint64_t magic, listener;
	struct in6_addr address;
	struct comm *stage; /* connect() so far; NULL in what is exchanged */
};
_Static_assert(sizeof(struct handle) <= NCCL_NET_HANDLE_MAXSIZE, "NCCL's limit");

struct listener {
	struct device *device;
	uint64_t id;
};

/* The interface has no place for a context: it makes this inevitable. Written by init alone. */
static struct plugin {
	struct device devices[FARE_MAX_LOCAL_GPUS];
	int n_devices;
} plugin;

static ncclResult_t open_device(struct device *d, unsigned gpu)
{
	struct fare_domain_options options = {.provider = getenv("FARE_PROVIDER"),
					      .family = AF_INET,
					      .accept = true,
					      .key_file = getenv("FARE_KEY_FILE"),
					      .trusted_network =
						      getenv("FARE_TRUSTED_NETWORK") != NULL};
	int err = fare_attach(&d->fare, getenv("FARE_RUN_DIR"));

	if (err)
		return comm_failed(d, "no daemon to attach to", err);
	if (fare_local_address(d->fare, gpu, AF_INET, &d->address)) {
		options.family = AF_INET6;
		fare_local_address(d->fare, gpu, AF_INET6, &d->address);
	}
	err = fare_domain_open(&d->domain, d->fare, gpu, &options);
	if (err) {
		fare_detach(d->fare);
		return comm_failed(
			d,
			err == -ENOKEY
				? "FARE_KEY_FILE names no key, and FARE_TRUSTED_NETWORK is not set"
				: "domain",
			err);
	}
	pthread_mutex_init(&d->lock, NULL);
	snprintf(d->name, sizeof(d->name), "fare%u", gpu % FARE_MAX_LOCAL_GPUS);
	return ncclSuccess;
}

static ncclResult_t net_init(ncclDebugLogger_t log)
{
	ncclResult_t result;
	unsigned n = 1; /* known once the first is open */

	while ((unsigned)plugin.n_devices < n) {
		struct device *d = &plugin.devices[plugin.n_devices];

		d->log = log;
		result = open_device(d, (unsigned)plugin.n_devices);
		if (result != ncclSuccess)
			return result;
		plugin.n_devices++;
		n = fare_n_local_gpus(d->fare);
		if (n > FARE_MAX_LOCAL_GPUS)
			n = FARE_MAX_LOCAL_GPUS;
	}
	return ncclSuccess;
}

static ncclResult_t net_devices(int *n)
{
	*n = plugin.n_devices;
	return ncclSuccess;
}

static int speed_mbps(int dev)
{
	struct attach_gpu gpu;
	uint64_t bps = 0;

	if (!attach_local_gpu(plugin.devices[dev].fare, (unsigned)dev, &gpu))
		return 0;
	for (unsigned p = 0; p < gpu.n_planes; p++)
		for (unsigned s = 0; s < gpu.n_sub_ports[p]; s++)
			bps += atomic_load_explicit(&gpu.shm->sub_ports[p][s].speed_bps,
						    memory_order_relaxed);
	return (int)(bps / 1000000);
}

static ncclResult_t net_properties(int dev, ncclNetProperties_v8_t *out)
{
	struct device *d = &plugin.devices[dev];

	*out = (ncclNetProperties_v8_t){.name = d->name,
					.ptrSupport = NCCL_PTR_HOST,
					.regIsGlobal = 1,
					.speed = speed_mbps(dev),
					.port = 1,
					.maxComms = 1024,
					.maxRecvs = 1};
	memcpy(&out->guid, d->address.s6_addr + 8, sizeof(out->guid));
	return ncclSuccess;
}

static ncclResult_t net_listen(int dev, void *opaque, void **listen_comm)
{
	struct handle h = {.magic = MAGIC, .address = plugin.devices[dev].address};
	struct listener *l = calloc(1, sizeof(*l));

	if (!l || getrandom(&l->id, sizeof(l->id), 0) != sizeof(l->id)) {
		free(l);
		return ncclSystemError;
	}
	l->device = &plugin.devices[dev];
	l->id &= (UINT64_C(1) << 2 * TAG_BITS) - 1;
	h.listener = l->id;
	memset(opaque, 0, NCCL_NET_HANDLE_MAXSIZE);
	memcpy(opaque, &h, sizeof(h));
	*listen_comm = l;
	return ncclSuccess;
}

static ncclResult_t start_connecting(struct device *d, struct handle *h)
{
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct fare_group *group;
	int err = fare_group_open(&group, d->domain, &h->address, &options);

	if (err)
		return comm_failed(d, "group", err);
	h->stage = comm_create(d, group, true);
	if (!h->stage) {
		fare_group_close(group);
		return ncclSystemError;
	}
	h->stage->listener = h->listener;
	return ncclSuccess;
}

static ncclResult_t net_connect(int dev, void *opaque, void **send_comm,
				ncclNetDeviceHandle_v8_t **dev_comm)
{
	struct device *d = &plugin.devices[dev];
	ncclResult_t result = ncclSuccess;
	struct handle h;

	(void)dev_comm;
	*send_comm = NULL;
	memcpy(&h, opaque, sizeof(h));
	if (h.magic != MAGIC)
		return ncclInvalidArgument;
	pthread_mutex_lock(&d->lock);
	if (!h.stage)
		result = start_connecting(d, &h);
	if (result == ncclSuccess)
		result = comm_progress(d);
	if (result == ncclSuccess && h.stage->closed)
		result = ncclRemoteError;
	if (result == ncclSuccess && h.stage->connected && !h.stage->greeted)
		result = comm_greet(h.stage);
	if (result == ncclSuccess && h.stage->greeted)
		*send_comm = h.stage;
	pthread_mutex_unlock(&d->lock);
	memcpy(opaque, &h, sizeof(h));
	return result;
}

static ncclResult_t net_accept(void *listen_comm, void **recv_comm,
			       ncclNetDeviceHandle_v8_t **dev_comm)
{
	struct listener *l = listen_comm;
	ncclResult_t result;

	(void)dev_comm;
	*recv_comm = NULL;
	pthread_mutex_lock(&l->device->lock);
	result = comm_progress(l->device);
	for (struct comm *c = l->device->comms; c; c = c->next) {
		if (c->sender || c->connected || !c->greeted || c->listener != l->id)
			continue;
		c->connected = true; /* asked for: no other accept gets it */
		*recv_comm = c;
		break;
	}
	pthread_mutex_unlock(&l->device->lock);
	return result;
}

static ncclResult_t net_reg_mr(void *comm, void *data, size_t size, int type, void **mr)
{
	struct device *d = ((struct comm *)comm)->device;
	struct fare_mr *region = NULL;
	int err;

	if (type != NCCL_PTR_HOST)
		return ncclInvalidArgument;
	pthread_mutex_lock(&d->lock);
	err = fare_mr_register(&region, d->domain, data, size, true);
	pthread_mutex_unlock(&d->lock);
	*mr = region;
	return err ? comm_failed(d, "memory", err) : ncclSuccess;
}

static ncclResult_t net_reg_mr_dmabuf(void *comm, void *data, size_t size, int type,
				      uint64_t offset, int fd, void **mr)
{
	(void)comm, (void)data, (void)size, (void)type, (void)offset, (void)fd;
	*mr = NULL;
	return ncclInvalidUsage; /* not offered in ptrSupport */
}

static ncclResult_t net_dereg_mr(void *comm, void *mr)
{
	struct device *d = ((struct comm *)comm)->device;

	pthread_mutex_lock(&d->lock);
	fare_mr_deregister(mr);
	pthread_mutex_unlock(&d->lock);
	return ncclSuccess;
}

static ncclResult_t net_isend(void *send_comm, void *data, int size, int tag, void *mr,
			      void **request)
{
	struct comm *comm = send_comm;
	ncclResult_t result;

	*request = NULL;
	pthread_mutex_lock(&comm->device->lock);
	result = comm_progress(comm->device);
	if (result == ncclSuccess)
		result = comm_send(comm, data, size, tag, mr, request);
	pthread_mutex_unlock(&comm->device->lock);
	return result;
}

static ncclResult_t net_irecv(void *recv_comm, int n, void **data, int *sizes, int *tags, void **mr,
			      void **request)
{
	struct comm *comm = recv_comm;
	ncclResult_t result;

	*request = NULL;
	if (n != 1)
		return ncclInvalidUsage;
	pthread_mutex_lock(&comm->device->lock);
	result = comm_receive(comm, data[0], sizes[0], tags[0], mr[0], request);
	pthread_mutex_unlock(&comm->device->lock);
	return result;
}

/* Host memory: what was notified is visible. */
static ncclResult_t net_iflush(void *recv_comm, int n, void **data, int *sizes, void **mr,
			       void **request)
{
	(void)recv_comm, (void)n, (void)data, (void)sizes, (void)mr;
	*request = NULL;
	return ncclSuccess;
}

static ncclResult_t net_test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	struct comm *comm = r->comm;
	ncclResult_t result;

	*done = 0;
	pthread_mutex_lock(&comm->device->lock);
	result = comm_progress(comm->device);
	if (r->done && !r->status) {
		*done = 1;
		if (sizes)
			*sizes = r->size;
		r->in_use = false;
	} else if (r->status || comm->closed) {
		result = ncclRemoteError;
	}
	pthread_mutex_unlock(&comm->device->lock);
	return result;
}

static ncclResult_t net_close(void *opaque)
{
	struct comm *comm = opaque;
	struct device *d = comm->device;

	pthread_mutex_lock(&d->lock);
	comm_progress(d); /* no event of it is left behind */
	comm_destroy(comm);
	pthread_mutex_unlock(&d->lock);
	return ncclSuccess;
}

static ncclResult_t net_close_listen(void *listen_comm)
{
	free(listen_comm);
	return ncclSuccess;
}

static ncclResult_t net_device_mr(void *comm, void *mr, void **device_mr)
{
	(void)comm, (void)mr, (void)device_mr;
	return ncclInvalidUsage; /* no device drives this network */
}

static ncclResult_t net_irecv_consumed(void *recv_comm, int n, void *request)
{
	(void)recv_comm, (void)n, (void)request;
	return ncclInvalidUsage;
}

extern const ncclNet_v8_t ncclNetPlugin_v8;
const ncclNet_v8_t ncclNetPlugin_v8 = {
	.name = "FARE",
	.init = net_init,
	.devices = net_devices,
	.getProperties = net_properties,
	.listen = net_listen,
	.connect = net_connect,
	.accept = net_accept,
	.regMr = net_reg_mr,
	.regMrDmaBuf = net_reg_mr_dmabuf,
	.deregMr = net_dereg_mr,
	.isend = net_isend,
	.irecv = net_irecv,
	.iflush = net_iflush,
	.test = net_test,
	.closeSend = net_close,
	.closeRecv = net_close,
	.closeListen = net_close_listen,
	.getDeviceMr = net_device_mr,
	.irecvConsumed = net_irecv_consumed,
};
