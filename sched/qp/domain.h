/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain.h - inside of struct fare_domain: a process's end at one local GPU.
 *
 * Owners: domain.c has endpoint, clock and descriptors; engine.c the groups, their timers and what
 * they share; regions.c registered memory. Below, group.c takes from here what it wires into
 * lanes.h and transfer.h, which do not see it. The domain's thread.
 */
#ifndef QP_DOMAIN_H
#define QP_DOMAIN_H

#include "attach.h"
#include "fare.h"
#include "qp/admission.h"
#include "qp/endpoint.h"
#include "qp/event_queue.h"
#include "qp/handshake.h"
#include "qp/port_cache.h"
#include "qp/run_queue.h"
#include "qp/timers.h"

#define MAX_GROUPS 4096

struct mr_cache;

struct fare_domain {
	struct fare *fare;
	unsigned local_gpu;
	struct fare_domain_options options;
	struct endpoint ep;

	/* regions.c */
	struct fare_mr *regions;
	struct mr_cache *mr_cache; /* NULL: fare_mr_get() was not called yet */

	/* engine.c */
	struct fare_group *groups, *scan;
	struct fare_group *slots[MAX_GROUPS]; /* by id */
	struct run_item *run_queue;
	uint32_t next_generation;
	unsigned n_groups, n_busy;
	struct timers timers;
	uint64_t scan_due_ns;
	uint64_t generation;  /* of what the daemon published */
	uint64_t mtu_changes; /* qp_mtus.changes that groups were woken for */
	uint64_t polled_ns;   /* when the provider was last asked */
	uint64_t control_rejected;
	struct event_queue events;
	struct admission admission;
	struct port_cache ports;
	struct handshake_pace pace;

	/* domain.c */
	int epoll_fd, timer_fd;
	uint64_t tick_ns; /* interval of timer_fd, which is not read before tick_due_ns */
	uint64_t tick_due_ns;
};

/* What every public function asks first (attach.h). */
static inline int domain_check(const struct fare_domain *domain)
{
	return attach_check(domain ? domain->fare : NULL);
}

/* Something begins, and the application is to look soon. */
void domain_has_work(struct fare_domain *domain);

#endif
