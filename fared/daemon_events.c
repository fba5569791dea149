/* SPDX-License-Identifier: BSD-2-Clause */
/* daemon_events.c - see daemon_internal.h: what links and the path table call back into */
#include <stdio.h>
#include <string.h>

#include "daemon_internal.h"
#include "report.h"
#include "sink.h"

/* For the next daemon. Where it cannot be kept, that is logged once. */
static void daemon_keep_event(struct daemon *d, const struct event *e)
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
	log_line_at(d->log, e->mono_ns, e->priority, e->topic, "%s%s%s %s%s%s reason=\"%s\"%s%s%s",
		    e->subject, plane, more, e->from, e->from[0] ? " -> " : "", e->to, e->reason,
		    e->evidence[0] ? " evidence=\"" : "", e->evidence, e->evidence[0] ? "\"" : "");
	daemon_keep_event(d, e);
	if (!d->control)
		return;
	json = report_event(e);
	if (json)
		control_send_watchers(d->control, json);
	json_decref(json);
}

static const char *path_state_text(char out[48], enum fare_verdict verdict, uint64_t bps)
{
	if (bps)
		snprintf(out, 48, "%s %.6g Gb/s", fare_verdict_name(verdict), (double)bps / 1e9);
	return bps ? out : fare_verdict_name(verdict);
}

static enum event_kind kind_of_change(const struct daemon *d, const struct path_change *change)
{
	struct path_view view;

	if (change->is_new ? change->new_bps > 0 : change->new_bps >= change->old_bps)
		return EVENT_PATH_CHANGED;
	if (path_table_view(d->table, change->pair, change->plane, &view) &&
	    (view.drained || view.drained_sub_ports))
		return EVENT_PATH_DRAINED;
	return change->new_bps ? EVENT_PATH_LESS : EVENT_PATH_LOST;
}

void daemon_on_change(void *arg, const struct path_change *change)
{
	struct daemon *d = arg;
	struct event e = event_of(kind_of_change(d, change), (int)change->plane);
	char pair[DAEMON_PAIR_MAX], from[48], to[48];

	/* a peer's other planes begin without a route, and get theirs a moment later */
	if (change->is_new && change->new_verdict == FARE_VERDICT_NO_ROUTE)
		return;
	event_fill(&e, daemon_pair_text(d, change->local_gpu, &change->peer, pair),
		   change->is_new ? ""
				  : path_state_text(from, change->old_verdict, change->old_bps),
		   path_state_text(to, change->new_verdict, change->new_bps), change->reason);
	daemon_add_event(d, &e);
}

void daemon_on_forget(void *arg, uint32_t pair)
{
	struct event e = event_of(EVENT_PEER_FORGOTTEN, -1);
	struct daemon *d = arg;
	char text[DAEMON_PAIR_MAX];
	struct in6_addr peer;
	uint32_t gpu;

	if (!path_table_pair(d->table, pair, &gpu, &peer))
		return;
	event_fill(&e, daemon_pair_text(d, gpu, &peer, text), NULL, "forgotten",
		   "no route to it over any plane for long");
	daemon_add_event(d, &e);
	publish_forget(d->publish, pair);
	daemon_health_forget(d->health, pair);
}

/* links.c shows the former speed until this returns. */
static enum event_kind kind_of_link(const struct daemon *d, uint32_t gpu, uint32_t plane,
				    uint32_t sub_port, enum links_state state, uint64_t bps)
{
	enum links_state before;
	uint64_t before_bps;

	if (state != LINKS_UP)
		return EVENT_LINK_LOST;
	if (d->links && links_view(d->links, gpu, plane, sub_port, &before, &before_bps) &&
	    before == LINKS_UP && bps < before_bps)
		return EVENT_LINK_LESS;
	return EVENT_LINK_CHANGED;
}

static void daemon_on_link(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, int ifindex,
			   enum links_state old, enum links_state state, uint64_t bps)
{
	const struct sink_link link = {gpu, plane, sub_port, (uint32_t)ifindex, state == LINKS_UP,
				       bps};
	struct daemon *d = arg;
	struct event e = event_of(kind_of_link(d, gpu, plane, sub_port, state, bps), (int)plane);
	char up[32];

	path_table_link(d->table, gpu, plane, sub_port, state == LINKS_UP, bps);
	addresses_link(d->addresses, gpu, plane, sub_port, ifindex);
	publish_link(d->publish, &link);
	daemon_health_link(d->health, gpu, plane, sub_port, ifindex, state, bps);
	snprintf(up, sizeof(up), "up %.6g Gb/s", (double)bps / 1e9);
	event_fill(&e, d->config->gpus[gpu].planes[plane].sub_ports[sub_port].dev,
		   old != state ? links_state_name(old) : "",
		   state == LINKS_UP ? up : links_state_name(state),
		   old != state ? "its device or carrier" : "its speed");
	daemon_add_event(d, &e);
}

static void on_mtu(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, uint32_t old,
		   uint32_t mtu)
{
	struct event e = event_of(mtu < old ? EVENT_LINK_LESS : EVENT_LINK_CHANGED, (int)plane);
	struct daemon *d = arg;
	char from[24], to[24];

	daemon_health_mtu(d->health, gpu, plane, sub_port, mtu);
	if (!old || !mtu) /* a device that comes or goes */
		return;
	snprintf(from, sizeof(from), "mtu %u", old);
	snprintf(to, sizeof(to), "mtu %u", mtu);
	event_fill(&e, d->config->gpus[gpu].planes[plane].sub_ports[sub_port].dev, from, to,
		   "its MTU");
	daemon_add_event(d, &e);
}

static void on_links_log(void *arg, int priority, const char *line)
{
	struct daemon *d = arg;

	log_line(d->log, priority, "links", "%s", line);
}

const struct links_handlers daemon_links_handlers = {
	.on_link = daemon_on_link, .on_log = on_links_log, .on_mtu = on_mtu};
