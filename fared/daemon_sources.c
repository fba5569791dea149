/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon_sources.c - see daemon_internal.h: the route sources, started, and what they call back
 * into
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "bmp_source.h"
#include "daemon_internal.h"
#include "frr_release.h"
#include "kernel_rule.h"
#include "rule_keeper.h"
#include "zapi_source.h"
#include "zebra_sink.h"

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

/*
 * A bandwidth that falls back to the local one, or limits it oddly, is an event, if it was not so
 * before.
 */
static void record_odd_bandwidth(struct daemon *d, const struct bgp_path_event *event)
{
	struct event e = event_of(EVENT_BANDWIDTH_ODD, event->plane);
	const char *reason, *old_reason, *odd, *was = NULL;
	char peer[ADDRESS_TEXT_MAX];
	struct path_view view;
	uint32_t pair;

	if (!event->reachable)
		return;
	odd = odd_bandwidth(d, event, event->bandwidth_kind, event->advertised_bps, &reason);
	if (!odd)
		return;
	if (path_table_find(d->table, event->local_gpu, &event->peer, &pair) &&
	    path_table_view(d->table, pair, event->plane, &view)) {
		const struct path_received *old = &view.received[PATH_SOURCE_BMP];

		if (old->known && old->reachable)
			was = odd_bandwidth(d, event, old->kind, old->bps, &old_reason);
	}
	if (was && !strcmp(was, odd))
		return;
	event_fill(&e, address_format(&event->peer, peer), NULL, odd, reason);
	daemon_add_event(d, &e);
}

static bool daemon_on_path(void *arg, const struct bgp_path_event *event)
{
	const struct hook *hook = arg;
	struct daemon *d = hook->daemon;
	char peer[ADDRESS_TEXT_MAX];
	int rc;

	if (hook->source == PATH_SOURCE_BMP)
		record_odd_bandwidth(d, event);
	rc = path_table_route(d->table, hook->source, event, clock_now_ns());
	if (rc)
		log_line(d->log, LOG_WARNING, path_source_name(hook->source),
			 "path refused peer=%s plane=%u: %s", address_format(&event->peer, peer),
			 event->plane, strerror(-rc));
	return rc != -ENOSPC && rc != -ENOMEM;
}

/* What a source says of itself: an event says old, new and the reason. */
static void on_state(void *arg, enum bgp_source_state state, const char *reason)
{
	struct event e =
		event_of(state == BGP_SOURCE_DOWN ? EVENT_SOURCE_LOST : EVENT_SOURCE_STATE, -1);
	const struct hook *hook = arg;
	struct daemon *d = hook->daemon;
	struct path_source_view old, now;

	path_table_source(d->table, hook->source, &old);
	path_table_source_state(d->table, hook->source, state, reason, clock_now_ns());
	path_table_source(d->table, hook->source, &now);
	event_fill(&e, path_source_name(hook->source), path_source_state_name(old.state),
		   path_source_state_name(state), now.reason);
	if (old.state != state)
		daemon_add_event(d, &e);
}

static void on_source_log(void *arg, int priority, const char *line)
{
	const struct hook *hook = arg;

	log_line(hook->daemon->log, priority, path_source_name(hook->source), "%s", line);
}

/* Which FRR zebra is, as far as is known: BMP names what runs, the configuration what ran once. */
static const char *frr_version(const struct daemon *d, const struct config *config)
{
	if (d->frr_version[0])
		return d->frr_version;
	return config->frr_version[0] ? config->frr_version : NULL;
}

/* ---- the kernel's routes --------------------------------------------------- */

/* Each attempt that fails calls: only what is new is an event. */
static void on_kernel_state(void *arg, bool is_connected, const char *reason)
{
	struct event e = event_of(is_connected ? EVENT_SOURCE_STATE : EVENT_SOURCE_LOST, -1);
	struct daemon *d = arg;

	if (is_connected == d->kernel_is_connected)
		return;
	d->kernel_is_connected = is_connected;
	event_fill(&e, "kernel routes", is_connected ? "down" : "up", is_connected ? "up" : "down",
		   reason);
	daemon_add_event(d, &e);
}

int daemon_create_kernel_routes(struct daemon *d)
{
	int rc = zebra_sink_create(&d->kernel, d->loop, on_kernel_state, d);
	struct sink sink;

	if (rc)
		return rc;
	sink = zebra_sink_as_sink(d->kernel);
	return publish_add_sink(d->publish, &sink);
}

/* In the keeper's process, too. */
static void on_rule_error(void *arg, bool on, int rc)
{
	const struct daemon *d = arg;

	log_line(d->log, LOG_ERR, "kernel",
		 on ? "kernel_routes: no rule leads to fared's routes (%s), so they are not used: "
		      "start fared with kernel_routes on and CAP_NET_ADMIN, or do what it would "
		      "have done: ip rule add pref %u lookup %u; ip -6 rule add pref %u lookup %u"
		    : "kernel_routes: a rule stays (%s), and leads to a table without routes: "
		      "ip rule del pref %u lookup %u; ip -6 rule del pref %u lookup %u",
		 strerror(-rc), KERNEL_RULE_PRIORITY, ZEBRA_SINK_TABLE, KERNEL_RULE_PRIORITY,
		 ZEBRA_SINK_TABLE);
}

/* It sends nothing: this is its end. fared cannot start another, having no privilege to give. */
static void on_rule_keeper(struct ev_loop *loop, ev_io *w, int revents)
{
	struct daemon *d = w->data;

	(void)revents;
	ev_io_stop(loop, w);
	close(d->rule_fd);
	d->rule_fd = -1;
	d->rule_is_unkept = true;
}

int daemon_start_rule_keeper(struct daemon *d)
{
	int rc;

	if (!d->config->kernel_routes)
		return 0;
	rc = rule_keeper_start(&d->rule_fd, ZEBRA_SINK_TABLE, on_rule_error, d);
	if (rc)
		return rc;
	ev_io_init(&d->rule_io, on_rule_keeper, d->rule_fd, EV_READ);
	d->rule_io.data = d;
	ev_io_start(d->loop, &d->rule_io);
	return 0;
}

void daemon_set_kernel_routes(struct daemon *d)
{
	bool on = d->config->kernel_routes;
	int rc = d->rule_fd >= 0 ? rule_keeper_set(d->rule_fd, on)
				 : kernel_rule_set(ZEBRA_SINK_TABLE, on);

	if (rc)
		on_rule_error(d, on, rc);
	zebra_sink_set_config(d->kernel, d->config, frr_version(d, d->config));
}

/* Once for each release that is met. */
static void log_trouble(const struct daemon *d, const char *description)
{
	bool is_unusable;
	const char *trouble = frr_release_trouble(description, &is_unusable);

	if (trouble && strcmp(description, d->frr_version) != 0)
		log_line(d->log, is_unusable ? LOG_ERR : LOG_WARNING, "source", "%s: %s",
			 description, trouble);
}

/* bgpd and zebra are of one FRR: what BMP says of one decides the protocol of the other. */
static void on_router(void *arg, const char *description)
{
	const struct hook *hook = arg;
	struct daemon *d = hook->daemon;

	if (!strstr(description, "FRR"))
		return;
	log_trouble(d, description);
	snprintf(d->frr_version, sizeof(d->frr_version), "%s", description);
	if (d->zapi)
		zapi_source_set_version(d->zapi, description);
	zebra_sink_set_config(d->kernel, d->config, description);
}

static const struct bgp_source_handlers source_handlers = {
	.on_path = daemon_on_path,
	.on_state = on_state,
	.on_log = on_source_log,
	.on_router = on_router,
};

/*
 * At the start of the daemon a zebra that cannot be connected to costs the cross-check, and no
 * more; a reload (all_or_none) then changes nothing.
 */
int daemon_start_sources(struct daemon *d, struct config *config, bool all_or_none)
{
	struct zapi_source *zapi = NULL;
	struct bmp_source *bmp;
	int rc =
		bmp_source_create(&bmp, d->loop, &config->bmp_address, d->bmp_uid, config->stale_ns,
				  &config->bgp, &source_handlers, &d->hooks[PATH_SOURCE_BMP]);

	if (rc) {
		log_line(d->log, LOG_ERR, "bmp", "cannot start: %s", strerror(-rc));
		return rc;
	}
	if (config->zserv_path[0]) {
		rc = zapi_source_create(&zapi, d->loop, config->zserv_path, frr_version(d, config),
					&config->bgp, &source_handlers,
					&d->hooks[PATH_SOURCE_ZSERV]);
		if (rc && all_or_none) {
			bmp_source_destroy(bmp);
			return rc;
		}
		if (rc)
			log_line(d->log, LOG_WARNING, "zserv", "no cross-check against zebra: %s",
				 strerror(-rc));
	}
	bmp_source_destroy(d->bmp);
	zapi_source_destroy(d->zapi);
	config_destroy(d->source_config);
	d->bmp = bmp;
	d->zapi = zapi;
	d->source_config = config_take(config);
	path_table_source_replaced(d->table, PATH_SOURCE_BMP, true, clock_now_ns());
	path_table_source_replaced(d->table, PATH_SOURCE_ZSERV, zapi != NULL, clock_now_ns());
	if (zapi && !frr_version(d, config))
		on_state(&d->hooks[PATH_SOURCE_ZSERV], BGP_SOURCE_DOWN,
			 "waiting for BMP to name FRR's release (bgp.frr_version)");
	return 0;
}
