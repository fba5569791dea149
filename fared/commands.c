/* SPDX-License-Identifier: BSD-2-Clause */
/* commands.c - see commands.h */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <syslog.h>

#include "address.h"
#include "why.h"

static json_t *drain(struct commands *c, const struct control_client *client,
		     const struct control_request *request)
{
	struct event event = {
		.priority = LOG_NOTICE, .plane = (int)request->plane, .topic = "drain"};
	bool drained = request->command == CONTROL_DRAIN;
	char peer[ADDRESS_TEXT_MAX] = "all";
	int n;

	if (!client->privileged)
		return control_error(
			"permission denied: draining is for root and the daemon's user");
	n = path_table_drain(c->table, request->has_peer ? &request->peer : NULL, request->plane,
			     drained);
	if (n == -ENOENT)
		return control_error("no such peer; farectl show peers lists them");
	if (n < 0)
		return control_error("no such plane; farectl show planes lists them");
	if (request->has_peer)
		address_format(&request->peer, peer);
	snprintf(event.subject, sizeof(event.subject), "%s", peer);
	snprintf(event.to, sizeof(event.to), "%s", drained ? "drained" : "undrained");
	snprintf(event.reason, sizeof(event.reason), "asked for by uid=%u pid=%d paths=%d",
		 (unsigned)client->uid, (int)client->pid, n);
	events_add(c->events, &event, c->report.now_ns, c->wall_ns);
	return json_pack("{s:b, s:i}", "ok", 1, "paths", n);
}

static json_t *attach(struct commands *c, struct control_client *client,
		      const struct control_request *request, int fd)
{
	char why[128];
	int id;

	if (fd < 0)
		return control_error("attach needs one memfd beside the request (SCM_RIGHTS)");
	if (client->attached >= 0)
		return control_error("this connection has attached a table already; open another");
	id = flows_attach(c->flows, fd, request->name, client->pid, why, sizeof(why));
	if (id < 0) {
		client->finished = true; /* it would only sit on a place that others could use */
		return control_error(why);
	}
	client->attached = id;
	return json_pack("{s:b, s:i}", "ok", 1, "client", id);
}

json_t *commands_answer(struct commands *c, struct control_client *client,
			const struct control_request *request, int fd)
{
	switch (request->command) {
	case CONTROL_PLANES:
		return report_planes(&c->report);
	case CONTROL_PEERS:
		return report_peers(&c->report, request);
	case CONTROL_PATHS:
		return report_paths(&c->report, request);
	case CONTROL_FLOWS:
		return report_flows(&c->report, request);
	case CONTROL_QPS:
		return report_qps(&c->report, request);
	case CONTROL_EVENTS:
		return report_events(&c->report, request);
	case CONTROL_WHY:
		return why_reply(&c->report, request);
	case CONTROL_DRAIN:
	case CONTROL_UNDRAIN:
		return drain(c, client, request);
	case CONTROL_WATCH:
		client->watching = true;
		return json_pack("{s:b, s:I}", "ok", 1, "after",
				 (json_int_t)events_last_seq(c->events));
	case CONTROL_ATTACH:
		return attach(c, client, request, fd);
	case CONTROL_COUNTERS:
		return report_counters(&c->report);
	case CONTROL_VERSION:
		return report_version(&c->report);
	case CONTROL_COMMAND_COUNT:
		break;
	}
	return control_error("unknown command");
}
