/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.h - a process with one domain: started, scheduled late, stopped, killed, started again.
 *
 * Solely owns: struct fare_domain and what sched/qp/domain.h says of it. No other file of the
 * simulation looks there.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "sim.h"

struct qp_endpoint;

#define HOST_SLOTS	16
#define HOST_SLOT_BYTES 512

/* One run of a process. Memory of the application is given and taken with it. */
struct process {
	uint32_t number;    /* never 0; another one each time */
	uint32_t ro_number; /* what ro holds: another one each time that it was released */
	uint8_t tx[HOST_SLOTS][HOST_SLOT_BYTES], rx[HOST_SLOTS][HOST_SLOT_BYTES];
	uint8_t ro[HOST_SLOT_BYTES + 64]; /* for peers to read */
	struct fare_mr *tx_mr, *rx_mr, *ro_mr, *spare_mr;
};

struct host {
	struct fare_domain *domain; /* NULL: there is no process now */
	struct process *process;
	struct qp_endpoint *nic;
	struct prng prng; /* of the process: fare_domain.random */
	uint64_t wake_ns; /* when it is scheduled next */
	uint64_t wake_token;
	uint64_t stopped_until_ns;
	/* how late it is scheduled: as a rule, and at times */
	uint64_t late_ns, very_late_ns;
	uint64_t poll_interval_ns; /* an application that looks no more often; 0: no such */
	int events_max;		   /* it takes at once */
	uint64_t looked_ns;
	bool is_waiting; /* for its LOOP_HOST */
};

void host_init(struct sim *sim, unsigned host);
void host_start(struct sim *sim, unsigned host);
/* The process is gone at once, or closes its domain first. */
void host_kill(struct sim *sim, unsigned host);
void host_close(struct sim *sim, unsigned host);
/* The process registers what peers may use, or deregisters it and fills it with other bytes. */
void host_offer_memory(struct host *host);
void host_release_memory(struct host *host);
/* Something is to be read: it is scheduled soon. */
void host_wake(struct sim *sim, unsigned host);
void host_wake_at(struct sim *sim, unsigned host, uint64_t at_ns);
/* LOOP_HOST: one poll. The events go to the application. */
void host_run(struct sim *sim, unsigned host, uint64_t token);
bool host_is_up(const struct sim *sim, unsigned host);

/* What identifies a group at both ends: its opener's incarnation and number. */
struct host_group_key {
	uint64_t incarnation;
	uint32_t id;
};
struct host_group_key host_group_key(const struct fare_group *group);
unsigned host_n_groups(const struct sim *sim, unsigned host);
/* Every lane of the group carries. */
bool host_group_is_whole(const struct fare_group *group);
bool host_has_events(const struct sim *sim, unsigned host);
/* A group of that opener, closed or not, is there. */
bool host_knows_group(const struct sim *sim, unsigned host, struct host_group_key key);

#endif
