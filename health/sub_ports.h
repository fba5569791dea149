/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sub_ports.h - which device is which sub-port, as the prober and the reflector both need it.
 *
 * Solely owns: nothing; a table that the watcher of links fills in. Thread: the loop's. Pure.
 */
#ifndef SUB_PORTS_H
#define SUB_PORTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define SUB_PORTS_MAX_GPUS	16u
#define SUB_PORTS_MAX_PLANES	16u
#define SUB_PORTS_MAX_SUB_PORTS 8u

struct sub_ports_gpu {
	struct in6_addr address[2]; /* [0] IPv4, [1] IPv6; all zero: none */
	uint32_t n_planes;
	uint32_t n_sub_ports[SUB_PORTS_MAX_PLANES];
	int ifindex[SUB_PORTS_MAX_PLANES][SUB_PORTS_MAX_SUB_PORTS]; /* 0: no such device now */
	uint32_t live[SUB_PORTS_MAX_PLANES]; /* bit s: sub-port s has carrier */
	/* of the device, IP header included; 0: not known */
	uint32_t mtu[SUB_PORTS_MAX_PLANES][SUB_PORTS_MAX_SUB_PORTS];
	/* what this server sends, by that: number of path_mtu.h for IPv4 and IPv6; 0: not known */
	unsigned path_mtu[2];
	/* what 64 KiB (a segmentation batch) take on its slowest link; 0: not known */
	uint64_t burst_ns[SUB_PORTS_MAX_PLANES];
};

struct sub_ports {
	uint32_t n_gpus;
	uint32_t more_routers; /* between two GPUs at most, beyond one leaf */
	struct sub_ports_gpu gpus[SUB_PORTS_MAX_GPUS];
};

/* Which sub-port of that GPU a device is. false: none. */
bool sub_ports_find(const struct sub_ports *ports, uint32_t gpu, int ifindex, uint32_t *plane,
		    uint32_t *sub_port);

/*
 * Which of n_remote remote sub-ports is meant in that turn if local ones take turns (turn modulo
 * n_local), so that all pairs come up: 2 and 2: (0,0) (1,1) (0,1) (1,0). 0 if there is none.
 */
uint64_t sub_ports_diagonal(uint64_t turn, uint32_t n_local, uint32_t n_remote);
/* A device's MTU; what the server sends follows from all of them (path_mtu_of_most()). */
void sub_ports_set_mtu(struct sub_ports *ports, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		       uint32_t mtu);

#endif
