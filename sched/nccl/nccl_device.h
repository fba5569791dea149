/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_device.h - a local GPU as a device of NCCL's: its domain, and who may connect to it.
 *
 * Solely owns: the attachment to the daemon and the domain, opened when something first needs them
 * (each process of a server uses the device of one GPU, and opens that alone), and open until the
 * process ends: the next communicator uses it, also after NCCL has unloaded the plugin. In:
 * $FARE_RUN_DIR, $FARE_PROVIDER, $FARE_KEY_FILE, $FARE_TRUSTED_NETWORK. Out: the domain, which
 * nccl_comm.h polls. Threads: NCCL calls from several; one that holds the device's lock.
 */
#ifndef NCCL_DEVICE_H
#define NCCL_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "fare.h"
#include "nccl/nccl_net.h"

struct peer_group;

/* Peers may connect to it (nccl_listener.h). */
struct listener {
	struct listener *prev, *next; /* of the device's */
	struct device *device;
	uint64_t id; /* by chance: only who got the handle has it */
};

struct device {
	pthread_mutex_t lock; /* of all that is opened on it */
	unsigned gpu;
	char name[16];
	char *pci_path; /* NULL: none */
	uint64_t guid;
	int family;
	ncclDebugLogger_t log;

	struct fare *fare; /* both NULL until device_open() */
	struct fare_domain *domain;
	struct peer_group *groups;
	struct listener *listeners;
};

/* Says what failed and why; returns ncclSystemError. */
ncclResult_t device_failed(const struct device *device, const char *what, int err);
/* Says what happened, to who asked for it (NCCL_DEBUG=INFO). */
void device_info(const struct device *device, const char *what);
/* Fills in what the daemon publishes of each local GPU. Nothing stays open. */
ncclResult_t device_list(struct device devices[FARE_MAX_LOCAL_GPUS], int *n, ncclDebugLogger_t log);
ncclResult_t device_speed_mbps(const struct device *device, int *mbps);
/*
 * Around all that is done with the device. A child of fork() has a device without a domain: what
 * its parent opened is inert, and it may open its own. true: that was found now, and the groups
 * that the device has are the parent's (peer_groups_inherit()).
 */
bool device_lock(struct device *device);
void device_unlock(struct device *device);
/* Opens the domain unless it is open. */
ncclResult_t device_open(struct device *device);
bool device_has_listener(const struct device *device, uint64_t id);

#endif
