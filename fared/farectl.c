/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl.c - the operator's tool: one request (or its pages) over RUN_DIR/control.sock, and the
 * reply.
 *
 * Links nothing of the daemon: what it knows is the JSON on the socket. Options are in
 * farectl_options.c, tables in farectl_tables.c.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control_client.h"
#include "base/address.h"
#include "farectl_options.h"
#include "farectl_tables.h"
#include "farectl_top.h"

/* The connection, or NULL with the reason printed. */
static struct control_client *connect_to(const char *run_dir)
{
	struct control_client *c = NULL;
	char why[256];

	if (control_client_open(&c, run_dir, why, sizeof(why)))
		fprintf(stderr, "farectl: %s\n", why);
	return c;
}

/* The reply as it is; where there is none, the reason is printed. */
static json_t *reply_or_error(const struct control_client *c, json_t *reply)
{
	if (!reply)
		fprintf(stderr, "farectl: %s\n", control_client_why(c));
	return reply;
}

/* ---- order ----------------------------------------------------------------- */

struct sort_key {
	json_int_t gpu, plane;
	struct in6_addr peer; /* IPv4 first: it is mapped */
	json_t *row;
};

static struct sort_key sort_key_of(json_t *row)
{
	const char *peer = json_string_value(json_object_get(row, "peer"));
	struct sort_key key = {.gpu = json_integer_value(json_object_get(row, "local_gpu_index")),
			       .plane = json_integer_value(json_object_get(row, "plane")),
			       .row = row};

	if (peer)
		address_parse(peer, &key.peer);
	return key;
}

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	int order = (x->gpu > y->gpu) - (x->gpu < y->gpu);

	if (!order)
		order = memcmp(&x->peer, &y->peer, sizeof(x->peer));
	return order ? order : (x->plane > y->plane) - (x->plane < y->plane);
}

/* The daemon lists peers in the order in which it learned them. */
static void sort_rows(json_t *rows)
{
	size_t n = json_array_size(rows);
	struct sort_key *keys = n ? calloc(n, sizeof(*keys)) : NULL;

	if (!keys)
		return;
	for (size_t i = 0; i < n; i++)
		keys[i] = sort_key_of(json_incref(json_array_get(rows, i)));
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		json_array_set_new(rows, i, keys[i].row);
	free(keys);
}

/* ---- commands ------------------------------------------------------------ */

/* A number as the daemon wants it; false: text is none. */
static bool add_number(json_t *request, const char *key, const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (!*text || *end || number < 0)
		return false;
	return !json_object_set_new(request, key, json_integer(number));
}

static int farectl_finish(const struct farectl_options *options, json_t *reply,
			  void (*print)(const json_t *reply))
{
	if (!reply)
		return 1;
	if (options->json) {
		json_dumpf(reply, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
		putchar('\n');
	} else {
		print(reply);
	}
	json_decref(reply);
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

static int farectl_run(const struct farectl_options *options, json_t *request, const char *rows_key,
		       void (*print)(const json_t *reply))
{
	bool events = rows_key && !strcmp(rows_key, "events");
	struct control_client *c = connect_to(options->run_dir);
	json_t *reply = NULL;
	int rc = 1;

	if (c && rows_key)
		reply = control_client_ask_all(c, request, rows_key, events ? "after" : "cursor");
	else if (c)
		reply = control_client_ask(c, request);
	if (rows_key && (!strcmp(rows_key, "peers") || !strcmp(rows_key, "paths")))
		sort_rows(json_object_get(reply, rows_key));
	if (reply && rows_key && !strcmp(rows_key, "kernel") && farectl_kernel_compare(reply))
		fprintf(stderr, "farectl: the kernel cannot be asked for its routes\n");
	if (c)
		rc = farectl_finish(options, reply_or_error(c, reply), print);
	control_client_close(c);
	json_decref(request);
	return rc;
}

/* "10m": so long ago; 0: it is no duration. */
static time_t time_ago(const char *text)
{
	static const struct {
		char unit;
		long seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || n < 0 || n > 100000000 || !*end || end[1])
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == *end)
			return time(NULL) - n * units[i].seconds;
	return 0;
}

/*
 * "13:05", the last one, or "2026-11-25 13:05:10", in local time; 0: it is neither, or still to
 * come.
 */
static time_t time_of_day(const char *text)
{
	static const char *const formats[] = {"%H:%M", "%H:%M:%S", "%Y-%m-%d %H:%M",
					      "%Y-%m-%d %H:%M:%S"};
	time_t now = time(NULL);

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		bool has_date = formats[i][1] == 'Y';
		const char *end;
		struct tm tm;
		time_t at;

		localtime_r(&now, &tm);
		tm.tm_sec = 0;
		tm.tm_isdst = -1;
		end = strptime(text, formats[i], &tm);
		if (!end || *end)
			continue;
		at = mktime(&tm);
		if (at > now && !has_date) {
			tm.tm_mday--;
			tm.tm_isdst = -1;
			at = mktime(&tm);
		}
		return at > now ? 0 : at;
	}
	return 0;
}

static bool add_filters(json_t *request, const struct farectl_options *o)
{
	if (o->topic)
		json_object_set_new(request, "topic", json_string(o->topic));
	if (o->level)
		json_object_set_new(request, "level", json_string(o->level));
	if (o->plane && !add_number(request, "plane", o->plane))
		return false;
	if (o->since) {
		time_t when = time_ago(o->since);

		when = when ? when : time_of_day(o->since);
		if (when <= 0)
			return false;
		json_object_set_new(request, "since_ns",
				    json_integer((json_int_t)when * 1000000000));
	}
	return true;
}

static int show(const struct farectl_options *options, int argc, char **argv)
{
	static const struct {
		const char *name;
		bool paged;
		int max_args;
		void (*print)(const json_t *reply);
	} tables[] = {
		{"planes", true, 0, tables_planes},
		{"peers", true, 0, tables_peers},
		{"paths", true, 2, tables_paths},
		{"flows", true, 0, tables_flows},
		{"qps", true, 0, tables_qps},
		{"events", true, 0, tables_events},
		{"drains", true, 0, tables_drains},
		{"counters", false, 0, tables_counters},
		{"config", true, 0, tables_config},
		{"version", false, 0, tables_version},
		{"kernel", true, 0, farectl_kernel_print},
	};
	const char *what = argc > 0 ? argv[0] : "";

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		json_t *request;

		if (strcmp(tables[i].name, what))
			continue;
		if (argc - 1 > tables[i].max_args)
			return farectl_usage("too many arguments");
		request = json_pack("{s:s}", "cmd", what);
		if (argc > 1)
			json_object_set_new(request, "peer", json_string(argv[1]));
		if (argc > 2 && !add_number(request, "plane", argv[2])) {
			json_decref(request);
			return farectl_usage("PLANE is a number");
		}
		if (!strcmp(what, "events") && !add_filters(request, options)) {
			json_decref(request);
			return farectl_usage(
				"no such time in the past (--since 10m, --since 13:05) or plane");
		}
		return farectl_run(options, request, tables[i].paged ? what : NULL,
				   tables[i].print);
	}
	return farectl_usage("show what? planes, peers, paths, drains, kernel, flows, qps, "
			     "events, counters, config or version");
}

/* All that is wrong; 3 if anything is. */
static int why_all(const struct farectl_options *options)
{
	json_t *request = json_pack("{s:s}", "cmd", "why"), *reply;
	struct control_client *c = connect_to(options->run_dir);
	bool is_wrong;
	int rc;

	reply = c ? reply_or_error(c, control_client_ask(c, request)) : NULL;
	is_wrong = json_array_size(json_object_get(reply, "causes")) > 0;
	rc = farectl_finish(options, reply, tables_why_all);
	control_client_close(c);
	json_decref(request);
	return rc ? rc : is_wrong ? 3 : 0;
}

static int why(const struct farectl_options *options, int argc, char **argv)
{
	json_t *request;

	if (argc > 3)
		return farectl_usage("give PEER and PLANE, PEER alone, or neither");
	if (argc == 1)
		return why_all(options);
	request = json_pack("{s:s, s:s}", "cmd", "why", "peer", argv[1]);
	if (!request || (argc > 2 && !add_number(request, "plane", argv[2]))) {
		json_decref(request);
		return farectl_usage("PEER is an address and PLANE a number");
	}
	return farectl_run(options, request, NULL, tables_why);
}

/* "2", "4-7", "0,4-6": a bit each; 0: that is no such list. */
static uint32_t planes_of(const char *text)
{
	uint32_t planes = 0;

	for (;;) {
		char *end;
		unsigned long first, last;

		if (*text < '0' || *text > '9')
			return 0;
		first = last = strtoul(text, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last >= 32)
			return 0;
		while (first <= last)
			planes |= 1u << first++;
		if (!*end)
			return planes;
		if (*end != ',')
			return 0;
		text = end + 1;
	}
}

/* drain|undrain PEER|all [PLANES [SUB_PORT]] */
static json_t *drain_request(const struct farectl_options *options, int argc, char **argv,
			     uint32_t *planes)
{
	json_t *request = json_pack("{s:s, s:s}", "cmd", argv[0], "peer", argv[1]), *list;

	*planes = argc > 2 ? planes_of(argv[2]) : 0;
	if (!request || (argc > 2 && !*planes) ||
	    (argc > 3 && !add_number(request, "sub_port", argv[3]))) {
		json_decref(request);
		return NULL;
	}
	if (*planes && !(*planes & (*planes - 1))) {
		json_object_set_new(request, "plane", json_integer(__builtin_ctz(*planes)));
	} else if (*planes) {
		list = json_array();
		for (int p = 0; p < 32; p++)
			if (*planes >> p & 1)
				json_array_append_new(list, json_integer(p));
		json_object_set_new(request, "planes", list);
	}
	if (options->gpu)
		json_object_set_new(request, "gpu", json_string(options->gpu));
	return request;
}

/* A line of JSON, or what print makes of it, each; to the line that says "end", or for ever. */
static int follow(const struct farectl_options *options, json_t *request,
		  void (*head)(const json_t *first), void (*print)(const json_t *line))
{
	struct control_client *c = connect_to(options->run_dir);
	json_t *line = c ? reply_or_error(c, control_client_ask(c, request)) : NULL;
	bool ended = false;

	json_decref(request);
	if (line && !options->json)
		head(line);
	while (line && !ended && !ferror(stdout)) {
		json_decref(line);
		line = reply_or_error(c, control_client_next(c));
		ended = !strcmp(json_string_value(json_object_get(line, "what")) ?: "", "end");
		if (line && options->json) {
			json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
			putchar('\n');
		} else if (line) {
			print(line);
		}
		fflush(stdout);
	}
	json_decref(line);
	control_client_close(c);
	return ended ? 0 : 1; /* only the daemon's end, or ours, stops a watch */
}

/* A line a probe, until the last. */
static int trace(const struct farectl_options *options, int argc, char **argv)
{
	json_t *request =
		argc == 3 ? json_pack("{s:s, s:s}", "cmd", "trace", "peer", argv[1]) : NULL;

	if (!request || !add_number(request, "plane", argv[2]) ||
	    (options->count && !add_number(request, "count", options->count))) {
		json_decref(request);
		return farectl_usage("give PEER and PLANE, a number; --count is a number, too");
	}
	if (options->gpu)
		json_object_set_new(request, "gpu", json_string(options->gpu));
	return follow(options, request, tables_trace_head, tables_trace);
}

/* What differs is of interest when it is refused, too. */
static int reload(const struct farectl_options *options)
{
	json_t *request = json_pack("{s:s, s:b}", "cmd", "reload", "dry_run", options->dry_run);
	struct control_client *c;
	json_t *reply;
	int rc = 1;

	if (options->confirm && !add_number(request, "confirm_s", options->confirm)) {
		json_decref(request);
		return farectl_usage("SECONDS is a number");
	}
	c = connect_to(options->run_dir);
	/* a refusal tells what differs, too */
	reply = c ? reply_or_error(c, control_client_exchange(c, request)) : NULL;
	if (reply) {
		bool refused = !json_is_true(json_object_get(reply, "ok"));

		if (refused)
			fprintf(stderr, "farectl: %s\n", control_client_why(c));
		rc = farectl_finish(options, reply, tables_reload) || refused;
	}
	control_client_close(c);
	json_decref(request);
	return rc;
}

/* What was drained is waited for afterwards. */
static int farectl_drain_or_undrain(const struct farectl_options *options, int argc, char **argv)
{
	struct quiet_scope scope = {.gpu = options->gpu, .sub_port = -1};
	json_t *request;
	int rc;

	if (argc < 2 || argc > 4)
		return farectl_usage("give PEER|all and, if you like, PLANES and SUB_PORT");
	request = drain_request(options, argc, argv, &scope.planes);
	if (!request)
		return farectl_usage("PLANES are like 2, 4-7 or 0,4-6, and SUB_PORT is a number");
	rc = farectl_run(options, request, NULL, tables_drain);
	if (rc || options->wait_s <= 0 || strcmp(argv[0], "drain") != 0)
		return rc;
	scope.peer = strcmp(argv[1], "all") ? argv[1] : NULL;
	scope.sub_port = argc > 3 ? atoi(argv[3]) : -1;
	return farectl_drain_wait(options->run_dir, &scope, options->wait_s);
}

static int command(const struct farectl_options *options, int argc, char **argv)
{
	if (argc == 0)
		return farectl_usage("no command");
	if (!strcmp(argv[0], "show"))
		return show(options, argc - 1, argv + 1);
	if (!strcmp(argv[0], "why"))
		return why(options, argc, argv);
	if (!strcmp(argv[0], "drain") || !strcmp(argv[0], "undrain"))
		return farectl_drain_or_undrain(options, argc, argv);
	if (!strcmp(argv[0], "reload"))
		return argc == 1 ? reload(options) : farectl_usage("reload takes no arguments");
	if (!strcmp(argv[0], "confirm"))
		return argc == 1 ? farectl_run(options, json_pack("{s:s}", "cmd", "confirm"), NULL,
					       tables_confirm)
				 : farectl_usage("confirm takes no arguments");
	if (!strcmp(argv[0], "watch"))
		return argc == 1 ? follow(options, json_pack("{s:s}", "cmd", "watch"),
					  tables_event_head, tables_event)
				 : farectl_usage("watch takes no arguments");
	if (!strcmp(argv[0], "trace"))
		return trace(options, argc, argv);
	if (!strcmp(argv[0], "doctor"))
		return argc == 1 ? farectl_doctor(options)
				 : farectl_usage("doctor takes no arguments");
	if (!strcmp(argv[0], "top"))
		return argc == 1 ? farectl_top(&options->top)
				 : farectl_usage("top takes no arguments");
	return farectl_usage("unknown command");
}

int main(int argc, char **argv)
{
	struct farectl_options options;
	int rc = farectl_options_parse(&options, argc, argv);

	return rc < 0 ? command(&options, argc - optind, argv + optind) : rc;
}
