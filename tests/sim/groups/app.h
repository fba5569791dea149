/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * app.h - what the applications do: open groups, write, reuse memory at once, close, open again.
 *
 * Solely owns: the shadow, and what each process intends. In: events. Out: calls of fare.h.
 */
#ifndef SIM_APP_H
#define SIM_APP_H

#include "fare.h"
#include "shadow.h"
#include "sim.h"
#include "qp/baseline.h"

#define APP_INTENTS 8

/* A group that its opener wants open. */
struct app_intent {
	unsigned host, peer;
	int end; /* -1: none now */
	uint64_t retry_ns;
};

struct app {
	struct shadow shadow;
	struct app_intent intents[APP_INTENTS];
	unsigned n_intents;
	struct fare_group_options options;
	struct fare_baseline baseline; /* that they point to */
	unsigned budget;	       /* writes left */
	unsigned wanted[SIM_HOSTS];    /* writes, as soon as the process runs */
	unsigned write_per_mille, bare_per_mille, notify_per_mille, deadline_per_mille;
	unsigned send_per_mille, read_per_mille; /* of the operations */
	unsigned bad_key_per_mille;
	unsigned leave_per_mille; /* a group is closed as soon as a write of it is completed */
	bool is_ending;		  /* nothing is opened any more */
};

void app_init(struct sim *sim);
void app_on_start(struct sim *sim, unsigned host);
void app_on_end(struct sim *sim, unsigned host);
void app_on_events(struct sim *sim, unsigned host, const struct fare_event *events, int n);
/* The application wants to write. */
void app_want(struct sim *sim, unsigned host);
/* Closes a group of that host, if it has one. */
void app_close_some(struct sim *sim, unsigned host);
void app_close_end(struct sim *sim, int end);
/* Deregisters the memory that peers may use, uses it for something else, and registers it anew. */
void app_release_memory(struct sim *sim, unsigned host);
/* Everything that should be open is, at both ends and on all planes; everything written is done. */
bool app_is_quiet(const struct sim *sim);
/* Why not. */
const char *app_unrest(const struct sim *sim);

#endif
