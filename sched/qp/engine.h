/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * engine.h - the groups of one domain, and which of them have something to do.
 *
 * Solely owns: the list of groups and its indices, the run queue, the timers of groups, the queue
 * of events for the application. In: control messages, completions, `now`. Out: control messages
 * and work requests to the provider; events. It opens nothing and reads no clock: domain.c does,
 * or a simulation (tests/sim).
 *
 * A group is stepped when something happened to it (run_queue_add()), or at the time that
 * group_due_ns() gave after its last step. Groups with nothing to do are stepped only by the scan
 * for QPs that failed by themselves (engine.c).
 *
 * Thread: the domain's.
 */
#ifndef QP_ENGINE_H
#define QP_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare.h"
#include "qp/peer_address.h"
#include "qp/provider.h"

struct fare_domain;
struct fare_group;
struct control_message;

/* The domain's provider, endpoint attributes, auth and random() are set before. 0 or -ENOMEM. */
int engine_init(struct fare_domain *domain);
void engine_fini(struct fare_domain *domain); /* destroys all groups */

/* qp_endpoint_attr.on_control, with the domain as argument. */
void engine_on_control(void *domain, const struct qp_control *control);
/*
 * Receives what arrived and steps the groups concerned. 0, or the provider's -errno. While the
 * queue has no room for events that the application has not taken, nothing is received. The
 * consequence is that peers slow down.
 */
int engine_poll(struct fare_domain *domain, uint64_t now_ns);
/* Receives once what arrived. >= 0, or the provider's -errno. Completions are not taken. */
int engine_receive(struct fare_domain *domain);
/* When engine_poll() is due although nothing arrives; ENDPOINT_NEVER: not at all. */
uint64_t engine_due_ns(const struct fare_domain *domain);
/* True: an operation, a handshake or the end of a lane is under way. */
bool engine_busy(const struct fare_domain *domain);

/*
 * Opens a group; offer: the GROUP_OPEN of the peer that did so, or NULL. -errno of group_create(),
 * -EUSERS (the domain has MAX_GROUPS).
 */
int engine_open(struct fare_group **out, struct fare_domain *domain,
		const struct peer_address *peer, const struct fare_group_options *options,
		const struct control_message *offer);
/* Destroys a group, and its events that were not taken: its memory may become another group. */
void engine_close(struct fare_group *group);

#endif
