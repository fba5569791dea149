/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon.h - everything wired together: sources -> path table -> shared memory, and the operator's
 * socket.
 *
 * Solely owns: the loop's order of things and when modules start and end. In: a configuration. Out:
 * nothing returns until a signal stops the daemon. Thread: the main one.
 *
 * One iteration: sources and links change the path table; then, before the loop sleeps, the table
 * is evaluated once, what changed is published, and the iteration's events are handed out.
 */
#ifndef DAEMON_H
#define DAEMON_H

#include "config.h"
#include "log.h"
#include "privileges.h"
#include "sandbox.h"

struct daemon;

struct daemon_options {
	const char *path;    /* of the configuration: read again by a reload */
	const char *run_dir; /* overrides the file's; NULL: does not */
	enum sandbox_mode sandbox;
	bool is_fallback; /* config is not that file's, which was on trial (trial_file.h) */
};

/* Takes config (also on error). */
int daemon_create(struct daemon **out, struct config *config, const struct daemon_options *options,
		  const struct privileges *privileges, struct log *log);
/* Runs until SIGTERM or SIGINT. 0 or -errno. */
int daemon_run(struct daemon *d);
void daemon_destroy(struct daemon *d);

#endif
