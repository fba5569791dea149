/* SPDX-License-Identifier: BSD-2-Clause */
#include "snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

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

/*
 * A page of rows at a time, as there may be very many, until on_page returns false. 0, or
 * -EREMOTEIO with the reason in s.
 */
static int snapshot_ask_pages(struct snapshot *s, struct control_client *c, const char *what,
			      bool (*on_page)(void *arg, const json_t *rows), void *arg)
{
	json_t *request = json_pack("{s:s}", "cmd", what), *reply, *next;
	bool is_done = s->why[0];

	while (!is_done) {
		reply = control_client_ask(c, request);
		if (!reply) {
			snprintf(s->why, sizeof(s->why), "%s: %.200s", what, control_client_why(c));
			break;
		}
		next = json_object_get(reply, "next_cursor");
		is_done = !on_page(arg, json_object_get(reply, what)) || !json_is_integer(next);
		json_object_set(request, "cursor", next);
		json_decref(reply);
	}
	json_decref(request);
	return s->why[0] ? -EREMOTEIO : 0;
}

struct snapshot_reading {
	struct snapshot *s;
	const struct snapshot_pages *pages;
	json_t *known, *sums; /* as path_sums.h has them */
	size_t n_qps;
};

static bool on_paths_page(void *arg, const json_t *rows)
{
	struct snapshot_reading *r = arg;

	path_sums_know(r->known, rows);
	r->pages->on_paths(r->pages->arg, json_object_get(r->s->planes, "planes"), rows);
	return true;
}

static bool on_qps_page(void *arg, const json_t *rows)
{
	struct snapshot_reading *r = arg;

	r->s->has_more_qps = r->n_qps >= SNAPSHOT_MAX_QPS;
	if (r->s->has_more_qps)
		return false;
	path_sums_add(r->sums, rows, json_object_get(r->s->planes, "planes"), r->known);
	r->n_qps += json_array_size(rows) + 1;
	return true;
}

static void take_paths(struct snapshot_reading *r, struct control_client *c)
{
	r->known = json_object();
	if (r->pages) {
		snapshot_ask_pages(r->s, c, "paths", on_paths_page, r);
		return;
	}
	r->s->paths = snapshot_ask(r->s, c, "paths", "cursor", 0);
	path_sums_know(r->known, json_object_get(r->s->paths, "paths"));
}

/* All that was taken. */
static void snapshot_drop(struct snapshot *s)
{
	json_t **const parts[] = {&s->version, &s->planes,   &s->paths,
				  &s->qp_sums, &s->counters, &s->events};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		json_decref(*parts[i]);
		*parts[i] = NULL;
	}
}

int snapshot_take(struct snapshot *s, const char *run_dir, unsigned parts, json_int_t events_after,
		  const struct snapshot_pages *pages)
{
	struct snapshot_reading r = {.s = s, .pages = pages};
	struct control_client *c = NULL;

	*s = (struct snapshot){.at_s = clock_now_s()};
	if (!control_client_open(&c, run_dir, s->why, sizeof(s->why)))
		s->version = snapshot_ask(s, c, "version", NULL, 0);
	if (s->version)
		s->planes = snapshot_ask(s, c, "planes", "cursor", 0);
	if (s->version && parts & SNAPSHOT_PATHS)
		take_paths(&r, c);
	if (s->version && parts & SNAPSHOT_QPS) {
		r.sums = json_object();
		if (!snapshot_ask_pages(s, c, "qps", on_qps_page, &r) && !s->has_more_qps)
			s->qp_sums = json_incref(r.sums);
	}
	if (s->version && parts & SNAPSHOT_COUNTERS)
		s->counters = snapshot_ask(s, c, "counters", NULL, 0);
	if (s->version && parts & SNAPSHOT_EVENTS)
		s->events = snapshot_ask(s, c, "events", "after", events_after);
	control_client_close(c);
	json_decref(r.known);
	json_decref(r.sums);
	s->took_s = clock_now_s() - s->at_s;
	if (!s->why[0])
		return 0;
	snapshot_drop(s);
	return -EREMOTEIO;
}

void snapshot_free(struct snapshot *s)
{
	snapshot_drop(s);
	*s = (struct snapshot){0};
}
