/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl_versions.h"

#include <dlfcn.h>

/* The interface has no place for a context. */
static const ncclNet_v8_t *net_v8;
static const ncclNet_v9_t *net_v9;
static const ncclNet_v11_t *net_v11;
static const ncclNet_v12_t *net_v12;
static void *context; /* from version 11 on: init()'s */

static ncclResult_t init_v8(ncclDebugLogger_t log, ncclProfilerCallback_t profile)
{
	(void)profile;
	return net_v8->init(log);
}

static ncclResult_t properties_v8(int dev, ncclNetProperties_v9_t *out)
{
	ncclNetProperties_v8_t p;
	ncclResult_t result = net_v8->getProperties(dev, &p);

	*out = (ncclNetProperties_v9_t){.name = p.name,
					.pciPath = p.pciPath,
					.guid = p.guid,
					.ptrSupport = p.ptrSupport,
					.speed = p.speed,
					.maxRecvs = p.maxRecvs,
					.netDeviceType = p.netDeviceType};
	return result;
}

static ncclResult_t connect_v8(int dev, ncclNetCommConfig_v10_t *config, void *handle,
			       void **send_comm, ncclNetDeviceHandle_t **dev_comm)
{
	(void)config;
	return net_v8->connect(dev, handle, send_comm, dev_comm);
}

static ncclResult_t isend_v8(void *comm, void *data, size_t size, int tag, void *mr, void *profile,
			     void **request)
{
	(void)profile;
	return net_v8->isend(comm, data, (int)size, tag, mr, request);
}

static ncclResult_t irecv_v8(void *comm, int n, void **data, size_t *sizes, int *tags, void **mr,
			     void **profile, void **request)
{
	int size = (int)sizes[0];

	(void)profile;
	return net_v8->irecv(comm, n, data, &size, tags, mr, request);
}

static ncclResult_t init_v9(ncclDebugLogger_t log, ncclProfilerCallback_t profile)
{
	(void)profile;
	return net_v9->init(log);
}

static ncclResult_t connect_v9(int dev, ncclNetCommConfig_v10_t *config, void *handle,
			       void **send_comm, ncclNetDeviceHandle_t **dev_comm)
{
	(void)config;
	return net_v9->connect(dev, handle, send_comm, dev_comm);
}

static ncclResult_t isend_v9(void *comm, void *data, size_t size, int tag, void *mr, void *profile,
			     void **request)
{
	(void)profile;
	return net_v9->isend(comm, data, size, tag, mr, request);
}

static ncclResult_t irecv_v9(void *comm, int n, void **data, size_t *sizes, int *tags, void **mr,
			     void **profile, void **request)
{
	(void)profile;
	return net_v9->irecv(comm, n, data, sizes, tags, mr, request);
}

static ncclResult_t init_v11(ncclDebugLogger_t log, ncclProfilerCallback_t profile)
{
	ncclNetCommConfig_v10_t config = {.trafficClass = -1};

	return net_v11->init(&context, 1, &config, log, profile);
}

static ncclResult_t init_v12(ncclDebugLogger_t log, ncclProfilerCallback_t profile)
{
	ncclNetCommConfig_v10_t config = {.trafficClass = -1};

	return net_v12->init(&context, 1, &config, log, profile);
}

static ncclResult_t properties_v11(int dev, ncclNetProperties_v9_t *out)
{
	ncclNetProperties_v11_t p;
	ncclResult_t result = net_v11->getProperties(dev, &p);

	*out = (ncclNetProperties_v9_t){.name = p.name,
					.pciPath = p.pciPath,
					.guid = p.guid,
					.ptrSupport = p.ptrSupport,
					.speed = p.speed,
					.maxRecvs = p.maxRecvs,
					.netDeviceType = p.netDeviceType};
	return result || p.maxMultiRequestSize != 1 ? ncclInternalError : ncclSuccess;
}

static ncclResult_t properties_v12(int dev, ncclNetProperties_v9_t *out)
{
	ncclNetProperties_v12_t p;
	ncclResult_t result = net_v12->getProperties(dev, &p);

	*out = (ncclNetProperties_v9_t){.name = p.name,
					.pciPath = p.pciPath,
					.guid = p.guid,
					.ptrSupport = p.ptrSupport,
					.speed = p.speed,
					.maxRecvs = p.maxRecvs,
					.netDeviceType = p.netDeviceType};
	return result || p.vProps.ndevs != 1 || p.vProps.devs[0] != dev ||
			       p.planeId != NCCL_NET_ID_UNDEF
		       ? ncclInternalError
		       : ncclSuccess;
}

static ncclResult_t listen_v11(int dev, void *handle, void **listen_comm)
{
	return net_v12 ? net_v12->listen(context, dev, handle, listen_comm)
		       : net_v11->listen(context, dev, handle, listen_comm);
}

static ncclResult_t connect_v11(int dev, ncclNetCommConfig_v10_t *config, void *handle,
				void **send_comm, ncclNetDeviceHandle_t **dev_comm)
{
	(void)config;
	return net_v12 ? net_v12->connect(context, dev, handle, send_comm, dev_comm)
		       : net_v11->connect(context, dev, handle, send_comm, dev_comm);
}

/* What differs from version 10 is laid over it. From 11 on calls take a context. */
static void lay_v11(ncclNet_v10_t *net)
{
	net->init = init_v11;
	net->getProperties = properties_v11;
	net->listen = listen_v11;
	net->connect = connect_v11;
	net->isend = net_v11->isend;
	net->irecv = net_v11->irecv;
}

static void lay_v12(ncclNet_v10_t *net)
{
	lay_v11(net);
	net->init = init_v12;
	net->getProperties = properties_v12;
	net->isend = net_v12->isend;
	net->irecv = net_v12->irecv;
}

static void lay_v9(ncclNet_v10_t *net)
{
	net->init = init_v9;
	net->getProperties = net_v9->getProperties;
	net->connect = connect_v9;
	net->isend = isend_v9;
	net->irecv = irecv_v9;
}

static void lay_v8(ncclNet_v10_t *net)
{
	net->init = init_v8;
	net->getProperties = properties_v8;
	net->connect = connect_v8;
	net->isend = isend_v8;
	net->irecv = irecv_v8;
}

bool nccl_versions_load(void *library, int version, ncclNet_v10_t *out)
{
	const ncclNet_v10_t *net_v10 = dlsym(library, "ncclNetPlugin_v10");

	net_v9 = dlsym(library, "ncclNetPlugin_v9");
	net_v8 = dlsym(library, "ncclNetPlugin_v8");
	net_v11 = dlsym(library, "ncclNetPlugin_v11");
	net_v12 = dlsym(library, "ncclNetPlugin_v12");
	if (!net_v12 || !net_v11 || !net_v10 || !net_v9 || !net_v8)
		return false;
	*out = *net_v10;
	if (version == 12)
		lay_v12(out);
	else if (version == 11)
		net_v12 = NULL, lay_v11(out);
	else if (version == 9)
		lay_v9(out);
	else if (version == 8)
		lay_v8(out);
	return true;
}
