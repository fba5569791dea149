/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what the daemon knows, as JSON.
 *
 * Owns nothing. In: the daemon's modules, read only. Out: new JSON values, the caller's to free;
 * NULL: out of memory. Thread: the loop's. Keys carry their units (_bps, _ns, _s, _bytes); absent
 * values are null.
 */
#ifndef REPORT_H
#define REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "control_request.h"
#include "events.h"
#include "flows.h"
#include "links.h"
#include "path_table.h"
#include "probe_ports.h"
#include "prober.h"
#include "publish.h"
#include "reflector.h"

struct addresses;
struct bmp_source;
struct config;
struct notice_refusals;
struct zebra_sink;

struct report {
	const struct config *config;
	const struct path_table *table;
	const struct links *links;
	const struct addresses *addresses; /* NULL: not looked at */
	const struct bmp_source *bmp;	   /* NULL: not started */
	const struct events *events;
	const struct flows *flows;
	const struct publish *publish;
	const struct zebra_sink *kernel;
	const struct prober *prober;		/* NULL: nothing is probed */
	const struct reflector *reflector;	/* NULL: nothing is answered */
	const struct probe_ports *ports;	/* NULL: likewise */
	const struct notice_refusals *refusals; /* of capacity notices; NULL: likewise */
	const char *trial; /* of a reload: how it stands; NULL: there is none */
	uint64_t now_ns;   /* CLOCK_MONOTONIC */
	uint64_t started_ns;
};

json_t *report_version(const struct report *r);
json_t *report_planes(const struct report *r, const struct control_request *request);
json_t *report_peers(const struct report *r, const struct control_request *request);
json_t *report_paths(const struct report *r, const struct control_request *request);
json_t *report_config(const struct report *r, const struct control_request *request);
json_t *report_drains(const struct report *r, const struct control_request *request);
/* Which route each peer should have in the kernel (report_kernel.c). */
json_t *report_kernel(const struct report *r, const struct control_request *request);
json_t *report_flows(const struct report *r, const struct control_request *request);
json_t *report_qps(const struct report *r, const struct control_request *request);
json_t *report_events(const struct report *r, const struct control_request *request);
json_t *report_event(const struct event *event);
/* What prober and reflector have counted since they began; no rows if health is off. */
json_t *report_counters(const struct report *r);

/*
 * Of a page, whatever limit was asked for: a millisecond's work. The loop probes every three, and
 * one request is answered a turn (control.h).
 */
#define REPORT_PAGE_ROWS 64u

/* Pages of a reply: rows (taken), and the cursor of the next page or null. */
json_t *report_page(const char *key, json_t *rows, bool more, uint64_t cursor);
uint32_t report_page_rows(const struct control_request *request);

/* Seconds since then; 0 if that is yet to come. */
double report_age_s(const struct report *r, uint64_t since_ns);

#endif
