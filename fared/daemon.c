/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bmp_source.h"
#include "commands.h"
#include "daemon_internal.h"
#include "drain_file.h"
#include "notify.h"
#include "shm_layout.h"
#include "trial_file.h"
#include "zapi_source.h"
#include "zebra_sink.h"

#define LOCK_TRIES     100 /* 2 s: then another fared runs */
#define LOCK_PAUSE_NS  20000000
#define SEGMENT_MODE   0640
#define SPEED_EVERY_NS 2000000000u /* a changed weight is in force within seconds */
#define HEARTBEAT_S    0.25	   /* readers call a heartbeat of a second ago dead */
#define STATUS_S       1.

/* ---- the loop ------------------------------------------------------------ */

/*
 * After all of an iteration's input, before sleeping: evaluate once, publish once, hand out events
 * once.
 */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct daemon *d = w->data;
	uint64_t now, next;

	(void)revents;
	daemon_health_turn(d->health); /* peers before this server: their notices travel farther */
	now = clock_now_ns();
	next = publish_run(d->publish, now, daemon_on_change, d);
	events_flush(d->events);
	daemon_trace_flush(d);
	ev_timer_stop(loop, &d->deadline);
	if (!next)
		return;
	ev_now_update(loop);
	ev_timer_set(&d->deadline, next > now ? (double)(next - now) / 1e9 : 0., 0.);
	ev_timer_start(loop, &d->deadline);
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents; /* waking up is all: on_prepare evaluates */
}

static void on_heartbeat(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct daemon *d = w->data;

	(void)loop;
	(void)revents;
	publish_heartbeat(d->publish, clock_now_ns());
	daemon_remind(d);
	log_flush(d->log, clock_now_ns());
}

static void on_watchdog(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
	notify_watchdog();
}

/* How a reload on trial stands. NULL: there is none. */
static const char *trial_text(const struct daemon *d)
{
	if (d->undo)
		return "a reload waits for confirmation";
	return d->is_undone ? "not the file: its last reload was not confirmed" : NULL;
}

/* For systemctl status: what an operator would ask first. */
static void on_status(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct daemon *d = w->data;
	const char *trial = trial_text(d);
	char status[sizeof(d->status)];
	uint32_t n_paths, n_usable;

	(void)loop;
	(void)revents;
	path_table_count(d->table, &n_paths, &n_usable);
	snprintf(status, sizeof(status), "%u pair%s of GPU and peer, %u of %u paths usable%s%s",
		 path_table_n_pairs(d->table), path_table_n_pairs(d->table) == 1 ? "" : "s",
		 n_usable, n_paths, trial ? "; " : "", trial ? trial : "");
	if (!strcmp(status, d->status))
		return;
	if (!notify_status("%s", status)) /* else it is said again */
		memcpy(d->status, status, sizeof(status));
}

static void on_stop(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct daemon *d = w->data;

	(void)revents;
	log_line(d->log, LOG_NOTICE, "daemon", "stopping signal=%d", w->signum);
	ev_break(loop, EVBREAK_ALL);
}

/* ---- control ------------------------------------------------------------- */

static const struct commands_handlers command_handlers = {daemon_on_reload, daemon_on_confirm,
							  daemon_on_trace};

static json_t *daemon_on_request(void *arg, struct control_client *client,
				 const struct control_request *request, int fd)
{
	struct daemon *d = arg;
	struct commands c = {
		.report = {.config = d->config,
			   .table = d->table,
			   .links = d->links,
			   .addresses = d->addresses,
			   .bmp = d->bmp,
			   .events = d->events,
			   .flows = d->flows,
			   .prober = daemon_health_prober(d->health),
			   .reflector = daemon_health_reflector(d->health),
			   .ports = daemon_health_ports(d->health),
			   .refusals = daemon_health_refusals(d->health),
			   .publish = d->publish,
			   .kernel = d->kernel,
			   .trial = trial_text(d),
			   .now_ns = clock_now_ns(),
			   .started_ns = d->started_ns},
		.table = d->table,
		.events = d->events,
		.flows = d->flows,
		.wall_ns = clock_ns(CLOCK_REALTIME),
		.handlers = &command_handlers,
		.arg = d,
	};
	json_t *reply;

	/* a reply has what is published, not what is about to be */
	publish_run(d->publish, c.report.now_ns, daemon_on_change, d);
	reply = commands_answer(&c, client, request, fd);
	publish_run(d->publish, c.report.now_ns, daemon_on_change, d);
	return reply;
}

static void on_gone(void *arg, const struct control_client *client)
{
	struct daemon *d = arg;

	if (client->attached >= 0)
		flows_detach(d->flows, client->attached);
	daemon_trace_gone(d, client);
}

static void on_control_log(void *arg, int priority, const char *line)
{
	struct daemon *d = arg;

	log_line(d->log, priority, "control", "%s", line);
}

/* ---- start --------------------------------------------------------------- */

/* What a fared leaves there, also one that was killed before it had renamed what it wrote. */
static bool daemon_owns(const char *name)
{
	static const char *const whole[] = {".", "..", "fared.lock"};
	static const char *const begins[] = {CONTROL_NAME,    "control.soc_", CONTROL_OPERATE_NAME,
					     "operate.soc_",  SHM_NAME,	      DRAIN_FILE_NAME,
					     EVENT_FILE_NAME, TRIAL_FILE_NAME};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (!strcmp(name, whole[i]))
			return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Nothing else is in it: so it is nobody else's. */
static bool holds_ours_alone(const char *path, struct log *log)
{
	DIR *dir = opendir(path);
	bool alone = dir != NULL;
	struct dirent *entry;

	while (alone && (entry = readdir(dir))) {
		alone = daemon_owns(entry->d_name);
		if (!alone)
			log_line(log, LOG_ERR, "daemon",
				 "%s cannot be given to the user that fared runs as: it holds "
				 "'%s', which is not fared's; move that elsewhere",
				 path, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return alone;
}

/*
 * The user that we become has to write there, and systemd-tmpfiles makes the directory as root. 0
 * or -errno; -EACCES: it holds files of others.
 */
static int give_run_dir(const char *path, const struct privileges *p, struct log *log)
{
	struct stat st;

	if (geteuid() != 0 || !p->user[0])
		return 0;
	if (lstat(path, &st))
		return -errno;
	if (st.st_uid == p->uid)
		return 0;
	if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || !holds_ours_alone(path, log))
		return -EACCES;
	return lchown(path, p->uid, p->gid) ? -errno : 0;
}

/*
 * A fared that was killed holds the lock until the last of its threads has gone: one may be in a
 * call of the kernel that waits for a driver, while the process is a zombie already.
 */
static int take_lock(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (unsigned i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int lock_run_dir(struct daemon *d, const struct privileges *p)
{
	char path[300];
	int rc;

	if (mkdir(d->config->run_dir, 0755) && errno != EEXIST)
		return -errno;
	rc = give_run_dir(d->config->run_dir, p, d->log);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/fared.lock", d->config->run_dir);
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d->lock_fd < 0)
		return -errno;
	if (geteuid() == 0 && fchown(d->lock_fd, p->uid, p->gid))
		return -errno;
	return take_lock(d->lock_fd);
}

static int give_segment(const struct config *config, const struct privileges *p)
{
	gid_t gid = p->socket_gid;
	char path[300];

	if (gid == (gid_t)-1 && geteuid() == 0)
		gid = p->gid;
	snprintf(path, sizeof(path), "%s/%s", config->run_dir, SHM_NAME);
	return privileges_give(path, p->uid, gid);
}

static int create_table(struct daemon *d)
{
	struct path_table_gpu gpus[FARE_MAX_LOCAL_GPUS] = {0};
	struct path_table_times times = daemon_times(d->config);

	for (uint32_t g = 0; g < d->config->n_gpus; g++) {
		gpus[g].n_planes = d->config->gpus[g].n_planes;
		for (uint32_t p = 0; p < gpus[g].n_planes; p++)
			gpus[g].n_sub_ports[p] = d->config->gpus[g].planes[p].n_sub_ports;
	}
	return path_table_create(&d->table, gpus, d->config->n_gpus, &times);
}

static void on_former_event(void *arg, const struct event *event)
{
	struct daemon *d = arg;

	events_restore(d->events, event);
}

/* Without it nothing fails but that the past is forgotten. */
static void restore_events(struct daemon *d, const struct privileges *p)
{
	char why[400];

	if (event_file_open(&d->event_file, d->config->run_dir, p->uid, on_former_event, d, why,
			    sizeof(why)))
		log_line(d->log, LOG_WARNING, "daemon",
			 "events of former daemons are not known, nor are those of this one kept: "
			 "%s",
			 why);
}

/* An event, too: where a former daemon's end and this one's begin. */
static void record_started(struct daemon *d)
{
	struct event e = event_of(EVENT_STARTED, -1);

	event_fill(&e, "fared", NULL, "started", "version " FARE_VERSION);
	daemon_add_event(d, &e);
}

/*
 * A configuration that was on trial when the daemon ended is not in force, and no restart confirms
 * it. If the file is another by now, nothing is on trial.
 */
static void settle_trial(struct daemon *d)
{
	struct event e = event_of(EVENT_CONFIG_UNDONE, -1);

	if (!d->is_undone) {
		trial_file_remove(d->config);
		return;
	}
	event_fill(&e, "file", NULL, "not in force",
		   "its reload was not confirmed; farectl reload puts it in force");
	daemon_add_event(d, &e);
}

/* Before any path is known, so that none is in use for a moment that must not be. */
static void restore_drains(struct daemon *d)
{
	struct drain_set former, kept = {0};
	char why[400], text[128];

	if (drain_file_load(d->config, &former, why, sizeof(why)))
		log_line(d->log, LOG_ERR, "drain", "former drains are not in force: %s", why);
	else if (why[0])
		log_line(d->log, LOG_WARNING, "drain", "not all former drains are in force: %s",
			 why);
	for (uint32_t i = 0; i < former.n; i++) {
		struct drain_set next = kept;

		if (drain_set_add(&next, &former.rules[i]) ||
		    path_table_set_drains(d->table, &next)) {
			log_line(d->log, LOG_WARNING, "drain",
				 "former drain left out: %s: no such plane or sub-port any more",
				 drain_file_text(d->config, &former.rules[i], text, sizeof(text)));
			continue;
		}
		kept = next;
		log_line(d->log, LOG_NOTICE, "drain", "still drained: %s",
			 drain_file_text(d->config, &former.rules[i], text, sizeof(text)));
	}
}

static void start_watchers(struct daemon *d)
{
	ev_prepare_init(&d->prepare, on_prepare);
	ev_init(&d->deadline, on_deadline);
	ev_timer_init(&d->heartbeat, on_heartbeat, 0., HEARTBEAT_S);
	ev_timer_init(&d->undo_timer, daemon_on_undo, 0., 0.);
	ev_signal_init(&d->term, on_stop, SIGTERM);
	ev_signal_init(&d->interrupt, on_stop, SIGINT);
	ev_signal_init(&d->hangup, daemon_on_hangup, SIGHUP);
	d->prepare.data = d->deadline.data = d->heartbeat.data = d;
	d->undo_timer.data = d->status_timer.data = d;
	d->term.data = d->interrupt.data = d->hangup.data = d;
	ev_prepare_start(d->loop, &d->prepare);
	ev_timer_start(d->loop, &d->heartbeat);
	ev_signal_start(d->loop, &d->term);
	ev_signal_start(d->loop, &d->interrupt);
	ev_signal_start(d->loop, &d->hangup);
}

/* Messages to the service manager, if one listens. */
static void start_notifying(struct daemon *d)
{
	double watchdog_s = (double)notify_watchdog_ns() / 1e9;

	notify_send("READY=1");
	ev_timer_init(&d->watchdog, on_watchdog, 0., watchdog_s);
	ev_timer_init(&d->status_timer, on_status, 0., STATUS_S);
	if (watchdog_s > 0)
		ev_timer_start(d->loop, &d->watchdog);
	if (notify_has_manager())
		ev_timer_start(d->loop, &d->status_timer);
}

/* One step of starting; on failure says which, and what to look at. */
static bool daemon_step(struct daemon *d, int rc, const char *what, const char *hint)
{
	if (!rc)
		return true;
	d->rc = rc;
	log_line(d->log, LOG_ERR, "daemon", "%s: %s; %s", what, strerror(-rc), hint);
	return false;
}

/* Without it the daemon works, and a busy machine may look like a dead plane to it. */
static void become_realtime(struct daemon *d)
{
	const struct config_health *h = &d->config->health;
	int rc;

	if (!h->enabled || !h->realtime)
		return;
	rc = privileges_lock_memory();
	if (rc)
		log_line(d->log, LOG_WARNING, "health",
			 "memory is not locked: %s; when memory is short probes may run late: set "
			 "LimitMEMLOCK=infinity (or ulimit -Hl unlimited), or start as root",
			 strerror(-rc));
	rc = privileges_realtime();
	if (rc)
		log_line(d->log, LOG_WARNING, "health",
			 "not real-time: %s; on a busy machine probes may run late: start as root, "
			 "or give CAP_SYS_NICE",
			 strerror(-rc));
}

/* The usual soft limit of 1,024 is for programs that call select(); raising it is no privilege. */
static void allow_descriptors(struct daemon *d)
{
	struct rlimit l;
	int rc = getrlimit(RLIMIT_NOFILE, &l);

	l.rlim_cur = l.rlim_max;
	if (rc || setrlimit(RLIMIT_NOFILE, &l))
		log_line(d->log, LOG_WARNING, "daemon", "the soft limit of open files stays: %s",
			 strerror(errno));
}

static const char *health_hint(int rc)
{
	switch (rc) {
	case -EPERM:
		return "probes take CAP_NET_RAW; `health: {enabled: false}` turns probing off";
	case -EMFILE:
		return "raise LimitNOFILE= (or ulimit -Hn), see fared(8)";
	default:
		return "`health: {enabled: false}` turns probing off";
	}
}

static bool start_health(struct daemon *d)
{
	int rc = daemon_health_create(&d->health, d);

	return daemon_step(d, rc, "health", health_hint(rc));
}

/* The order matters: nothing is published before the links are known, nothing learned before it can
 * be published. */
static bool daemon_start(struct daemon *d, const struct privileges *p, enum sandbox_mode sandbox)
{
	static const struct control_handlers on_control = {daemon_on_request, on_gone,
							   on_control_log};
	const struct control_groups groups = {p->socket_gid, p->attach_gid, p->operator_gid};
	struct publish_stats stats;
	char why[200] = "";
	int rc;

	allow_descriptors(d);
	if (!daemon_step(d, lock_run_dir(d, p), d->config->run_dir,
			 "is another fared running there, and may we write there?") ||
	    !daemon_step(d, daemon_start_rule_keeper(d), "the rules' process", "memory?") ||
	    !daemon_step(d, events_create(&d->events, daemon_on_event, d), "events", "memory?"))
		return false;
	restore_events(d, p);
	record_started(d);
	settle_trial(d);
	if (!daemon_step(d, flows_create(&d->flows), "flows", "memory?") ||
	    !daemon_step(d, create_table(d), "path table", "memory?") || !start_health(d))
		return false;
	restore_drains(d);
	if (!daemon_step(
		    d,
		    publish_create(&d->publish, d->config, d->table, SEGMENT_MODE, clock_now_ns()),
		    "shared memory", "is the run directory on a file system with room?") ||
	    !daemon_step(d, daemon_create_kernel_routes(d), "kernel routes", "memory?") ||
	    !daemon_step(
		    d, give_segment(d->config, p), "shared memory's owner",
		    "as root, may we chown in the run directory? Else join the group that `group` "
		    "names, "
		    "have CAP_CHOWN, or leave `group` out") ||
	    !daemon_step(d,
			 addresses_create(&d->addresses, d->loop, d->config,
					  &daemon_addresses_handlers, d),
			 "rtnetlink", "is netlink allowed here?") ||
	    !daemon_step(d, links_create(&d->links, d->loop, d->config, &daemon_links_handlers, d),
			 "rtnetlink", "is netlink allowed here?") ||
	    !daemon_step(d,
			 control_create(&d->control, d->loop, d->config->run_dir, p->uid, &groups,
					&on_control, d),
			 "control sockets",
			 "may we write in the run directory? Not root: are we members of "
			 "operator_group?"))
		return false;
	daemon_set_kernel_routes(d);
	become_realtime(d);
	rc = privileges_drop(p, why, sizeof(why));
	if (!daemon_step(d, rc, why, "leave `user` out to stay root") ||
	    !daemon_step(d, daemon_start_sources(d, d->config, false), "sources", "see above"))
		return false;
	rc = sandbox_enter(sandbox, why, sizeof(why));
	if (!daemon_step(d, rc, why, "--seccomp off starts without the filter"))
		return false;
	rc = links_watch_speeds(d->links, SPEED_EVERY_NS);
	if (rc)
		log_line(d->log, LOG_WARNING, "link",
			 "speeds are not asked for again: a changed one counts when the port gets "
			 "carrier error=\"%s\"",
			 strerror(-rc));
	path_table_set_on_forget(d->table, daemon_on_forget, d);
	publish_stats(d->publish, &stats);
	log_line(d->log, LOG_NOTICE, "daemon",
		 "started version=" FARE_VERSION
		 " node=%s run_dir=%s segment=%s pairs=%u reason=\"%s\"",
		 d->config->node, d->config->run_dir, stats.why_new ? "new" : "adopted",
		 stats.pairs_adopted, stats.why_new ? stats.why_new : "a former daemon left it");
	return true;
}

int daemon_create(struct daemon **out, struct config *config, const struct daemon_options *options,
		  const struct privileges *privileges, struct log *log)
{
	struct daemon *d = calloc(1, sizeof(*d));
	int rc;

	*out = NULL;
	if (!d) {
		config_destroy(config);
		return -ENOMEM;
	}
	d->log = log;
	d->bmp_uid = privileges->bmp_uid;
	d->is_undone = options->is_fallback;
	d->lock_fd = d->rule_fd = -1;
	d->config = config;
	d->started_ns = clock_now_ns();
	snprintf(d->path, sizeof(d->path), "%s", options->path);
	snprintf(d->run_dir, sizeof(d->run_dir), "%s", options->run_dir ? options->run_dir : "");
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		d->hooks[s] = (struct hook){d, s};
	d->loop = ev_loop_new(EVFLAG_AUTO);
	if (!daemon_step(d, d->loop ? 0 : -ENOMEM, "event loop", "memory?") ||
	    !daemon_start(d, privileges, options->sandbox)) {
		rc = d->rc;
		daemon_destroy(d);
		return rc;
	}
	start_watchers(d);
	*out = d;
	return 0;
}

int daemon_run(struct daemon *d)
{
	start_notifying(d);
	ev_run(d->loop, 0);
	events_flush(d->events); /* of the last turn */
	notify_send("STOPPING=1");
	return d->rc;
}

void daemon_destroy(struct daemon *d)
{
	if (!d)
		return;
	bmp_source_destroy(d->bmp);
	zapi_source_destroy(d->zapi);
	control_destroy(d->control);
	links_destroy(d->links);
	addresses_destroy(d->addresses);
	daemon_health_destroy(d->health);
	publish_destroy(d->publish);
	zebra_sink_destroy(d->kernel);
	path_table_destroy(d->table);
	flows_destroy(d->flows);
	events_destroy(d->events);
	event_file_close(d->event_file);
	config_destroy(d->source_config);
	config_destroy(d->undo);
	config_destroy(d->config);
	if (d->rule_fd >= 0)
		close(d->rule_fd);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	if (d->loop)
		ev_loop_destroy(d->loop);
	free(d);
}
