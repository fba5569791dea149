/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum type { GAUGE, COUNTER };

struct label {
	const char *name, *key;
};

#define MAX_LABELS 4

/* One family: a sample from each row. */
struct family {
	const char *name;
	enum type type;
	const char *help, *key; /* "a.b": member b of member a */
	double scale;
	struct label labels[MAX_LABELS];
};

#define ON_PLANE                                                                                   \
	{"gpu", "local_gpu"},                                                                      \
	{                                                                                          \
		"plane", "plane"                                                                   \
	}
#define ON_PATH                                                                                    \
	{"gpu", "local_gpu"}, {"peer", "peer"},                                                    \
	{                                                                                          \
		"plane", "plane"                                                                   \
	}

static const struct family plane_families[] = {
	{"fared_plane_local_bits_per_second",
	 GAUGE,
	 "Bandwidth of the plane's live local sub-ports.",
	 "local_bps",
	 1,
	 {ON_PLANE}},
	{"fared_plane_live_sub_ports",
	 GAUGE,
	 "Local sub-ports of the plane that are up.",
	 "live_sub_ports",
	 1,
	 {ON_PLANE}},
	{"fared_plane_configured_sub_ports",
	 GAUGE,
	 "Local sub-ports of the plane in the configuration.",
	 "configured_sub_ports",
	 1,
	 {ON_PLANE}},
	{"fared_plane_paths", GAUGE, "Paths to peers over the plane.", "paths", 1, {ON_PLANE}},
	{"fared_plane_usable_paths",
	 GAUGE,
	 "Those of them with a bandwidth above zero.",
	 "usable_paths",
	 1,
	 {ON_PLANE}},
	{"fared_plane_probes_sent", COUNTER, "Probes sent.", "probes_sent", 1, {ON_PLANE}},
	{"fared_plane_probes_lost",
	 COUNTER,
	 "Probes without a reply in time.",
	 "probes_lost",
	 1,
	 {ON_PLANE}},
	{"fared_plane_probe_downs",
	 COUNTER,
	 "Times that probes took a path out of use.",
	 "probe_downs",
	 1,
	 {ON_PLANE}},
	{"fared_plane_probe_queue_seconds",
	 GAUGE,
	 "Longest time of late that probes were in queues, there and back.",
	 "probe_queue_us",
	 1e-6,
	 {ON_PLANE}},
	{"fared_plane_data_queue_seconds",
	 GAUGE,
	 "The same of probes in data's class, sent beside them.",
	 "data_queue_us",
	 1e-6,
	 {ON_PLANE}},
};

static const struct family total_families[] = {
	{"fared_plane_path_usable_bits_per_second",
	 GAUGE,
	 "Bandwidth that applications may use, summed over the paths of the plane.",
	 "usable_bps",
	 1,
	 {ON_PLANE}},
	{"fared_plane_path_local_bits_per_second",
	 GAUGE,
	 "Bandwidth of the live local sub-ports, summed likewise.",
	 "local_bps",
	 1,
	 {ON_PLANE}},
	{"fared_plane_drained_paths",
	 GAUGE,
	 "Paths that an operator took out of use.",
	 "drained",
	 1,
	 {ON_PLANE}},
	{"fared_plane_lost_paths",
	 GAUGE,
	 "Paths that carry nothing, neither drained nor said to be down by a peer that is reached "
	 "over another plane.",
	 "lost",
	 1,
	 {ON_PLANE}},
	{"fared_plane_reduced_paths",
	 GAUGE,
	 "Paths that carry less than the local sub-ports that are not drained, while the peer does "
	 "not say so.",
	 "reduced",
	 1,
	 {ON_PLANE}},
	{"fared_plane_small_mtu_paths",
	 GAUGE,
	 "Paths that carry smaller packets than this server sends if it can.",
	 "small_mtu",
	 1,
	 {ON_PLANE}},
	{"fared_plane_probe_loss_ratio",
	 GAUGE,
	 "Share of the latest probes that were lost, of the path that loses most.",
	 "loss_ppm",
	 1e-6,
	 {ON_PLANE}},
	{"fared_plane_probe_rtt_p50_seconds",
	 GAUGE,
	 "Median round trip of recent probes, of the slowest path.",
	 "rtt_p50_us",
	 1e-6,
	 {ON_PLANE}},
	{"fared_plane_probe_rtt_p99_seconds",
	 GAUGE,
	 "99th percentile of the round trips of recent probes, of the slowest path.",
	 "rtt_p99_us",
	 1e-6,
	 {ON_PLANE}},
	{"fared_plane_qps", GAUGE, "QPs of attached applications.", "qps", 1, {ON_PLANE}},
	{"fared_plane_qp_bytes",
	 GAUGE,
	 "Bytes that these QPs have carried; falls when one ends.",
	 "bytes",
	 1,
	 {ON_PLANE}},
};

static const struct family verdict_families[] = {
	{"fared_plane_verdict_paths",
	 GAUGE,
	 "Paths that have the verdict (fared(8)).",
	 "paths",
	 1,
	 {ON_PLANE, {"verdict", "verdict"}}},
};

static const struct family peer_families[] = {
	{"fared_peers",
	 GAUGE,
	 "Peers whose paths all carry what the local sub-ports do (whole), do not (degraded), "
	 "carry "
	 "nothing (down), or were drained.",
	 "peers",
	 1,
	 {{"gpu", "local_gpu"}, {"state", "state"}}},
};

static const struct family path_families[] = {
	{"fared_path_usable_bits_per_second",
	 GAUGE,
	 "Bandwidth that applications may use.",
	 "usable_bps",
	 1,
	 {ON_PATH}},
	{"fared_path_local_bits_per_second",
	 GAUGE,
	 "Bandwidth of the live local sub-ports.",
	 "local_bps",
	 1,
	 {ON_PATH}},
	{"fared_path_advertised_bits_per_second",
	 GAUGE,
	 "Bandwidth that BGP advertises for the path.",
	 "advertised_bps",
	 1,
	 {ON_PATH}},
	{"fared_path_noticed_bits_per_second",
	 GAUGE,
	 "Bandwidth in the peer's latest capacity notice; absent without one.",
	 "noticed_bps",
	 1,
	 {ON_PATH}},
	{"fared_path_drained",
	 GAUGE,
	 "1 if an operator took the path out of use.",
	 "drained",
	 1,
	 {ON_PATH}},
	{"fared_path_verdict",
	 GAUGE,
	 "1 for the verdict that the path has (fared(8)).",
	 "verdict",
	 0,
	 {ON_PATH, {"verdict", "verdict"}}},
	{"fared_path_verdict_age_seconds",
	 GAUGE,
	 "Time since the path got its verdict, or its bandwidth.",
	 "since_s",
	 1,
	 {ON_PATH}},
	{"fared_path_probe_loss_ratio",
	 GAUGE,
	 "Share of the latest probes that were lost.",
	 "probe.loss_ppm",
	 1e-6,
	 {ON_PATH}},
	{"fared_path_probe_rtt_p50_seconds",
	 GAUGE,
	 "Median round trip of recent probes.",
	 "probe.rtt_p50_us",
	 1e-6,
	 {ON_PATH}},
	{"fared_path_probe_rtt_p99_seconds",
	 GAUGE,
	 "99th percentile of the round trips of recent probes.",
	 "probe.rtt_p99_us",
	 1e-6,
	 {ON_PATH}},
	{"fared_path_probes_sent", COUNTER, "Probes sent.", "probe.sent", 1, {ON_PATH}},
	{"fared_path_probes_lost",
	 COUNTER,
	 "Probes without a reply in time.",
	 "probe.lost",
	 1,
	 {ON_PATH}},
	{"fared_path_mtu_bytes",
	 GAUGE,
	 "Path MTU (RoCEv2 payload) that probes of full size have found; absent while none is.",
	 "probe.path_mtu",
	 1,
	 {ON_PATH}},
	{"fared_path_mtu_wanted_bytes",
	 GAUGE,
	 "Path MTU that this server sends if the peer and the path take it.",
	 "probe.path_mtu_wanted",
	 1,
	 {ON_PATH}},
	{"fared_path_probe_downs",
	 COUNTER,
	 "Times that probes took the path out of use.",
	 "probe.downs",
	 1,
	 {ON_PATH}},
};

static const struct family sub_port_families[] = {
	{"fared_sub_port_up",
	 GAUGE,
	 "1 if the sub-port has carrier.",
	 "up",
	 1,
	 {ON_PLANE, {"sub_port", "sub_port"}, {"device", "dev"}}},
	{"fared_sub_port_speed_bits_per_second",
	 GAUGE,
	 "Speed of the sub-port.",
	 "speed_bps",
	 1,
	 {ON_PLANE, {"sub_port", "sub_port"}, {"device", "dev"}}},
	{"fared_sub_port_drained",
	 GAUGE,
	 "1 if the sub-port is drained by itself, or its plane is.",
	 "drained",
	 1,
	 {ON_PLANE, {"sub_port", "sub_port"}, {"device", "dev"}}},
};

static const struct family source_families[] = {
	{"fared_source_state",
	 GAUGE,
	 "1 for the state that the route source is in.",
	 "state",
	 0,
	 {{"source", "source"}, {"state", "state"}}},
	{"fared_source_state_age_seconds",
	 GAUGE,
	 "Time since the route source entered its state.",
	 "since_s",
	 1,
	 {{"source", "source"}}},
};

static const struct family version_families[] = {
	{"fared_build_info",
	 GAUGE,
	 "1; the daemon's version and the server's name.",
	 "version",
	 0,
	 {{"version", "version"}, {"node", "node"}}},
	{"fared_uptime_seconds", GAUGE, "Time since the daemon started.", "uptime_s", 1, {{0}}},
	{"fared_pairs",
	 GAUGE,
	 "Pairs of a local GPU and a peer that the daemon knows.",
	 "pairs",
	 1,
	 {{0}}},
};

/* ---- one sample ---------------------------------------------------------- */

static const json_t *member(const json_t *row, const char *key)
{
	const char *dot = strchr(key, '.');
	char first[32];

	if (!dot)
		return json_object_get(row, key);
	snprintf(first, sizeof(first), "%.*s", (int)(dot - key), key);
	return member(json_object_get(row, first), dot + 1);
}

/* A text counts as 1: it stands in a label. False: there is no number. */
static bool metrics_number(const json_t *value, double scale, double *out)
{
	if (json_is_string(value))
		*out = 1;
	else if (json_is_boolean(value))
		*out = json_is_true(value);
	else if (json_is_number(value))
		*out = json_number_value(value) * scale;
	else
		return false;
	return true;
}

static void write_escaped(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			putc('\\', to);
		if (*text == '\n')
			fputs("\\n", to);
		else
			putc(*text, to);
	}
}

static void write_label(FILE *to, bool first, const char *name, const json_t *value)
{
	fprintf(to, "%s%s=\"", first ? "{" : ",", name);
	if (json_is_string(value))
		write_escaped(to, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	putc('"', to);
}

static void write_head(FILE *to, const char *name, enum type type, const char *help)
{
	fprintf(to, "# TYPE %s %s\n# HELP %s ", name, type == COUNTER ? "counter" : "gauge", name);
	write_escaped(to, help);
	putc('\n', to);
}

static void write_sample(FILE *to, const struct family *f, const json_t *row)
{
	unsigned n = 0;
	double number;

	if (!metrics_number(member(row, f->key), f->scale, &number))
		return;
	fprintf(to, "%s%s", f->name, f->type == COUNTER ? "_total" : "");
	for (; n < MAX_LABELS && f->labels[n].name; n++)
		write_label(to, !n, f->labels[n].name, json_object_get(row, f->labels[n].key));
	fprintf(to, "%s %.15g\n", n ? "}" : "", number);
}

/* rows: an array, or one object. */
static void write_families(FILE *to, const struct family *families, size_t n, const json_t *rows)
{
	for (size_t f = 0; rows && f < n; f++) {
		const json_t *row;
		size_t i;

		write_head(to, families[f].name, families[f].type, families[f].help);
		if (json_is_object(rows))
			write_sample(to, &families[f], rows);
		json_array_foreach (rows, i, row)
			write_sample(to, &families[f], row);
	}
}

#define FAMILIES(f) f, sizeof(f) / sizeof((f)[0])

/* ---- what has to be put together ----------------------------------------- */

/* Sub-ports with their plane's labels beside their own. */
static json_t *flat_sub_ports(const json_t *planes)
{
	json_t *flat = json_array(), *port;
	const json_t *plane;
	size_t p, s;

	json_array_foreach (planes, p, plane)
		json_array_foreach (json_object_get(plane, "sub_ports"), s, port) {
			json_t *row = json_copy(port);

			json_object_set(row, "local_gpu", json_object_get(plane, "local_gpu"));
			json_object_set(row, "plane", json_object_get(plane, "plane"));
			json_array_append_new(flat, row);
		}
	return flat;
}

static json_t *configured_sources(const json_t *sources)
{
	json_t *kept = json_array(), *row;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)sources, i, row)
		if (json_is_true(json_object_get(row, "configured")))
			json_array_append(kept, row);
	return kept;
}

static json_t *values_of(json_t *object)
{
	json_t *values = json_array(), *value;
	const char *key;

	json_object_foreach (object, key, value)
		json_array_append(values, value);
	return values;
}

static const struct family qp_families[] = {
	{"fared_path_qps", GAUGE, "QPs of attached applications on the path.", "qps", 1, {ON_PATH}},
	{"fared_path_qp_bytes",
	 GAUGE,
	 "Bytes that these QPs have carried; falls when one ends.",
	 "bytes",
	 1,
	 {ON_PATH}},
};

/* part and counter: the daemon's words for fared_PART_COUNTER_total. */
static void write_counter(FILE *to, const json_t *row)
{
	const char *part = json_string_value(json_object_get(row, "part")),
		   *counter = json_string_value(json_object_get(row, "counter")),
		   *meaning = json_string_value(json_object_get(row, "meaning"));
	char name[96];

	if (!part || !counter)
		return;
	snprintf(name, sizeof(name), "fared_%s_%s", part, counter);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	write_head(to, name, COUNTER, meaning ? meaning : "");
	fprintf(to, "%s_total %.15g\n", name, json_number_value(json_object_get(row, "count")));
}

/* ---- series by path ------------------------------------------------------ */

#define N_PATH_FAMILIES (sizeof(path_families) / sizeof(path_families[0]))

struct metrics_paths {
	FILE *to[N_PATH_FAMILIES];
	char *text[N_PATH_FAMILIES];
	size_t bytes[N_PATH_FAMILIES];
};

int metrics_paths_create(struct metrics_paths **out)
{
	struct metrics_paths *p = calloc(1, sizeof(*p));

	*out = p;
	for (size_t f = 0; p && f < N_PATH_FAMILIES; f++) {
		p->to[f] = open_memstream(&p->text[f], &p->bytes[f]);
		if (p->to[f])
			continue;
		metrics_paths_destroy(p);
		*out = p = NULL;
	}
	return p ? 0 : -ENOMEM;
}

void metrics_paths_add(struct metrics_paths *p, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		for (size_t f = 0; f < N_PATH_FAMILIES; f++)
			write_sample(p->to[f], &path_families[f], row);
}

void metrics_paths_destroy(struct metrics_paths *p)
{
	for (size_t f = 0; p && f < N_PATH_FAMILIES; f++) {
		if (p->to[f])
			fclose(p->to[f]);
		free(p->text[f]);
	}
	free(p);
}

static void write_paths(FILE *to, struct metrics_paths *p)
{
	for (size_t f = 0; f < N_PATH_FAMILIES; f++) {
		write_head(to, path_families[f].name, path_families[f].type, path_families[f].help);
		fflush(p->to[f]);
		fwrite(p->text[f], 1, p->bytes[f], to);
	}
}

/* ---- all of it ----------------------------------------------------------- */

static void write_totals(FILE *to, const struct path_totals *totals)
{
	json_t *planes = values_of(totals->planes), *verdicts = values_of(totals->verdicts),
	       *peers = values_of(totals->peers);

	write_families(to, FAMILIES(total_families), planes);
	write_families(to, FAMILIES(verdict_families), verdicts);
	write_families(to, FAMILIES(peer_families), peers);
	json_decref(planes);
	json_decref(verdicts);
	json_decref(peers);
}

void metrics_write(FILE *to, const struct snapshot *s, const struct path_totals *totals,
		   struct metrics_paths *paths)
{
	const json_t *planes = json_object_get(s->planes, "planes"), *row;
	json_t *ports = flat_sub_ports(planes),
	       *sources = configured_sources(json_object_get(s->planes, "sources")),
	       *sums = values_of(s->qp_sums);
	size_t i;

	write_head(to, "fared_up", GAUGE, "1 if the daemon answered.");
	fprintf(to, "fared_up %d\n", s->version != NULL);
	write_head(to, "fared_scrape_duration_seconds", GAUGE, "Time that the daemon took.");
	fprintf(to, "fared_scrape_duration_seconds %.6f\n", s->took_s);
	write_families(to, FAMILIES(version_families), s->version);
	write_families(to, FAMILIES(source_families), sources);
	write_families(to, FAMILIES(plane_families), planes);
	write_families(to, FAMILIES(sub_port_families), ports);
	if (s->version)
		write_totals(to, totals);
	if (s->version && paths) {
		write_paths(to, paths);
		write_families(to, FAMILIES(qp_families), sums);
	}
	json_array_foreach (json_object_get(s->counters, "counters"), i, row)
		write_counter(to, row);
	fputs("# EOF\n", to);
	json_decref(ports);
	json_decref(sources);
	json_decref(sums);
}
