/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "config.h"
#include "config_list.h"
#include "drain_file.h"
#include "queue_class.h"

#define NS_PER_S   1e9
#define DRAIN_ROWS 8u

double report_age_s(const struct report *r, uint64_t since_ns)
{
	return r->now_ns > since_ns ? (double)(r->now_ns - since_ns) / NS_PER_S : 0;
}

uint32_t report_page_rows(const struct control_request *request)
{
	return request->limit < REPORT_PAGE_ROWS ? request->limit : REPORT_PAGE_ROWS;
}

json_t *report_page(const char *key, json_t *rows, bool more, uint64_t cursor)
{
	return json_pack("{s:b, s:o, s:o}", "ok", 1, key, rows, "next_cursor",
			 more ? json_integer((json_int_t)cursor) : json_null());
}

/* ---- planes -------------------------------------------------------------- */

static json_t *source_row(const struct report *r, enum path_source source)
{
	struct path_source_view view;

	path_table_source(r->table, source, &view);
	return json_pack("{s:s, s:b, s:s, s:s, s:f}", "source", path_source_name(source),
			 "configured", view.configured, "state", path_source_state_name(view.state),
			 "reason", view.reason, "since_s", report_age_s(r, view.entered_ns));
}

/* Probing is a source of verdicts as the others are of routes. */
static json_t *probes_row(const struct report *r)
{
	const struct probe_ports *p = r->ports;
	char reason[200] = "not configured: health.enabled";
	bool is_whole = p && !p->subject[0];

	if (is_whole)
		snprintf(reason, sizeof(reason), "has its UDP ports");
	else if (p)
		snprintf(reason, sizeof(reason), "%s %s", p->subject, p->reason);
	return json_pack("{s:s, s:b, s:s, s:s, s:f}", "source", "probes", "configured", p != NULL,
			 "state", is_whole ? "up" : "down", "reason", reason, "since_s",
			 p ? report_age_s(r, p->since_ns) : 0.);
}

static json_t *sub_port_rows(const struct report *r, uint32_t gpu, uint32_t plane)
{
	const struct config_plane *config = &r->config->gpus[gpu].planes[plane];
	uint32_t drained = path_table_drained(r->table, gpu, plane);
	json_t *rows = json_array();

	for (uint32_t s = 0; s < config->n_sub_ports; s++) {
		enum links_state state;
		uint64_t speed_bps;

		if (!links_view(r->links, gpu, plane, s, &state, &speed_bps))
			continue;
		json_array_append_new(
			rows, json_pack("{s:i, s:s, s:b, s:s, s:I, s:s, s:b}", "sub_port", (int)s,
					"dev", config->sub_ports[s].dev, "up", state == LINKS_UP,
					"state", links_state_name(state), "speed_bps",
					(json_int_t)speed_bps, "speed_from",
					config->sub_ports[s].speed_bps ? "configuration" : "driver",
					"drained", (int)(drained >> s & 1)));
	}
	return rows;
}

struct tally {
	uint32_t n, usable;
	uint32_t by_verdict[FARE_VERDICT_COUNT];
};

/* false: there is no such path. */
static bool count_path(const struct report *r, uint32_t pair, uint32_t plane, struct tally *tally,
		       uint64_t *usable_bps)
{
	enum fare_verdict verdict;

	if (!path_table_verdict(r->table, pair, plane, &verdict, usable_bps))
		return false;
	tally->n++;
	tally->usable += *usable_bps > 0;
	tally->by_verdict[verdict]++;
	return true;
}

static json_t *verdicts(const struct tally *tally)
{
	json_t *out = json_object();

	for (int v = 0; v < FARE_VERDICT_COUNT; v++)
		if (tally->by_verdict[v])
			json_object_set_new(out, fare_verdict_name((enum fare_verdict)v),
					    json_integer(tally->by_verdict[v]));
	return out;
}

static json_t *probe_count(const struct report *r, uint64_t n)
{
	return r->prober ? json_integer((json_int_t)n) : json_null();
}

static json_t *rtt_us(uint64_t ns)
{
	return ns ? json_real((double)ns / 1e3) : json_null();
}

/* How probes are queued beside data, as pairs of probes have measured it. */
static void add_queueing(const struct report *r, uint32_t gpu, uint32_t plane, json_t *row)
{
	const struct queue_class *q = r->prober ? prober_queue_class(r->prober, gpu, plane) : NULL;

	json_object_set_new(row, "probes_queued",
			    q ? json_string(queue_class_name(queue_class_finding(q)))
			      : json_null());
	json_object_set_new(row, "queue_pairs",
			    q ? json_integer(q->n_before + q->n_behind) : json_null());
	json_object_set_new(row, "probe_queue_us",
			    q ? rtt_us(q->longest_ns[QUEUE_CLASS_PROBE]) : json_null());
	json_object_set_new(row, "data_queue_us",
			    q ? rtt_us(q->longest_ns[QUEUE_CLASS_DATA]) : json_null());
}

static json_t *plane_row(const struct report *r, uint32_t gpu, uint32_t plane,
			 const struct tally *tally)
{
	uint32_t n_live;
	uint64_t local_bps = path_table_local_bps(r->table, gpu, plane, &n_live);
	struct prober_totals probes = {0};
	json_t *row;

	if (r->prober)
		prober_totals(r->prober, gpu, plane, &probes);
	row = json_pack("{s:s, s:i, s:i, s:I, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o}",
			"local_gpu", r->config->gpus[gpu].name, "local_gpu_index", (int)gpu,
			"plane", (int)plane, "local_bps", (json_int_t)local_bps, "live_sub_ports",
			(int)n_live, "configured_sub_ports",
			(int)r->config->gpus[gpu].planes[plane].n_sub_ports, "paths", (int)tally->n,
			"usable_paths", (int)tally->usable, "verdicts", verdicts(tally),
			"sub_ports", sub_port_rows(r, gpu, plane), "probes_sent",
			probe_count(r, probes.n_sent), "probes_lost", probe_count(r, probes.n_lost),
			"probe_downs", probe_count(r, probes.n_downs));
	add_queueing(r, gpu, plane, row);
	return row;
}

/* The cursor counts (GPU, plane) as gpu * FARE_MAX_PLANES + plane. Sources are in every page. */
json_t *report_planes(const struct report *r, const struct control_request *request)
{
	struct tally tallies[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES] = {0};
	uint64_t at = request->cursor, n = (uint64_t)r->config->n_gpus * FARE_MAX_PLANES, bps;
	json_t *rows = json_array(), *sources = json_array(), *reply;
	struct in6_addr peer;
	uint32_t gpu;

	for (uint32_t i = 0; i < path_table_end(r->table); i++)
		for (uint32_t p = 0; path_table_pair(r->table, i, &gpu, &peer) &&
				     count_path(r, i, p, &tallies[gpu][p], &bps);
		     p++)
			;
	for (; at < n && json_array_size(rows) < report_page_rows(request); at++) {
		uint32_t g = (uint32_t)(at / FARE_MAX_PLANES), p = (uint32_t)(at % FARE_MAX_PLANES);

		if (p < r->config->gpus[g].n_planes)
			json_array_append_new(rows, plane_row(r, g, p, &tallies[g][p]));
	}
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		json_array_append_new(sources, source_row(r, s));
	json_array_append_new(sources, probes_row(r));
	reply = report_page("planes", rows, at < n, at);
	json_object_set_new(reply, "sources", sources);
	return reply;
}

/* ---- peers and paths ----------------------------------------------------- */

static json_t *peer_row(const struct report *r, uint32_t pair, uint32_t gpu,
			const struct in6_addr *peer)
{
	char text[ADDRESS_TEXT_MAX];
	struct tally tally = {0};
	uint64_t usable_bps = 0, bps;

	for (uint32_t p = 0; count_path(r, pair, p, &tally, &bps); p++)
		usable_bps += bps;
	return json_pack("{s:s, s:i, s:s, s:I, s:i, s:i, s:o}", "local_gpu",
			 r->config->gpus[gpu].name, "local_gpu_index", (int)gpu, "peer",
			 address_format(peer, text), "usable_bps", (json_int_t)usable_bps, "planes",
			 (int)tally.n, "usable_planes", (int)tally.usable, "verdicts",
			 verdicts(&tally));
}

static bool wanted(const struct control_request *request, const struct in6_addr *peer)
{
	return !request->has_peer || IN6_ARE_ADDR_EQUAL(&request->peer, peer);
}

json_t *report_peers(const struct report *r, const struct control_request *request)
{
	uint64_t i = request->cursor, n = path_table_end(r->table);
	json_t *rows = json_array();
	struct in6_addr peer;
	uint32_t gpu;

	for (; i < n && json_array_size(rows) < report_page_rows(request); i++)
		if (path_table_pair(r->table, (uint32_t)i, &gpu, &peer) && wanted(request, &peer))
			json_array_append_new(rows, peer_row(r, (uint32_t)i, gpu, &peer));
	return report_page("peers", rows, i < n, i);
}

static json_t *advertised(const struct path_received *b)
{
	return b->known && b->reachable && b->kind == BGP_BANDWIDTH_VALUE ? json_real(b->bps)
									  : json_null();
}

static const char *received_text(const struct path_received *b)
{
	if (!b->known)
		return "silent";
	if (!b->reachable)
		return "unreachable";
	return b->stale || !b->confirmed ? "stale" : "reachable";
}

static const char *bandwidth_text(const struct path_received *b)
{
	if (!b->known || !b->reachable)
		return "none";
	switch (b->kind) {
	case BGP_BANDWIDTH_VALUE:
		return "value";
	case BGP_BANDWIDTH_INVALID:
		return "invalid";
	case BGP_BANDWIDTH_ABSENT:
		break;
	}
	return "absent";
}

/* What probing has found of a path: null if it has not looked. */
static json_t *probe_json(const struct report *r, const struct path_view *v)
{
	struct prober_view p;

	if (!r->prober || !prober_path(r->prober, v->local_gpu, &v->peer, v->plane, r->now_ns, &p))
		return json_null();
	return json_pack(
		"{s:s, s:b, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:b, s:i, "
		"s:f, s:i, s:i, s:i, s:o, s:o, s:i, s:i}",
		"state", probe_state_name(p.state), "probed", p.wanted, "where",
		probe_where_name(p.where), "reason", p.reason, "permille", (int)p.permille,
		"loss_ppm", (int)p.loss_ppm, "window_probes", (int)p.n_window, "sent",
		(json_int_t)p.n_sent, "lost", (json_int_t)p.n_lost, "downs", (json_int_t)p.n_downs,
		"rtt_p50_us", rtt_us(p.rtt_p50_ns), "rtt_p99_us", rtt_us(p.rtt_p99_ns),
		"third_party", p.third_party, "hold_ms", (int)p.hold_ms, "since_s",
		report_age_s(r, p.since_ns), "gray_local_sub_ports", (int)p.gray_local,
		"gray_remote_sub_ports", (int)p.gray_remote, "returning_local_sub_ports",
		(int)p.returning_local, "path_mtu",
		p.mtu_wanted && p.mtu_is_proven ? json_integer(p.mtu_carried) : json_null(),
		"path_mtu_wanted", p.mtu_wanted ? json_integer(p.mtu_wanted) : json_null(),
		"small_local_sub_ports", (int)p.small_local, "small_remote_sub_ports",
		(int)p.small_remote);
}

static json_t *path_row(const struct report *r, const struct path_view *v)
{
	const struct path_received *bmp = &v->received[PATH_SOURCE_BMP],
				   *zserv = &v->received[PATH_SOURCE_ZSERV];
	char text[ADDRESS_TEXT_MAX];

	return json_pack("{s:s, s:i, s:s, s:i, s:s, s:I, s:I, s:o, s:s, s:o, s:i, s:i, s:s, s:s, "
			 "s:s, s:b, s:b, s:i, s:s, s:f, s:o, s:o}",
			 "local_gpu", r->config->gpus[v->local_gpu].name, "local_gpu_index",
			 (int)v->local_gpu, "peer", address_format(&v->peer, text), "plane",
			 (int)v->plane, "verdict", fare_verdict_name(v->verdict), "usable_bps",
			 (json_int_t)v->usable_bps, "local_bps", (json_int_t)v->local_bps,
			 "advertised_bps", advertised(bmp), "advertised", bandwidth_text(bmp),
			 "zserv_weight", advertised(zserv), "live_sub_ports",
			 (int)v->n_live_sub_ports, "configured_sub_ports", (int)v->n_sub_ports,
			 "route_source", path_route_source_name(v->route_source), "bmp",
			 received_text(bmp), "zserv", received_text(zserv), "normalised",
			 v->normalised, "drained", v->drained, "drained_sub_ports",
			 (int)v->drained_sub_ports, "reason", v->reason, "since_s",
			 report_age_s(r, v->since_ns), "probe", probe_json(r, v), "noticed_bps",
			 v->noticed && v->noticed_bps != UINT64_MAX
				 ? json_integer((json_int_t)v->noticed_bps)
				 : json_null());
}

/* Cheap, unlike a view: most paths of a large table are none of those asked for. */
static bool path_wanted(const struct report *r, const struct control_request *request,
			uint32_t pair, uint32_t plane)
{
	struct in6_addr peer;
	uint32_t gpu;

	return (!request->has_plane || request->plane == plane) &&
	       path_table_pair(r->table, pair, &gpu, &peer) && wanted(request, &peer);
}

/* The cursor counts (pair, plane) as pair * FARE_MAX_PLANES + plane, so a page may end inside a
 * pair. */
json_t *report_paths(const struct report *r, const struct control_request *request)
{
	uint64_t i = request->cursor, n = (uint64_t)path_table_end(r->table) * FARE_MAX_PLANES;
	json_t *rows = json_array();
	struct path_view view;

	for (; i < n && json_array_size(rows) < report_page_rows(request); i++) {
		uint32_t pair = (uint32_t)(i / FARE_MAX_PLANES),
			 plane = (uint32_t)(i % FARE_MAX_PLANES);

		if (path_wanted(r, request, pair, plane) &&
		    path_table_view(r->table, pair, plane, &view))
			json_array_append_new(rows, path_row(r, &view));
	}
	return report_page("paths", rows, i < n, i);
}

/* Each row counts paths over the whole table, so a page has few. */
json_t *report_drains(const struct report *r, const struct control_request *request)
{
	const struct drain_set *set = path_table_drains(r->table);
	uint32_t most =
		report_page_rows(request) < DRAIN_ROWS ? report_page_rows(request) : DRAIN_ROWS;
	json_t *rows = json_array();
	uint64_t i = request->cursor;

	for (; i < set->n && json_array_size(rows) < most; i++) {
		json_t *row = drain_file_rule(r->config, &set->rules[i]);

		json_object_set_new(row, "paths",
				    json_integer(path_table_drain_count(r->table, &set->rules[i])));
		json_array_append_new(rows, row);
	}
	return report_page("drains", rows, i < set->n, i);
}

/* ---- flows and QPs ------------------------------------------------------- */

struct flow_rows {
	const struct report *r;
	json_t *rows;
};

static void add_flow(void *arg, const struct flow *f)
{
	const struct flow_rows *to = arg;
	char key[24], peer[ADDRESS_TEXT_MAX];
	struct in6_addr address;

	memcpy(&address, f->peer, sizeof(address));
	snprintf(key, sizeof(key), "0x%016llx", (unsigned long long)f->key);
	json_array_append_new(to->rows,
			      json_pack("{s:s, s:i, s:s, s:I, s:s, s:i, s:i, s:b, s:I, s:f, s:I}",
					"client", f->name, "pid", (int)f->pid, "key", key,
					"local_gpu_index", (json_int_t)f->local_gpu, "peer",
					address_format(&address, peer), "plane", (int)f->plane,
					"slot_index", (int)f->slot_index, "in_use", f->in_use,
					"udp_source_port", (json_int_t)f->udp_source_port, "idle_s",
					report_age_s(to->r, f->last_used_ns), "bytes",
					(json_int_t)(f->bytes & INT64_MAX)));
}

static json_t *clients_page(const struct report *r, const char *key, json_t *rows, bool more,
			    uint64_t cursor, unsigned torn)
{
	json_t *reply = report_page(key, rows, more, cursor);

	json_object_set_new(reply, "clients", json_integer(flows_n_clients(r->flows)));
	json_object_set_new(reply, "left_out_while_being_written", json_integer(torn));
	return reply;
}

json_t *report_flows(const struct report *r, const struct control_request *request)
{
	struct flow_rows to = {r, json_array()};
	uint64_t cursor = request->cursor;
	unsigned torn;
	bool done;

	flows_read(r->flows, &cursor, report_page_rows(request), &done, &torn, add_flow, &to);
	return clients_page(r, "flows", to.rows, !done, cursor, torn);
}

static json_t *known(int number)
{
	return number < 0 ? json_null() : json_integer(number);
}

static void add_qp(void *arg, const struct flow_qp *q)
{
	const struct flow_rows *to = arg;
	char peer[ADDRESS_TEXT_MAX];
	struct in6_addr address;

	memcpy(&address, q->peer, sizeof(address));
	json_array_append_new(
		to->rows,
		json_pack("{s:s, s:i, s:I, s:I, s:s, s:o, s:i, s:s, s:s?, s:I, s:o, s:i, s:o, s:f, "
			  "s:I}",
			  "client", q->name, "pid", (int)q->pid, "group", (json_int_t)q->group,
			  "local_gpu_index", (json_int_t)q->local_gpu, "peer",
			  address_format(&address, peer), "plane", known(q->plane), "index",
			  (int)q->index, "state", q->state, "error",
			  q->error ? strerror(q->error) : NULL, "qpn", (json_int_t)q->qpn,
			  "udp_source_port", known(q->udp_source_port ? q->udp_source_port : -1),
			  "local_sub_port", (int)q->local_sub_port, "remote_sub_port",
			  known(q->remote_sub_port), "since_s", report_age_s(to->r, q->since_ns),
			  "bytes", (json_int_t)(q->bytes & INT64_MAX)));
}

json_t *report_qps(const struct report *r, const struct control_request *request)
{
	struct flow_rows to = {r, json_array()};
	uint64_t cursor = request->cursor;
	unsigned torn;
	bool done;

	flows_read_qps(r->flows, &cursor, report_page_rows(request), &done, &torn, add_qp, &to);
	return clients_page(r, "qps", to.rows, !done, cursor, torn);
}

/* ---- events -------------------------------------------------------------- */

json_t *report_event(const struct event *e)
{
	return json_pack("{s:I, s:I, s:I, s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:i, s:i}", "seq",
			 (json_int_t)e->seq, "mono_ns", (json_int_t)e->mono_ns, "wall_ns",
			 (json_int_t)e->wall_ns, "topic", e->topic, "subject", e->subject, "plane",
			 e->plane < 0 ? json_null() : json_integer(e->plane), "from", e->from, "to",
			 e->to, "reason", e->reason, "evidence", e->evidence, "n", (int)e->n,
			 "priority", e->priority);
}

static bool event_wanted(const struct control_request *request, const struct event *e)
{
	return e->wall_ns >= request->since_ns && e->priority <= request->level &&
	       (!request->topic[0] || !strcmp(e->topic, request->topic)) &&
	       (!request->has_plane || e->plane == (int)request->plane);
}

json_t *report_events(const struct report *r, const struct control_request *request)
{
	uint64_t after = request->cursor;
	json_t *rows = json_array();
	const struct event *e;

	while (json_array_size(rows) < report_page_rows(request) &&
	       (e = events_after(r->events, after))) {
		if (event_wanted(request, e))
			json_array_append_new(rows, report_event(e));
		after = e->seq;
	}
	return report_page("events", rows, events_after(r->events, after) != NULL, after);
}

json_t *report_version(const struct report *r)
{
	struct publish_stats stats;

	publish_stats(r->publish, &stats);
	return json_pack("{s:b, s:s, s:s, s:f, s:i, s:b, s:s*, s:i, s:I, s:I}", "ok", 1, "version",
			 FARE_VERSION, "node", r->config->node, "uptime_s",
			 report_age_s(r, r->started_ns), "pairs", (int)path_table_n_pairs(r->table),
			 "adopted", !stats.why_new, "why_new", stats.why_new, "pairs_adopted",
			 (int)stats.pairs_adopted, "pairs_published",
			 (json_int_t)stats.pairs_published, "pairs_refused",
			 (json_int_t)stats.pairs_refused);
}

static json_t *config_row(const struct config_entry *e)
{
	return json_pack("{s:s, s:s, s:s}", "key", e->key, "value", e->value, "reload",
			 config_effect_name(e->effect));
}

json_t *report_config(const struct report *r, const struct control_request *request)
{
	uint64_t i = request->cursor;
	struct config_list *list;
	json_t *rows, *reply;

	if (config_list_create(&list, r->config))
		return NULL;
	rows = json_array();
	for (; i < list->n && json_array_size(rows) < report_page_rows(request); i++)
		json_array_append_new(rows, config_row(&list->entries[i]));
	reply = report_page("config", rows, i < list->n, i);
	config_list_destroy(list);
	json_object_set_new(reply, "trial", r->trial ? json_string(r->trial) : json_null());
	return reply;
}
