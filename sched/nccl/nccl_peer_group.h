/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_peer_group.h - one QP group toward one process of the peer's.
 *
 * Solely owns: the group. In: its events; messages to send. Out: whether it is connected or closed.
 * nccl_comm.h knows which communicators are on it. All communicators that this process connects
 * toward the same process share one group (NCCL has one or more for each channel), and all that the
 * peer connects share the one that the peer opened: two a pair of processes, however many channels.
 * A group that was opened here closes with its last communicator, one that the peer opened when the
 * peer closes it. Thread: any that holds the device's lock.
 */
#ifndef NCCL_PEER_GROUP_H
#define NCCL_PEER_GROUP_H

#include <stdbool.h>

#include "nccl/nccl_device.h"
#include "nccl/nccl_wire.h"

struct comm;

struct peer_group {
	struct peer_group *prev, *next; /* of the device's */
	struct device *device;
	struct fare_group *group;
	bool opened;		  /* by us */
	struct fare_address peer; /* the process that libfare has authenticated */
	uint8_t dscp;
	bool connected, closed, is_cut;
	struct comm *comms;    /* by number */
	uint16_t last_comm;    /* the number that was given last */
	unsigned n_leaving;    /* closed by NCCL; BYE is not sent yet */
	unsigned n_unaccepted; /* the peer wants them */
};

/* Opens one, or gives the one that is open. 0 or -errno. */
int peer_group_open(struct peer_group **out, struct device *device, const struct fare_address *peer,
		    uint8_t dscp);
/* context: COMPLETED has it. 0 or -errno; -ENOBUFS: poll first. */
int peer_group_send(struct peer_group *group, const struct wire_message *m, uint64_t context);

/* The peer does not keep to the protocol: the group ends. */
void peer_group_cut(struct peer_group *group, const char *why);

/* Events of the domain; accepted: a group that a peer has opened. */
void peer_group_on_accepted(struct device *device, struct fare_group *group);
void peer_group_on_connected(struct peer_group *group);
void peer_group_on_closed(struct peer_group *group, int status);
/* It has no communicators, and no event that names it waits to be looked at. */
void peer_group_close(struct peer_group *group);
/* In a child of fork(): those that there are, are the parent's, and over here. */
void peer_groups_inherit(struct device *device);

#endif
