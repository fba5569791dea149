/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_request.h - one line of JSON from a client, checked.
 *
 * Owns nothing. In: bytes of one request. Out: struct control_request, or why not in words. Thread:
 * any. Pure.
 *
 *   {"cmd": "planes" or "peers" or "paths" or "flows" or "qps" or "events" or "why" or
 *           "drains" or "kernel" or "drain" or "undrain" or "watch" or "attach" or
 *           "counters" or "config" or "reload" or "confirm" or "trace" or "version", ...}
 *
 *   paths, peers: "peer" (and, of paths, "plane") narrow it down;
 *                 "cursor" and "limit" page through it, to where "next_cursor" is null
 *   flows, qps, planes, drains, config, kernel: "cursor", "limit"
 *   events:       "after" (a sequence number), "limit"; "since_ns" (CLOCK_REALTIME), "topic",
 *                 "plane" and "level" (as in fared.yaml) narrow it down
 *   why:          "peer" (an address), and "plane" if only one is of interest; neither: all that is
 *                 wrong
 *   drain:        "peer" (an address or "all"), and "plane" or "planes" (an array), "sub_port" (of
 *                 a plane toward all) and "gpu" (a name) if it is not to be any; undrain alike
 *   trace:        "peer" and "plane" of the path; "count" of probes, "gpu" (a name) if more than
 *                 one local GPU has it
 *   reload:       "dry_run" (true: only tell what differs), "confirm_s" (undone after so many
 *                 seconds unless "confirm" comes)
 *   attach:       one memfd beside the line (SCM_RIGHTS), "pid", and "name" if it is not to be
 *                 the one in the memfd's header
 */
#ifndef CONTROL_REQUEST_H
#define CONTROL_REQUEST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_REQUEST_MAX 4096  /* bytes of a line, newline not counted */
#define CONTROL_CONFIRM_MAX 86400 /* seconds */
#define CONTROL_TRACE_MAX   10000 /* probes */
#define CONTROL_TRACE_COUNT 100
#define CONTROL_LIMIT_MAX   4096 /* rows that may be asked for; a reply may hold fewer */

enum control_command {
	CONTROL_PLANES,
	CONTROL_PEERS,
	CONTROL_PATHS,
	CONTROL_FLOWS,
	CONTROL_QPS,
	CONTROL_EVENTS,
	CONTROL_WHY,
	CONTROL_DRAINS,
	CONTROL_KERNEL,
	CONTROL_DRAIN,
	CONTROL_UNDRAIN,
	CONTROL_WATCH,
	CONTROL_ATTACH,
	CONTROL_COUNTERS,
	CONTROL_CONFIG,
	CONTROL_RELOAD,
	CONTROL_CONFIRM,
	CONTROL_TRACE,
	CONTROL_VERSION,
	CONTROL_COMMAND_COUNT,
};

struct control_request {
	enum control_command command;
	bool has_peer; /* false with drain: "all" */
	struct in6_addr peer;
	bool has_plane;
	uint32_t plane;
	uint32_t planes;   /* drain: bit p: plane p, and then not has_plane; 0: see has_plane */
	bool has_sub_port; /* then also has_plane, and not has_peer */
	uint32_t sub_port;
	char gpu[32];	   /* "": any */
	uint64_t since_ns; /* events: CLOCK_REALTIME; 0: all */
	char topic[12];	   /* "": all */
	int level;	   /* no less important than this (syslog.h) */
	bool dry_run;
	uint32_t confirm_s; /* 0: no confirmation is waited for */
	uint32_t count;	    /* trace: 1..CONTROL_TRACE_MAX */
	uint64_t cursor;    /* of events: after */
	uint32_t limit;	    /* 1..CONTROL_LIMIT_MAX */
	char name[32];
};

/* 0 or -EBADMSG, why then says what is wrong and, for bad JSON, at which offset. */
int control_request_parse(const char *line, size_t length, struct control_request *out, char *why,
			  size_t why_size);

#endif
