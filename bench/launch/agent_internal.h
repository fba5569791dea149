/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_internal.h - what the files of an agent share: its state, and what each offers the others.
 *
 * agent.c starts, loops and ends; agent_faults.c makes and heals faults; agent_workers.c starts
 * workers. Owns: struct agent, one per process. Thread: the process has one.
 */
#ifndef AGENT_INTERNAL_H
#define AGENT_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/rendezvous.h"
#include "launch/agent_request.h"
#include "qp/control_auth.h"
#include "fabric/undo_guard.h"

struct agent {
	struct inventory *inventory;
	unsigned host;
	const char *connect, *key_path, *name;
	struct control_auth key;
	struct rendezvous *link;
	struct undo_guard *guard; /* NULL: the host has no faults */
	uint64_t faults;	  /* a bit for each of the host's that is in force */
	uint64_t heal_ns;	  /* of the oldest, at the latest */
	uint64_t end_ns;	  /* of this process, at the latest */
	pid_t worker[FARE_MAX_LOCAL_GPUS];
	unsigned n_workers;
};

const struct inventory_host *agent_host(const struct agent *a);
/* Runs a command of the inventory with /bin/sh; -errno with the reason in why. */
int agent_shell(const char *command, char *why, size_t why_size);
/* A connection to the coordinator, authenticated; -errno after saying on stderr why not. */
int agent_connect(struct agent *a, struct rendezvous **out);

/* agent_faults.c: heals what an agent before this one left, and makes ready. */
int agent_faults_open(struct agent *a);
int agent_fault(struct agent *a, unsigned fault, uint64_t *from_ns, char *why, size_t why_size);
/* All that are in force. */
int agent_heal(struct agent *a, uint64_t *from_ns, char *why, size_t why_size);
void agent_faults_close(struct agent *a); /* heals */

/* agent_workers.c */
int agent_start_workers(struct agent *a, uint32_t secret, char *why, size_t why_size);
void agent_end_workers(struct agent *a); /* those that have not ended by themselves are killed */

#endif
