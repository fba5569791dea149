/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_ports.h - UDP ports that probing takes, and that any user of this machine can take while
 * they are free.
 *
 * Solely owns: the timer by which they are tried again, and what is said of who holds them. In:
 * prober and reflector. Out: an event for each change. Thread: the loop's.
 *
 * The daemon does not end for a port. While UDP 7784 is held peers get no answers from this server,
 * as if its daemon were stopped: they judge paths by BGP alone. While all of the prober's own are
 * held this server does.
 */
#ifndef PROBE_PORTS_H
#define PROBE_PORTS_H

#include <ev.h>
#include <stdint.h>

#include "events.h"
#include "prober.h"
#include "reflector.h"
#include "socket_owner.h"

struct probe_ports {
	struct ev_loop *loop;
	struct prober *prober;
	struct reflector *reflector;
	void (*on_event)(void *arg, const struct event *event);
	void *arg;
	ev_timer again;
	unsigned n_tries; /* since the holder was looked up */
	struct socket_owner owner;
	uint64_t since_ns;
	char subject[64]; /* the port that is missing; "": none is */
	char reason[128];
};

/* Says what is held already. Prober and reflector are borrowed until probe_ports_stop(). */
void probe_ports_start(struct probe_ports *p, struct ev_loop *loop, struct prober *prober,
		       struct reflector *reflector,
		       void (*on_event)(void *arg, const struct event *event), void *arg,
		       uint64_t now);
void probe_ports_stop(struct probe_ports *p); /* one that is all zeros is fine */

#endif
