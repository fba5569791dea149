/* SPDX-License-Identifier: BSD-2-Clause */
/* daemon_reload.c - see daemon_internal.h: SIGHUP */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config_diff.h"
#include "daemon_internal.h"
#include "utf8.h"

static void put_in_force(struct daemon *d, struct config *new)
{
	struct path_table_times times = daemon_times(new);
	struct config *old = d->config;

	links_set_config(d->links, new);
	path_table_set_times(d->table, &times);
	d->log->level = new->log_level;
	d->config = new;
	if (old != d->source_config) /* else the sources still borrow it */
		config_destroy(old);
}

/* Parse, validate, swap; or change nothing and say why. */
static int reload(struct daemon *d, char *why, size_t why_size)
{
	struct config_error error;
	struct config *new;
	char keys[200];
	int rc = config_load(&new, d->path, &error);

	if (!rc && d->run_dir[0])
		rc = config_override_run_dir(new, d->run_dir, &error);
	if (rc) {
		snprintf(why, why_size, "%s", error.text);
		return rc;
	}
	config_restart_keys(d->config, new, keys, sizeof(keys));
	if (keys[0]) {
		snprintf(why, why_size, "these need a restart: %s", keys);
		config_destroy(new);
		return -EBUSY;
	}
	if (config_sources_differ(d->source_config, new) && (rc = daemon_start_sources(d, new))) {
		snprintf(why, why_size, "the sources cannot be started: %s", strerror(-rc));
		config_destroy(new);
		return rc;
	}
	put_in_force(d, new);
	return 0;
}

void daemon_on_hangup(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct event e = {
		.priority = LOG_NOTICE, .plane = -1, .topic = "config", .subject = "reload"};
	struct daemon *d = w->data;
	char why[600];

	(void)loop;
	(void)revents;
	if (reload(d, why, sizeof(why))) {
		log_line(d->log, LOG_ERR, "config", "reload refused, nothing changed: %s", why);
		e.priority = LOG_ERR;
		snprintf(e.to, sizeof(e.to), "refused, nothing changed");
		snprintf(e.reason, sizeof(e.reason), "%.*s", utf8_fit(why, sizeof(e.reason) - 1),
			 why);
	} else {
		snprintf(e.to, sizeof(e.to), "in force");
		snprintf(e.reason, sizeof(e.reason), "SIGHUP");
	}
	daemon_say(d, &e);
}
