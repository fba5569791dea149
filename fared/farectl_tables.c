/* SPDX-License-Identifier: BSD-2-Clause */
#include "farectl_tables.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "farectl_columns.h"

static const char *any(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	const json_t *value = json_object_get(row, key);

	return json_is_integer(value)  ? columns_number(row, key, cell)
	       : json_is_string(value) ? json_string_value(value)
				       : "all";
}

/* "ok=12 no-route=3" */
static const char *verdicts(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	json_t *map = json_object_get(row, key), *count;
	const char *name;
	size_t length = 0;

	snprintf(cell, COLUMNS_CELL, "-");
	json_object_foreach (map, name, count) {
		int n = snprintf(cell + length, COLUMNS_CELL - length, "%s%s=%lld",
				 length ? " " : "", name, (long long)json_integer_value(count));

		if (n < 0 || (size_t)n >= COLUMNS_CELL - length)
			break;
		length += (size_t)n;
	}
	return cell;
}

/* ---- planes, peers, paths -------------------------------------------------- */

static void print_sub_ports(const json_t *row)
{
	char text[8 * COLUMNS_CELL] = "", cell[COLUMNS_CELL];
	size_t length = 0, i;
	const json_t *port;

	json_array_foreach (json_object_get(row, "sub_ports"), i, port)
		if (length < sizeof(text))
			length += (size_t)snprintf(
				text + length, sizeof(text) - length, "%s%s %s %s", i ? ", " : "",
				columns_member(port, "dev"), columns_member(port, "state"),
				columns_gbps(port, "speed_bps", cell));
	columns_wrap("    ", text);
}

static const char *live_cell(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	char live[COLUMNS_CELL], all[COLUMNS_CELL];

	(void)key;
	snprintf(cell, COLUMNS_CELL, "%.20s/%.20s", columns_number(row, "live_sub_ports", live),
		 columns_number(row, "configured_sub_ports", all));
	return cell;
}

/* Of so many as key has. */
static const char *usable_cell(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	char usable[COLUMNS_CELL], all[COLUMNS_CELL], name[32];

	snprintf(name, sizeof(name), "usable_%s", key);
	snprintf(cell, COLUMNS_CELL, "%.20s/%.20s", columns_number(row, name, usable),
		 columns_number(row, key, all));
	return cell;
}

static const char *source_state(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	(void)cell;
	return json_is_true(json_object_get(row, "configured")) ? columns_member(row, key) : "off";
}

void tables_planes(const json_t *reply)
{
	static const struct column planes[] = {
		{"GPU", "local_gpu", columns_text, true},
		{"PLANE", "plane", columns_number, false},
		{"LOCAL Gb/s", "local_bps", columns_gbps, false},
		{"SUB-PORTS", "", live_cell, false},
		{"PATHS", "paths", usable_cell, false},
		{"PROBES QUEUED", "probes_queued", columns_text, true},
		{"VERDICTS", "verdicts", verdicts, true},
	};
	static const struct column sources[] = {
		{"SOURCE", "source", columns_text, true},
		{"STATE", "state", source_state, true},
		{"FOR s", "since_s", columns_seconds, false},
		{"REASON", "reason", columns_text, true},
	};

	COLUMNS_PRINT(json_object_get(reply, "planes"), planes, print_sub_ports);
	putchar('\n');
	COLUMNS_PRINT(json_object_get(reply, "sources"), sources, NULL);
}

void tables_peers(const json_t *reply)
{
	static const struct column columns[] = {
		{"GPU", "local_gpu", columns_text, true},
		{"PEER", "peer", columns_text, true},
		{"USABLE Gb/s", "usable_bps", columns_gbps, false},
		{"PLANES", "planes", usable_cell, false},
		{"VERDICTS", "verdicts", verdicts, true},
	};

	COLUMNS_PRINT(json_object_get(reply, "peers"), columns, NULL);
}

/* "up 0.00% 0.12 ms": state, loss, median round trip */
static const char *probe(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	const json_t *p = json_object_get(row, key), *rtt = json_object_get(p, "rtt_p50_us");

	if (!json_is_object(p)) {
		snprintf(cell, COLUMNS_CELL, "-");
		return cell;
	}
	snprintf(cell, COLUMNS_CELL, "%s%s %.2f%%", columns_member(p, "state"),
		 json_is_true(json_object_get(p, "third_party")) ? " (foreign)" : "",
		 (double)json_integer_value(json_object_get(p, "loss_ppm")) / 1e4);
	if (json_is_number(rtt))
		snprintf(cell + strlen(cell), COLUMNS_CELL - strlen(cell), " %.2f ms",
			 json_number_value(rtt) / 1e3);
	return cell;
}

/*
 * Its reason says more than that it is in use with all that the local links have, and that probes
 * say so.
 */
static bool is_limited(const json_t *path)
{
	const json_t *probe = json_object_get(path, "probe");

	return !strcmp(columns_member(probe, "state"), "unproven") ||
	       strcmp(columns_member(path, "verdict"), "ok") ||
	       json_integer_value(json_object_get(path, "usable_bps")) <
		       json_integer_value(json_object_get(path, "local_bps"));
}

static void print_limit(const json_t *row)
{
	bool is_relative = json_is_true(json_object_get(row, "normalised"));
	char text[2 * COLUMNS_CELL];

	if (!is_limited(row) && !is_relative)
		return;
	snprintf(text, sizeof(text), "%s%s", columns_member(row, "reason"),
		 is_relative ? " (relative weights)" : "");
	columns_wrap("    ", text);
}

void tables_paths(const json_t *reply)
{
	static const struct column columns[] = {
		{"GPU", "local_gpu", columns_text, true},
		{"PEER", "peer", columns_text, true},
		{"PLANE", "plane", columns_number, false},
		{"VERDICT", "verdict", columns_text, true},
		{"USABLE", "usable_bps", columns_gbps, false},
		{"LOCAL", "local_bps", columns_gbps, false},
		{"BGP", "advertised_bps", columns_gbps, false},
		{"FOR s", "since_s", columns_seconds, false},
		{"PROBES (LOSS, RTT)", "probe", probe, true},
	};
	const json_t *rows = json_object_get(reply, "paths");

	COLUMNS_PRINT(rows, columns, print_limit);
	if (json_array_size(rows))
		puts("bandwidths in Gb/s");
}

/* ---- flows, QPs ------------------------------------------------------------ */

static const char *in_use(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	(void)cell;
	return json_is_true(json_object_get(row, key)) ? "yes" : "no";
}

void tables_flows(const json_t *reply)
{
	static const struct column columns[] = {
		{"CLIENT", "client", columns_text, true},
		{"PID", "pid", columns_number, false},
		{"KEY", "key", columns_text, true},
		{"GPU", "local_gpu_index", columns_number, false},
		{"PEER", "peer", columns_text, true},
		{"PLANE", "plane", columns_number, false},
		{"SLOT", "slot_index", columns_number, false},
		{"UDP PORT", "udp_source_port", columns_number, false},
		{"IN USE", "in_use", in_use, true},
		{"IDLE s", "idle_s", columns_seconds, false},
		{"BYTES", "bytes", columns_number, false},
	};

	COLUMNS_PRINT(json_object_get(reply, "flows"), columns, NULL);
}

void tables_qps(const json_t *reply)
{
	static const struct column columns[] = {
		{"CLIENT", "client", columns_text, true},
		{"PID", "pid", columns_number, false},
		{"GPU", "local_gpu_index", columns_number, false},
		{"PEER", "peer", columns_text, true},
		{"PLANE", "plane", columns_number, false},
		{"INDEX", "index", columns_number, false},
		{"STATE", "state", columns_text, true},
		{"QPN", "qpn", columns_number, false},
		{"UDP PORT", "udp_source_port", columns_number, false},
		{"LOCAL PORT", "local_sub_port", columns_number, false},
		{"REMOTE PORT", "remote_sub_port", columns_number, false},
		{"FOR s", "since_s", columns_seconds, false},
		{"BYTES", "bytes", columns_number, false},
		{"ERROR", "error", columns_text, true},
	};

	COLUMNS_PRINT(json_object_get(reply, "qps"), columns, NULL);
}

/* ---- trace ----------------------------------------------------------------- */

static void print_time(json_int_t wall_ns)
{
	time_t wall_s = (time_t)(wall_ns / 1000000000);
	char when[32];
	struct tm tm;

	localtime_r(&wall_s, &tm);
	strftime(when, sizeof(when), "%T", &tm);
	printf("%s.%06d ", when, (int)(wall_ns / 1000 % 1000000));
}

void tables_trace_head(const json_t *reply)
{
	printf("%s, plane %lld: %s%s; %lld probes\n", columns_member(reply, "local_gpu"),
	       (long long)json_integer_value(json_object_get(reply, "plane")),
	       columns_member(reply, "state"),
	       json_is_true(json_object_get(reply, "probed")) ? "" : ", and not probed now",
	       (long long)json_integer_value(json_object_get(reply, "count")));
	printf("%-15s %-8s %7s %5s %6s %5s %6s %9s %s\n", "TIME", "WHAT", "SEQ", "LOCAL", "REMOTE",
	       "REPLY", "SOURCE", "RTT us", "STATE (does not count)");
}

static void trace_row(const json_t *line, const char *what)
{
	char a[COLUMNS_CELL], b[COLUMNS_CELL], c[COLUMNS_CELL], d[COLUMNS_CELL], e[COLUMNS_CELL],
		rtt[COLUMNS_CELL] = "";
	bool counts;

	print_time(json_integer_value(json_object_get(line, "wall_ns")));
	if (!strcmp(what, "state")) {
		printf("%-8s %s -> %s (%s)\n", what, columns_member(line, "from"),
		       columns_member(line, "to"), columns_member(line, "reason"));
		return;
	}
	if (json_object_get(line, "rtt_ns"))
		snprintf(rtt, sizeof(rtt), "%.1f",
			 (double)json_integer_value(json_object_get(line, "rtt_ns")) / 1e3);
	counts = json_is_true(json_object_get(line, "counts"));
	printf("%-8s %7s %5s %6s %5s %6s %9s %s%s%s\n", what, columns_number(line, "sequence", a),
	       columns_number(line, "local_sub_port", b),
	       columns_number(line, "remote_sub_port", c),
	       columns_number(line, "reply_sub_port", d), columns_number(line, "source_port", e),
	       rtt, counts ? "" : "(", columns_member(line, "state"), counts ? "" : ")");
}

void tables_trace(const json_t *line)
{
	const char *what = columns_member(line, "what");
	char a[COLUMNS_CELL], b[COLUMNS_CELL];

	if (!strcmp(what, "end"))
		printf("%s probes sent, %s answered\n", columns_number(line, "sent", a),
		       columns_number(line, "answered", b));
	else if (!strcmp(what, "missed"))
		printf("(%s lines are missing)\n", columns_number(line, "n", a));
	else
		trace_row(line, what);
}

/* ---- events, counters ------------------------------------------------------- */

void tables_event_head(const json_t *reply)
{
	(void)reply;
	printf("%-6s %-23s %-9s %-24s %5s %5s\n", "SEQ", "TIME", "TOPIC", "SUBJECT", "PLANE", "N");
}

void tables_event(const json_t *e)
{
	json_int_t wall_ns = json_integer_value(json_object_get(e, "wall_ns"));
	const char *from = json_string_value(json_object_get(e, "from"));
	const char *evidence = json_string_value(json_object_get(e, "evidence"));
	time_t wall_s = (time_t)(wall_ns / 1000000000);
	char a[COLUMNS_CELL], b[COLUMNS_CELL], c[COLUMNS_CELL], when[32], change[5 * COLUMNS_CELL];
	struct tm tm;

	localtime_r(&wall_s, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	printf("%-6s %s.%03d %-9s %-24s %5s %5s\n", columns_number(e, "seq", a), when,
	       (int)(wall_ns / 1000000 % 1000), columns_member(e, "topic"),
	       columns_member(e, "subject"), columns_number(e, "plane", b),
	       columns_number(e, "n", c));
	snprintf(change, sizeof(change), "%s%s%s (%s%s%s)", from ? from : "",
		 from && *from ? " -> " : "", columns_member(e, "to"), columns_member(e, "reason"),
		 evidence && *evidence ? ": " : "", evidence ? evidence : "");
	columns_wrap("       ", change);
}

void tables_events(const json_t *reply)
{
	const json_t *row;
	size_t i;

	tables_event_head(reply);
	json_array_foreach (json_object_get(reply, "events"), i, row)
		tables_event(row);
}

void tables_counters(const json_t *reply)
{
	char count[COLUMNS_CELL], first[4 * COLUMNS_CELL];
	const json_t *row;
	size_t i;

	if (!json_array_size(json_object_get(reply, "counters")))
		puts("nothing is probed: fared.yaml says health: enabled: false");
	else
		printf("%-10s %-14s %12s  %s\n", "PART", "COUNTER", "COUNT", "MEANING");
	json_array_foreach (json_object_get(reply, "counters"), i, row) {
		snprintf(first, sizeof(first), "%-10s %-14s %12s  ", columns_member(row, "part"),
			 columns_member(row, "counter"), columns_number(row, "count", count));
		columns_wrap(first, columns_member(row, "meaning"));
	}
}

/* ---- the rest --------------------------------------------------------------- */

void tables_version(const json_t *reply)
{
	char a[COLUMNS_CELL];

	printf("version          %s\n", columns_member(reply, "version"));
	printf("node             %s\n", columns_member(reply, "node"));
	printf("up for           %s s\n", columns_seconds(reply, "uptime_s", a));
	printf("pairs            %s\n", columns_number(reply, "pairs", a));
	if (json_is_true(json_object_get(reply, "adopted")))
		printf("segment          adopted\n");
	else
		printf("segment          new: %s\n", columns_member(reply, "why_new"));
	printf("pairs adopted    %s\n", columns_number(reply, "pairs_adopted", a));
	printf("pairs published  %s times\n", columns_number(reply, "pairs_published", a));
	printf("pairs refused    %s times\n", columns_number(reply, "pairs_refused", a));
}

void tables_why_all(const json_t *reply)
{
	const json_t *causes = json_object_get(reply, "causes"), *row;
	json_int_t n = json_integer_value(json_object_get(reply, "paths")),
		   usable = json_integer_value(json_object_get(reply, "usable_paths"));
	char head[160];
	size_t i;

	printf("%zu cause%s; %lld of %lld paths usable\n", json_array_size(causes),
	       json_array_size(causes) == 1 ? "" : "s", (long long)usable, (long long)n);
	json_array_foreach (causes, i, row) {
		json_int_t lost = json_integer_value(json_object_get(row, "paths_lost")),
			   less = json_integer_value(json_object_get(row, "paths_less"));

		snprintf(head, sizeof(head), "%s: %lld path%s lost, %lld affected%s%s",
			 columns_member(row, "where"), (long long)lost, lost == 1 ? "" : "s",
			 (long long)less, *columns_member(row, "example") ? ", such as " : "",
			 columns_member(row, "example"));
		printf("\n%zu. ", i + 1);
		columns_wrap("", head);
		columns_wrap("   ", columns_member(row, "cause"));
		columns_wrap("   look next: ", columns_member(row, "look_next"));
	}
}

#define WHY_HEAD 14 /* columns */

/* "  BMP:        advertises ...": what goes on begins below the text. */
static void print_why_line(const char *line)
{
	size_t head = strspn(line, " "), colon = strcspn(line, ":");
	char first[WHY_HEAD + 8];

	if (head && colon < WHY_HEAD && line[colon])
		head = colon + 1 + strspn(line + colon + 1, " ");
	snprintf(first, sizeof(first), "%.*s", (int)head, line);
	columns_wrap(first, line + strlen(first));
}

void tables_why(const json_t *reply)
{
	const json_t *path, *line;
	size_t i, j;

	json_array_foreach (json_object_get(reply, "why"), i, path) {
		if (i)
			putchar('\n');
		json_array_foreach (json_object_get(path, "lines"), j, line)
			print_why_line(json_string_value(line) ? json_string_value(line) : "");
	}
}

void tables_drain(const json_t *reply)
{
	json_int_t n = json_integer_value(json_object_get(reply, "paths"));

	printf("%s: %lld path%s %s\n", columns_member(reply, "what"), (long long)n,
	       n == 1 ? "" : "s", columns_member(reply, "now"));
}

void tables_drains(const json_t *reply)
{
	static const struct column columns[] = {
		{"GPU", "gpu", any, true},
		{"PEER", "peer", any, true},
		{"PLANE", "plane", any, false},
		{"SUB-PORT", "sub_port", columns_number, false},
		{"PATHS", "paths", columns_number, false},
	};

	COLUMNS_PRINT(json_object_get(reply, "drains"), columns, NULL);
}

/* A key, and what it is or becomes. */
static void print_setting(const json_t *row, const char *value, const char *arrow,
			  const char *after)
{
	char first[COLUMNS_CELL], text[8 * COLUMNS_CELL];

	snprintf(first, sizeof(first), "%-8s ", columns_member(row, "reload"));
	snprintf(text, sizeof(text), "%s: %s%s%s", columns_member(row, "key"), value, arrow, after);
	columns_wrap(first, text);
}

void tables_config(const json_t *reply)
{
	const json_t *row;
	size_t i;

	printf("%-8s %s\n", "RELOAD", "KEY: VALUE");
	json_array_foreach (json_object_get(reply, "config"), i, row)
		print_setting(row, columns_member(row, "value"), "", "");
	if (json_is_string(json_object_get(reply, "trial")))
		printf("\n%s\n", columns_member(reply, "trial"));
}

void tables_reload(const json_t *reply)
{
	const json_t *changes = json_object_get(reply, "changes"), *row;
	json_int_t n = json_integer_value(json_object_get(reply, "n_changes"));
	json_int_t confirm_s = json_integer_value(json_object_get(reply, "confirm_s"));
	size_t i;

	if (n)
		printf("%-8s %s\n", "RELOAD", "KEY: CHANGE");
	json_array_foreach (changes, i, row)
		print_setting(row, columns_member(row, "before"), " -> ",
			      columns_member(row, "after"));
	if ((size_t)n > json_array_size(changes))
		printf("(%lld more)\n", (long long)n - (long long)json_array_size(changes));
	if (json_object_get(reply, "warning"))
		fprintf(stderr, "farectl: warning: %s\n", columns_member(reply, "warning"));
	if (json_is_true(json_object_get(reply, "keys_changed")))
		puts("the key files hold other keys than were in force");
	if (json_is_true(json_object_get(reply, "in_force")))
		printf("in force: %lld change%s\n", (long long)n, n == 1 ? "" : "s");
	else
		printf("nothing changed\n");
	if (confirm_s)
		printf("undone in %lld s unless: farectl confirm\n", (long long)confirm_s);
}

void tables_confirm(const json_t *reply)
{
	(void)reply;
	puts("confirmed");
}
