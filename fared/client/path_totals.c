/* SPDX-License-Identifier: BSD-2-Clause */
#include "path_totals.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NEARLY 0.99

static double path_totals_number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static const char *path_totals_text(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value ? value : "";
}

void path_totals_init(struct path_totals *t)
{
	*t = (struct path_totals){json_object(), json_object(), json_object(), json_array()};
}

void path_totals_fini(struct path_totals *t)
{
	json_decref(t->planes);
	json_decref(t->verdicts);
	json_decref(t->peers);
	json_decref(t->pair);
	*t = (struct path_totals){0};
}

/* ---- sums ---------------------------------------------------------------- */

static void increase(json_t *row, const char *key, double by)
{
	json_object_set_new(row, key, json_real(path_totals_number(row, key) + by));
}

static void raise_to(json_t *row, const char *key, const json_t *value)
{
	if (json_is_number(value) &&
	    (!json_object_get(row, key) || json_number_value(value) > path_totals_number(row, key)))
		json_object_set_new(row, key, json_real(json_number_value(value)));
}

/* The row for that GPU, and for that plane or label if given; made if there is none. */
static json_t *path_totals_row(json_t *rows, const json_t *of, bool by_plane, const char *label,
			       const char *value)
{
	char key[160];
	json_t *row;

	snprintf(key, sizeof(key), "%.48s %.0f %.64s", path_totals_text(of, "local_gpu"),
		 by_plane ? path_totals_number(of, "plane") : 0., value ? value : "");
	row = json_object_get(rows, key);
	if (row)
		return row;
	row = json_pack("{s:s}", "local_gpu", path_totals_text(of, "local_gpu"));
	if (by_plane)
		json_object_set(row, "plane", json_object_get(of, "plane"));
	if (label)
		json_object_set_new(row, label, json_string(value));
	json_object_set_new(rows, key, row);
	return row;
}

/* Of that path's local sub-ports, what those with carrier have that are drained. */
static double drained_bps(const json_t *planes, const json_t *path)
{
	const json_t *plane, *port;
	double bps = 0;
	size_t p, s;

	json_array_foreach (planes, p, plane) {
		if (strcmp(path_totals_text(plane, "local_gpu"),
			   path_totals_text(path, "local_gpu")) ||
		    path_totals_number(plane, "plane") != path_totals_number(path, "plane"))
			continue;
		json_array_foreach (json_object_get(plane, "sub_ports"), s, port)
			if (json_is_true(json_object_get(port, "drained")) &&
			    json_is_true(json_object_get(port, "up")))
				bps += path_totals_number(port, "speed_bps");
	}
	return bps;
}

/* ---- one pair ------------------------------------------------------------ */

static bool is_carrying(const json_t *row)
{
	return path_totals_number(row, "usable_bps") > 0;
}

static bool is_drained(const json_t *row)
{
	return json_is_true(json_object_get(row, "drained"));
}

/* The peer itself says that it has no more than that. */
static bool is_noticed(const json_t *row)
{
	const json_t *noticed = json_object_get(row, "noticed_bps");

	return json_is_number(noticed) &&
	       path_totals_number(row, "usable_bps") >= NEARLY * json_number_value(noticed);
}

static void add_path(struct path_totals *t, const json_t *planes, const json_t *row,
		     bool is_reached)
{
	json_t *plane = path_totals_row(t->planes, row, true, NULL, NULL);
	const json_t *probe = json_object_get(row, "probe"),
		     *mtu = json_object_get(probe, "path_mtu");
	double local = path_totals_number(row, "local_bps") - drained_bps(planes, row);

	increase(path_totals_row(t->verdicts, row, true, "verdict",
				 path_totals_text(row, "verdict")),
		 "paths", 1);
	increase(plane, "usable_bps", path_totals_number(row, "usable_bps"));
	increase(plane, "local_bps", path_totals_number(row, "local_bps"));
	increase(plane, "drained", is_drained(row));
	increase(plane, "lost",
		 !is_carrying(row) && !is_drained(row) && !is_noticed(row) && is_reached);
	increase(plane, "reduced",
		 is_carrying(row) && path_totals_number(row, "usable_bps") < NEARLY * local &&
			 !is_noticed(row));
	increase(plane, "small_mtu",
		 json_is_number(mtu) &&
			 json_number_value(mtu) < path_totals_number(probe, "path_mtu_wanted"));
	raise_to(plane, "loss_ppm", json_object_get(probe, "loss_ppm"));
	raise_to(plane, "rtt_p50_us", json_object_get(probe, "rtt_p50_us"));
	raise_to(plane, "rtt_p99_us", json_object_get(probe, "rtt_p99_us"));
}

static const char *peer_state(const json_t *pair)
{
	bool is_reached = false, is_whole = true, all_drained = true;
	const json_t *row;
	size_t i;

	json_array_foreach (pair, i, row) {
		is_reached |= is_carrying(row);
		is_whole &= path_totals_number(row, "usable_bps") >=
				    NEARLY * path_totals_number(row, "local_bps") &&
			    is_carrying(row);
		all_drained &= is_drained(row);
	}
	if (is_reached)
		return is_whole ? "whole" : "degraded";
	return all_drained ? "drained" : "down";
}

static void end_pair(struct path_totals *t, const json_t *planes)
{
	const char *state = peer_state(t->pair);
	bool is_reached = !strcmp(state, "whole") || !strcmp(state, "degraded");
	const json_t *row;
	size_t i;

	if (!json_array_size(t->pair))
		return;
	increase(path_totals_row(t->peers, json_array_get(t->pair, 0), false, "state", state),
		 "peers", 1);
	json_array_foreach (t->pair, i, row)
		add_path(t, planes, row, is_reached);
	json_array_clear(t->pair);
}

void path_totals_add(struct path_totals *t, const json_t *planes, const json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *first = json_array_get(t->pair, 0);

		if (first &&
		    (strcmp(path_totals_text(first, "peer"), path_totals_text(row, "peer")) ||
		     strcmp(path_totals_text(first, "local_gpu"),
			    path_totals_text(row, "local_gpu"))))
			end_pair(t, planes);
		if (path_totals_number(row, "configured_sub_ports") > 0)
			json_array_append(t->pair, row);
	}
}

void path_totals_end(struct path_totals *t, const json_t *planes, json_t *sums)
{
	const char *key;
	json_t *sum;

	end_pair(t, planes);
	json_object_foreach (sums, key, sum) {
		json_t *row = path_totals_row(t->planes, sum, true, NULL, NULL);

		increase(row, "qps", path_totals_number(sum, "qps"));
		increase(row, "bytes", path_totals_number(sum, "bytes"));
	}
}
