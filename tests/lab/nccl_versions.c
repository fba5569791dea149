/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl_versions.h"

#include <dlfcn.h>
#include <stdio.h>

#define OLDEST 6 /* that an NCCL of today looks for */

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
	ncclNetProperties_v8_t p = {0};
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
	ncclNetProperties_v11_t p = {0};
	ncclResult_t result = net_v11->getProperties(dev, &p);

	*out = (ncclNetProperties_v9_t){.name = p.name,
					.pciPath = p.pciPath,
					.guid = p.guid,
					.ptrSupport = p.ptrSupport,
					.speed = p.speed,
					.maxRecvs = p.maxRecvs,
					.netDeviceType = p.netDeviceType};
	return result || p.maxMultiRequestSize == 1 ? result : ncclInternalError;
}

static ncclResult_t properties_v12(int dev, ncclNetProperties_v9_t *out)
{
	ncclNetProperties_v12_t p = {0};
	ncclResult_t result = net_v12->getProperties(dev, &p);

	*out = (ncclNetProperties_v9_t){.name = p.name,
					.pciPath = p.pciPath,
					.guid = p.guid,
					.ptrSupport = p.ptrSupport,
					.speed = p.speed,
					.maxRecvs = p.maxRecvs,
					.netDeviceType = p.netDeviceType};
	return result || (p.vProps.ndevs == 1 && p.vProps.devs[0] == dev && p.railId == dev &&
			  p.planeId == NCCL_NET_ID_UNDEF)
		       ? result
		       : ncclInternalError;
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

/* What version 10 has as they do, and takes as it is. */
#define SAME_CALLS(n)                                                                              \
	.name = (n)->name, .devices = (n)->devices, .accept = (n)->accept, .regMr = (n)->regMr,    \
	.deregMr = (n)->deregMr, .iflush = (n)->iflush, .test = (n)->test,                         \
	.closeSend = (n)->closeSend, .closeRecv = (n)->closeRecv, .closeListen = (n)->closeListen

static ncclNet_v10_t as_v12(const void *table)
{
	net_v12 = table;
	return (ncclNet_v10_t){
		SAME_CALLS(net_v12),	.init = init_v12,	.getProperties = properties_v12,
		.listen = listen_v11,	.connect = connect_v11, .isend = net_v12->isend,
		.irecv = net_v12->irecv};
}

static ncclNet_v10_t as_v11(const void *table)
{
	net_v11 = table;
	return (ncclNet_v10_t){
		SAME_CALLS(net_v11),	.init = init_v11,	.getProperties = properties_v11,
		.listen = listen_v11,	.connect = connect_v11, .isend = net_v11->isend,
		.irecv = net_v11->irecv};
}

static ncclNet_v10_t as_v10(const void *table)
{
	return *(const ncclNet_v10_t *)table;
}

static ncclNet_v10_t as_v9(const void *table)
{
	net_v9 = table;
	return (ncclNet_v10_t){SAME_CALLS(net_v9),
			       .init = init_v9,
			       .getProperties = net_v9->getProperties,
			       .listen = net_v9->listen,
			       .connect = connect_v9,
			       .isend = isend_v9,
			       .irecv = irecv_v9};
}

static ncclNet_v10_t as_v8(const void *table)
{
	net_v8 = table;
	return (ncclNet_v10_t){
		SAME_CALLS(net_v8),	  .init = init_v8,	 .getProperties = properties_v8,
		.listen = net_v8->listen, .connect = connect_v8, .isend = isend_v8,
		.irecv = irecv_v8};
}

/* Of a kind of table; NULL: not in the library. */
static const void *table_of(void *library, const char *kind, int version)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_v%d", kind, version);
	return dlsym(library, name);
}

int nccl_versions_load(void *library, int newest, ncclNet_v10_t *out)
{
	static ncclNet_v10_t (*const as[])(const void *) = {as_v8, as_v9, as_v10, as_v11, as_v12};
	const void *table = NULL;
	int version;

	net_v11 = NULL, net_v12 = NULL;
	for (version = newest; version >= OLDEST && !table; version--)
		table = table_of(library, "ncclNetPlugin", version);
	version++;
	if (!table || version < 8 || version > 12)
		return 0;
	*out = as[version - 8](table);
	/* a network without its own collectives: NCCL would use them if there were any */
	for (int v = OLDEST; v <= newest; v++)
		if (table_of(library, "ncclCollNetPlugin", v))
			return 0;
	return version;
}

ncclResult_t nccl_versions_finalize(void)
{
	if (net_v12)
		return net_v12->finalize(context);
	return net_v11 ? net_v11->finalize(context) : ncclSuccess;
}

ncclResult_t nccl_versions_another(const ncclNet_v10_t *net, ncclDebugLogger_t log)
{
	void *first = context;
	ncclResult_t result = net->init(log, NULL);

	if (result == ncclSuccess)
		result = nccl_versions_finalize();
	context = first;
	return result;
}
