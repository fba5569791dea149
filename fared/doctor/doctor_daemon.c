/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_daemon.c - see doctor_check.h: what fared says of itself, its sources and its paths */
#include <stdlib.h>
#include <string.h>

#include "doctor_check.h"
#include "health_limits.h"

static enum doctor_state no_daemon(struct doctor_line *line)
{
	return doctor_found(line, DOCTOR_UNKNOWN, "fared does not answer");
}

static const char *text_of(const json_t *row, const char *key)
{
	return doctor_text(json_object_get(row, key));
}

static double number_of(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* ---- the daemon and its configuration ------------------------------------ */

enum doctor_state doctor_fared(const json_t *facts, struct doctor_line *line)
{
	const json_t *version = json_object_get(facts, "version");

	if (!version)
		return doctor_found(line, DOCTOR_WRONG, "%s", text_of(facts, "fared_why"));
	return doctor_found(line, DOCTOR_OK, "fared %s runs on %s for %.0f s",
			    text_of(version, "version"), text_of(version, "node"),
			    number_of(version, "uptime_s"));
}

enum doctor_state doctor_config(const json_t *facts, struct doctor_line *line)
{
	const json_t *check = json_object_get(facts, "check");
	const char *text = text_of(check, "text");

	if (!json_is_integer(json_object_get(check, "status")))
		return doctor_found(line, DOCTOR_UNKNOWN, "not checked: %s",
				    *text ? text : "no configuration file");
	if (json_integer_value(json_object_get(check, "status")))
		return doctor_found(line, DOCTOR_WRONG, "%.300s", text);
	return doctor_found(line, *text ? DOCTOR_ADVICE : DOCTOR_OK, "%.300s",
			    *text ? text : "fared --check-config finds nothing wrong");
}

enum doctor_state doctor_in_force(const json_t *facts, struct doctor_line *line)
{
	json_t *file = json_object_get(facts, "file"), *value;
	struct doctor_items items = {line, 0};
	const char *key;

	if (!json_object_get(facts, "version"))
		return no_daemon(line);
	if (!file || strcmp(text_of(file, "run_dir"), doctor_value(facts, "run_dir")))
		return doctor_found(line, DOCTOR_UNKNOWN, "no file of the running fared was found");
	json_object_foreach (file, key, value)
		if (strcmp(doctor_text(value), doctor_value(facts, key)))
			doctor_item(&items, "%s is '%.40s' in the file, '%.40s' in force", key,
				    doctor_text(value), doctor_value(facts, key));
	return doctor_items_end(&items, DOCTOR_WRONG, "what the file says is in force");
}

enum doctor_state doctor_trial(const json_t *facts, struct doctor_line *line)
{
	const char *trial = json_string_value(json_object_get(facts, "trial"));

	if (trial)
		return doctor_found(line, DOCTOR_WRONG, "%s", trial);
	return doctor_found(line, DOCTOR_OK, "no reload waits for confirmation");
}

/* ---- sources ------------------------------------------------------------- */

#define SYNC_S 10 /* the first table is there within it */

static enum doctor_state is_up(const json_t *facts, struct doctor_line *line, const char *name)
{
	const json_t *row = doctor_source(facts, name);

	if (!row)
		return no_daemon(line);
	if (!json_is_true(json_object_get(row, "configured")))
		return doctor_found(line, DOCTOR_OK, "not configured");
	if (!strcmp(text_of(row, "state"), "syncing") && number_of(row, "since_s") < SYNC_S)
		return doctor_found(line, DOCTOR_UNKNOWN, "it has just connected: ask again soon");
	if (!doctor_source_is_up(facts, name))
		return doctor_found(line, DOCTOR_WRONG, "%s: %s, for %.0f s", text_of(row, "state"),
				    text_of(row, "reason"), number_of(row, "since_s"));
	return doctor_found(line, DOCTOR_OK, "%s", text_of(row, "reason"));
}

enum doctor_state doctor_bmp(const json_t *facts, struct doctor_line *line)
{
	return is_up(facts, line, "bmp");
}

enum doctor_state doctor_zserv(const json_t *facts, struct doctor_line *line)
{
	return is_up(facts, line, "zserv");
}

/* Before fared runs, another process may have the port already. */
enum doctor_state doctor_ports(const json_t *facts, struct doctor_line *line)
{
	const json_t *held = json_object_get(facts, "udp_7784");

	if (json_object_get(facts, "version"))
		return is_up(facts, line, "probes");
	if (!held)
		return doctor_found(line, DOCTOR_UNKNOWN, "the UDP sockets are not known");
	if (json_integer_value(held) >= 0)
		return doctor_found(line, DOCTOR_WRONG, "UDP 7784 is held by uid %lld",
				    (long long)json_integer_value(held));
	return doctor_found(line, DOCTOR_OK, "UDP 7784 is free");
}

/* ---- the process --------------------------------------------------------- */

/* bad: what it is if the process is not so. */
static enum doctor_state of_process(const json_t *facts, struct doctor_line *line, const char *key,
				    enum doctor_state bad, const char *what)
{
	const json_t *value = json_object_get(doctor_process(facts, "fared"), key);

	if (!strcmp(doctor_value(facts, "health.enabled"), "false") ||
	    !strcmp(doctor_value(facts, "health.realtime"), "false"))
		return doctor_found(line, DOCTOR_OK, "not asked for (health.realtime)");
	if (!value)
		return doctor_found(line, DOCTOR_UNKNOWN, "fared's process is not seen from here");
	if (!json_is_true(value))
		return doctor_found(line, bad, "%s not %s: probes may run late", what, key);
	return doctor_found(line, DOCTOR_OK, "%s %s", what, key);
}

enum doctor_state doctor_realtime(const json_t *facts, struct doctor_line *line)
{
	return of_process(facts, line, "realtime", DOCTOR_WRONG, "fared is");
}

/* It counts when memory is short alone. */
enum doctor_state doctor_memory(const json_t *facts, struct doctor_line *line)
{
	return of_process(facts, line, "locked", DOCTOR_ADVICE, "fared's memory is");
}

/* ---- keys and packets ---------------------------------------------------- */

enum doctor_state doctor_key_file(const json_t *facts, struct doctor_line *line)
{
	const char *file = doctor_value(facts, "health.key_file");

	if (!strcmp(doctor_value(facts, "health.enabled"), "false"))
		return doctor_found(line, DOCTOR_OK, "probing is off");
	if (*file)
		return doctor_found(line, DOCTOR_OK, "%s", file);
	return doctor_found(line, DOCTOR_ADVICE, "no key: capacity notices are off");
}

/* The latest event of each peer's notices counts: later ones may have been accepted. */
static bool is_latest(const json_t *events, size_t at)
{
	const json_t *row = json_array_get(events, at), *later;
	size_t i;

	json_array_foreach (events, i, later)
		if (i > at && !strncmp(text_of(later, "to"), "notices ", 8) &&
		    !strcmp(text_of(later, "subject"), text_of(row, "subject")))
			return false;
	return true;
}

enum doctor_state doctor_keys(const json_t *facts, struct doctor_line *line)
{
	const json_t *events = json_object_get(json_object_get(facts, "events"), "events"), *row;
	struct doctor_items items = {line, 0};
	size_t i;

	if (!events)
		return no_daemon(line);
	json_array_foreach (events, i, row)
		if (!strcmp(text_of(row, "to"), "notices refused") && is_latest(events, i))
			doctor_item(&items, "%s: %s", text_of(row, "subject"),
				    text_of(row, "reason"));
	return doctor_items_end(&items, DOCTOR_WRONG, "no peer's notices are refused");
}

/* Counts that no packet of a healthy fabric raises, and what a share of the good ones says. */
enum doctor_state doctor_packets(const json_t *facts, struct doctor_line *line)
{
	static const struct {
		const char *part, *counter, *what;
	} bad[] = {
		{"prober", "wrong_plane", "replies came over another plane: are cables crossed?"},
		{"reflector", "wrong_device", "probes came by a device that is no sub-port"},
		{"prober", "hop_limit", "replies came from beyond health.max_routers"},
		{"reflector", "hop_limit", "probes came from beyond health.max_routers"},
	};
	const json_t *rows = json_object_get(json_object_get(facts, "counters"), "counters"), *row;
	struct doctor_items items = {line, 0};
	size_t i;

	if (!rows)
		return no_daemon(line);
	json_array_foreach (rows, i, row)
		for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++)
			if (!strcmp(text_of(row, "part"), bad[b].part) &&
			    !strcmp(text_of(row, "counter"), bad[b].counter) &&
			    number_of(row, "count") > 0)
				doctor_item(&items, "%.0f %s", number_of(row, "count"),
					    bad[b].what);
	return doctor_items_end(&items, DOCTOR_ADVICE, "no packet came where none should");
}

/* ---- paths --------------------------------------------------------------- */

enum doctor_state doctor_drains(const json_t *facts, struct doctor_line *line)
{
	const json_t *rows = json_object_get(json_object_get(facts, "drains"), "drains");

	if (!rows)
		return no_daemon(line);
	if (json_array_size(rows))
		return doctor_found(
			line, DOCTOR_ADVICE, "%zu drain%s in force: farectl show drains",
			json_array_size(rows), json_array_size(rows) == 1 ? " is" : "s are");
	return doctor_found(line, DOCTOR_OK, "nothing is drained");
}

enum doctor_state doctor_peers(const json_t *facts, struct doctor_line *line)
{
	const json_t *version = json_object_get(facts, "version");

	if (!version)
		return no_daemon(line);
	if (number_of(version, "pairs") <= 0)
		return doctor_found(line, DOCTOR_WRONG, "no peer is known: no route is in %s",
				    doctor_value(facts, "bgp.peer_prefixes"));
	return doctor_found(line, DOCTOR_OK, "%.0f pairs of a GPU and a peer",
			    number_of(version, "pairs"));
}

/* A plane that carries nothing to anybody is this server's, or its leaf's. */
static bool is_plane_dead(const json_t *facts, struct doctor_items *items)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(json_object_get(facts, "planes"), "planes"), i, row)
		if (number_of(row, "paths") > 0 && number_of(row, "usable_paths") <= 0)
			doctor_item(items, "%s plane %.0f carries nothing to any of %.0f peers",
				    text_of(row, "local_gpu"), number_of(row, "plane"),
				    number_of(row, "paths"));
	return items->n > 0;
}

/* Adds what is wrong with one path. */
typedef void path_item_fn(const json_t *row, struct doctor_items *items);

static enum doctor_state of_paths(const json_t *facts, struct doctor_line *line, path_item_fn *add,
				  enum doctor_state bad, const char *well)
{
	const json_t *rows = json_object_get(json_object_get(facts, "paths"), "paths"), *row;
	struct doctor_items items = {line, 0};
	size_t i;

	if (!rows)
		return no_daemon(line);
	json_array_foreach (rows, i, row)
		add(row, &items);
	return doctor_items_end(&items, bad, well);
}

static void add_out_of_use(const json_t *row, struct doctor_items *items)
{
	if (strcmp(text_of(row, "verdict"), "ok") && !json_is_true(json_object_get(row, "drained")))
		doctor_item(items, "%s->%s plane %.0f is %s: %.90s", text_of(row, "local_gpu"),
			    text_of(row, "peer"), number_of(row, "plane"), text_of(row, "verdict"),
			    text_of(row, "reason"));
}

/* A fault of one peer is no reason to take this server out of use: that is a piece of advice. */
enum doctor_state doctor_paths(const json_t *facts, struct doctor_line *line)
{
	struct doctor_items items = {line, 0};

	if (is_plane_dead(facts, &items))
		return doctor_items_end(&items, DOCTOR_WRONG, "");
	return of_paths(facts, line, add_out_of_use, DOCTOR_ADVICE, "every path is in use");
}

static void add_unanswered(const json_t *row, struct doctor_items *items)
{
	const json_t *probe = json_object_get(row, "probe");

	if (json_is_true(json_object_get(probe, "probed")) &&
	    !strcmp(text_of(probe, "state"), "unproven"))
		doctor_item(items, "%s->%s plane %.0f: %.90s", text_of(row, "local_gpu"),
			    text_of(row, "peer"), number_of(row, "plane"),
			    text_of(probe, "reason"));
}

enum doctor_state doctor_probes(const json_t *facts, struct doctor_line *line)
{
	return of_paths(facts, line, add_unanswered, DOCTOR_ADVICE, "peers answer probes");
}

#define TINY_SHARE 0.01 /* no leaf has so little: it sends a number of links */

static void add_senseless_bandwidth(const json_t *row, struct doctor_items *items)
{
	const char *kind = text_of(row, "advertised");
	double bps = number_of(row, "advertised_bps");
	bool is_tiny =
		!strcmp(kind, "value") && bps > 0 && bps < TINY_SHARE * number_of(row, "local_bps");

	if (strcmp(text_of(row, "bmp"), "reachable") || (!strcmp(kind, "value") && !is_tiny))
		return;
	doctor_item(items, "%s plane %.0f: %s", text_of(row, "peer"), number_of(row, "plane"),
		    is_tiny ? "under 1% of the local links (bgp.bandwidth_scale?)"
		    : !strcmp(kind, "invalid") ? "the bandwidth is no number, or was cut"
					       : "the leaf sends no bandwidth");
}

enum doctor_state doctor_bandwidth(const json_t *facts, struct doctor_line *line)
{
	return of_paths(facts, line, add_senseless_bandwidth, DOCTOR_WRONG,
			"leaves send bandwidths that make sense");
}

static void add_small_mtu(const json_t *row, struct doctor_items *items)
{
	const json_t *probe = json_object_get(row, "probe");
	const json_t *mtu = json_object_get(probe, "path_mtu");
	double wanted = number_of(probe, "path_mtu_wanted");

	if (json_is_integer(mtu) && json_number_value(mtu) < wanted)
		doctor_item(items, "%s plane %.0f carries %.0f of %.0f bytes", text_of(row, "peer"),
			    number_of(row, "plane"), json_number_value(mtu), wanted);
}

enum doctor_state doctor_path_mtu(const json_t *facts, struct doctor_line *line)
{
	return of_paths(facts, line, add_small_mtu, DOCTOR_WRONG,
			"paths carry packets of full size");
}

/* What queue_ms costs at least where it is not needed: more packets that may be missing (K). */
static double sooner_ms(const json_t *facts)
{
	return HEALTH_QUEUE_MISSING * atof(doctor_value(facts, "health.interval_ms")) / 2;
}

/* Where probes wait, packets have to be given time to: docs/health.md, "Which class waits". */
enum doctor_state doctor_probe_class(const json_t *facts, struct doctor_line *line)
{
	const json_t *rows = json_object_get(json_object_get(facts, "planes"), "planes"), *row;
	const char *configured = doctor_value(facts, "health.queue_ms");
	struct doctor_items items = {line, 0};
	size_t i, n_before = 0;

	if (!rows)
		return no_daemon(line);
	if (!strcmp(doctor_value(facts, "health.enabled"), "false"))
		return doctor_found(line, DOCTOR_OK, "probing is off");
	json_array_foreach (rows, i, row) {
		n_before += !strcmp(text_of(row, "probes_queued"), "before data");
		if (!strcmp(text_of(row, "probes_queued"), "behind data"))
			doctor_item(&items, "%s plane %.0f: probes wait behind data, up to %.1f ms",
				    text_of(row, "local_gpu"), number_of(row, "plane"),
				    number_of(row, "probe_queue_us") / 1e3);
	}
	if (items.n)
		return strcmp(configured, "0") ? doctor_found(line, DOCTOR_OK,
							      "probes wait behind data, and "
							      "health.queue_ms %s allows for it",
							      configured)
					       : doctor_items_end(&items, DOCTOR_WRONG, "");
	if (!n_before || n_before < json_array_size(rows))
		return doctor_found(line, DOCTOR_OK,
				    "probes pass before data on %zu of %zu planes; elsewhere no "
				    "queue was seen; health.queue_ms is %s",
				    n_before, json_array_size(rows), configured);
	if (!strcmp(configured, "0"))
		return doctor_found(line, DOCTOR_OK, "probes pass before data on all planes");
	return doctor_found(line, DOCTOR_ADVICE,
			    "probes pass before data on all planes: health.queue_ms 0 instead of "
			    "%s finds dead paths at least %.0f ms sooner",
			    configured, sooner_ms(facts));
}
