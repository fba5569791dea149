/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.h - what each request on the control socket does.
 *
 * Owns nothing. In: a checked request and who sent it. Out: the reply; drains to the path table,
 * connection tables to flows. Thread: the loop's. Who may what: enum
 * control_role.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "control.h"
#include "report.h"

/* What is for the daemon as a whole: each returns the reply. Only asked for operators. */
struct commands_handlers {
	json_t *(*on_reload)(void *arg, const struct control_client *client,
			     const struct control_request *request);
	json_t *(*on_confirm)(void *arg, const struct control_client *client);
	json_t *(*on_trace)(void *arg, struct control_client *client,
			    const struct control_request *request);
};

struct commands {
	struct report report; /* now_ns is set by the caller before each request */
	struct path_table *table;
	struct events *events;
	struct flows *flows;
	uint64_t wall_ns;
	const struct commands_handlers *handlers;
	void *arg;
};

json_t *commands_answer(struct commands *c, struct control_client *client,
			const struct control_request *request, int fd);

#endif
