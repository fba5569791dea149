/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hosts_internal.h - what the files of hosts share.
 *
 * hosts.c lets agents in and asks them; hosts_clocks.c compares clocks; hosts_fabric.c makes
 * faults,
 * sets weights and reads counters. Owns: struct hosts. Thread: the coordinator's.
 */
#ifndef HOSTS_INTERNAL_H
#define HOSTS_INTERNAL_H

#include "engine/rendezvous.h"
#include "launch/clock_sync.h"
#include "launch/hosts.h"
#include "qp/control_auth.h"

struct hosts_member {
	struct rendezvous *link;
	json_t *about;
	struct clock_offset clock; /* in use since hosts_clocks_begin() */
	double clock_worst_ns;
	bool broken; /* a fault of its is in force */
	bool gone;   /* its agent has ended, and that was said */
	json_t *counters_first, *counters_before, *counters_after;
};

/* What a switch's command printed last. */
struct hosts_switch {
	json_t *counters_first, *counters_before, *counters_after;
};

struct hosts {
	struct launch_options options;
	struct inventory *inventory;
	struct control_auth key;
	struct launch *launch;
	int listener;
	struct admission *admission;
	unsigned n;
	struct hosts_member *member;
	struct hosts_switch *sw; /* of the inventory */
};

const char *hosts_name(const struct hosts *hosts, unsigned host);
/* Takes request, and waits for that event; *out is the caller's. -EBADE: the agent said that it
 * failed. */
int hosts_ask(struct hosts *hosts, unsigned host, json_t *request, const char *event, json_t **out);

#endif
