/* SPDX-License-Identifier: BSD-2-Clause */
#include "top_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path_sums.h"

static void copy_text(char *to, size_t size, const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	snprintf(to, size, "%s", text ? text : "");
}

/* otherwise: what stands for a member that is missing or null */
static double top_model_number(const json_t *row, const char *key, double otherwise)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

static int whole(const json_t *row, const char *key)
{
	return (int)json_integer_value(json_object_get(row, key));
}

/* Bytes fall when a QP ends: that is no traffic backwards. */
static double rate_bps(const struct top_model *m, const json_t *sums, double at_s,
		       const struct top_path *p)
{
	double before = path_sums_bytes(m->sums, p->gpu, p->peer, p->plane),
	       now = path_sums_bytes(sums, p->gpu, p->peer, p->plane), over_s = at_s - m->sums_at_s;

	return m->sums && over_s > 0 && now > before ? (now - before) * 8 / over_s : 0;
}

/* ---- paths --------------------------------------------------------------- */

bool top_path_is_degraded(const struct top_path *p)
{
	return p->usable_bps < 0.99 * p->local_bps || p->usable_bps <= 0;
}

static int badness(const struct top_path *p)
{
	return p->usable_bps <= 0 ? 2 : top_path_is_degraded(p);
}

static int by_badness(const void *a, const void *b)
{
	const struct top_path *x = a, *y = b;
	int d = badness(y) - badness(x);

	if (!d)
		d = strcmp(x->gpu, y->gpu);
	if (!d)
		d = strcmp(x->peer, y->peer);
	return d ? d : x->plane - y->plane;
}

static struct top_path path_of(const json_t *row)
{
	const json_t *probe = json_object_get(row, "probe");
	struct top_path p = {
		.plane = whole(row, "plane"),
		.drained = json_is_true(json_object_get(row, "drained")),
		.usable_bps = top_model_number(row, "usable_bps", 0),
		.local_bps = top_model_number(row, "local_bps", 0),
		.since_s = top_model_number(row, "since_s", -1),
		.loss = top_model_number(probe, "loss_ppm", -1e6) / 1e6,
		.rtt_p99_s = top_model_number(probe, "rtt_p99_us", -1e6) / 1e6,
	};

	copy_text(p.gpu, sizeof(p.gpu), row, "local_gpu");
	copy_text(p.peer, sizeof(p.peer), row, "peer");
	copy_text(p.verdict, sizeof(p.verdict), row, "verdict");
	copy_text(p.reason, sizeof(p.reason), row, "reason");
	return p;
}

/* Rows of malloc(), or NULL. */
static struct top_path *paths_of(const struct top_model *m, const struct snapshot *s,
				 const json_t *sums, size_t *n, size_t *n_degraded)
{
	const json_t *rows = json_object_get(s->paths, "paths"), *row;
	struct top_path *paths = calloc(json_array_size(rows) + 1, sizeof(*paths));
	size_t i;

	*n = *n_degraded = 0;
	if (!paths)
		return NULL;
	json_array_foreach (rows, i, row) {
		paths[*n] = path_of(row);
		paths[*n].tx_bps = rate_bps(m, sums, s->at_s, &paths[*n]);
		*n_degraded += top_path_is_degraded(&paths[*n]);
		++*n;
	}
	qsort(paths, *n, sizeof(*paths), by_badness);
	return paths;
}

/* ---- planes -------------------------------------------------------------- */

static void note_ports(struct top_plane *plane, const json_t *ports)
{
	const json_t *port;
	size_t i, length = 0;

	json_array_foreach (ports, i, port) {
		const char *dev = json_string_value(json_object_get(port, "dev"));

		if (json_is_true(json_object_get(port, "up")) || !dev)
			continue;
		length += (size_t)snprintf(plane->ports_down + length,
					   sizeof(plane->ports_down) - length, "%s%s",
					   length ? " " : "", dev);
		if (length >= sizeof(plane->ports_down))
			break;
	}
}

static struct top_plane top_model_plane(const json_t *row)
{
	struct top_plane plane = {.plane = whole(row, "plane"),
				  .local_bps = top_model_number(row, "local_bps", 0),
				  .paths = whole(row, "paths"),
				  .usable_paths = whole(row, "usable_paths"),
				  .sub_ports = whole(row, "configured_sub_ports"),
				  .live_sub_ports = whole(row, "live_sub_ports"),
				  .share = -1,
				  .ideal_share = -1};

	copy_text(plane.gpu, sizeof(plane.gpu), row, "local_gpu");
	note_ports(&plane, json_object_get(row, "sub_ports"));
	return plane;
}

/* Sums over the paths from gpu to peer, or to all peers if that is NULL. */
struct sums {
	double usable_bps, tx_bps;
};

static struct sums sum_paths(const struct top_path *paths, size_t n, const char *gpu,
			     const char *peer)
{
	struct sums sums = {0};

	for (size_t i = 0; i < n; i++)
		if (!strcmp(paths[i].gpu, gpu) && (!peer || !strcmp(paths[i].peer, peer))) {
			sums.usable_bps += paths[i].usable_bps;
			sums.tx_bps += paths[i].tx_bps;
		}
	return sums;
}

static void add_shares(struct top_plane *plane, const struct top_path *paths, size_t n)
{
	double all_bps = sum_paths(paths, n, plane->gpu, NULL).tx_bps, ideal_bps = 0;

	for (size_t i = 0; i < n; i++) {
		const struct top_path *p = &paths[i];
		struct sums to_peer;

		if (strcmp(p->gpu, plane->gpu) || p->plane != plane->plane)
			continue;
		plane->usable_bps += p->usable_bps;
		plane->tx_bps += p->tx_bps;
		if (all_bps <= 0)
			continue;
		to_peer = sum_paths(paths, n, p->gpu, p->peer);
		if (to_peer.usable_bps > 0)
			ideal_bps += to_peer.tx_bps * p->usable_bps / to_peer.usable_bps;
	}
	if (all_bps > 0) {
		plane->share = plane->tx_bps / all_bps;
		plane->ideal_share = ideal_bps / all_bps;
	}
}

static struct top_plane *planes_of(const struct snapshot *s, const struct top_path *paths,
				   size_t n_paths, size_t *n)
{
	const json_t *rows = json_object_get(s->planes, "planes"), *row;
	struct top_plane *planes = calloc(json_array_size(rows) + 1, sizeof(*planes));
	size_t i;

	*n = 0;
	if (!planes)
		return NULL;
	json_array_foreach (rows, i, row) {
		planes[*n] = top_model_plane(row);
		add_shares(&planes[(*n)++], paths, n_paths);
	}
	return planes;
}

/* ---- the rest ------------------------------------------------------------ */

static void note_sources(struct top_model *m, const json_t *sources)
{
	const json_t *row;
	size_t i, length = 0;

	m->sources[0] = 0;
	json_array_foreach (sources, i, row) {
		char source[32], state[32];

		if (!json_is_true(json_object_get(row, "configured")) ||
		    length >= sizeof(m->sources))
			continue;
		copy_text(source, sizeof(source), row, "source");
		copy_text(state, sizeof(state), row, "state");
		length += (size_t)snprintf(m->sources + length, sizeof(m->sources) - length,
					   "%s%s %s", length ? ", " : "", source, state);
	}
}

static void note_event(struct top_model *m, const json_t *row)
{
	struct top_event e = {.wall_s = top_model_number(row, "wall_ns", 0) / 1e9};
	char subject[48], from[24], to[24], reason[96], plane[16] = "";

	copy_text(subject, sizeof(subject), row, "subject");
	copy_text(from, sizeof(from), row, "from");
	copy_text(to, sizeof(to), row, "to");
	copy_text(reason, sizeof(reason), row, "reason");
	if (json_is_integer(json_object_get(row, "plane")))
		snprintf(plane, sizeof(plane), " plane %d", whole(row, "plane"));
	snprintf(e.text, sizeof(e.text), "%s%s: %s -> %s (%s)", subject, plane, from, to, reason);
	memmove(m->events + 1, m->events, sizeof(m->events) - sizeof(m->events[0]));
	m->events[0] = e;
	m->n_events += m->n_events < TOP_EVENTS;
	m->last_event = json_integer_value(json_object_get(row, "seq"));
}

int top_model_update(struct top_model *m, const struct snapshot *s)
{
	double uptime_s = top_model_number(s->version, "uptime_s", 0);
	const json_t *row;
	size_t i, n_paths, n_degraded, n_planes;
	struct top_path *paths = paths_of(m, s, s->qp_sums, &n_paths, &n_degraded);
	struct top_plane *planes = paths ? planes_of(s, paths, n_paths, &n_planes) : NULL;

	if (!planes) {
		free(paths);
		return -ENOMEM;
	}
	free(m->paths);
	free(m->planes);
	json_decref(m->sums);
	m->paths = paths;
	m->planes = planes;
	m->sums = json_incref(s->qp_sums);
	m->sums_at_s = s->at_s;
	m->n_paths = n_paths;
	m->n_degraded = n_degraded;
	m->n_planes = n_planes;
	copy_text(m->node, sizeof(m->node), s->version, "node");
	copy_text(m->version, sizeof(m->version), s->version, "version");
	snprintf(m->why, sizeof(m->why), "%s", s->why);
	if (uptime_s < m->uptime_s) /* another daemon, which counts its events from 1 */
		m->last_event = 0;
	m->uptime_s = uptime_s;
	note_sources(m, json_object_get(s->planes, "sources"));
	json_array_foreach (json_object_get(s->events, "events"), i, row)
		note_event(m, row);
	return 0;
}

void top_model_fini(struct top_model *m)
{
	free(m->paths);
	free(m->planes);
	json_decref(m->sums);
	*m = (struct top_model){0};
}
