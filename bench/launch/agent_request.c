/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/agent_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const agent_ops[] = {
	[AGENT_WORKERS] = "workers", [AGENT_CLOCK] = "clock",	[AGENT_COUNTERS] = "counters",
	[AGENT_FAULT] = "fault",     [AGENT_HEAL] = "heal",	[AGENT_WEIGHTS] = "weights",
	[AGENT_ROUTES] = "routes",   [AGENT_REFUSE] = "refuse", [AGENT_QUIT] = "quit",
};

static int agent_wrong(const char **why, const char *text)
{
	*why = text;
	return -EBADMSG;
}

static bool agent_number(const json_t *message, const char *name, uint64_t max, uint64_t *out)
{
	const json_t *value = json_object_get(message, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > max)
		return false;
	*out = (uint64_t)json_integer_value(value);
	return true;
}

/* For a terminal: nothing that it would obey. */
static void agent_text(const json_t *message, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(message, "text"));

	snprintf(out, size, "%s", text ? text : "");
	for (; *out; out++)
		if (*out < ' ' || *out > '~')
			*out = '?';
}

static int agent_parameters(const json_t *message, const struct inventory_host *host,
			    struct agent_request *out, const char **why)
{
	uint64_t number = 0;

	if (out->op == AGENT_WORKERS && !agent_number(message, "secret", UINT32_MAX, &number))
		return agent_wrong(why, "secret: an integer of 32 bits is expected");
	out->secret = (uint32_t)number;
	if (out->op == AGENT_FAULT &&
	    (!host->n_faults || !agent_number(message, "fault", host->n_faults - 1, &number)))
		return agent_wrong(why, "fault: the inventory has no such fault of this host");
	out->fault = (unsigned)number;
	if (out->op == AGENT_WEIGHTS && !json_is_boolean(json_object_get(message, "equal")))
		return agent_wrong(why, "equal: true or false is expected");
	if (out->op == AGENT_WEIGHTS && !host->equal[0])
		return agent_wrong(why, "the inventory has no weights commands of this host");
	out->equal = json_is_true(json_object_get(message, "equal"));
	if (out->op == AGENT_REFUSE)
		agent_text(message, out->text, sizeof(out->text));
	return 0;
}

int agent_request_read(const json_t *message, const struct inventory_host *host,
		       struct agent_request *out, const char **why)
{
	const char *op = json_string_value(json_object_get(message, "op"));

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; op && i < sizeof(agent_ops) / sizeof(agent_ops[0]); i++)
		if (strcmp(op, agent_ops[i]) == 0) {
			out->op = (enum agent_op)i;
			return agent_parameters(message, host, out, why);
		}
	return agent_wrong(why, "op: no request is named so");
}
