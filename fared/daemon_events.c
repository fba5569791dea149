/* SPDX-License-Identifier: BSD-2-Clause */
/* daemon_events.c - see daemon_internal.h: what sources, links and the path table have to say */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/address.h"
#include "daemon_internal.h"
#include "frr_release.h"
#include "report.h"
#include "zapi_source.h"

void daemon_say(struct daemon *d, const struct event *event)
{
	events_add(d->events, event, clock_now_ns(), daemon_wall_ns());
}

/* For the next daemon. Where it cannot be kept, that is said once. */
static void keep(struct daemon *d, const struct event *e)
{
	int rc = event_file_put(d->event_file, e);

	if (rc && rc != d->event_file_error)
		log_line(d->log, LOG_WARNING, "daemon",
			 "%s/" EVENT_FILE_NAME ": %s; the next daemon will not know of all events",
			 d->config->run_dir, strerror(-rc));
	d->event_file_error = rc;
}

void daemon_on_event(void *arg, const struct event *e)
{
	struct daemon *d = arg;
	char more[32] = "", plane[24] = "";
	json_t *json;

	if (e->n > 1)
		snprintf(more, sizeof(more), " n=%u", e->n);
	if (e->plane >= 0)
		snprintf(plane, sizeof(plane), " plane=%d", e->plane);
	log_limited(d->log, e->mono_ns, e->priority, e->topic, "%s%s%s %s%s%s reason=\"%s\"%s%s%s",
		    e->subject, plane, more, e->from, e->from[0] ? " -> " : "", e->to, e->reason,
		    e->evidence[0] ? " evidence=\"" : "", e->evidence, e->evidence[0] ? "\"" : "");
	keep(d, e);
	if (!d->control)
		return;
	json = report_event(e);
	if (json)
		control_tell_watchers(d->control, json);
	json_decref(json);
}

static void path_state_text(char *out, size_t size, enum fare_verdict verdict, uint64_t bps)
{
	if (bps)
		snprintf(out, size, "%s %.6g Gb/s", fare_verdict_name(verdict), (double)bps / 1e9);
	else
		snprintf(out, size, "%s", fare_verdict_name(verdict));
}

void daemon_on_change(void *arg, const struct path_change *change)
{
	struct event e = {.priority = LOG_NOTICE, .plane = (int)change->plane, .topic = "path"};
	struct daemon *d = arg;
	char peer[ADDRESS_TEXT_MAX];

	/* a peer's other planes are born without a route and taught a moment later */
	if (change->is_new && change->new_verdict == FARE_VERDICT_NO_ROUTE)
		return;
	snprintf(e.subject, sizeof(e.subject), "%s->%s", d->config->gpus[change->local_gpu].name,
		 address_format(&change->peer, peer));
	if (!change->is_new)
		path_state_text(e.from, sizeof(e.from), change->old_verdict, change->old_bps);
	path_state_text(e.to, sizeof(e.to), change->new_verdict, change->new_bps);
	snprintf(e.reason, sizeof(e.reason), "%s", change->reason);
	daemon_say(d, &e);
}

void daemon_on_forget(void *arg, uint32_t pair)
{
	struct event e = {.priority = LOG_INFO, .plane = -1, .topic = "peer", .to = "forgotten"};
	struct daemon *d = arg;
	char text[ADDRESS_TEXT_MAX];
	struct in6_addr peer;
	uint32_t gpu;

	if (!path_table_pair(d->table, pair, &gpu, &peer))
		return;
	snprintf(e.subject, sizeof(e.subject), "%s->%s", d->config->gpus[gpu].name,
		 address_format(&peer, text));
	snprintf(e.reason, sizeof(e.reason), "no route to it over any plane for long");
	daemon_say(d, &e);
	publish_forget(d->publish, pair);
	daemon_health_forget(d->health, pair);
}

static void on_link(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, int ifindex,
		    enum links_state old, enum links_state state, uint64_t bps)
{
	struct event e = {.priority = LOG_NOTICE, .plane = (int)plane, .topic = "link"};
	struct daemon *d = arg;

	path_table_link(d->table, gpu, plane, sub_port, state == LINKS_UP, bps);
	publish_link(d->publish, gpu, plane, sub_port, state, bps);
	daemon_health_link(d->health, gpu, plane, sub_port, ifindex, state, bps);
	snprintf(e.subject, sizeof(e.subject), "%s",
		 d->config->gpus[gpu].planes[plane].sub_ports[sub_port].dev);
	if (old != state)
		snprintf(e.from, sizeof(e.from), "%s", links_state_name(old));
	snprintf(e.to, sizeof(e.to), "%s", links_state_name(state));
	if (state == LINKS_UP)
		snprintf(e.to, sizeof(e.to), "up %.6g Gb/s", (double)bps / 1e9);
	snprintf(e.reason, sizeof(e.reason), "%s",
		 old != state ? "its device or carrier" : "its speed");
	daemon_say(d, &e);
}

static void on_mtu(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, uint32_t old,
		   uint32_t mtu)
{
	struct event e = {.priority = LOG_NOTICE, .plane = (int)plane, .topic = "link"};
	struct daemon *d = arg;

	daemon_health_mtu(d->health, gpu, plane, sub_port, mtu);
	if (!old || !mtu) /* a device that comes or goes */
		return;
	snprintf(e.subject, sizeof(e.subject), "%s",
		 d->config->gpus[gpu].planes[plane].sub_ports[sub_port].dev);
	snprintf(e.from, sizeof(e.from), "mtu %u", old);
	snprintf(e.to, sizeof(e.to), "mtu %u", mtu);
	snprintf(e.reason, sizeof(e.reason), "its MTU");
	daemon_say(d, &e);
}

static void on_links_log(void *arg, int priority, const char *line)
{
	struct daemon *d = arg;

	log_limited(d->log, clock_now_ns(), priority, "links", "%s", line);
}

const struct links_handlers daemon_links_handlers = {
	.on_link = on_link, .on_log = on_links_log, .on_mtu = on_mtu};

/* So small that it is a number of links: none carries less than a hundredth of what ours do. */
static bool is_link_count(const struct daemon *d, const struct bgp_path_event *event, double bps)
{
	uint32_t n_live;
	uint64_t local = path_table_local_bps(d->table, event->local_gpu, event->plane, &n_live);

	return n_live && bps > 0 && bps * 100 < (double)local;
}

/* NULL: nothing is odd about it. */
static const char *odd_bandwidth(const struct daemon *d, const struct bgp_path_event *event,
				 enum bgp_bandwidth_kind kind, double bps, const char **reason)
{
	if (kind == BGP_BANDWIDTH_ABSENT) {
		*reason = "the leaf sends none, or a non-transitive one; the local bandwidth "
			  "counts, or zebra's weights";
		return "absent";
	}
	if (kind == BGP_BANDWIDTH_INVALID) {
		*reason = "no number, or negative; the local bandwidth counts, or zebra's weights";
		return "invalid";
	}
	if (!is_link_count(d, event, bps))
		return NULL;
	*reason = "under 1% of the local links: if leaves send their number of links, set "
		  "bgp.bandwidth_scale to a sub-port's Mb/s";
	return "tiny";
}

/* What falls back to the local bandwidth, or limits it oddly, is told, if it was not so before. */
static void tell_odd_bandwidth(struct daemon *d, const struct bgp_path_event *event)
{
	struct event e = {.priority = LOG_WARNING, .plane = event->plane, .topic = "bandwidth"};
	const char *reason, *odd, *was = NULL;
	char peer[ADDRESS_TEXT_MAX];
	struct path_view view;
	uint32_t pair;

	if (!event->reachable)
		return;
	odd = odd_bandwidth(d, event, event->bandwidth_kind, event->advertised_bps, &reason);
	if (!odd)
		return;
	snprintf(e.reason, sizeof(e.reason), "%s", reason);
	if (path_table_find(d->table, event->local_gpu, &event->peer, &pair) &&
	    path_table_view(d->table, pair, event->plane, &view)) {
		const struct path_belief *old = &view.belief[PATH_SOURCE_BMP];

		if (old->known && old->reachable)
			was = odd_bandwidth(d, event, old->kind, old->bps, &reason);
	}
	if (was && !strcmp(was, odd))
		return;
	snprintf(e.subject, sizeof(e.subject), "%s", address_format(&event->peer, peer));
	snprintf(e.to, sizeof(e.to), "%s", odd);
	daemon_say(d, &e);
}

static bool on_path(void *arg, const struct bgp_path_event *event)
{
	const struct hook *hook = arg;
	struct daemon *d = hook->daemon;
	char peer[ADDRESS_TEXT_MAX];
	int rc;

	if (hook->source == PATH_SOURCE_BMP)
		tell_odd_bandwidth(d, event);
	rc = path_table_route(d->table, hook->source, event, clock_now_ns());
	if (rc)
		log_limited(d->log, clock_now_ns(), LOG_WARNING, path_source_name(hook->source),
			    "path refused peer=%s plane=%u: %s", address_format(&event->peer, peer),
			    event->plane, strerror(-rc));
	return rc != -ENOSPC && rc != -ENOMEM;
}

static void on_state(void *arg, enum bgp_source_state state, const char *reason)
{
	struct event e = {.priority = LOG_NOTICE, .plane = -1, .topic = "source"};
	const struct hook *hook = arg;
	struct daemon *d = hook->daemon;
	struct path_source_view old;

	path_table_source(d->table, hook->source, &old);
	path_table_source_state(d->table, hook->source, state, reason, clock_now_ns());
	snprintf(e.subject, sizeof(e.subject), "%s", path_source_name(hook->source));
	snprintf(e.from, sizeof(e.from), "%s", path_source_state_name(old.state));
	snprintf(e.to, sizeof(e.to), "%s", path_source_state_name(state));
	path_table_source(d->table, hook->source, &old);
	snprintf(e.reason, sizeof(e.reason), "%s", old.reason);
	if (strcmp(e.from, e.to))
		daemon_say(d, &e);
}

static void on_source_log(void *arg, int priority, const char *line)
{
	const struct hook *hook = arg;

	log_limited(hook->daemon->log, clock_now_ns(), priority, path_source_name(hook->source),
		    "%s", line);
}

/* Once for each release that is met. */
static void tell_trouble(const struct daemon *d, const char *description)
{
	bool is_unusable;
	const char *trouble = frr_release_trouble(description, &is_unusable);

	if (trouble && strcmp(description, d->frr_version) != 0)
		log_line(d->log, is_unusable ? LOG_ERR : LOG_WARNING, "source", "%s: %s",
			 description, trouble);
}

/* bgpd and zebra are of one FRR: what BMP says of one decides how the other is spoken to. */
static void on_router(void *arg, const char *description)
{
	const struct hook *hook = arg;
	struct daemon *d = hook->daemon;

	if (!strstr(description, "FRR"))
		return;
	tell_trouble(d, description);
	snprintf(d->frr_version, sizeof(d->frr_version), "%s", description);
	if (d->zapi)
		zapi_source_set_version(d->zapi, description);
}

const struct bgp_source_handlers daemon_source_handlers = {
	.on_path = on_path,
	.on_state = on_state,
	.on_log = on_source_log,
	.on_router = on_router,
};
