/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traffic.h - who has traffic: what clients say of their paths, read in rounds, and what devices
 * send beyond that.
 *
 * Solely owns: how far the present round has come; one count of each sub-port's device. In:
 * clients' segments (flows.h); packets that devices have sent. Out: clients' rows of paths; whether
 * a plane carries packets that are neither in a row nor our own. Thread: the loop's.
 *
 * A reading has a bound, whatever clients do, and the next one goes on where it stopped. A client's
 * part of a round is bounded, too (CONN_SHM_MAX_PATHS): if all 64 show as many, each is read every
 * 64th time.
 *
 * Applications that are not attached, but follow the kernel's routes, are seen by what their
 * packets add to the devices' counts; to which peer they go is not seen.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "device_count.h"
#include "flows.h"
#include "sub_ports.h"

#define TRAFFIC_ROWS 16384u /* read at a time */
/*
 * Packets within TRAFFIC_SAMPLE_NS that our own do not explain. BGP's keepalives and BFD every 50
 * ms are two or three.
 */
#define TRAFFIC_SAMPLE_NS   UINT64_C(100000000)
#define TRAFFIC_MIN_PACKETS 10u
#define TRAFFIC_ACTIVE_NS   UINT64_C(1000000000) /* so long a plane counts as carrying them */

struct traffic_plane {
	struct device_count tx[SUB_PORTS_MAX_SUB_PORTS];
	uint64_t packets, own; /* by the last sample */
	uint64_t until_ns;
};

struct traffic { /* all zero at first */
	uint64_t cursor;
	struct traffic_plane planes[SUB_PORTS_MAX_GPUS][SUB_PORTS_MAX_PLANES];
};

void traffic_fini(struct traffic *t);
/* Reads on, to the end of the round at most. */
void traffic_read(struct traffic *t, const struct flows *flows,
		  void (*on_path)(void *arg, const struct flow_path *path), void *arg);
/*
 * To be called every TRAFFIC_SAMPLE_NS for each plane. own: packets that probing has sent over it
 * so far. true: the plane carries more than that, or did within TRAFFIC_ACTIVE_NS, or no count can
 * be read.
 */
bool traffic_sample(struct traffic *t, const struct sub_ports *ports, uint32_t gpu, uint32_t plane,
		    uint64_t own, uint64_t now);

#endif
