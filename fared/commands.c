/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "drain_file.h"
#include "fare_limits.h"
#include "why.h"

static json_t *not_permitted(enum control_role role)
{
	return control_error(
		role == CONTROL_OPERATOR
			? "permission denied: for root, the daemon's user and operator_group only"
			: "permission denied: for root, the daemon's user, operator_group and "
			  "attach_group only");
}

/* One, or one for each of several planes. Returns how many; 0: no local GPU has that name. */
static uint32_t rules_of(const struct commands *c, const struct control_request *request,
			 struct drain_rule out[FARE_MAX_PLANES])
{
	struct drain_rule rule = {.has_gpu = request->gpu[0] != '\0',
				  .has_peer = request->has_peer,
				  .has_plane = request->has_plane || request->planes,
				  .has_sub_port = request->has_sub_port,
				  .peer = request->peer,
				  .plane = request->plane,
				  .sub_port = request->sub_port};
	uint32_t n = 0;

	if (rule.has_gpu && !config_find_gpu(c->report.config, request->gpu, &rule.gpu))
		return 0;
	out[0] = rule;
	for (uint32_t p = 0; p < FARE_MAX_PLANES; p++)
		if (request->planes >> p & 1) {
			rule.plane = p;
			out[n++] = rule;
		}
	return n ? n : 1;
}

static void record_drained(struct commands *c, const struct control_client *client,
			   const struct drain_rule *rule, const char *what, bool drained,
			   uint32_t n_paths)
{
	struct event event = event_of(EVENT_DRAIN, rule->has_plane ? (int)rule->plane : -1);
	char reason[sizeof(event.reason)];

	snprintf(reason, sizeof(reason), "asked for by uid=%u pid=%d paths=%u",
		 (unsigned)client->uid, (int)client->pid, n_paths);
	event_fill(&event, what, NULL, drained ? "drained" : "undrained", reason);
	events_add(c->events, &event, c->report.now_ns, c->wall_ns);
}

/* First in the table, which checks them; then in the file; or in neither. */
static json_t *put_drains_in_force(struct commands *c, const struct drain_set *next)
{
	const struct drain_set before = *path_table_drains(c->table);
	char why[160];
	int rc;

	if (path_table_set_drains(c->table, next))
		return control_error(
			"no such plane or sub-port here; farectl show planes lists them");
	rc = drain_file_save(c->report.config, next);
	if (!rc)
		return NULL;
	path_table_set_drains(c->table, &before);
	snprintf(why, sizeof(why), "%.100s/" DRAIN_FILE_NAME " cannot be written: %s",
		 c->report.config->run_dir, strerror(-rc));
	return control_error(why);
}

/*
 * One of a request's rules into the next set, or out of it: then *changed tells whether it was in.
 * NULL, or why that cannot be.
 */
static json_t *change_set(const struct commands *c, struct drain_set *next,
			  const struct drain_rule *rule, bool drained, bool *changed)
{
	const struct drain_rule *other;
	char what[128], why[200];
	int dropped;

	*changed = true;
	if (drained && drain_set_add(next, rule))
		return control_error("there are as many drains as can be: drain 'all', or undrain "
				     "some of farectl show drains");
	if (drained)
		return NULL;
	dropped = drain_set_remove(next, rule, &other);
	*changed = dropped > 0;
	if (dropped == -EBUSY) {
		snprintf(why, sizeof(why), "not drained under that name; '%s' is: undrain that",
			 drain_file_text(c->report.config, other, what, sizeof(what)));
		return control_error(why);
	}
	return NULL;
}

/*
 * All of a request's rules into the next set, or out of it. A plane that was named by mistake is an
 * error; what is left of "all" is nothing in any case, as was asked for.
 */
static json_t *change_all(const struct commands *c, struct drain_set *next,
			  const struct drain_rule *rules, uint32_t n, bool drained, bool *changed)
{
	uint32_t n_changed = 0;

	for (uint32_t i = 0; i < n; i++) {
		json_t *error = change_set(c, next, &rules[i], drained, &changed[i]);

		if (error)
			return error;
		n_changed += changed[i];
	}
	return n_changed || drain_rule_is_everything(&rules[0])
		       ? NULL
		       : control_error("nothing is drained under that name; farectl show drains "
				       "lists what is");
}

/* All of them or none. */
static json_t *commands_drain(struct commands *c, const struct control_client *client,
			      const struct control_request *request)
{
	struct drain_set next = *path_table_drains(c->table);
	bool drained = request->command == CONTROL_DRAIN;
	struct drain_rule rules[FARE_MAX_PLANES];
	uint32_t n_rules = rules_of(c, request, rules), n_paths = 0;
	bool changed[FARE_MAX_PLANES] = {false};
	char whole[200] = "";
	json_t *error;

	if (!n_rules)
		return control_error("no such local GPU; farectl show planes lists them");
	error = change_all(c, &next, rules, n_rules, drained, changed);
	if (!error)
		error = put_drains_in_force(c, &next);
	if (error)
		return error;
	for (uint32_t i = 0; i < n_rules; i++) {
		uint32_t n = changed[i] ? path_table_drain_count(c->table, &rules[i]) : 0;
		size_t length = strlen(whole);
		char what[128];

		drain_file_text(c->report.config, &rules[i], what, sizeof(what));
		if (changed[i])
			record_drained(c, client, &rules[i], what, drained, n);
		if (i)
			snprintf(whole + length, sizeof(whole) - length, ", plane %u",
				 rules[i].plane);
		else
			snprintf(whole, sizeof(whole), "%s", what);
		n_paths += n;
	}
	return json_pack("{s:b, s:s, s:s, s:i}", "ok", 1, "what", whole, "now",
			 drained ? "drained" : "undrained", "paths", (int)n_paths);
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
	id = flows_attach(c->flows, fd, request->name, client->pid,
			  client->role == CONTROL_OPERATOR ? FLOWS_UNBOUNDED : client->uid, why,
			  sizeof(why));
	if (id < 0) {
		client->finished = true; /* it would only sit on a place that others could use */
		return control_error(why);
	}
	client->attached = id;
	return json_pack("{s:b, s:i}", "ok", 1, "client", id);
}

static enum control_role needed_role(enum control_command command)
{
	switch (command) {
	case CONTROL_DRAIN:
	case CONTROL_UNDRAIN:
	case CONTROL_RELOAD:
	case CONTROL_CONFIRM:
	case CONTROL_TRACE:
		return CONTROL_OPERATOR;
	case CONTROL_ATTACH:
		return CONTROL_APPLICATION;
	default:
		return CONTROL_READER;
	}
}

json_t *commands_answer(struct commands *c, struct control_client *client,
			const struct control_request *request, int fd)
{
	enum control_role needed = needed_role(request->command);

	if (client->role < needed)
		return not_permitted(needed);
	switch (request->command) {
	case CONTROL_PLANES:
		return report_planes(&c->report, request);
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
		return request->has_peer ? why_reply(&c->report, request)
					 : why_all_reply(&c->report);
	case CONTROL_DRAINS:
		return report_drains(&c->report, request);
	case CONTROL_KERNEL:
		return report_kernel(&c->report, request);
	case CONTROL_DRAIN:
	case CONTROL_UNDRAIN:
		return commands_drain(c, client, request);
	case CONTROL_WATCH:
		client->watching = true;
		return json_pack("{s:b, s:I}", "ok", 1, "after",
				 (json_int_t)events_last_seq(c->events));
	case CONTROL_ATTACH:
		return attach(c, client, request, fd);
	case CONTROL_CONFIG:
		return report_config(&c->report, request);
	case CONTROL_RELOAD:
		return c->handlers->on_reload(c->arg, client, request);
	case CONTROL_CONFIRM:
		return c->handlers->on_confirm(c->arg, client);
	case CONTROL_TRACE:
		return c->handlers->on_trace(c->arg, client, request);
	case CONTROL_COUNTERS:
		return report_counters(&c->report);
	case CONTROL_VERSION:
		return report_version(&c->report);
	case CONTROL_COMMAND_COUNT:
		break;
	}
	return control_error("unknown command");
}
