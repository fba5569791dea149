/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_paths.h - what a group may use of the planes toward its peer: the daemon's paths, without
 * local sub-ports whose devices carry less than the group's packets (narrow ones).
 *
 * Solely owns: the copy of the paths in force and the group's path MTU. In: what the daemon
 * publishes, MTUs of devices. Out: which planes and sub-ports are usable. The domain's thread.
 */
#ifndef QP_GROUP_PATHS_H
#define QP_GROUP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "qp/endpoint.h"

struct group_paths {
	const struct endpoint *ep;
	struct fare_pair *pair;
	/* a lane is no plane's, because the kernel routes its packets (QP_ANY_PLANE) */
	bool is_routed;
	bool is_own_server;    /* the peer is a process at an address of this server's GPUs */
	uint32_t path_mtu;     /* that both ends use */
	struct fare_paths now; /* usable_bps without sub-ports that are narrow */
	uint64_t generation;   /* of now */
	/* bit s of a plane: what sub-port s carries (qp_mtus) is less than path_mtu */
	uint32_t narrow[FARE_MAX_PLANES];
	uint64_t mtu_changes; /* qp_mtus.changes that narrow was made for */
};

/* The path MTU is mtu from now on, if that is less. */
void group_paths_limit_mtu(struct group_paths *paths, uint32_t mtu);
/* group_paths_refresh() would find something new. */
bool group_paths_changed(const struct group_paths *paths);
/* True: now is what the daemon says now. False: nothing is new, or there is nothing. */
bool group_paths_refresh(struct group_paths *paths);

bool group_paths_usable(const struct group_paths *paths, unsigned lane);
/* Bit s: QPs may use local sub-port s of the plane: it is live, and carries their packets. */
uint32_t group_paths_sub_ports(const struct group_paths *paths, unsigned plane);
/* Local sub-port of the i-th QP: round-robin over those of group_paths_sub_ports(). */
uint16_t group_paths_sub_port(const struct group_paths *paths, unsigned plane, unsigned i);
/* The plane has live sub-ports, and none of them carries the group's packets. */
bool group_paths_narrow(const struct group_paths *paths, unsigned plane);

#endif
