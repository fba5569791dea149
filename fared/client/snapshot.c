/* SPDX-License-Identifier: BSD-2-Clause */
/* snapshot.c - see snapshot.h */
#include "snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "control_client.h"
#include "path_sums.h"

static json_t *snapshot_ask(struct snapshot *s, struct control_client *c, const char *what,
			    const char *cursor_key, json_int_t cursor)
{
	json_t *request, *reply;

	if (s->why[0]) /* a reply that came too late would be taken for the next one's */
		return NULL;
	request = json_pack("{s:s}", "cmd", what);

	if (cursor_key && cursor)
		json_object_set_new(request, cursor_key, json_integer(cursor));
	reply = cursor_key ? control_client_ask_all(c, request, what, cursor_key)
			   : control_client_ask(c, request);

	if (!reply && !s->why[0])
		snprintf(s->why, sizeof(s->why), "%s: %.200s", what, control_client_why(c));
	json_decref(request);
	return reply;
}

/* A page of rows at a time: there may be more of them than anybody would want to keep. */
static json_t *sum_qps(struct snapshot *s, struct control_client *c)
{
	json_t *request = json_pack("{s:s}", "cmd", "qps"), *sums = json_object(),
	       *known = s->paths ? path_sums_known(json_object_get(s->paths, "paths")) : NULL,
	       *reply, *next;
	size_t n = 0;
	bool is_done = false;

	while (!is_done && !s->why[0]) {
		reply = control_client_ask(c, request);
		if (!reply) {
			snprintf(s->why, sizeof(s->why), "qps: %.200s", control_client_why(c));
			break;
		}
		path_sums_add(sums, json_object_get(reply, "qps"),
			      json_object_get(s->planes, "planes"), known);
		n += json_array_size(json_object_get(reply, "qps")) + 1;
		next = json_object_get(reply, "next_cursor");
		s->has_more_qps = json_is_integer(next) && n >= SNAPSHOT_MAX_QPS;
		is_done = !json_is_integer(next) || s->has_more_qps;
		json_object_set(request, "cursor", next);
		json_decref(reply);
	}
	json_decref(request);
	json_decref(known);
	if (is_done)
		return sums;
	json_decref(sums);
	return NULL;
}

int snapshot_take(struct snapshot *s, const char *run_dir, unsigned parts, json_int_t events_after)
{
	struct control_client *c = NULL;

	*s = (struct snapshot){.at_s = clock_now_s()};
	if (!control_client_open(&c, run_dir, s->why, sizeof(s->why)))
		s->version = snapshot_ask(s, c, "version", NULL, 0);
	if (s->version)
		s->planes = snapshot_ask(s, c, "planes", "cursor", 0);
	if (s->version && parts & SNAPSHOT_PATHS)
		s->paths = snapshot_ask(s, c, "paths", "cursor", 0);
	if (s->version && parts & SNAPSHOT_QPS)
		s->qp_sums = sum_qps(s, c);
	if (s->version && parts & SNAPSHOT_COUNTERS)
		s->counters = snapshot_ask(s, c, "counters", NULL, 0);
	if (s->version && parts & SNAPSHOT_EVENTS)
		s->events = snapshot_ask(s, c, "events", "after", events_after);
	control_client_close(c);
	s->took_s = clock_now_s() - s->at_s;
	return s->version ? 0 : -EREMOTEIO;
}

void snapshot_free(struct snapshot *s)
{
	json_decref(s->version);
	json_decref(s->planes);
	json_decref(s->paths);
	json_decref(s->qp_sums);
	json_decref(s->counters);
	json_decref(s->events);
	*s = (struct snapshot){0};
}
