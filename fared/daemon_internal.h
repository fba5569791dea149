/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon_internal.h - the one struct of the process, shared by the daemon's own files and nobody
 * else.
 *
 * daemon.c starts, wires and ends, and calls all others; daemon_sources.c starts BMP and zserv and
 * has their callbacks; daemon_events.c has those of links and of the path table,
 * daemon_addresses.c those of this server's own addresses; daemon_reload.c puts another
 * configuration in force; daemon_remind.c repeats what only an operator can mend; daemon_trace.c
 * lets one operator watch how a path is probed.
 * Of these only daemon.c and daemon_reload.c call another's functions, none calls daemon.c, and all
 * may call daemon_health.c.
 */
#ifndef DAEMON_INTERNAL_H
#define DAEMON_INTERNAL_H

#include <ev.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "addresses.h"
#include "base/address.h"
#include "base/clock.h"
#include "bgp_source.h"
#include "config.h"
#include "control.h"
#include "daemon.h"
#include "daemon_health.h"
#include "event_file.h"
#include "events.h"
#include "flows.h"
#include "links.h"
#include "path_table.h"
#include "publish.h"
#include "reminder.h"
#include "trace.h"

#define DAEMON_REMINDERS 5 /* conditions in daemon_remind.c */

/* What a source's callbacks are given. */
struct hook {
	struct daemon *daemon;
	enum path_source source;
};

struct daemon {
	struct log *log;
	struct ev_loop *loop;
	char path[4096];
	char run_dir[256]; /* --run-dir; "" : the file's */
	int lock_fd;
	int rule_fd; /* to the process that keeps the kernel's rules; -1: none */
	ev_io rule_io;
	bool rule_is_unkept; /* that process has ended */
	int rc;
	struct config *config;	      /* in force */
	struct config *source_config; /* what the sources borrow; config, or an older one that
					 differs elsewhere */
	struct config *undo; /* put in force again unless the reload is confirmed; NULL: none */
	struct notice_keys undo_keys; /* that go with it */
	bool undo_failed;	      /* that has been said */
	bool is_undone; /* the file was on trial and is not in force, as confirmed.yaml says */
	ev_timer undo_timer;
	struct path_table *table;
	struct events *events;
	struct event_file *event_file; /* NULL: it cannot be used */
	int event_file_error;	       /* the last that was logged; 0: none */
	struct publish *publish;
	struct zebra_sink *kernel;    /* routes for programs without libfare */
	bool kernel_is_connected;     /* ... to zebra, as was last reported */
	struct daemon_health *health; /* NULL: off */
	struct links *links;
	struct addresses *addresses;
	struct flows *flows;
	struct control *control;
	struct control_client *tracer; /* who traces a path; NULL: nobody */
	struct trace trace;
	struct bmp_source *bmp;
	uid_t bmp_uid; /* bgpd's user */
	struct zapi_source *zapi;
	char frr_version[64]; /* as BMP last named it; "": it has not */
	struct hook hooks[PATH_SOURCE_COUNT];
	uint64_t started_ns;
	char status[120]; /* as the service manager knows it */
	ev_prepare prepare;
	ev_timer deadline, heartbeat, watchdog, status_timer;
	ev_signal term, interrupt, hangup;
	struct reminder reminders[DAEMON_REMINDERS];
};

/* An event of now: to the ring, from which it goes to the log and to those who watch. */
static inline void daemon_add_event(struct daemon *d, const struct event *event)
{
	events_add(d->events, event, clock_now_ns(), clock_ns(CLOCK_REALTIME));
}

#define DAEMON_PAIR_MAX (sizeof(((struct config_gpu *)0)->name) + ADDRESS_TEXT_MAX + 2)

/* "GPU->PEER" */
static inline const char *daemon_pair_text(const struct daemon *d, uint32_t gpu,
					   const struct in6_addr *peer, char out[DAEMON_PAIR_MAX])
{
	char text[ADDRESS_TEXT_MAX];

	snprintf(out, DAEMON_PAIR_MAX, "%s->%s", d->config->gpus[gpu].name,
		 address_format(peer, text));
	return out;
}

/* daemon_sources.c */
/*
 * Starts both sources as config says, which they share, and only then lets go of the old ones.
 * all_or_none: a zebra that cannot be connected to is an error, too. 0 or -errno.
 */
int daemon_start_sources(struct daemon *d, struct config *config, bool all_or_none);
/* Before any thread, and with the run directory locked. 0 or -errno. */
int daemon_start_rule_keeper(struct daemon *d);
/* The sink that gives zebra routes, as one of publish. 0 or -errno. */
int daemon_create_kernel_routes(struct daemon *d);
/* Rules and routes as d->config says; once before privileges are given up, too. */
void daemon_set_kernel_routes(struct daemon *d);

/* daemon_events.c */
void daemon_on_event(void *arg, const struct event *event);
void daemon_on_change(void *arg, const struct path_change *change);
void daemon_on_forget(void *arg, uint32_t pair);
extern const struct links_handlers daemon_links_handlers;

/* daemon_remind.c */
/* Cheap: several times a second. */
void daemon_remind(struct daemon *d);

/* daemon_addresses.c */
extern const struct addresses_handlers daemon_addresses_handlers;

/* daemon_trace.c */
json_t *daemon_on_trace(void *arg, struct control_client *client,
			const struct control_request *request);
void daemon_trace_gone(struct daemon *d, const struct control_client *client);
/* Sends the client what happened in this turn of the loop. */
void daemon_trace_flush(struct daemon *d);

/* daemon_reload.c */
/* The path table's times for a configuration. */
struct path_table_times daemon_times(const struct config *config);
void daemon_on_hangup(struct ev_loop *loop, ev_signal *w, int revents);
void daemon_on_undo(struct ev_loop *loop, ev_timer *w, int revents);
json_t *daemon_on_reload(void *arg, const struct control_client *client,
			 const struct control_request *request);
json_t *daemon_on_confirm(void *arg, const struct control_client *client);

#endif
