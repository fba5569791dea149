/* SPDX-License-Identifier: BSD-2-Clause */
#include "why.h"

#include <stdarg.h>
#include <stdio.h>

#include "addresses.h"
#include "base/address.h"
#include "bmp_source.h"
#include "config.h"
#include "control.h"

__attribute__((format(printf, 2, 3))) static void add_line(json_t *lines, const char *format, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_array_append_new(lines, json_string(text));
}

static void add_local(const struct report *r, const struct path_view *v, json_t *lines)
{
	static const char *const faults[] = {
		[ADDRESS_OK] = "",
		[ADDRESS_SHARED] = "; its subnet is another plane's, too",
		[ADDRESS_OFF_SUBNET] = "; no address in its neighbour's subnet",
		[ADDRESS_TENTATIVE] = "; its address is tentative",
		[ADDRESS_DUPLICATE] = "; its address is another host's as well",
		[ADDRESS_MISSING] = "; no address",
	};
	const struct config_plane *config = &r->config->gpus[v->local_gpu].planes[v->plane];
	bool is_v6 = !IN6_IS_ADDR_V4MAPPED(&v->peer);

	add_line(lines, "  local:      %.6g Gb/s, %u of %u sub-ports live",
		 (double)v->local_bps / 1e9, v->n_live_sub_ports, v->n_sub_ports);
	for (uint32_t s = 0; s < config->n_sub_ports; s++) {
		enum links_state state;
		uint64_t bps;

		if (links_view(r->links, v->local_gpu, v->plane, s, &state, &bps))
			add_line(lines, "              %s %s, %.6g Gb/s (%s)%s",
				 config->sub_ports[s].dev, links_state_name(state),
				 (double)bps / 1e9,
				 config->sub_ports[s].speed_bps ? "configured" : "from the driver",
				 faults[addresses_sub_port(r->addresses, v->local_gpu, v->plane, s,
							   is_v6)]);
	}
}

static void add_received(const struct report *r, const struct path_view *v, enum path_source source,
			 json_t *lines)
{
	const struct path_received *b = &v->received[source];
	const char *name = source == PATH_SOURCE_BMP ? "BMP:  " : "zserv:";
	struct path_source_view view;
	char text[64];

	path_table_source(r->table, source, &view);
	if (!view.configured) {
		add_line(lines, "  %s      not configured", name);
		return;
	}
	if (!b->known)
		snprintf(text, sizeof(text), "never advertised this path");
	else if (!b->reachable)
		snprintf(text, sizeof(text), "unreachable for %.1f s",
			 report_age_s(r, b->since_ns));
	else if (b->kind != BGP_BANDWIDTH_VALUE)
		snprintf(text, sizeof(text), "reachable, %s bandwidth",
			 b->kind == BGP_BANDWIDTH_ABSENT ? "no" : "invalid");
	else if (source == PATH_SOURCE_BMP)
		snprintf(text, sizeof(text), "advertises %.6g Gb/s", b->bps / 1e9);
	else
		snprintf(text, sizeof(text), "installed, relative weight %.6g", b->bps);
	add_line(lines, "  %s      %s%s%s; session %s for %.1f s (%s)", name, text,
		 b->known && b->reachable && b->stale ? " (stale)" : "",
		 b->known && b->reachable && !b->confirmed
			 ? " (not repeated since the session was replaced)"
			 : "",
		 path_source_state_name(view.state), report_age_s(r, view.entered_ns), view.reason);
	if (b->known)
		add_line(lines, "              last received %.1f s ago",
			 report_age_s(r, b->received_ns));
}

/* Not of this path alone, but of all that probes say. */
static void add_ports(const struct report *r, json_t *lines)
{
	if (r->ports && r->ports->subject[0])
		add_line(lines, "  probes:     %s is %s", r->ports->subject, r->ports->reason);
}

static const char *downs_text(uint64_t n, char *out, size_t size)
{
	if (n > 1)
		snprintf(out, size, "went down %llu times", (unsigned long long)n);
	return n == 0 ? "never down" : n == 1 ? "went down once" : out;
}

static void add_probe(const struct report *r, const struct prober_view *p, json_t *lines)
{
	char downs[48], evidence[120];

	if (!p) {
		add_line(lines, "  probes:     %s",
			 r->prober ? "none sent yet" : "off (health.enabled)");
		return;
	}
	add_line(lines, "  probes:     %s for %.1f s%s: %s", probe_state_name(p->state),
		 report_age_s(r, p->since_ns),
		 p->wanted ? "" : " (not sent while there is no route)", p->reason);
	add_line(lines,
		 "              %.2f%% of the last %u lost; round trip p50 %.3g ms, p99 %.3g ms; "
		 "%llu sent, %s%s",
		 p->loss_ppm / 1e4, p->n_window, (double)p->rtt_p50_ns / 1e6,
		 (double)p->rtt_p99_ns / 1e6, (unsigned long long)p->n_sent,
		 downs_text(p->n_downs, downs, sizeof(downs)),
		 p->third_party ? "; a foreign reflector (no arrival reports)" : "");
	if (p->trial_wanted)
		add_line(lines,
			 "              sub-port out of use: %u of %u tries in a row answered",
			 p->trial_passes, p->trial_wanted);
	probe_numbers_text(&p->last_down, evidence, sizeof(evidence));
	if (evidence[0])
		add_line(lines, "              last down: %s", evidence);
	if (p->hold_ms)
		add_line(lines, "              held down for another %u ms: it has been flapping",
			 p->hold_ms);
}

/* "256 bytes"; 0: less. */
static const char *mtu_text(uint32_t bytes, char out[32])
{
	if (bytes)
		snprintf(out, 32, "%u bytes", bytes);
	else
		snprintf(out, 32, "less than 256 bytes");
	return out;
}

static void add_small(uint32_t small, const uint16_t *mtu, const char *whose, json_t *lines)
{
	char text[32];

	for (uint32_t s = 0; s < FARE_MAX_SUB_PORTS; s++)
		if (small >> s & 1)
			add_line(lines, "              %s sub-port %u: %s", whose, s,
				 mtu_text(mtu[s], text));
}

static void add_mtu(const struct prober_view *p, json_t *lines)
{
	char text[32];

	if (!p || !p->mtu_wanted)
		return;
	if (p->mtu_is_proven)
		add_line(lines, "  path MTU:   found %s, wanted %u", mtu_text(p->mtu_carried, text),
			 p->mtu_wanted);
	else
		add_line(lines, "  path MTU:   %s, wanted %u",
			 p->mtu_carried < p->mtu_wanted
				 ? "less than wanted; what passes is being found"
				 : "not probed (no answer that reports sizes)",
			 p->mtu_wanted);
	add_small(p->small_local, p->mtu_local, "local", lines);
	add_small(p->small_remote, p->mtu_remote, "the peer's", lines);
}

static void add_peer_notice(const struct path_view *v, json_t *lines)
{
	if (v->noticed && v->noticed_bps != UINT64_MAX)
		add_line(lines, "  notice:     the peer says that its ports carry %.6g Gb/s",
			 (double)v->noticed_bps / 1e9);
}

static void add_crossed(const struct prober_view *p, const struct path_view *v, json_t *lines)
{
	if (!v->probe.crossed || !p)
		return;
	if (p->crossed_plane < 0)
		add_line(lines, "  crossed:    replies come in by a device that is no sub-port");
	else
		add_line(lines, "  crossed:    %s plane %d (sub-port %d)",
			 p->is_crossed_there ? "the peer receives this plane's probes on"
					     : "replies come in over",
			 p->crossed_plane, __builtin_ctz(v->probe.crossed));
}

static void add_kernel_route(const struct path_view *v, json_t *lines)
{
	if (v->kernel_route == PATH_KERNEL_ELSEWHERE)
		add_line(lines, "  kernel:     its route to the peer leads out of no sub-port");
	else if (v->kernel_route == PATH_KERNEL_NONE)
		add_line(lines, "  kernel:     it has no route to the peer over this plane");
}

/* The BGP sessions of the plane, as BMP shows them. */
static void add_sessions(const struct report *r, const struct path_view *v, json_t *lines)
{
	static const char *const states[] = {"not shown by BMP", "down", "up"};
	const struct bgp_source_config *bgp = &r->config->bgp;
	char text[BGP_NEIGHBOR_TEXT_MAX];

	for (size_t i = 0; r->bmp && i < bgp->n_neighbors; i++)
		if (bgp->neighbors[i].local_gpu == v->local_gpu &&
		    bgp->neighbors[i].plane == v->plane &&
		    bmp_source_session(r->bmp, i) != BMP_SESSION_UP)
			add_line(lines, "  session:    %s: %s",
				 bgp_neighbor_format(&bgp->neighbors[i], text),
				 states[bmp_source_session(r->bmp, i)]);
}

static void add_path(const struct report *r, const struct path_view *v, json_t *lines)
{
	struct prober_view view;
	const struct prober_view *p = r->prober && prober_path(r->prober, v->local_gpu, &v->peer,
							       v->plane, r->now_ns, &view)
					      ? &view
					      : NULL;
	char peer[ADDRESS_TEXT_MAX];

	add_line(lines, "%s -> %s, plane %u: %s, usable %.6g Gb/s",
		 r->config->gpus[v->local_gpu].name, address_format(&v->peer, peer), v->plane,
		 fare_verdict_name(v->verdict), (double)v->usable_bps / 1e9);
	add_line(lines, "  because:    %s (rule %u of fared(8); for %.1f s)", v->reason, v->rule,
		 report_age_s(r, v->since_ns));
	if (v->normalised)
		add_line(lines, "  note:       from relative weights: only the ratio between this "
				"peer's planes means anything");
	add_local(r, v, lines);
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		add_received(r, v, s, lines);
	add_sessions(r, v, lines);
	add_kernel_route(v, lines);
	add_crossed(p, v, lines);
	add_ports(r, lines);
	add_probe(r, p, lines);
	add_mtu(p, lines);
	add_peer_notice(v, lines);
	if (v->route_source == PATH_FROM_ADOPTED)
		add_line(lines, "  adopted:    %.6g Gb/s, as the former daemon published it",
			 (double)v->adopted_bps / 1e9);
	add_line(lines, "  look next:  %s", v->look_next);
}

static json_t *path_json(const struct report *r, const struct path_view *v, json_t *lines)
{
	char peer[ADDRESS_TEXT_MAX];

	return json_pack("{s:s, s:s, s:i, s:s, s:i, s:s, s:I, s:f, s:s, s:o}", "local_gpu",
			 r->config->gpus[v->local_gpu].name, "peer", address_format(&v->peer, peer),
			 "plane", (int)v->plane, "verdict", fare_verdict_name(v->verdict), "rule",
			 (int)v->rule, "reason", v->reason, "usable_bps", (json_int_t)v->usable_bps,
			 "since_s", report_age_s(r, v->since_ns), "look_next", v->look_next,
			 "lines", lines);
}

json_t *why_reply(const struct report *r, const struct control_request *request)
{
	json_t *paths = json_array();
	char missing[280], text[340];
	struct path_view view;
	uint32_t pair;
	bool known = false;

	for (uint32_t g = 0; g < r->config->n_gpus; g++) {
		if (!path_table_find(r->table, g, &request->peer, &pair))
			continue;
		known = true;
		for (uint32_t p = 0; path_table_view(r->table, pair, p, &view); p++) {
			json_t *lines;

			if (request->has_plane && request->plane != p)
				continue;
			lines = json_array();
			add_path(r, &view, lines);
			json_array_append_new(paths, path_json(r, &view, lines));
		}
	}
	if (json_array_size(paths))
		return json_pack("{s:b, s:o}", "ok", 1, "why", paths);
	json_decref(paths);
	if (known)
		return control_error("no such plane; farectl show planes lists them");
	why_all_missing(r, missing, sizeof(missing));
	snprintf(text, sizeof(text), "not learned from any source: %s",
		 *missing ? missing
			  : "is that peer inside bgp.peer_prefixes, and a host route? "
			    "farectl show peers lists those known");
	return control_error(text);
}
