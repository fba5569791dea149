/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim.h - one schedule: hosts, fabric, daemons, applications, and what was found wrong.
 *
 * One struct sim is reused from schedule to schedule; a seed decides everything that happens in
 * one. Hosts are named by index, as are the writes and group ends of the applications.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "net.h"
#include "sim_trace.h"

#define SIM_HOSTS 4
#define SIM_MTU	  64

struct fabric;
struct daemon;
struct host;
struct app;

/* What the seed chose for the whole schedule. */
struct sim_config {
	bool is_device;	      /* QPs are a device's: they go on without the process */
	bool is_multi_device; /* each sub-port is one: QPs cannot move */
	uint64_t fault_ns;    /* faults and writes end that long after the start */
};

struct sim {
	struct sim_config config;
	struct net net;
	struct prng prng; /* of the schedule; the parts have their own */
	struct fabric *fabric;
	struct daemon *daemon; /* SIM_HOSTS of them */
	struct host *host;     /* SIM_HOSTS of them */
	struct app *app;
	struct sim_trace *trace;
	bool is_healed; /* all faults are mended */
	uint64_t n_events;
};

static inline uint64_t sim_now_ns(const struct sim *sim)
{
	return sim->net.loop.now_ns;
}

#endif
