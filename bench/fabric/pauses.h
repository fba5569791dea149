/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pauses.h - what priority flow control did at the ports of a lab.
 *
 * Owns: nothing. In: what `farelab pfc --json` prints (every member checked); out: counters of each
 * port, always in one order, and their sums; another headroom, watchdog or XOFF, and a guard
 * (undo_guard.h) that gives them back; how far pauses spread. Thread: any that may run commands.
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

/* ---- another headroom, watchdog or XOFF, given back however this process ends ---- */

enum pauses_setting { PAUSES_HEADROOM, PAUSES_WATCHDOG, PAUSES_XOFF, PAUSES_SETTINGS };

/* Bytes, or ms (0: no watchdog), until it is set again, or the lab goes down. With another XOFF
 * peaks begin anew. */
int pauses_set(const struct lab *lab, enum pauses_setting what, uint64_t value);

struct pauses_guard;

/* Both are copied. */
int pauses_guard_create(struct pauses_guard **out, const struct lab *lab,
			const struct topo_pfc *pfc);
/* Bytes, or ms. -errno after saying why. */
int pauses_guard_set(struct pauses_guard *g, enum pauses_setting setting, uint64_t value);
/* Gives back what was set. NULL is fine. */
int pauses_guard_destroy(struct pauses_guard *g);

/* ---- how far pauses spread from switch to switch; pure ---- */

/*
 * Links from a switch that paused a neighbour to the farthest that was paused by way of others that
 * were, the shortest of ways; 0: nobody was paused. A pause that came from a switch itself paused
 * counts as spread by it. -EBADMSG: a port that the topology does not have; -ENOMEM.
 */
int pause_depth(const struct topo *topo, const struct pauses *from, const struct pauses *to,
		unsigned *hops);

#endif
