/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pauses.h - what priority flow control did at the ports of a lab.
 *
 * Owns: nothing. In: what `farelab pfc --json` prints (every member checked); out: counters of each
 * port, always in one order, and their sums; another headroom, watchdog or XOFF. Thread: any that
 * may run commands.
 */
#ifndef PAUSES_H
#define PAUSES_H

#include "fabric/lab.h"

struct pauses_port {
	char name[TOPO_NAME_MAX]; /* "l0/s1g0s0" */
	bool is_server;
	uint64_t sent, received; /* pause frames */
	double paused_s;
	bool paused; /* now */
};

struct pauses {
	struct pauses_port *port;
	unsigned n;
	uint64_t xoff_bytes, xon_bytes; /* at which a port asks for a pause, and ends it */
	uint64_t sent, storms, dropped; /* pause frames; packets that met no headroom */
	uint64_t held_bytes;		/* in the switches now */
	uint64_t peak_bytes; /* of one ingress port, since XOFF was set or the lab is up */
	unsigned paused;     /* ports, now */
	uint64_t reactions;  /* from XOFF to the neighbour's stop */
	double reaction_mean_us, reaction_max_us;
};

/* -errno; on success the caller calls pauses_fini(). */
int pauses_read(struct pauses *out, const struct lab *lab);
/* The same of a text that is there. -EBADMSG. */
int pauses_parse(struct pauses *out, const char *text);
void pauses_fini(struct pauses *p);

/* Until it is set again, or the lab goes down. watchdog_ms 0: there is none. */
int pauses_set_headroom(const struct lab *lab, uint64_t bytes);
/* Peaks begin anew. */
int pauses_set_xoff(const struct lab *lab, uint64_t bytes);
int pauses_set_watchdog(const struct lab *lab, uint64_t ms);

#endif
