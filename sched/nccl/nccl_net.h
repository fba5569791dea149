/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_net.h - the part of NCCL's network plugin interface, versions 8 to 12, that a plugin must
 * agree on with NCCL.
 *
 * Declared here by ourselves: names, order and types are the interface, and NCCL finds them by
 * layout alone. In: nothing. Out: types. The plugin exports one object for each version,
 * ncclNetPlugin_v8 to _v12, and NCCL takes the newest that it knows (8: from NCCL 2.20 on, 11:
 * from 2.28.3 on, 12: from 2.30.3 on). Functions that cannot go on yet succeed with a NULL result
 * and are called again. Threads: NCCL's proxies; different communicators may be on different
 * threads.
 */
#ifndef NCCL_NET_H
#define NCCL_NET_H

#include <stddef.h>
#include <stdint.h>

#define NCCL_NET_HANDLE_MAXSIZE	  128
#define NCCL_NET_MAX_DEVS_PER_NIC 4
#define NCCL_NET_MAX_DEVS_V12	  8
#define NCCL_NET_ID_UNDEF	  (-1)
#define NCCL_PTR_HOST		  1

typedef enum {
	ncclSuccess = 0,
	ncclUnhandledCudaError = 1,
	ncclSystemError = 2,
	ncclInternalError = 3,
	ncclInvalidArgument = 4,
	ncclInvalidUsage = 5,
	ncclRemoteError = 6,
} ncclResult_t;

typedef enum {
	NCCL_LOG_NONE = 0,
	NCCL_LOG_VERSION = 1,
	NCCL_LOG_WARN = 2,
	NCCL_LOG_INFO = 3,
} ncclDebugLogLevel;
#define NCCL_NET 16ul /* subsystem, in the logger's flags */

typedef void (*ncclDebugLogger_t)(ncclDebugLogLevel level, unsigned long flags, const char *file,
				  int line, const char *format, ...);
/* version 10: for events of the network's own, of which this has none */
typedef ncclResult_t (*ncclProfilerCallback_t)(void **event, int type, void *parent,
					       int64_t plugin_id, void *data);

/* for devices that GPUs drive: none here */
typedef struct ncclNetDeviceHandle ncclNetDeviceHandle_t;

typedef struct {
	char *name;
	char *pciPath; /* NULL: none */
	uint64_t guid;
	int ptrSupport;
	int regIsGlobal; /* memory is registered with the device, not with a communicator */
	int speed;	 /* Mbit/s */
	int port;
	float latency; /* us; 0: NCCL's own figure */
	int maxComms;
	int maxRecvs;	   /* receives that one irecv may group */
	int netDeviceType; /* 0: the host drives it */
	int netDeviceVersion;
} ncclNetProperties_v8_t;

/* devices that NCCL may use as one */
typedef struct {
	int ndevs;
	int devs[NCCL_NET_MAX_DEVS_PER_NIC];
} ncclNetVDeviceProps_v9_t;

/* of version 10, too */
typedef struct {
	char *name;
	char *pciPath;
	uint64_t guid;
	int ptrSupport;
	int regIsGlobal;
	int forceFlush; /* call iflush even where the GPU would not need it */
	int speed;
	int port;
	float latency;
	int maxComms;
	int maxRecvs;
	int netDeviceType;
	int netDeviceVersion;
	ncclNetVDeviceProps_v9_t vProps;
	size_t maxP2pBytes; /* of one send */
	size_t maxCollBytes;
} ncclNetProperties_v9_t;

typedef struct {
	char *name;
	char *pciPath;
	uint64_t guid;
	int ptrSupport;
	int regIsGlobal;
	int forceFlush;
	int speed;
	int port;
	float latency;
	int maxComms;
	int maxRecvs;
	int netDeviceType;
	int netDeviceVersion;
	ncclNetVDeviceProps_v9_t vProps;
	size_t maxP2pBytes;
	size_t maxCollBytes;
	int maxMultiRequestSize; /* requests that one call may name */
} ncclNetProperties_v11_t;

typedef struct {
	int ndevs;
	int devs[NCCL_NET_MAX_DEVS_V12];
} ncclNetVDeviceProps_v12_t;

typedef struct {
	char *name;
	char *pciPath;
	uint64_t guid;
	int ptrSupport;
	int regIsGlobal;
	int forceFlush;
	int speed;
	int port;
	float latency;
	int maxComms;
	int maxRecvs;
	int netDeviceType;
	int netDeviceVersion;
	ncclNetVDeviceProps_v12_t vProps;
	size_t maxP2pBytes;
	size_t maxCollBytes;
	int maxMultiRequestSize;
	int16_t railId;	 /* NCCL_NET_ID_UNDEF: none */
	int16_t planeId; /* the same */
} ncclNetProperties_v12_t;

/* of versions 11 and 12, too */
typedef struct {
	int trafficClass; /* -1: none in particular */
} ncclNetCommConfig_v10_t;

/* versions 11 and 12: what a communicator will do, of which nothing is used */
typedef struct ncclNetAttr ncclNetAttr_t;

/* what all tables have, between listen and connect, which differ, and isend and irecv, which do */
#define NCCL_NET_SAME_1                                                                            \
	ncclResult_t (*accept)(void *listen_comm, void **recv_comm,                                \
			       ncclNetDeviceHandle_t **dev_comm);                                  \
	ncclResult_t (*regMr)(void *comm, void *data, size_t size, int type, void **mr);           \
	ncclResult_t (*regMrDmaBuf)(void *comm, void *data, size_t size, int type,                 \
				    uint64_t offset, int fd, void **mr);                           \
	ncclResult_t (*deregMr)(void *comm, void *mr);
/* and after these */
#define NCCL_NET_SAME_2                                                                            \
	ncclResult_t (*iflush)(void *recv_comm, int n, void **data, int *sizes, void **mr,         \
			       void **request);                                                    \
	ncclResult_t (*test)(void *request, int *done, int *sizes);                                \
	ncclResult_t (*closeSend)(void *send_comm);                                                \
	ncclResult_t (*closeRecv)(void *recv_comm);                                                \
	ncclResult_t (*closeListen)(void *listen_comm);                                            \
	ncclResult_t (*getDeviceMr)(void *comm, void *mr, void **device_mr);                       \
	ncclResult_t (*irecvConsumed)(void *recv_comm, int n, void *request);

typedef struct {
	const char *name;
	ncclResult_t (*init)(ncclDebugLogger_t log);
	ncclResult_t (*devices)(int *n);
	ncclResult_t (*getProperties)(int dev, ncclNetProperties_v8_t *out);
	ncclResult_t (*listen)(int dev, void *handle, void **listen_comm);
	ncclResult_t (*connect)(int dev, void *handle, void **send_comm,
				ncclNetDeviceHandle_t **dev_comm);
	NCCL_NET_SAME_1
	ncclResult_t (*isend)(void *send_comm, void *data, int size, int tag, void *mr,
			      void **request);
	ncclResult_t (*irecv)(void *recv_comm, int n, void **data, int *sizes, int *tags, void **mr,
			      void **request);
	NCCL_NET_SAME_2
} ncclNet_v8_t;

typedef struct {
	const char *name;
	ncclResult_t (*init)(ncclDebugLogger_t log);
	ncclResult_t (*devices)(int *n);
	ncclResult_t (*getProperties)(int dev, ncclNetProperties_v9_t *out);
	ncclResult_t (*listen)(int dev, void *handle, void **listen_comm);
	ncclResult_t (*connect)(int dev, void *handle, void **send_comm,
				ncclNetDeviceHandle_t **dev_comm);
	NCCL_NET_SAME_1
	ncclResult_t (*isend)(void *send_comm, void *data, size_t size, int tag, void *mr,
			      void **request);
	ncclResult_t (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
			      void **mr, void **request);
	NCCL_NET_SAME_2
	ncclResult_t (*makeVDevice)(int *dev, ncclNetVDeviceProps_v9_t *props);
} ncclNet_v9_t;

typedef struct {
	const char *name;
	ncclResult_t (*init)(ncclDebugLogger_t log, ncclProfilerCallback_t profile);
	ncclResult_t (*devices)(int *n);
	ncclResult_t (*getProperties)(int dev, ncclNetProperties_v9_t *out);
	ncclResult_t (*listen)(int dev, void *handle, void **listen_comm);
	ncclResult_t (*connect)(int dev, ncclNetCommConfig_v10_t *config, void *handle,
				void **send_comm, ncclNetDeviceHandle_t **dev_comm);
	NCCL_NET_SAME_1
	ncclResult_t (*isend)(void *send_comm, void *data, size_t size, int tag, void *mr,
			      void *profile, void **request);
	ncclResult_t (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
			      void **mr, void **profile, void **request);
	NCCL_NET_SAME_2
	ncclResult_t (*makeVDevice)(int *dev, ncclNetVDeviceProps_v9_t *props);
} ncclNet_v10_t;

typedef struct {
	const char *name;
	ncclResult_t (*init)(void **ctx, uint64_t comm_id, ncclNetCommConfig_v10_t *config,
			     ncclDebugLogger_t log, ncclProfilerCallback_t profile);
	ncclResult_t (*devices)(int *n);
	ncclResult_t (*getProperties)(int dev, ncclNetProperties_v11_t *out);
	ncclResult_t (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	ncclResult_t (*connect)(void *ctx, int dev, void *handle, void **send_comm,
				ncclNetDeviceHandle_t **dev_comm);
	NCCL_NET_SAME_1
	ncclResult_t (*isend)(void *send_comm, void *data, size_t size, int tag, void *mr,
			      void *profile, void **request);
	ncclResult_t (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
			      void **mr, void **profile, void **request);
	NCCL_NET_SAME_2
	ncclResult_t (*makeVDevice)(int *dev, ncclNetVDeviceProps_v9_t *props);
	ncclResult_t (*finalize)(void *ctx);
	ncclResult_t (*setNetAttr)(void *ctx, ncclNetAttr_t *attr);
} ncclNet_v11_t;

typedef struct {
	const char *name;
	ncclResult_t (*init)(void **ctx, uint64_t comm_id, ncclNetCommConfig_v10_t *config,
			     ncclDebugLogger_t log, ncclProfilerCallback_t profile);
	ncclResult_t (*devices)(int *n);
	ncclResult_t (*getProperties)(int dev, ncclNetProperties_v12_t *out);
	ncclResult_t (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	ncclResult_t (*connect)(void *ctx, int dev, void *handle, void **send_comm,
				ncclNetDeviceHandle_t **dev_comm);
	NCCL_NET_SAME_1
	ncclResult_t (*isend)(void *send_comm, void *data, size_t size, int tag, void *mr,
			      void *profile, void **request);
	ncclResult_t (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
			      void **mr, void **profile, void **request);
	NCCL_NET_SAME_2
	ncclResult_t (*makeVDevice)(int *dev, ncclNetVDeviceProps_v12_t *props);
	ncclResult_t (*finalize)(void *ctx);
	ncclResult_t (*setNetAttr)(void *ctx, ncclNetAttr_t *attr);
} ncclNet_v12_t;

#endif
