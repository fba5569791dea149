/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * health_loop.h - prober and reflector in the process's event loop.
 *
 * Solely owns: their watchers, one timer, and the clock that they are given. In: the loop's events.
 * Out: calls. Thread: the loop's.
 *
 * While many probes or replies come, they are read by the clock instead of one by one: waking up
 * for each would cost more than it gains.
 */
#ifndef HEALTH_LOOP_H
#define HEALTH_LOOP_H

struct ev_loop;
struct health_loop;
struct prober;
struct reflector;

/* Both are borrowed for its life; either may be NULL. 0 or -errno. */
int health_loop_create(struct health_loop **out, struct ev_loop *loop, struct prober *prober,
		       struct reflector *reflector);
void health_loop_destroy(struct health_loop *l); /* NULL is fine */
/* Answers whatever probes have come in: they may be what the prober is about to miss. */
void health_loop_drain(struct health_loop *l);

#endif
