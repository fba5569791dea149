/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_fare.c - NCCL's network over QP groups, libnccl-net-fare.so: the tables that NCCL calls.
 *
 * Owns: the list of devices. Here are NCCL's types and the devices' locks; what the calls do is in
 * nccl_listener.c and nccl_comm.c. No call waits: one that cannot go on polls the device's domain
 * and says so, as NCCL may call no other meanwhile.
 */
#include <string.h>

#include "nccl/nccl_comm.h"
#include "nccl/nccl_listener.h"

/* test() gives sizes as int; NCCL itself cuts at that for networks that say nothing */
#define MAX_BYTES (UINT32_C(1) << 30)
/* as many as a group has numbers for */
#define MAX_COMMS 65536

/* The interface has no place for a context: it makes this inevitable. Written by init alone. */
static struct plugin {
	pthread_mutex_t lock; /* of init */
	struct device devices[FARE_MAX_LOCAL_GPUS];
	int n_devices;
} plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- devices ---- */

/* One that failed may be called again, when the daemon is there. */
static ncclResult_t net_init(ncclDebugLogger_t log)
{
	ncclResult_t result = ncclSuccess;

	pthread_mutex_lock(&plugin.lock);
	if (!plugin.n_devices)
		result = device_list(plugin.devices, &plugin.n_devices, log);
	pthread_mutex_unlock(&plugin.lock);
	return result;
}

static ncclResult_t net_init_v10(ncclDebugLogger_t log, ncclProfilerCallback_t profile)
{
	(void)profile;
	return net_init(log);
}

static ncclResult_t net_devices(int *n)
{
	*n = plugin.n_devices;
	return ncclSuccess;
}

static struct device *device_at(int dev)
{
	return dev >= 0 && dev < plugin.n_devices ? &plugin.devices[dev] : NULL;
}

/*
 * The newest properties have all that older ones have. A device is all planes of a GPU, and so is
 * on none of them alone: planeId is undefined, or NCCL would connect no two of different planes. A
 * rail is the GPUs of the same place on their servers.
 */
static ncclResult_t net_properties_v12(int dev, ncclNetProperties_v12_t *out)
{
	struct device *d = device_at(dev);

	if (!d)
		return ncclInvalidArgument;
	*out = (ncclNetProperties_v12_t){.name = d->name,
					 .pciPath = d->pci_path,
					 .guid = d->guid,
					 .ptrSupport = NCCL_PTR_HOST,
					 .regIsGlobal = 1,
					 .port = 1,
					 .maxComms = MAX_COMMS,
					 .maxRecvs = 1,
					 .vProps = {.ndevs = 1, .devs = {dev}},
					 .maxP2pBytes = MAX_BYTES,
					 .maxCollBytes = MAX_BYTES,
					 .maxMultiRequestSize = 1,
					 .railId = (int16_t)d->gpu,
					 .planeId = NCCL_NET_ID_UNDEF};
	return device_speed_mbps(d, &out->speed);
}

/* what all versions have and is not zero here */
#define SAME_PROPERTIES(p)                                                                         \
	.name = (p).name, .pciPath = (p).pciPath, .guid = (p).guid, .ptrSupport = (p).ptrSupport,  \
	.regIsGlobal = (p).regIsGlobal, .speed = (p).speed, .port = (p).port,                      \
	.maxComms = (p).maxComms, .maxRecvs = (p).maxRecvs
/* and from version 9 on */
#define SAME_SIZES(p)                                                                              \
	.vProps = {.ndevs = 1, .devs = {(p).vProps.devs[0]}}, .maxP2pBytes = (p).maxP2pBytes,      \
	.maxCollBytes = (p).maxCollBytes

static ncclResult_t net_properties_v11(int dev, ncclNetProperties_v11_t *out)
{
	ncclNetProperties_v12_t p;
	ncclResult_t result = net_properties_v12(dev, &p);

	if (result == ncclSuccess)
		*out = (ncclNetProperties_v11_t){SAME_PROPERTIES(p), SAME_SIZES(p),
						 .maxMultiRequestSize = p.maxMultiRequestSize};
	return result;
}

static ncclResult_t net_properties_v9(int dev, ncclNetProperties_v9_t *out)
{
	ncclNetProperties_v12_t p;
	ncclResult_t result = net_properties_v12(dev, &p);

	if (result == ncclSuccess)
		*out = (ncclNetProperties_v9_t){SAME_PROPERTIES(p), SAME_SIZES(p)};
	return result;
}

static ncclResult_t net_properties_v8(int dev, ncclNetProperties_v8_t *out)
{
	ncclNetProperties_v12_t p;
	ncclResult_t result = net_properties_v12(dev, &p);

	if (result == ncclSuccess)
		*out = (ncclNetProperties_v8_t){SAME_PROPERTIES(p)};
	return result;
}

/* ---- connections ---- */

static void net_lock(struct device *d)
{
	if (device_lock(d))
		peer_groups_inherit(d);
}

static ncclResult_t net_listen(int dev, void *handle, void **listen_comm)
{
	struct device *d = device_at(dev);
	struct listener *l = NULL;
	ncclResult_t result;

	if (!d)
		return ncclInvalidArgument;
	net_lock(d);
	result = listener_create(&l, d, handle);
	device_unlock(d);
	*listen_comm = l;
	return result;
}

/* NCCL's traffic class is the byte of the IP header, as its own network over InfiniBand has it. */
static uint8_t dscp_of(const ncclNetCommConfig_v10_t *config)
{
	return !config || config->trafficClass < 0 ? 0
						   : (uint8_t)((config->trafficClass & 0xff) >> 2);
}

/* From version 11 on: all that is kept for a communicator is its DSCP, so the pointer is that. */
static void *context_of(uint8_t dscp)
{
	return (void *)(uintptr_t)(dscp + 1u);
}

static uint8_t dscp_in(const void *ctx)
{
	return ctx ? (uint8_t)((uintptr_t)ctx - 1) : 0;
}

static ncclResult_t net_init_v11(void **ctx, uint64_t comm_id, ncclNetCommConfig_v10_t *config,
				 ncclDebugLogger_t log, ncclProfilerCallback_t profile)
{
	(void)comm_id, (void)profile;
	*ctx = context_of(dscp_of(config));
	return net_init(log);
}

/* Devices stay as they are until the process ends: another communicator may use them. */
static ncclResult_t net_finalize(void *ctx)
{
	(void)ctx;
	return ncclSuccess;
}

static ncclResult_t net_set_attr(void *ctx, ncclNetAttr_t *attr)
{
	(void)ctx, (void)attr;
	return ncclSuccess;
}

static ncclResult_t net_listen_v11(void *ctx, int dev, void *handle, void **listen_comm)
{
	(void)ctx;
	return net_listen(dev, handle, listen_comm);
}

static ncclResult_t connect_by(int dev, uint8_t dscp, void *handle, void **send_comm)
{
	struct device *d = device_at(dev);
	struct comm *comm = NULL;
	ncclResult_t result;

	*send_comm = NULL;
	if (!d)
		return ncclInvalidArgument;
	net_lock(d);
	result = listener_connect(&comm, d, handle, dscp);
	device_unlock(d);
	*send_comm = comm;
	return result;
}

static ncclResult_t net_connect(int dev, void *handle, void **send_comm,
				ncclNetDeviceHandle_t **dev_comm)
{
	(void)dev_comm;
	return connect_by(dev, 0, handle, send_comm);
}

static ncclResult_t net_connect_v10(int dev, ncclNetCommConfig_v10_t *config, void *handle,
				    void **send_comm, ncclNetDeviceHandle_t **dev_comm)
{
	(void)dev_comm;
	return connect_by(dev, dscp_of(config), handle, send_comm);
}

static ncclResult_t net_connect_v11(void *ctx, int dev, void *handle, void **send_comm,
				    ncclNetDeviceHandle_t **dev_comm)
{
	(void)dev_comm;
	return connect_by(dev, dscp_in(ctx), handle, send_comm);
}

static ncclResult_t net_accept(void *listen_comm, void **recv_comm,
			       ncclNetDeviceHandle_t **dev_comm)
{
	struct listener *l = listen_comm;
	ncclResult_t result;

	(void)dev_comm;
	net_lock(l->device);
	result = comm_progress(l->device);
	*recv_comm = result == ncclSuccess ? listener_accept(l) : NULL;
	device_unlock(l->device);
	return result;
}

static ncclResult_t net_close(void *opaque)
{
	struct comm *comm = opaque;
	struct device *d = comm->group->device;

	net_lock(d);
	comm_leave(comm);
	comm_sweep(d);
	device_unlock(d);
	return ncclSuccess;
}

static ncclResult_t net_close_listen(void *listen_comm)
{
	struct listener *l = listen_comm;
	struct device *d = l->device;

	net_lock(d);
	listener_destroy(l);
	device_unlock(d);
	return ncclSuccess;
}

/* ---- memory ---- */

/* Of the device: a receiving communicator may use what a sending one registered. */
static ncclResult_t net_reg_mr(void *comm, void *data, size_t size, int type, void **mr)
{
	struct device *d = ((struct comm *)comm)->group->device;
	struct fare_mr *region = NULL;
	int err;

	if (type != NCCL_PTR_HOST)
		return ncclInvalidArgument;
	net_lock(d);
	err = fare_mr_register(&region, d->domain, data, size, FARE_REMOTE_WRITE);
	device_unlock(d);
	*mr = region;
	return err ? device_failed(d, "memory", err) : ncclSuccess;
}

static ncclResult_t net_dereg_mr(void *comm, void *mr)
{
	struct device *d = ((struct comm *)comm)->group->device;

	net_lock(d);
	fare_mr_deregister(mr);
	device_unlock(d);
	return ncclSuccess;
}

/* ---- data ---- */

static ncclResult_t net_isend_v9(void *send_comm, void *data, size_t size, int tag, void *mr,
				 void **request)
{
	struct comm *comm = send_comm;
	struct device *d = comm->group->device;
	struct request *r = NULL;
	ncclResult_t result;

	net_lock(d);
	result = comm_send(comm, data, size, tag, mr, &r);
	if (result == ncclSuccess && !r) {
		result = comm_progress(d);
		if (result == ncclSuccess)
			result = comm_send(comm, data, size, tag, mr, &r);
	}
	device_unlock(d);
	*request = r;
	return result;
}

static ncclResult_t net_isend_v8(void *send_comm, void *data, int size, int tag, void *mr,
				 void **request)
{
	return net_isend_v9(send_comm, data, (size_t)size, tag, mr, request);
}

static ncclResult_t net_isend_v10(void *send_comm, void *data, size_t size, int tag, void *mr,
				  void *profile, void **request)
{
	(void)profile;
	return net_isend_v9(send_comm, data, size, tag, mr, request);
}

static ncclResult_t net_irecv_v9(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
				 void **mr, void **request)
{
	struct comm *comm = recv_comm;
	struct device *d = comm->group->device;
	struct request *r = NULL;
	ncclResult_t result;

	*request = NULL;
	if (n != 1)
		return ncclInvalidUsage;
	net_lock(d);
	result = comm_receive(comm, data[0], sizes[0], tags[0], mr[0], &r);
	if (result == ncclSuccess && !r) {
		result = comm_progress(d);
		if (result == ncclSuccess)
			result = comm_receive(comm, data[0], sizes[0], tags[0], mr[0], &r);
	}
	device_unlock(d);
	*request = r;
	return result;
}

static ncclResult_t net_irecv_v8(void *recv_comm, int n, void **data, int *sizes, int *tags,
				 void **mr, void **request)
{
	size_t size = n == 1 ? (size_t)sizes[0] : 0;

	return net_irecv_v9(recv_comm, n, data, &size, tags, mr, request);
}

static ncclResult_t net_irecv_v10(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
				  void **mr, void **profile, void **request)
{
	(void)profile;
	return net_irecv_v9(recv_comm, n, data, sizes, tags, mr, request);
}

/*
 * Done at once. It is host memory, and test() says that a receive is done only after the group has
 * said so of the whole write: then the CPU sees the bytes, and there is no device whose cache or
 * bus could still hold some.
 */
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
	struct device *d = r->comm->group->device;
	ncclResult_t result;

	net_lock(d);
	result = comm_test(r, done, sizes);
	if (result == ncclSuccess && !*done) {
		result = comm_progress(d);
		if (result == ncclSuccess)
			result = comm_test(r, done, sizes);
	}
	device_unlock(d);
	return result;
}

/* ---- tables ---- */

/*
 * What is NULL, NCCL does without: devices that GPUs drive, devices made of several, and memory of
 * GPUs (regMrDmaBuf). fare_mr_register_dmabuf() can name that, but iflush would have to make what
 * each plane's device wrote visible to the GPU, and a group has no call for it: NCCL goes through
 * host memory instead of reading too early.
 */
#define SAME_IN_ALL                                                                                \
	.name = "FARE", .devices = net_devices, .accept = net_accept, .regMr = net_reg_mr,         \
	.deregMr = net_dereg_mr, .iflush = net_iflush, .test = net_test, .closeSend = net_close,   \
	.closeRecv = net_close, .closeListen = net_close_listen

extern const ncclNet_v8_t ncclNetPlugin_v8;
const ncclNet_v8_t ncclNetPlugin_v8 = {
	SAME_IN_ALL,	       .init = net_init,       .getProperties = net_properties_v8,
	.listen = net_listen,  .connect = net_connect, .isend = net_isend_v8,
	.irecv = net_irecv_v8,
};

extern const ncclNet_v9_t ncclNetPlugin_v9;
const ncclNet_v9_t ncclNetPlugin_v9 = {
	SAME_IN_ALL,	       .init = net_init,       .getProperties = net_properties_v9,
	.listen = net_listen,  .connect = net_connect, .isend = net_isend_v9,
	.irecv = net_irecv_v9,
};

extern const ncclNet_v10_t ncclNetPlugin_v10;
const ncclNet_v10_t ncclNetPlugin_v10 = {
	SAME_IN_ALL,
	.init = net_init_v10,
	.getProperties = net_properties_v9,
	.listen = net_listen,
	.connect = net_connect_v10,
	.isend = net_isend_v10,
	.irecv = net_irecv_v10,
};

extern const ncclNet_v11_t ncclNetPlugin_v11;
const ncclNet_v11_t ncclNetPlugin_v11 = {
	SAME_IN_ALL,
	.init = net_init_v11,
	.getProperties = net_properties_v11,
	.listen = net_listen_v11,
	.connect = net_connect_v11,
	.isend = net_isend_v10,
	.irecv = net_irecv_v10,
	.finalize = net_finalize,
	.setNetAttr = net_set_attr,
};

extern const ncclNet_v12_t ncclNetPlugin_v12;
const ncclNet_v12_t ncclNetPlugin_v12 = {
	SAME_IN_ALL,
	.init = net_init_v11,
	.getProperties = net_properties_v12,
	.listen = net_listen_v11,
	.connect = net_connect_v11,
	.isend = net_isend_v10,
	.irecv = net_irecv_v10,
	.finalize = net_finalize,
	.setNetAttr = net_set_attr,
};
