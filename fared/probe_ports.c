/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe_ports.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/address.h"
#include "roce_ports.h"
#include "sbfd_wire.h"
#include "socket_owner.h"

#define AGAIN_S	    1. /* bind() costs microseconds */
#define OWNERS_EACH 30 /* the holder: another may have taken its place */

static void probe_ports_event(struct probe_ports *p, enum event_kind kind, const char *subject,
			      const char *to, const char *reason)
{
	struct event e = event_of(kind, -1);

	event_fill(&e, subject, NULL, to, reason);
	p->on_event(p->arg, &e);
}

/* Looking for the process takes too long while probes are due. */
static void probe_ports_find_owner(struct probe_ports *p, const struct in6_addr *address,
				   uint16_t port, bool at_start)
{
	struct socket_owner owner;

	socket_owner_of_port(address, port, &owner);
	if (owner.inode == p->owner.inode)
		return;
	if (at_start && owner.inode)
		socket_owner_find_process(&owner);
	p->owner = owner;
}

static void probe_ports_describe(struct probe_ports *p, bool is_reflectors)
{
	const char *effect = is_reflectors ? "peers' probes are not answered"
					   : "some source ports of probes are missing";
	const struct socket_owner *o = &p->owner;

	if (!o->inode)
		snprintf(p->reason, sizeof(p->reason), "held by others: %s", effect);
	else if (!o->pid)
		snprintf(p->reason, sizeof(p->reason), "held by uid %u: %s", (unsigned)o->uid,
			 effect);
	else
		snprintf(p->reason, sizeof(p->reason), "held by uid %u, pid %d (%s): %s",
			 (unsigned)o->uid, (int)o->pid, o->name, effect);
}

static void probe_ports_set_subject(struct probe_ports *p, const char *subject, uint64_t now)
{
	if (!strcmp(subject, p->subject))
		return;
	if (p->subject[0])
		probe_ports_event(p, EVENT_PORTS_FREE, p->subject, "taken", "it is free again");
	snprintf(p->subject, sizeof(p->subject), "%s", subject);
	p->since_ns = now;
	if (subject[0])
		probe_ports_event(p, EVENT_PORTS_HELD, subject, "not taken", p->reason);
}

static void probe_ports_try_ports(struct probe_ports *p, bool at_start, uint64_t now)
{
	const struct in6_addr *of_reflector = reflector_take_ports(p->reflector);
	const struct in6_addr *of_prober = prober_take_ports(p->prober);
	const struct in6_addr *address = of_reflector ? of_reflector : of_prober;
	uint16_t first = of_reflector ? SBFD_WIRE_PORT : FARE_PROBE_PORT_FIRST;
	char subject[sizeof(p->subject)] = "", text[ADDRESS_TEXT_MAX];

	if (!address) {
		probe_ports_set_subject(p, "", now);
		ev_timer_stop(p->loop, &p->again);
		return;
	}
	snprintf(subject, sizeof(subject), "UDP %u%s at %s", first, of_reflector ? "" : " and up",
		 address_format(address, text));
	if (strcmp(subject, p->subject) || p->n_tries++ % OWNERS_EACH == 0) {
		probe_ports_find_owner(p, address, first, at_start);
		probe_ports_describe(p, of_reflector != NULL);
	}
	probe_ports_set_subject(p, subject, now);
	ev_timer_again(p->loop, &p->again);
}

static void probe_ports_on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	probe_ports_try_ports(w->data, false, clock_now_ns());
}

void probe_ports_start(struct probe_ports *p, struct ev_loop *loop, struct prober *prober,
		       struct reflector *reflector,
		       void (*on_event)(void *arg, const struct event *event), void *arg,
		       uint64_t now)
{
	*p = (struct probe_ports){.loop = loop,
				  .prober = prober,
				  .reflector = reflector,
				  .on_event = on_event,
				  .arg = arg,
				  .since_ns = now};
	ev_timer_init(&p->again, probe_ports_on_again, AGAIN_S, AGAIN_S);
	p->again.data = p;
	probe_ports_try_ports(p, true, now);
}

void probe_ports_stop(struct probe_ports *p)
{
	if (p->loop)
		ev_timer_stop(p->loop, &p->again);
}
