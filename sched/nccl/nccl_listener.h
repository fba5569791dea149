/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_listener.h - how communicators come about: listen, connect, accept.
 *
 * Solely owns: listeners. A peer can connect to one whose number it has from the handle
 * (nccl_wire.h), and to no other. Thread: any that holds the device's lock.
 */
#ifndef NCCL_LISTENER_H
#define NCCL_LISTENER_H

#include "nccl/nccl_device.h"

struct comm;

/* Opens the device's domain unless it is open. handle: NCCL_NET_HANDLE_MAXSIZE bytes. */
ncclResult_t listener_create(struct listener **out, struct device *device, void *handle);
void listener_destroy(struct listener *listener);
/* A communicator that the peer connected to it, or NULL: none yet. */
struct comm *listener_accept(struct listener *listener);
/*
 * Toward the listener that the handle names, which also keeps how far this is. *out NULL: call
 * again, with the same handle.
 */
ncclResult_t listener_connect(struct comm **out, struct device *device, void *handle, uint8_t dscp);

#endif
