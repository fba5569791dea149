/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * addresses.h - this server's own addresses, as the kernel has them, against what fared.yaml needs:
 * each local GPU's on some device, and on each sub-port one in the subnet of its neighbour.
 *
 * Solely owns: one rtnetlink socket subscribed to address changes, and what was found last. In:
 * which device is which sub-port; address messages. Out: on_gpu and on_sub_port, once per change.
 * Thread: the loop's. A message says only that something changed: all addresses are then read
 * again, so none can be missed (ENOBUFS is a message, too).
 */
#ifndef ADDRESSES_H
#define ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "address_fault.h"

struct addresses;
struct config;
struct ev_loop;

struct addresses_handlers {
	/* Of the GPU's IPv4 or IPv6 address. */
	void (*on_gpu)(void *arg, uint32_t gpu, bool is_v6, enum address_fault fault);
	/* For routes of that family. */
	void (*on_sub_port)(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, bool is_v6,
			    enum address_fault fault);
};

/*
 * config is borrowed until addresses_set_config(). What is wrong already is said before it returns.
 * 0 or -errno.
 */
int addresses_create(struct addresses **out, struct ev_loop *loop, const struct config *config,
		     const struct addresses_handlers *handlers, void *arg);
void addresses_destroy(struct addresses *a); /* NULL is fine */
/* A reloaded configuration with the same GPUs and devices: other neighbours. */
void addresses_set_config(struct addresses *a, const struct config *config);
/* ifindex 0: there is no such device now. What follows is said at once. */
void addresses_link(struct addresses *a, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		    int ifindex);
/* What is wrong with a sub-port now; of NULL: nothing. */
enum address_fault addresses_sub_port(const struct addresses *a, uint32_t gpu, uint32_t plane,
				      uint32_t sub_port, bool is_v6);

#endif
