/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h - RUN_DIR/control.sock and operate.sock: who may ask, how lines come in and replies go
 * out.
 *
 * Solely owns: the listening unix sockets and their clients. In: newline-delimited JSON, at most
 * one descriptor per request. Out: on_request for each checked request, replies, events to
 * watchers. Thread: the loop's.
 *
 * Who: see enum control_role (the socket's mode keeps others out, and credentials are checked again
 * here). Bounds: CONTROL_MAX_CLIENTS clients, one
 * request in hand per client (the next is read once the reply has left), one request answered in
 * each turn of the loop (clients in turn), CONTROL_REQUEST_MAX bytes a request, a client that takes
 * nothing for CONTROL_SLOW_S seconds, or falls CONTROL_WATCH_BYTES of events behind, is dropped;
 * and one that asks nothing for CONTROL_IDLE_S seconds, unless it watches, traces or has attached a
 * table.
 *
 * Of each user: CONTROL_PER_USER clients, CONTROL_WATCH_PER_USER of them watching, and as many
 * requests a second as control_rate.h says; further ones wait. The last CONTROL_KEPT places are for
 * root, the daemon's own uid and other operators, CONTROL_KEPT_ROOT of them for root alone;
 * CONTROL_KEPT_ATTACH before those are not for clients that may only read. Operators have none of
 * the limits of each user.
 *
 * Where no descriptor can be had for a new client, none is accepted for a second at a time.
 * Clients' descriptors, and those that they pass, are closed elsewhere (deferred_close.h), for that
 * may take as long as they like; where too many wait for it, neither is anything read. That does
 * not hold for operate.sock, which operators alone may use: others cannot make them wait.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "control_request.h"

#define CONTROL_NAME	       "control.sock"
#define CONTROL_OPERATE_NAME   "operate.sock"
#define CONTROL_MAX_CLIENTS    128
#define CONTROL_MAX_PASSED     253 /* descriptors in a message: the kernel's limit (SCM_MAX_FD) */
#define CONTROL_KEPT_ROOT      4
#define CONTROL_KEPT	       16
#define CONTROL_KEPT_ATTACH    32
#define CONTROL_PER_USER       64
#define CONTROL_WATCH_PER_USER 8
#define CONTROL_SLOW_S	       10.
#define CONTROL_IDLE_S	       60.
#define CONTROL_WATCH_BYTES    (128u << 10)

struct ev_loop;
struct control;

/* Each may do what those before it may. */
enum control_role {
	CONTROL_READER,	     /* of the group `read`: ask */
	CONTROL_APPLICATION, /* of the group `attach`: attach a table, which steers probing */
	CONTROL_OPERATOR,    /* root, the daemon's own uid, of the group `operate`: drain, reload */
};

/* (gid_t)-1: nobody. Members of the others have to be members of `read`, whose the socket is. */
struct control_groups {
	gid_t read, attach, operate;
};

struct control_client {
	uid_t uid;
	pid_t pid;
	enum control_role role;
	bool watching; /* set by on_request: gets events from now on */
	bool tracing;  /* set by on_request: control_send() has more for it */
	bool finished; /* set by on_request: the connection ends once this reply has left */
	int attached;  /* set by on_request: id of its connection table; -1: none */
};

struct control_handlers {
	/*
	 * Answers a request; for "watch" there is room among this user's. fd: the descriptor that
	 * came with it, -1: none; borrowed for the call. Until it is known to be a memfd it may
	 * block its user. Returns the reply (ours to free), or NULL for want of memory,
	 * which costs the client its connection.
	 */
	json_t *(*on_request)(void *arg, struct control_client *client,
			      const struct control_request *request, int fd);
	void (*on_gone)(void *arg, const struct control_client *client);
	void (*on_log)(void *arg, int priority, const char *line);
};

/* The reply to a request that failed: {"ok":false,"error":...}. */
json_t *control_error(const char *text);

/*
 * Listens in run_dir, replacing what a former daemon left. uid: who will own the sockets, if we are
 * root. 0 or -errno; -EPERM: see privileges_give().
 */
int control_create(struct control **out, struct ev_loop *loop, const char *run_dir, uid_t uid,
		   const struct control_groups *groups, const struct control_handlers *handlers,
		   void *arg);
/* Another time than CONTROL_IDLE_S, for clients to come. */
void control_set_idle_s(struct control *c, double idle_s);
/* Closes everything and removes the sockets. */
void control_destroy(struct control *c);
/* Sends one line of JSON (borrowed) to every watcher. */
void control_send_watchers(struct control *c, const json_t *event);
/*
 * Sends one line of JSON (borrowed) to one client, of those that on_request was given; if that has
 * set finished, it is the last. on_gone may be called for it meanwhile.
 */
void control_send(struct control *c, struct control_client *client, const json_t *json);

#endif
