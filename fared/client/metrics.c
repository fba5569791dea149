/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum type { GAUGE, COUNTER };

/* A label, and the member of a row that has its text; a list ends without a name. */
struct label {
	const char *name, *key;
};

/* One family: a sample from each row. */
struct family {
	const char *name;
	enum type type;
	const struct label *labels; /* NULL: none */
	const char *help, *key;	    /* "a.b": member b of member a */
	double scale;
};

static const struct label on_plane[] = {{"gpu", "local_gpu"}, {"plane", "plane"}, {0}};
static const struct label on_plane_verdict[] = {
	{"gpu", "local_gpu"}, {"plane", "plane"}, {"verdict", "verdict"}, {0}};
static const struct label on_sub_port[] = {
	{"gpu", "local_gpu"}, {"plane", "plane"}, {"sub_port", "sub_port"}, {"device", "dev"}, {0}};
static const struct label on_peers[] = {{"gpu", "local_gpu"}, {"state", "state"}, {0}};
static const struct label on_path[] = {
	{"gpu", "local_gpu"}, {"peer", "peer"}, {"plane", "plane"}, {0}};
static const struct label on_path_verdict[] = {
	{"gpu", "local_gpu"}, {"peer", "peer"}, {"plane", "plane"}, {"verdict", "verdict"}, {0}};
static const struct label on_source[] = {{"source", "source"}, {0}};
static const struct label on_source_state[] = {{"source", "source"}, {"state", "state"}, {0}};
static const struct label on_build[] = {{"version", "version"}, {"node", "node"}, {0}};

static const struct family plane_families[] = {
	{"fared_plane_local_bits_per_second", GAUGE, on_plane,
	 "Bandwidth of the plane's live local sub-ports.", "local_bps", 1},
	{"fared_plane_live_sub_ports", GAUGE, on_plane, "Local sub-ports of the plane that are up.",
	 "live_sub_ports", 1},
	{"fared_plane_configured_sub_ports", GAUGE, on_plane,
	 "Local sub-ports of the plane in the configuration.", "configured_sub_ports", 1},
	{"fared_plane_paths", GAUGE, on_plane, "Paths to peers over the plane.", "paths", 1},
	{"fared_plane_usable_paths", GAUGE, on_plane, "Those of them with a bandwidth above zero.",
	 "usable_paths", 1},
	{"fared_plane_probes_sent", COUNTER, on_plane, "Probes sent.", "probes_sent", 1},
	{"fared_plane_probes_lost", COUNTER, on_plane, "Probes without a reply in time.",
	 "probes_lost", 1},
	{"fared_plane_probe_downs", COUNTER, on_plane, "Times that probes took a path out of use.",
	 "probe_downs", 1},
	{"fared_plane_probe_queue_seconds", GAUGE, on_plane,
	 "Longest time of late that probes were in queues, there and back.", "probe_queue_us",
	 1e-6},
	{"fared_plane_data_queue_seconds", GAUGE, on_plane,
	 "The same of probes in data's class, sent beside them.", "data_queue_us", 1e-6},
};

static const struct family total_families[] = {
	{"fared_plane_path_usable_bits_per_second", GAUGE, on_plane,
	 "Bandwidth that applications may use, summed over the paths of the plane.", "usable_bps",
	 1},
	{"fared_plane_path_local_bits_per_second", GAUGE, on_plane,
	 "Bandwidth of the live local sub-ports, summed likewise.", "local_bps", 1},
	{"fared_plane_drained_paths", GAUGE, on_plane, "Paths that an operator took out of use.",
	 "drained", 1},
	{"fared_plane_lost_paths", GAUGE, on_plane,
	 "Paths that carry nothing, neither drained nor said to be down by a peer that is reached "
	 "over another plane.",
	 "lost", 1},
	{"fared_plane_reduced_paths", GAUGE, on_plane,
	 "Paths that carry less than the local sub-ports that are not drained, while the peer does "
	 "not say so.",
	 "reduced", 1},
	{"fared_plane_small_mtu_paths", GAUGE, on_plane,
	 "Paths that carry smaller packets than this server sends if it can.", "small_mtu", 1},
	{"fared_plane_probe_loss_ratio", GAUGE, on_plane,
	 "Share of the latest probes that were lost, of the path that loses most.", "loss_ppm",
	 1e-6},
	{"fared_plane_probe_rtt_p50_seconds", GAUGE, on_plane,
	 "Median round trip of recent probes, of the slowest path.", "rtt_p50_us", 1e-6},
	{"fared_plane_probe_rtt_p99_seconds", GAUGE, on_plane,
	 "99th percentile of the round trips of recent probes, of the slowest path.", "rtt_p99_us",
	 1e-6},
	{"fared_plane_qps", GAUGE, on_plane, "QPs of attached applications.", "qps", 1},
	{"fared_plane_qp_bytes", GAUGE, on_plane,
	 "Bytes that these QPs have carried; falls when one ends.", "bytes", 1},
};

static const struct family verdict_families[] = {
	{"fared_plane_verdict_paths", GAUGE, on_plane_verdict,
	 "Paths that have the verdict (fared(8)).", "paths", 1},
};

static const struct family peer_families[] = {
	{"fared_peers", GAUGE, on_peers,
	 "Peers whose paths all carry what the local sub-ports do (whole), do not (degraded), "
	 "carry nothing (down), or were drained.",
	 "peers", 1},
};

static const struct family path_families[] = {
	{"fared_path_usable_bits_per_second", GAUGE, on_path,
	 "Bandwidth that applications may use.", "usable_bps", 1},
	{"fared_path_local_bits_per_second", GAUGE, on_path,
	 "Bandwidth of the live local sub-ports.", "local_bps", 1},
	{"fared_path_advertised_bits_per_second", GAUGE, on_path,
	 "Bandwidth that BGP advertises for the path.", "advertised_bps", 1},
	{"fared_path_noticed_bits_per_second", GAUGE, on_path,
	 "Bandwidth in the peer's latest capacity notice; absent without one.", "noticed_bps", 1},
	{"fared_path_drained", GAUGE, on_path, "1 if an operator took the path out of use.",
	 "drained", 1},
	{"fared_path_verdict", GAUGE, on_path_verdict,
	 "1 for the verdict that the path has (fared(8)).", "verdict", 0},
	{"fared_path_verdict_age_seconds", GAUGE, on_path,
	 "Time since the path got its verdict, or its bandwidth.", "since_s", 1},
	{"fared_path_probe_loss_ratio", GAUGE, on_path,
	 "Share of the latest probes that were lost.", "probe.loss_ppm", 1e-6},
	{"fared_path_probe_rtt_p50_seconds", GAUGE, on_path, "Median round trip of recent probes.",
	 "probe.rtt_p50_us", 1e-6},
	{"fared_path_probe_rtt_p99_seconds", GAUGE, on_path,
	 "99th percentile of the round trips of recent probes.", "probe.rtt_p99_us", 1e-6},
	{"fared_path_probes_sent", COUNTER, on_path, "Probes sent.", "probe.sent", 1},
	{"fared_path_probes_lost", COUNTER, on_path, "Probes without a reply in time.",
	 "probe.lost", 1},
	{"fared_path_mtu_bytes", GAUGE, on_path,
	 "Path MTU (RoCEv2 payload) that probes of full size have found; absent while none is.",
	 "probe.path_mtu", 1},
	{"fared_path_mtu_wanted_bytes", GAUGE, on_path,
	 "Path MTU that this server sends if the peer and the path take it.",
	 "probe.path_mtu_wanted", 1},
	{"fared_path_probe_downs", COUNTER, on_path, "Times that probes took the path out of use.",
	 "probe.downs", 1},
};

static const struct family sub_port_families[] = {
	{"fared_sub_port_up", GAUGE, on_sub_port, "1 if the sub-port has carrier.", "up", 1},
	{"fared_sub_port_speed_bits_per_second", GAUGE, on_sub_port, "Speed of the sub-port.",
	 "speed_bps", 1},
	{"fared_sub_port_drained", GAUGE, on_sub_port,
	 "1 if the sub-port is drained by itself, or its plane is.", "drained", 1},
};

static const struct family source_families[] = {
	{"fared_source_state", GAUGE, on_source_state,
	 "1 for the state that the route source is in.", "state", 0},
	{"fared_source_state_age_seconds", GAUGE, on_source,
	 "Time since the route source entered its state.", "since_s", 1},
};

static const struct family version_families[] = {
	{"fared_build_info", GAUGE, on_build, "1; the daemon's version and the server's name.",
	 "version", 0},
	{"fared_uptime_seconds", GAUGE, NULL, "Time since the daemon started.", "uptime_s", 1},
	{"fared_pairs", GAUGE, NULL, "Pairs of a local GPU and a peer that the daemon knows.",
	 "pairs", 1},
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
	const struct label *label = f->labels;
	double number;

	if (!metrics_number(member(row, f->key), f->scale, &number))
		return;
	fprintf(to, "%s%s", f->name, f->type == COUNTER ? "_total" : "");
	for (; label && label->name; label++)
		write_label(to, label == f->labels, label->name, json_object_get(row, label->key));
	fprintf(to, "%s %.15g\n", label ? "}" : "", number);
}

/* rows: an array, or an object of rows. */
static void write_families(FILE *to, const struct family *families, size_t n, json_t *rows)
{
	for (size_t f = 0; rows && f < n; f++) {
		const char *key;
		json_t *row;
		size_t i;

		write_head(to, families[f].name, families[f].type, families[f].help);
		json_object_foreach (rows, key, row)
			write_sample(to, &families[f], row);
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

static const struct family qp_families[] = {
	{"fared_path_qps", GAUGE, on_path, "QPs of attached applications on the path.", "qps", 1},
	{"fared_path_qp_bytes", GAUGE, on_path,
	 "Bytes that these QPs have carried; falls when one ends.", "bytes", 1},
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

void metrics_write(FILE *to, const struct snapshot *s, const struct path_totals *totals,
		   struct metrics_paths *paths)
{
	json_t *planes = json_object_get(s->planes, "planes"), *ports = flat_sub_ports(planes),
	       *sources = configured_sources(json_object_get(s->planes, "sources")),
	       *version = s->version ? json_pack("[O]", s->version) : NULL;
	const json_t *row;
	size_t i;

	write_head(to, "fared_up", GAUGE, "1 if the daemon answered.");
	fprintf(to, "fared_up %d\n", s->version != NULL);
	write_head(to, "fared_scrape_duration_seconds", GAUGE, "Time that the daemon took.");
	fprintf(to, "fared_scrape_duration_seconds %.6f\n", s->took_s);
	write_families(to, FAMILIES(version_families), version);
	write_families(to, FAMILIES(source_families), sources);
	write_families(to, FAMILIES(plane_families), planes);
	write_families(to, FAMILIES(sub_port_families), ports);
	if (s->version) {
		write_families(to, FAMILIES(total_families), totals->planes);
		write_families(to, FAMILIES(verdict_families), totals->verdicts);
		write_families(to, FAMILIES(peer_families), totals->peers);
	}
	if (s->version && paths) {
		write_paths(to, paths);
		write_families(to, FAMILIES(qp_families), s->qp_sums);
	}
	json_array_foreach (json_object_get(s->counters, "counters"), i, row)
		write_counter(to, row);
	fputs("# EOF\n", to);
	json_decref(ports);
	json_decref(sources);
	json_decref(version);
}
