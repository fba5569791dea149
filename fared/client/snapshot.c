/* SPDX-License-Identifier: BSD-2-Clause */
/* snapshot.c - see snapshot.h */
#include "snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "control_client.h"

double snapshot_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static json_t *ask(struct snapshot *s, struct control_client *c, const char *what,
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

int snapshot_take(struct snapshot *s, const char *run_dir, unsigned parts, json_int_t events_after)
{
	struct control_client *c = NULL;

	*s = (struct snapshot){.at_s = snapshot_now_s()};
	if (!control_client_open(&c, run_dir, s->why, sizeof(s->why)))
		s->version = ask(s, c, "version", NULL, 0);
	if (s->version)
		s->planes = ask(s, c, "planes", "cursor", 0);
	if (s->version && parts & SNAPSHOT_PATHS)
		s->paths = ask(s, c, "paths", "cursor", 0);
	if (s->version && parts & SNAPSHOT_QPS)
		s->qps = ask(s, c, "qps", "cursor", 0);
	if (s->version && parts & SNAPSHOT_COUNTERS)
		s->counters = ask(s, c, "counters", NULL, 0);
	if (s->version && parts & SNAPSHOT_EVENTS)
		s->events = ask(s, c, "events", "after", events_after);
	control_client_close(c);
	s->took_s = snapshot_now_s() - s->at_s;
	return s->version ? 0 : -EREMOTEIO;
}

void snapshot_free(struct snapshot *s)
{
	json_decref(s->version);
	json_decref(s->planes);
	json_decref(s->paths);
	json_decref(s->qps);
	json_decref(s->counters);
	json_decref(s->events);
	*s = (struct snapshot){0};
}
