/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl_versions.h"

#include <dlfcn.h>

/* The interface has no place for a context. */
static const ncclNet_v8_t *net_v8;
static const ncclNet_v9_t *net_v9;

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

/* What differs from version 10 is laid over it. */
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
	if (!net_v10 || !net_v9 || !net_v8)
		return false;
	*out = *net_v10;
	if (version == 9)
		lay_v9(out);
	else if (version == 8)
		lay_v8(out);
	return true;
}
