/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon_health.h - probing wired into the daemon.
 *
 * Solely owns: the prober, the reflector, the table of sub-ports that both borrow, and the keys.
 * In: links, routes from the path table, what prober and reflector call back. Out: probe verdicts
 * and peers' notices into the path table, events. Thread: the loop's.
 */
#ifndef DAEMON_HEALTH_H
#define DAEMON_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "links.h"
#include "prober.h"
#include "reflector.h"

struct config;
struct daemon;
struct daemon_health;
struct probe_ports;

/*
 * Reads the key and opens the sockets: before privileges are dropped, and before links and former
 * state are known. *out is NULL, and 0 returned, if health is off. 0 or -errno.
 */
int daemon_health_create(struct daemon_health **out, struct daemon *d);
void daemon_health_destroy(struct daemon_health *h); /* NULL is fine, as below */

void daemon_health_link(struct daemon_health *h, uint32_t gpu, uint32_t plane, uint32_t sub_port,
			int ifindex, enum links_state state, uint64_t bps);
void daemon_health_mtu(struct daemon_health *h, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		       uint32_t mtu);
/* Once per turn of the loop: notifies peers if this turn changed what our ports carry. */
void daemon_health_turn(struct daemon_health *h);
/* The path table forgets a pair. */
void daemon_health_forget(struct daemon_health *h, uint32_t pair);
/* The keys in force; NULL: health is off. */
const struct notice_keys *daemon_health_keys(const struct daemon_health *h);
/* They are those; or health is off. */
bool daemon_health_has_keys(const struct daemon_health *h, const struct notice_keys *keys);
/* Others, copied: every peer is notified anew, under the new key. */
void daemon_health_set_keys(struct daemon_health *h, const struct notice_keys *keys);
/* prober_trace_begin() and _end(), with daemon->trace as the recorder. */
bool daemon_health_trace(struct daemon_health *h, uint32_t gpu, const struct in6_addr *peer,
			 uint32_t plane);
void daemon_health_trace_end(struct daemon_health *h);
const struct prober *daemon_health_prober(const struct daemon_health *h);
const struct notice_refusals *daemon_health_refusals(const struct daemon_health *h);
const struct probe_ports *daemon_health_ports(const struct daemon_health *h); /* NULL: off */
const struct reflector *daemon_health_reflector(const struct daemon_health *h);

#endif
