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

#include <stdint.h>

#include "engine/rendezvous.h"
#include "launch/hosts.h"
#include "qp/control_auth.h"

/*
 * How far another host's clock is ahead, and how well that is known: times of questions and
 * answers, as of NTP (RFC 5905, 8). Of many exchanges the one with the least delay counts: the true
 * offset is within half of its delay, however the delay is spread over the two directions.
 */

/* One exchange, ns: asked and answered by this host's clock, taken and given by the other's. */
struct clock_exchange {
	uint64_t asked, taken, given, answered;
};

struct clock_offset {
	unsigned n;	   /* exchanges that counted; 0: nothing is known */
	int64_t offset_ns; /* the other host's clock less this one's */
	uint64_t delay_ns; /* of the exchange that it is taken from */
};

struct hosts_member {
	struct rendezvous *link;
	json_t *about;
	struct clock_offset clock; /* in use since hosts_clocks_begin() */
	double clock_worst_ns;
	bool broken; /* a fault of its is in force */
	bool gone;   /* its agent has ended, and that was said */
};

/* Of a host, or what a switch's command printed: when hosts were opened, around the last trial. */
struct hosts_counters {
	json_t *first, *before, *after;
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
	struct hosts_counters *counters; /* of the hosts, then of the inventory's switches */
};

const char *hosts_name(const struct hosts *hosts, unsigned host);
/* Takes request, and waits for that event; *out is the caller's. -EBADE: the agent said that it
 * failed. */
int hosts_ask(struct hosts *hosts, unsigned host, json_t *request, const char *event, json_t **out);

/* ---- hosts_clocks.c; these are pure ---- */

/* -EBADMSG: its times contradict each other; the exchange does not count. */
int clock_offset_add(struct clock_offset *offset, const struct clock_exchange *exchange);
/* Bound of the error, ns; infinite: nothing is known. */
double clock_offset_error_ns(const struct clock_offset *offset);
/*
 * Bound of the error while before's offset was in use, if the clocks drift apart steadily: after
 * was taken at the end.
 */
double clock_offset_drift_ns(const struct clock_offset *before, const struct clock_offset *after);

#endif
