/* SPDX-License-Identifier: BSD-2-Clause */
/* farectl_tables.c - see farectl_tables.h */
#include "farectl_tables.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CELL 160

static const char *farectl_tables_text(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value && *value ? value : "-";
}

static const char *any(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value ? value : "all";
}

static const char *number_cell(const json_t *row, const char *key, char cell[CELL])
{
	const json_t *value = json_object_get(row, key);

	if (json_is_integer(value))
		snprintf(cell, CELL, "%lld", (long long)json_integer_value(value));
	else
		snprintf(cell, CELL, "-");
	return cell;
}

static const char *gbps(const json_t *row, const char *key, char cell[CELL])
{
	const json_t *value = json_object_get(row, key);

	if (json_is_number(value))
		snprintf(cell, CELL, "%.3f", json_number_value(value) / 1e9);
	else
		snprintf(cell, CELL, "-");
	return cell;
}

static const char *seconds(const json_t *row, const char *key, char cell[CELL])
{
	const json_t *value = json_object_get(row, key);

	if (json_is_number(value))
		snprintf(cell, CELL, "%.1f", json_number_value(value));
	else
		snprintf(cell, CELL, "-");
	return cell;
}

/* "ok=12 no-route=3" */
static const char *verdicts(const json_t *row, char cell[CELL])
{
	json_t *map = json_object_get(row, "verdicts"), *count;
	const char *name;
	size_t length = 0;

	snprintf(cell, CELL, "-");
	json_object_foreach (map, name, count) {
		int n = snprintf(cell + length, CELL - length, "%s%s=%lld", length ? " " : "", name,
				 (long long)json_integer_value(count));

		if (n < 0 || (size_t)n >= CELL - length)
			break;
		length += (size_t)n;
	}
	return cell;
}

static void sub_ports(const json_t *row)
{
	const json_t *port;
	char cell[CELL];
	size_t i;

	json_array_foreach (json_object_get(row, "sub_ports"), i, port)
		printf("%s%s %s %s", i ? ", " : "", farectl_tables_text(port, "dev"),
		       farectl_tables_text(port, "state"), gbps(port, "speed_bps", cell));
	putchar('\n');
}

void tables_planes(const json_t *reply)
{
	char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL];
	const json_t *row;
	size_t i;

	printf("%-8s %5s %11s %9s %9s %-28s %s\n", "GPU", "PLANE", "LOCAL Gb/s", "SUB-PORTS",
	       "PATHS", "VERDICTS", "DEVICES (Gb/s)");
	json_array_foreach (json_object_get(reply, "planes"), i, row) {
		char ports[2 * CELL + 2], paths[2 * CELL + 2];

		snprintf(ports, sizeof(ports), "%s/%s", number_cell(row, "live_sub_ports", a),
			 number_cell(row, "configured_sub_ports", b));
		snprintf(paths, sizeof(paths), "%s/%s", number_cell(row, "usable_paths", c),
			 number_cell(row, "paths", d));
		printf("%-8s %5s %11s %9s %9s %-28s ", farectl_tables_text(row, "local_gpu"),
		       number_cell(row, "plane", a), gbps(row, "local_bps", b), ports, paths,
		       verdicts(row, e));
		sub_ports(row);
	}
	printf("\n%-8s %-8s %9s  %s\n", "SOURCE", "STATE", "FOR s", "REASON");
	json_array_foreach (json_object_get(reply, "sources"), i, row)
		printf("%-8s %-8s %9s  %s\n", farectl_tables_text(row, "source"),
		       json_is_true(json_object_get(row, "configured"))
			       ? farectl_tables_text(row, "state")
			       : "off",
		       seconds(row, "since_s", a), farectl_tables_text(row, "reason"));
}

void tables_peers(const json_t *reply)
{
	char a[CELL], b[CELL], c[CELL], d[CELL];
	const json_t *row;
	size_t i;

	printf("%-8s %-39s %12s %7s  %s\n", "GPU", "PEER", "USABLE Gb/s", "PLANES", "VERDICTS");
	json_array_foreach (json_object_get(reply, "peers"), i, row) {
		char planes[2 * CELL + 2];

		snprintf(planes, sizeof(planes), "%s/%s", number_cell(row, "usable_planes", a),
			 number_cell(row, "planes", b));
		printf("%-8s %-39s %12s %7s  %s\n", farectl_tables_text(row, "local_gpu"),
		       farectl_tables_text(row, "peer"), gbps(row, "usable_bps", c), planes,
		       verdicts(row, d));
	}
}

/* "up 0.00% 0.12 ms": state, loss, median round trip */
static const char *probe(const json_t *row, char cell[CELL])
{
	const json_t *p = json_object_get(row, "probe"), *rtt = json_object_get(p, "rtt_p50_us");

	if (!json_is_object(p)) {
		snprintf(cell, CELL, "-");
		return cell;
	}
	snprintf(cell, CELL, "%s%s %.2f%%", farectl_tables_text(p, "state"),
		 json_is_true(json_object_get(p, "third_party")) ? " (foreign)" : "",
		 (double)json_integer_value(json_object_get(p, "loss_ppm")) / 1e4);
	if (json_is_number(rtt))
		snprintf(cell + strlen(cell), CELL - strlen(cell), " %.2f ms",
			 json_number_value(rtt) / 1e3);
	return cell;
}

/* Columns that the texts of a member take: at least those of its heading. */
static int tables_width(const json_t *rows, const char *key, const char *heading)
{
	size_t width = strlen(heading);
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (strlen(farectl_tables_text(row, key)) > width)
			width = strlen(farectl_tables_text(row, key));
	return (int)width;
}

/* Its reason says more than that it is in use with all that the local links have. */
static bool is_limited(const json_t *path)
{
	return strcmp(farectl_tables_text(path, "verdict"), "ok") ||
	       json_integer_value(json_object_get(path, "usable_bps")) <
		       json_integer_value(json_object_get(path, "local_bps"));
}

/* 100 columns, with peers of IPv4 addresses; a reason has a line of its own. */
void tables_paths(const json_t *reply)
{
	const json_t *rows = json_object_get(reply, "paths"), *row;
	int gpu = tables_width(rows, "local_gpu", "GPU"), peer = tables_width(rows, "peer", "PEER");
	char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL], f[CELL];
	size_t i;

	printf("%-*s %-*s %5s %-14s %9s %9s %10s %9s  %s\n", gpu, "GPU", peer, "PEER", "PLANE",
	       "VERDICT", "USABLE", "LOCAL", "ADVERTISED", "FOR s", "PROBES (LOSS, RTT)");
	json_array_foreach (rows, i, row) {
		printf("%-*s %-*s %5s %-14s %9s %9s %10s %9s  %s\n", gpu,
		       farectl_tables_text(row, "local_gpu"), peer,
		       farectl_tables_text(row, "peer"), number_cell(row, "plane", a),
		       farectl_tables_text(row, "verdict"), gbps(row, "usable_bps", b),
		       gbps(row, "local_bps", c), gbps(row, "advertised_bps", d),
		       seconds(row, "since_s", e), probe(row, f));
		if (is_limited(row) || json_is_true(json_object_get(row, "normalised")))
			printf("%*s %s%s\n", gpu, "", farectl_tables_text(row, "reason"),
			       json_is_true(json_object_get(row, "normalised"))
				       ? " (relative weights)"
				       : "");
	}
	if (json_array_size(rows))
		puts("bandwidths in Gb/s");
}

void tables_flows(const json_t *reply)
{
	char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL], f[CELL], g[CELL];
	const json_t *row;
	size_t i;

	printf("%-16s %8s %-18s %3s %-39s %5s %5s %8s %6s %9s %16s\n", "CLIENT", "PID", "KEY",
	       "GPU", "PEER", "PLANE", "SLOT", "UDP PORT", "IN USE", "IDLE s", "BYTES");
	json_array_foreach (json_object_get(reply, "flows"), i, row)
		printf("%-16s %8s %-18s %3s %-39s %5s %5s %8s %6s %9s %16s\n",
		       farectl_tables_text(row, "client"), number_cell(row, "pid", a),
		       farectl_tables_text(row, "key"), number_cell(row, "local_gpu_index", b),
		       farectl_tables_text(row, "peer"), number_cell(row, "plane", c),
		       number_cell(row, "slot_index", d), number_cell(row, "udp_source_port", e),
		       json_is_true(json_object_get(row, "in_use")) ? "yes" : "no",
		       seconds(row, "idle_s", f), number_cell(row, "bytes", g));
}

void tables_qps(const json_t *reply)
{
	char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL], f[CELL], g[CELL], h[CELL], k[CELL],
		l[CELL];
	const json_t *row;
	size_t i;

	printf("%-16s %8s %3s %-39s %5s %5s %-10s %8s %8s %10s %11s %9s %16s %s\n", "CLIENT", "PID",
	       "GPU", "PEER", "PLANE", "INDEX", "STATE", "QPN", "UDP PORT", "LOCAL PORT",
	       "REMOTE PORT", "FOR s", "BYTES", "ERROR");
	json_array_foreach (json_object_get(reply, "qps"), i, row)
		printf("%-16s %8s %3s %-39s %5s %5s %-10s %8s %8s %10s %11s %9s %16s %s\n",
		       farectl_tables_text(row, "client"), number_cell(row, "pid", a),
		       number_cell(row, "local_gpu_index", b), farectl_tables_text(row, "peer"),
		       number_cell(row, "plane", c), number_cell(row, "index", d),
		       farectl_tables_text(row, "state"), number_cell(row, "qpn", e),
		       number_cell(row, "udp_source_port", f),
		       number_cell(row, "local_sub_port", g),
		       number_cell(row, "remote_sub_port", h), seconds(row, "since_s", k),
		       number_cell(row, "bytes", l), farectl_tables_text(row, "error"));
}

static void print_time(json_int_t wall_ns)
{
	time_t wall_s = (time_t)(wall_ns / 1000000000);
	char when[32];
	struct tm tm;

	localtime_r(&wall_s, &tm);
	strftime(when, sizeof(when), "%T", &tm);
	printf("%s.%06d  ", when, (int)(wall_ns / 1000 % 1000000));
}

void tables_trace_head(const json_t *reply)
{
	printf("%s, plane %lld: %s%s; %lld probes\n", farectl_tables_text(reply, "local_gpu"),
	       (long long)json_integer_value(json_object_get(reply, "plane")),
	       farectl_tables_text(reply, "state"),
	       json_is_true(json_object_get(reply, "probed")) ? "" : ", and not probed now",
	       (long long)json_integer_value(json_object_get(reply, "count")));
	printf("%-15s  %-8s %10s %5s %6s %5s %6s %10s %s\n", "TIME", "WHAT", "SEQUENCE", "LOCAL",
	       "REMOTE", "REPLY", "SOURCE", "RTT (us)", "STATE");
}

static void trace_row(const json_t *line, const char *what)
{
	char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL], rtt[CELL] = "";

	print_time(json_integer_value(json_object_get(line, "wall_ns")));
	if (!strcmp(what, "state")) {
		printf("%-8s %s -> %s (%s)\n", what, farectl_tables_text(line, "from"),
		       farectl_tables_text(line, "to"), farectl_tables_text(line, "reason"));
		return;
	}
	if (json_object_get(line, "rtt_ns"))
		snprintf(rtt, sizeof(rtt), "%.1f",
			 (double)json_integer_value(json_object_get(line, "rtt_ns")) / 1e3);
	printf("%-8s %10s %5s %6s %5s %6s %10s %s%s\n", what, number_cell(line, "sequence", a),
	       number_cell(line, "local_sub_port", b), number_cell(line, "remote_sub_port", c),
	       number_cell(line, "reply_sub_port", d), number_cell(line, "source_port", e), rtt,
	       farectl_tables_text(line, "state"),
	       json_is_true(json_object_get(line, "counts")) ? "" : ", does not count");
}

void tables_trace(const json_t *line)
{
	const char *what = farectl_tables_text(line, "what");
	char a[CELL], b[CELL];

	if (!strcmp(what, "end"))
		printf("%s probes sent, %s answered\n", number_cell(line, "sent", a),
		       number_cell(line, "answered", b));
	else if (!strcmp(what, "missed"))
		printf("(%s lines are missing)\n", number_cell(line, "n", a));
	else
		trace_row(line, what);
}

void tables_event_head(void)
{
	printf("%-6s %-23s %-9s %-34s %5s %5s %s\n", "SEQ", "TIME", "TOPIC", "SUBJECT", "PLANE",
	       "N", "CHANGE");
}

void tables_event(const json_t *e)
{
	json_int_t wall_ns = json_integer_value(json_object_get(e, "wall_ns"));
	const char *from = json_string_value(json_object_get(e, "from"));
	const char *evidence = json_string_value(json_object_get(e, "evidence"));
	time_t wall_s = (time_t)(wall_ns / 1000000000);
	char a[CELL], b[CELL], c[CELL], when[32];
	struct tm tm;

	localtime_r(&wall_s, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	printf("%-6s %s.%03d %-9s %-34s %5s %5s %s%s%s (%s%s%s)\n", number_cell(e, "seq", a), when,
	       (int)(wall_ns / 1000000 % 1000), farectl_tables_text(e, "topic"),
	       farectl_tables_text(e, "subject"), number_cell(e, "plane", b),
	       number_cell(e, "n", c), from ? from : "", from && *from ? " -> " : "",
	       farectl_tables_text(e, "to"), farectl_tables_text(e, "reason"),
	       evidence && *evidence ? ": " : "", evidence ? evidence : "");
}

void tables_events(const json_t *reply)
{
	const json_t *row;
	size_t i;

	tables_event_head();
	json_array_foreach (json_object_get(reply, "events"), i, row)
		tables_event(row);
}

void tables_counters(const json_t *reply)
{
	const json_t *row;
	char a[CELL];
	size_t i;

	if (!json_array_size(json_object_get(reply, "counters")))
		puts("nothing is probed: fared.yaml says health: enabled: false");
	else
		printf("%-10s %-14s %16s  %s\n", "PART", "COUNTER", "COUNT", "MEANING");
	json_array_foreach (json_object_get(reply, "counters"), i, row)
		printf("%-10s %-14s %16s  %s\n", farectl_tables_text(row, "part"),
		       farectl_tables_text(row, "counter"), number_cell(row, "count", a),
		       farectl_tables_text(row, "meaning"));
}

void tables_version(const json_t *reply)
{
	char a[CELL];

	printf("version          %s\n", farectl_tables_text(reply, "version"));
	printf("node             %s\n", farectl_tables_text(reply, "node"));
	printf("up for           %s s\n", seconds(reply, "uptime_s", a));
	printf("pairs            %s\n", number_cell(reply, "pairs", a));
	if (json_is_true(json_object_get(reply, "adopted")))
		printf("segment          adopted\n");
	else
		printf("segment          new: %s\n", farectl_tables_text(reply, "why_new"));
	printf("pairs adopted    %s\n", number_cell(reply, "pairs_adopted", a));
	printf("pairs published  %s times\n", number_cell(reply, "pairs_published", a));
	printf("pairs refused    %s times\n", number_cell(reply, "pairs_refused", a));
}

#define WIDTH 78 /* of lines that are prose */

/* At spaces, the first line after `first`, the others indented as far. */
static void print_wrapped(const char *first, const char *prose)
{
	size_t indent = strlen(first), at = indent;

	fputs(first, stdout);
	while (*prose) {
		size_t length = strcspn(prose, " ");

		if (at > indent && at + 1 + length > WIDTH) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putchar(' ');
			at++;
		}
		fwrite(prose, 1, length, stdout);
		at += length;
		prose += length;
		prose += strspn(prose, " ");
	}
	putchar('\n');
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
			 farectl_tables_text(row, "where"), (long long)lost, lost == 1 ? "" : "s",
			 (long long)less, *farectl_tables_text(row, "example") ? ", such as " : "",
			 farectl_tables_text(row, "example"));
		printf("\n%zu. ", i + 1);
		print_wrapped("", head);
		print_wrapped("   ", farectl_tables_text(row, "cause"));
		print_wrapped("   look next: ", farectl_tables_text(row, "look_next"));
	}
}

void tables_why(const json_t *reply)
{
	const json_t *path, *line;
	size_t i, j;

	json_array_foreach (json_object_get(reply, "why"), i, path) {
		if (i)
			putchar('\n');
		json_array_foreach (json_object_get(path, "lines"), j, line)
			puts(json_string_value(line) ? json_string_value(line) : "");
	}
}

void tables_drain(const json_t *reply)
{
	json_int_t n = json_integer_value(json_object_get(reply, "paths"));

	printf("%s: %lld path%s %s\n", farectl_tables_text(reply, "what"), (long long)n,
	       n == 1 ? "" : "s", farectl_tables_text(reply, "now"));
}

void tables_drains(const json_t *reply)
{
	char a[CELL], b[CELL], c[CELL];
	const json_t *row;
	size_t i;

	printf("%-8s %-39s %5s %8s %9s\n", "GPU", "PEER", "PLANE", "SUB-PORT", "PATHS");
	json_array_foreach (json_object_get(reply, "drains"), i, row)
		printf("%-8s %-39s %5s %8s %9s\n", any(row, "gpu"), any(row, "peer"),
		       json_is_null(json_object_get(row, "plane")) ? "all"
								   : number_cell(row, "plane", a),
		       number_cell(row, "sub_port", b), number_cell(row, "paths", c));
}

void tables_config(const json_t *reply)
{
	const json_t *row;
	size_t i;

	printf("%-50s %-8s %s\n", "KEY", "RELOAD", "VALUE");
	json_array_foreach (json_object_get(reply, "config"), i, row)
		printf("%-50s %-8s %s\n", farectl_tables_text(row, "key"),
		       farectl_tables_text(row, "reload"), farectl_tables_text(row, "value"));
	if (json_is_string(json_object_get(reply, "trial")))
		printf("\n%s\n", farectl_tables_text(reply, "trial"));
}

void tables_reload(const json_t *reply)
{
	const json_t *changes = json_object_get(reply, "changes"), *row;
	json_int_t n = json_integer_value(json_object_get(reply, "n_changes"));
	json_int_t confirm_s = json_integer_value(json_object_get(reply, "confirm_s"));
	size_t i;

	if (n)
		printf("%-50s %-8s %s\n", "KEY", "RELOAD", "CHANGE");
	json_array_foreach (changes, i, row)
		printf("%-50s %-8s %s -> %s\n", farectl_tables_text(row, "key"),
		       farectl_tables_text(row, "reload"), farectl_tables_text(row, "before"),
		       farectl_tables_text(row, "after"));
	if ((size_t)n > json_array_size(changes))
		printf("(%lld more)\n", (long long)n - (long long)json_array_size(changes));
	if (json_object_get(reply, "warning"))
		fprintf(stderr, "farectl: warning: %s\n", farectl_tables_text(reply, "warning"));
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
