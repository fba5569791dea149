/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_net.h - the part of NCCL's network plugin interface, version 8, that a plugin must agree on
 * with NCCL.
 *
 * Declared here by ourselves: names, order and types are the interface, and NCCL finds them by
 * layout alone. In: nothing. Out: types. The plugin exports one object, ncclNetPlugin_v8. Functions
 * that cannot go on yet succeed with a NULL result and are called again. Threads: NCCL's proxies;
 * different communicators may be on different threads.
 */
#ifndef NCCL_NET_H
#define NCCL_NET_H

#include <stddef.h>
#include <stdint.h>

#define NCCL_NET_HANDLE_MAXSIZE 128
#define NCCL_PTR_HOST		1

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

typedef struct {
	char *name;
	char *pciPath; /* NULL: none */
	uint64_t guid;
	int ptrSupport;
	int regIsGlobal; /* memory is registered with the device, not with a communicator */
	int speed;	 /* Mbit/s */
	int port;
	float latency; /* us */
	int maxComms;
	int maxRecvs;	   /* receives that one irecv may group */
	int netDeviceType; /* 0: the host drives it */
	int netDeviceVersion;
} ncclNetProperties_v8_t;

typedef struct ncclNetDeviceHandle_v8
	ncclNetDeviceHandle_v8_t; /* for devices that GPUs drive: none here */

typedef struct {
	const char *name;
	ncclResult_t (*init)(ncclDebugLogger_t log);
	ncclResult_t (*devices)(int *n);
	ncclResult_t (*getProperties)(int dev, ncclNetProperties_v8_t *out);
	ncclResult_t (*listen)(int dev, void *handle, void **listen_comm);
	ncclResult_t (*connect)(int dev, void *handle, void **send_comm,
				ncclNetDeviceHandle_v8_t **dev_comm);
	ncclResult_t (*accept)(void *listen_comm, void **recv_comm,
			       ncclNetDeviceHandle_v8_t **dev_comm);
	ncclResult_t (*regMr)(void *comm, void *data, size_t size, int type, void **mr);
	ncclResult_t (*regMrDmaBuf)(void *comm, void *data, size_t size, int type, uint64_t offset,
				    int fd, void **mr);
	ncclResult_t (*deregMr)(void *comm, void *mr);
	ncclResult_t (*isend)(void *send_comm, void *data, int size, int tag, void *mr,
			      void **request);
	ncclResult_t (*irecv)(void *recv_comm, int n, void **data, int *sizes, int *tags, void **mr,
			      void **request);
	ncclResult_t (*iflush)(void *recv_comm, int n, void **data, int *sizes, void **mr,
			       void **request);
	ncclResult_t (*test)(void *request, int *done, int *sizes);
	ncclResult_t (*closeSend)(void *send_comm);
	ncclResult_t (*closeRecv)(void *recv_comm);
	ncclResult_t (*closeListen)(void *listen_comm);
	ncclResult_t (*getDeviceMr)(void *comm, void *mr, void **device_mr);
	ncclResult_t (*irecvConsumed)(void *recv_comm, int n, void *request);
} ncclNet_v8_t;

#endif
