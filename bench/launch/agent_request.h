/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_request.h - what a coordinator may ask of an agent.
 *
 * Owns: the format of requests. In: one JSON object; out: a request within bounds, or why not. No
 * request carries a command, an address or a path: those are the inventory's. Pure. Thread: any.
 *
 *	request				answer
 *	{"op":"workers","secret":N}	none: a worker for each GPU of the host connects by itself
 *	{"op":"clock"}			{"event":"clock","taken_ns":T,"given_ns":T}
 *	{"op":"counters"}		{"event":"counters","counters":{NAME:N,...}}
 *	{"op":"fault","fault":I}	{"event":"fault","from_ns":T}: its I-th `down` has run
 *	{"op":"heal"}			{"event":"healed","from_ns":T}: its `up` has run
 *	{"op":"weights","equal":B}	{"event":"weights"}
 *	{"op":"routes"}			{"event":"routes","text":...}: `ip -j route`
 *	{"op":"refuse","text":...}	none: the agent ends with status 1
 *	{"op":"quit"}			none: the agent ends
 *
 * Times are of the host's monotonic clock. Whatever fails is {"event":"error","text":...}.
 */
#ifndef AGENT_REQUEST_H
#define AGENT_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "launch/inventory.h"

enum agent_op {
	AGENT_WORKERS,
	AGENT_CLOCK,
	AGENT_COUNTERS,
	AGENT_FAULT,
	AGENT_HEAL,
	AGENT_WEIGHTS,
	AGENT_ROUTES,
	AGENT_REFUSE,
	AGENT_QUIT
};

struct agent_request {
	enum agent_op op;
	uint32_t secret;
	unsigned fault; /* index within the host's faults */
	bool equal;
	char text[256]; /* printable ASCII */
};

/* host: this agent's own. -EBADMSG with *why, a static text. */
int agent_request_read(const json_t *message, const struct inventory_host *host,
		       struct agent_request *out, const char **why);

#endif
