/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic.h - queue pairs over the fabric: the provider under simulation (qp/provider.h).
 *
 * Solely owns: QPs, regions, completions, what has arrived and was not read. The protocol machines
 * (rc_requester, rc_responder, of_sender, of_receiver) and the table of regions are those of
 * sched/qp/soft; this file is what stands around them there: sockets, timers, the order of things.
 *
 * Two kinds, by sim_config.is_device:
 *   soft    everything happens within endpoint_progress(), as in sched/qp/soft
 *   device  packets are taken and sent without the process; QPs change state in their own time
 *           (qp_status); a notification takes a posted receive, and receives are posted again when
 *           poll() found nothing; a QP that is destroyed stops later
 */
#ifndef SIM_NIC_H
#define SIM_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/provider.h"
#include "sim.h"

struct packet;

extern const struct qp_provider nic_device_provider; /* the soft one is qp_soft_provider */

int nic_create(struct qp_endpoint **out, struct sim *sim, unsigned host,
	       const struct qp_endpoint_attr *attr);
void nic_destroy(struct qp_endpoint *ep); /* NULL is fine */
/* The process was killed: it sends nothing any more. */
void nic_kill(struct qp_endpoint *ep);
/* A packet arrived. It is the callee's. */
void nic_receive(struct qp_endpoint *ep, struct packet *packet);
/* LOOP_DEVICE */
void nic_device_event(struct qp_endpoint *ep, uint64_t token);
/* One of its QPs fails by itself. */
void nic_break_qp(struct qp_endpoint *ep);
/*
 * A device's: one of its QPs does nothing with its work requests from now on, and says so by no
 * completion; it takes longer than others to reach the error state.
 */
void nic_swallow(struct qp_endpoint *ep);
/* When the process is to look although it has no timer of its own; LOOP never: UINT64_MAX. */
uint64_t nic_due_ns(const struct qp_endpoint *ep);
unsigned
nic_n_qps(const struct qp_endpoint *ep); /* those that were destroyed and stop later, too */
unsigned nic_n_regions(const struct qp_endpoint *ep);
unsigned nic_n_unread(const struct qp_endpoint *ep);

#endif
