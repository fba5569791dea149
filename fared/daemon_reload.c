/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon_reload.c - see daemon_internal.h: another configuration, by SIGHUP or farectl
 *
 * The file and the files of keys are read and checked whole, and the file is compared with what is
 * in force. Then all of it is put in force, or none and the reason is reported. One that waits for
 * confirmation is undone when its time is over: the configuration before it is put in force again;
 * the file stays as it is. So that a restart confirms nothing, what is on trial is on record first
 * (trial_file.h), until it is confirmed, or a reload puts the file in force without a trial.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "config_diff.h"
#include "daemon_internal.h"
#include "notice_keys.h"
#include "notify.h"
#include "trial_file.h"
#include "base/utf8.h"

#define UNDO_AGAIN_S 1. /* an undo that fails is tried again */

#define CHANGES_LOGGED 8
#define CHANGES_MAX    256 /* in a reply: a millisecond's work */

/* ---- putting it in force ------------------------------------------------- */

struct path_table_times daemon_times(const struct config *config)
{
	return (struct path_table_times){
		.stale_ns = config->stale_ns,
		.installed_ns = PATH_INSTALLED_NS,
		.restart_ns = PATH_RESTART_NS,
		.fallback_ns = PATH_FALLBACK_NS,
		.forget_ns = PATH_FORGET_NS,
	};
}

static void daemon_reload_event(struct daemon *d, enum event_kind kind, const char *subject,
				const char *to, const char *reason)
{
	struct event e = event_of(kind, -1);

	event_fill(&e, subject, NULL, to, reason);
	daemon_add_event(d, &e);
}

/* Takes new. */
static void put_in_force(struct daemon *d, struct config *new, const struct notice_keys *keys)
{
	struct path_table_times times = daemon_times(new);

	links_set_config(d->links, new);
	addresses_set_config(d->addresses, new);
	path_table_set_times(d->table, &times);
	d->log->level = new->log_level;
	config_destroy(d->config);
	d->config = new;
	if (daemon_health_has_keys(d->health, keys))
		return;
	daemon_health_set_keys(d->health, keys);
	daemon_reload_event(d, EVENT_CONFIG_IN_FORCE, "keys", "in force",
			    "the key files hold other keys than before");
}

/* Takes new, also on error. */
static int swap(struct daemon *d, struct config *new, const struct notice_keys *keys,
		const struct config_diff *diff, char *why, size_t why_size)
{
	int rc = config_diff_has(diff, CONFIG_SOURCES) ? daemon_start_sources(d, new, true) : 0;

	if (rc) {
		snprintf(why, why_size, "the sources cannot be started: %s", strerror(-rc));
		config_destroy(new);
		return rc;
	}
	put_in_force(d, new, keys);
	daemon_set_kernel_routes(d);
	return 0;
}

/* ---- what is logged ------------------------------------------------------ */

/* So few that the outcome, of the same topic, is not limited for their sake. */
static void log_changes(struct daemon *d, const struct config_diff *diff)
{
	for (size_t i = 0; i < diff->n && i < CHANGES_LOGGED; i++)
		log_line(d->log, LOG_NOTICE, "config", "%s: %s -> %s", diff->changes[i].key,
			 diff->changes[i].before ? diff->changes[i].before : "(none)",
			 diff->changes[i].after ? diff->changes[i].after : "(none)");
	if (diff->n > CHANGES_LOGGED)
		log_line(d->log, LOG_NOTICE, "config", "and %zu more", diff->n - CHANGES_LOGGED);
}

static json_t *changes_json(const struct config_diff *diff)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < diff->n && i < CHANGES_MAX; i++) {
		const struct config_change *c = &diff->changes[i];

		json_array_append_new(rows, json_pack("{s:s, s:s?, s:s?, s:s}", "key", c->key,
						      "before", c->before, "after", c->after,
						      "reload", config_effect_name(c->effect)));
	}
	return rows;
}

/* ---- confirmation -------------------------------------------------------- */

static void forget_undo(struct daemon *d)
{
	ev_timer_stop(d->loop, &d->undo_timer);
	config_destroy(d->undo);
	d->undo = NULL;
	explicit_bzero(&d->undo_keys, sizeof(d->undo_keys));
}

void daemon_on_undo(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct daemon *d = w->data;
	struct config_diff *diff;
	char why[200] = "";
	int rc = config_diff_create(&diff, d->config, d->undo);

	(void)revents;
	if (rc)
		snprintf(why, sizeof(why), "%s", strerror(-rc));
	else
		rc = swap(d, config_take(d->undo), &d->undo_keys, diff, why, sizeof(why));
	if (rc && !d->undo_failed) {
		log_line(d->log, LOG_ERR, "config", "reload not confirmed, but not undone yet: %s",
			 why);
		daemon_reload_event(d, EVENT_CONFIG_REFUSED, "reload", "not undone", why);
	}
	d->undo_failed = rc != 0;
	if (rc) {
		ev_timer_set(w, UNDO_AGAIN_S, 0.);
		ev_timer_start(loop, w);
	} else {
		forget_undo(d);
		d->is_undone = true;
		log_changes(d, diff);
		daemon_reload_event(d, EVENT_CONFIG_UNDONE, "reload", "undone",
				    "not confirmed in time");
	}
	config_diff_destroy(diff);
}

static void await_confirmation(struct daemon *d, struct config *before,
			       const struct notice_keys *keys, unsigned seconds)
{
	d->undo = before;
	d->undo_keys = *keys;
	d->undo_failed = false;
	ev_now_update(d->loop);
	ev_timer_set(&d->undo_timer, seconds, 0.);
	ev_timer_start(d->loop, &d->undo_timer);
}

/* ---- a reload ------------------------------------------------------------ */

/* What a reload found. */
struct outcome {
	struct config_diff *diff; /* NULL: the file cannot be read, or is wrong */
	bool keys_changed;
	bool applied;
	char why[600];	   /* not, if it was to be */
	char warning[600]; /* of what could not be had, and stays as it was */
};

/* Parses, checks, compares. *new is the caller's. */
static int read_anew(struct daemon *d, struct config **new, struct outcome *out)
{
	struct config_error error;
	int rc = config_load_again(new, d->path, &error);

	if (!rc && d->run_dir[0])
		rc = config_override_run_dir(*new, d->run_dir, &error);
	if (rc) {
		utf8_mend(error.text); /* it cites the file, in pieces */
		snprintf(out->why, sizeof(out->why), "%s", error.text);
	} else {
		rc = config_diff_create(&out->diff, d->config, *new);
	}
	return rc;
}

static int check_reloadable(const struct daemon *d, struct outcome *out)
{
	char keys[400];

	if (d->undo) {
		snprintf(out->why, sizeof(out->why),
			 "the reload before waits for confirmation: farectl confirm, or wait");
		return -EBUSY;
	}
	if (!config_diff_has(out->diff, CONFIG_RESTART))
		return 0;
	snprintf(out->why, sizeof(out->why), "these need a restart: %s",
		 config_diff_keys(out->diff, CONFIG_RESTART, keys, sizeof(keys)));
	return -EBUSY;
}

static bool names_same_keys(const struct config_health *a, const struct config_health *b)
{
	return !strcmp(a->key_file, b->key_file) && !strcmp(a->second_key_file, b->second_key_file);
}

/*
 * The keys of new, read anew. A daemon that was started as root may have become a user that cannot
 * read them: then those it has stay, unless new names others.
 */
static int read_keys(struct daemon *d, const struct config *new, struct notice_keys *keys,
		     struct outcome *out)
{
	int rc = notice_keys_read(&new->health, keys, NULL, out->why, sizeof(out->why));

	if (rc != -EACCES || !names_same_keys(&new->health, &d->config->health))
		return rc;
	snprintf(out->warning, sizeof(out->warning), "the keys stay as they are: %.560s", out->why);
	log_line(d->log, LOG_WARNING, "config", "%s", out->warning);
	out->why[0] = '\0';
	*keys = *daemon_health_keys(d->health);
	return 0;
}

/* Before it is in force, for it may be what ends the daemon. */
static int record_trial(struct daemon *d, const struct config *new, bool is_on_trial,
			struct outcome *out)
{
	int rc = is_on_trial ? trial_file_save(d->config, new) : trial_file_remove(d->config);

	if (rc)
		snprintf(out->why, sizeof(out->why), "%s/" TRIAL_FILE_NAME ": %s",
			 d->config->run_dir, strerror(-rc));
	else
		d->is_undone = false;
	return rc;
}

static int reload(struct daemon *d, bool dry_run, unsigned confirm_s, struct outcome *out)
{
	struct notice_keys keys = {0}, former = {0};
	struct config *new, *before;
	int rc;

	*out = (struct outcome){0};
	rc = read_anew(d, &new, out);
	if (!rc)
		rc = check_reloadable(d, out);
	if (!rc)
		rc = read_keys(d, new, &keys, out);
	out->keys_changed = !rc && !daemon_health_has_keys(d->health, &keys);
	if (rc || dry_run) {
		explicit_bzero(&keys, sizeof(keys));
		config_destroy(new);
		return rc;
	}
	rc = record_trial(d, new, confirm_s && out->diff->n, out);
	if (rc) {
		explicit_bzero(&keys, sizeof(keys));
		config_destroy(new);
		return rc;
	}
	before = config_take(d->config);
	if (d->health)
		former = *daemon_health_keys(d->health);
	rc = swap(d, new, &keys, out->diff, out->why, sizeof(out->why));
	out->applied = !rc;
	if (rc)
		trial_file_remove(d->config);
	if (out->applied && confirm_s && (out->diff->n || out->keys_changed))
		await_confirmation(d, before, &former, confirm_s);
	else
		config_destroy(before);
	explicit_bzero(&keys, sizeof(keys));
	explicit_bzero(&former, sizeof(former));
	return rc;
}

/* As reload(), with the log, the events and the service manager informed. */
static int reload_openly(struct daemon *d, unsigned confirm_s, const char *asked_by,
			 struct outcome *out)
{
	int rc;

	notify_reloading(clock_now_ns());
	rc = reload(d, false, confirm_s, out);
	if (out->applied) {
		log_changes(d, out->diff);
		daemon_reload_event(d, EVENT_CONFIG_IN_FORCE, "reload", "in force", asked_by);
	} else {
		log_line(d->log, LOG_ERR, "config", "reload refused, nothing changed: %s",
			 out->why);
		daemon_reload_event(d, EVENT_CONFIG_REFUSED, "reload", "refused, nothing changed",
				    out->why);
	}
	notify_send("READY=1");
	return rc;
}

void daemon_on_hangup(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct outcome out;

	(void)loop;
	(void)revents;
	reload_openly(w->data, 0, "SIGHUP", &out);
	config_diff_destroy(out.diff);
}

json_t *daemon_on_reload(void *arg, const struct control_client *client,
			 const struct control_request *request)
{
	struct daemon *d = arg;
	struct outcome out;
	char who[80];
	json_t *reply;
	int rc;

	snprintf(who, sizeof(who), "asked for by uid=%u pid=%d", (unsigned)client->uid,
		 (int)client->pid);
	rc = request->dry_run ? reload(d, true, 0, &out)
			      : reload_openly(d, request->confirm_s, who, &out);
	if (rc && !out.why[0])
		snprintf(out.why, sizeof(out.why), "%s", strerror(-rc));
	utf8_trim(out.why);
	utf8_trim(out.warning);
	reply = json_pack("{s:b, s:b, s:b, s:b, s:s*, s:s*, s:i, s:I, s:o}", "ok", !rc, "dry_run",
			  request->dry_run, "in_force", out.applied, "keys_changed",
			  out.keys_changed, "error", rc ? out.why : NULL, "warning",
			  out.warning[0] ? out.warning : NULL, "confirm_s",
			  out.applied && d->undo ? (int)request->confirm_s : 0, "n_changes",
			  (json_int_t)(out.diff ? out.diff->n : 0), "changes",
			  out.diff ? changes_json(out.diff) : json_array());
	config_diff_destroy(out.diff);
	return reply;
}

json_t *daemon_on_confirm(void *arg, const struct control_client *client)
{
	struct daemon *d = arg;
	char who[80];
	int rc;

	if (!d->undo)
		return control_error("no reload waits for confirmation");
	rc = trial_file_remove(d->config);
	if (rc) {
		snprintf(who, sizeof(who), TRIAL_FILE_NAME ": %s", strerror(-rc));
		return control_error(who);
	}
	forget_undo(d);
	snprintf(who, sizeof(who), "by uid=%u pid=%d", (unsigned)client->uid, (int)client->pid);
	daemon_reload_event(d, EVENT_CONFIG_IN_FORCE, "reload", "confirmed", who);
	return json_pack("{s:b}", "ok", 1);
}
