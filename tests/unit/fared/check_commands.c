/* SPDX-License-Identifier: BSD-2-Clause */
/* What requests do and who may: replies of the whole chain behind the socket, without the socket.
 */
#include "commands.h"

#include <check.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>

#include "config.h"
#include "conn_shm.h"
#include "drain_file.h"
#include "shm_layout.h"

#define S    UINT64_C(1000000000)
#define MBPS UINT64_C(1000000)

static char dir[] = "/tmp/check_commands.XXXXXX";
static struct ev_loop *loop;
static struct config *config;
static struct links *links;
static struct commands commands;
static struct publish *publish;
static struct control_client root = {.role = CONTROL_OPERATOR, .attached = -1};

static void on_link(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, int ifindex,
		    enum links_state old, enum links_state state, uint64_t bps)
{
	(void)arg;
	(void)ifindex;
	(void)old;
	(void)bps;
	ck_assert(gpu == 0 && plane < 2 && sub_port == 0 && state == LINKS_ABSENT);
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	(void)line;
}

static json_t *on_reload(void *arg, const struct control_client *client,
			 const struct control_request *request)
{
	(void)arg, (void)client;
	return json_pack("{s:b, s:i}", "ok", 1, "confirm_s", (int)request->confirm_s);
}

static json_t *on_confirm(void *arg, const struct control_client *client)
{
	(void)arg, (void)client;
	return json_pack("{s:b, s:b}", "ok", 1, "confirmed", 1);
}

static json_t *on_trace(void *arg, struct control_client *client,
			const struct control_request *request)
{
	(void)arg, (void)client;
	return json_pack("{s:b, s:i}", "ok", 1, "count", (int)request->count);
}

static const struct commands_handlers handlers_of_daemon = {on_reload, on_confirm, on_trace};

static void setup(void)
{
	static const char format[] =
		"node: s0\nrun_dir: %s\nbgp:\n  peer_prefixes: [198.19.0.0/16]\n"
		"local_gpus:\n  - name: g0\n    addresses: [198.19.0.1]\n    planes:\n"
		"      - sub_ports: [{dev: nonesuch0, speed_mbps: 400, neighbors: [198.18.0.0]}]\n"
		"      - sub_ports: [{dev: nonesuch1, speed_mbps: 400, neighbors: [198.18.0.2]}]\n";
	static const struct path_table_times times = {
		.stale_ns = 100 * S, .installed_ns = S, .restart_ns = S, .fallback_ns = S};
	static const struct path_table_gpu shape = {.n_planes = 2, .n_sub_ports = {1, 1}};
	static const struct links_handlers handlers = {on_link, on_log, NULL};
	struct config_error error;
	char text[1024];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(text, sizeof(text), format, dir);
	ck_assert_msg(!config_parse(&config, text, strlen(text), "f", &error), "%s", error.text);
	loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_int_eq(links_create(&links, loop, config, &handlers, NULL), 0);
	commands = (struct commands){.wall_ns = 1, .handlers = &handlers_of_daemon};
	ck_assert_int_eq(path_table_create(&commands.table, &shape, 1, &times), 0);
	ck_assert_int_eq(publish_create(&publish, config, commands.table, 0600, S), 0);
	ck_assert_int_eq(events_create(&commands.events, NULL, NULL), 0);
	ck_assert_int_eq(flows_create(&commands.flows), 0);
	commands.report = (struct report){.config = config,
					  .table = commands.table,
					  .links = links,
					  .events = commands.events,
					  .flows = commands.flows,
					  .publish = publish,
					  .now_ns = 10 * S};
	path_table_source_replaced(commands.table, PATH_SOURCE_BMP, true, S);
	for (uint32_t p = 0; p < 2; p++)
		path_table_link(commands.table, 0, p, 0, true, 400 * MBPS);
	for (unsigned peer = 2; peer < 5; peer++)
		for (uint16_t p = 0; p < 2; p++) {
			struct bgp_path_event e = {
				.peer = {.s6_addr = {[10] = 0xff, 0xff, 198, 19, 0, (uint8_t)peer}},
				.plane = p,
				.reachable = true,
				.bandwidth_kind = BGP_BANDWIDTH_VALUE,
				.advertised_bps = p ? 1e8 : 4e8};

			ck_assert_int_eq(path_table_route(commands.table, PATH_SOURCE_BMP, &e, S),
					 0);
		}
	path_table_source_state(commands.table, PATH_SOURCE_BMP, BGP_SOURCE_UP, "test \x01\xff", S);
	publish_run(publish, S, NULL, NULL);
}

static void teardown(void)
{
	char path[64];

	flows_destroy(commands.flows);
	events_destroy(commands.events);
	publish_destroy(publish);
	path_table_destroy(commands.table);
	links_destroy(links);
	ev_loop_destroy(loop);
	config_destroy(config);
	snprintf(path, sizeof(path), "%s/" SHM_NAME, dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" DRAIN_FILE_NAME, dir);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

/* The reply to a line of text; the caller frees it. It must survive being written and read again.
 */
static json_t *ask(struct control_client *client, const char *line, int fd)
{
	struct control_request request;
	char why[200], *text;
	json_t *reply, *again;

	ck_assert_msg(!control_request_parse(line, strlen(line), &request, why, sizeof(why)), "%s",
		      why);
	reply = commands_answer(&commands, client, &request, fd);
	ck_assert_ptr_nonnull(reply);
	publish_run(publish, commands.report.now_ns, NULL, NULL);
	text = json_dumps(reply, 0);
	ck_assert_ptr_nonnull(text);
	again = json_loads(text, 0, NULL);
	ck_assert(json_equal(reply, again) || json_is_object(again));
	json_decref(again);
	free(text);
	return reply;
}

static bool ok(const json_t *reply)
{
	return json_is_true(json_object_get(reply, "ok"));
}

static const char *field(const json_t *reply, const char *rows, size_t i, const char *key)
{
	const char *text = json_string_value(
		json_object_get(json_array_get(json_object_get(reply, rows), i), key));

	ck_assert_msg(text, "no %s[%zu].%s", rows, i, key);
	return text;
}

START_TEST(pages_join_without_gap_or_overlap)
{
	json_int_t cursor = 0;
	unsigned n = 0;

	for (;; n++) {
		char line[100];
		json_t *reply, *next;

		snprintf(line, sizeof(line), "{\"cmd\":\"paths\",\"limit\":1,\"cursor\":%lld}",
			 (long long)cursor);
		reply = ask(&root, line, -1);
		ck_assert(ok(reply));
		if (json_array_size(json_object_get(reply, "paths"))) {
			char peer[32];

			snprintf(peer, sizeof(peer), "198.19.0.%u", 2 + n / 2);
			ck_assert_str_eq(field(reply, "paths", 0, "peer"), peer);
			ck_assert_str_eq(field(reply, "paths", 0, "verdict"), "ok");
		}
		next = json_object_get(reply, "next_cursor");
		cursor = json_integer_value(next);
		if (!json_is_integer(next)) {
			json_decref(reply);
			break;
		}
		json_decref(reply);
	}
	ck_assert_uint_eq(n, 6); /* six full pages, then the end */
}
END_TEST

/* A page is short, and the first one has what is asked for, however many paths there are. */
START_TEST(a_large_table_is_asked_in_bounded_steps)
{
	struct bgp_path_event e = {.peer = {.s6_addr = {[10] = 0xff, 0xff, 198, 19, 1, 0}},
				   .reachable = true,
				   .bandwidth_kind = BGP_BANDWIDTH_ABSENT};
	json_t *reply;
	size_t n;

	for (unsigned peer = 0; peer < 200; peer++) {
		e.peer.s6_addr[15] = (uint8_t)peer;
		ck_assert_int_eq(path_table_route(commands.table, PATH_SOURCE_BMP, &e, S), 0);
	}
	publish_run(publish, S, NULL, NULL);
	reply = ask(&root, "{\"cmd\":\"paths\"}", -1);
	n = json_array_size(json_object_get(reply, "paths"));
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_le(n, 64);
	ck_assert(json_is_integer(json_object_get(reply, "next_cursor")));
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"peers\",\"limit\":4096}", -1);
	ck_assert_uint_le(json_array_size(json_object_get(reply, "peers")), 64);
	ck_assert(json_is_integer(json_object_get(reply, "next_cursor")));
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"paths\",\"peer\":\"198.19.1.199\",\"plane\":0}", -1);
	ck_assert_uint_eq(json_array_size(json_object_get(reply, "paths")), 1);
	ck_assert_str_eq(field(reply, "paths", 0, "peer"), "198.19.1.199");
	ck_assert(json_is_null(json_object_get(reply, "next_cursor")));
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"planes\"}", -1);
	ck_assert_int_eq(json_integer_value(json_object_get(
				 json_array_get(json_object_get(reply, "planes"), 0), "paths")),
			 203);
	json_decref(reply);
}
END_TEST

START_TEST(planes_and_sources)
{
	json_t *reply = ask(&root, "{\"cmd\":\"planes\"}", -1);

	ck_assert(ok(reply));
	ck_assert_uint_eq(json_array_size(json_object_get(reply, "planes")), 2);
	ck_assert_str_eq(field(reply, "sources", 0, "state"), "up");
	ck_assert_str_eq(field(reply, "sources", 0, "reason"), "test ??");
	json_decref(reply);
}
END_TEST

START_TEST(planes_and_drains_come_in_pages)
{
	char line[100];
	json_t *reply;
	size_t n = 0;

	reply = ask(&root, "{\"cmd\":\"planes\",\"limit\":1}", -1);
	ck_assert_uint_eq(json_array_size(json_object_get(reply, "planes")), 1);
	snprintf(line, sizeof(line), "{\"cmd\":\"planes\",\"cursor\":%d}",
		 (int)json_integer_value(json_object_get(reply, "next_cursor")));
	json_decref(reply);
	reply = ask(&root, line, -1);
	ck_assert_uint_eq(json_array_size(json_object_get(reply, "planes")), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(
				 json_array_get(json_object_get(reply, "planes"), 0), "plane")),
			 1);
	ck_assert(json_is_null(json_object_get(reply, "next_cursor")));
	json_decref(reply);

	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof(line), "{\"cmd\":\"drain\",\"peer\":\"198.19.3.%d\"}", i);
		reply = ask(&root, line, -1);
		ck_assert(ok(reply));
		json_decref(reply);
	}
	for (json_int_t cursor = 0; cursor >= 0; json_decref(reply)) {
		const json_t *next;

		snprintf(line, sizeof(line), "{\"cmd\":\"drains\",\"cursor\":%d}", (int)cursor);
		reply = ask(&root, line, -1);
		ck_assert_uint_le(json_array_size(json_object_get(reply, "drains")), 8);
		n += json_array_size(json_object_get(reply, "drains"));
		next = json_object_get(reply, "next_cursor");
		cursor = json_is_null(next) ? -1 : json_integer_value(next);
	}
	ck_assert_uint_eq(n, 20);
}
END_TEST

START_TEST(draining_is_for_the_privileged)
{
	struct control_client reader = {.uid = 1000, .attached = -1};
	json_t *reply = ask(&reader, "{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":1}", -1);

	ck_assert(!ok(reply));
	json_decref(reply);
	reply = ask(&reader, "{\"cmd\":\"paths\",\"peer\":\"198.19.0.2\",\"plane\":1}", -1);
	ck_assert_str_eq(field(reply, "paths", 0, "verdict"), "ok");
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":1}", -1);
	ck_assert_int_eq(json_integer_value(json_object_get(reply, "paths")), 3);
	json_decref(reply);
	reply = ask(&reader, "{\"cmd\":\"paths\",\"peer\":\"198.19.0.2\",\"plane\":1}", -1);
	ck_assert_str_eq(field(reply, "paths", 0, "verdict"), "drained");
	json_decref(reply);
	events_flush(commands.events);
	reply = ask(&reader, "{\"cmd\":\"events\"}", -1);
	ck_assert_str_eq(field(reply, "events", 0, "topic"), "drain");
	json_decref(reply);
}
END_TEST

static bool says(const char *line, const char *expected)
{
	json_t *reply = ask(&root, line, -1);
	char *text = json_dumps(reply, JSON_COMPACT);
	bool found = strstr(text, expected) != NULL;

	if (!found)
		fprintf(stderr, "%s: %s\n", line, text);
	free(text);
	json_decref(reply);
	return found;
}

/* Toward peers that the next daemon learns, too: they are not in the segment. */
START_TEST(a_drain_is_kept_for_the_next_daemon)
{
	struct drain_set left;
	char why[200];

	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":1}", "\"paths\":3"));
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"198.19.0.77\"}", "\"paths\":0"));
	ck_assert_int_eq(drain_file_load(config, &left, why, sizeof(why)), 0);
	ck_assert_uint_eq(left.n, 2);
	ck_assert(left.rules[0].has_plane && !left.rules[0].has_peer && left.rules[0].plane == 1);
	ck_assert(says("{\"cmd\":\"drains\"}",
		       "{\"gpu\":null,\"peer\":\"198.19.0.77\",\"plane\":null,\"sub_port\":null,"
		       "\"paths\":0}"));
	ck_assert(says("{\"cmd\":\"undrain\",\"peer\":\"198.19.0.2\",\"plane\":1}",
		       "'all plane 1' is: undrain that"));
	/* several planes: all of them or none */
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"planes\":[0,2]}", "no such plane"));
	ck_assert_uint_eq(path_table_drains(commands.table)->n, 2);
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"planes\":[1,0]}",
		       "\"what\":\"all plane 0, plane 1\",\"now\":\"drained\",\"paths\":6"));
	ck_assert_uint_eq(path_table_drains(commands.table)->n, 3);
	ck_assert(says("{\"cmd\":\"undrain\",\"peer\":\"all\",\"planes\":[0,1]}", "\"ok\":true"));
	ck_assert_uint_eq(path_table_drains(commands.table)->n, 1);
	/* nothing that was named is drained; of planes one is enough; all is all */
	ck_assert(says("{\"cmd\":\"undrain\",\"peer\":\"198.19.0.99\"}",
		       "nothing is drained under that name"));
	ck_assert(says("{\"cmd\":\"undrain\",\"peer\":\"all\"}", "\"ok\":true"));
	ck_assert(says("{\"cmd\":\"undrain\",\"peer\":\"all\",\"plane\":1}",
		       "nothing is drained under that name"));
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":1}", "\"paths\":3"));
	ck_assert(says("{\"cmd\":\"undrain\",\"peer\":\"all\",\"planes\":[0,1]}", "\"paths\":3"));
	ck_assert(says("{\"cmd\":\"undrain\",\"peer\":\"all\"}", "\"ok\":true"));
	ck_assert_int_eq(drain_file_load(config, &left, why, sizeof(why)), 0);
	ck_assert_uint_eq(left.n, 0);
}
END_TEST

START_TEST(a_drain_that_cannot_be_kept_is_refused)
{
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":2}", "no such plane"));
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":1,\"sub_port\":1}",
		       "no such plane or sub-port"));
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"gpu\":\"g7\"}", "no such local GPU"));
	snprintf(config->run_dir, sizeof(config->run_dir), "/nonexistent");
	ck_assert(says("{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":1}", "cannot be written"));
	snprintf(config->run_dir, sizeof(config->run_dir), "%s", dir);
	ck_assert(says("{\"cmd\":\"paths\",\"peer\":\"198.19.0.2\",\"plane\":1}",
		       "\"verdict\":\"ok\""));
	ck_assert_uint_eq(path_table_drains(commands.table)->n, 0);
}
END_TEST

static bool is_permitted(enum control_role role, const char *line)
{
	struct control_client client = {.uid = 1000, .attached = -1, .role = role};
	json_t *reply = ask(&client, line, -1);
	const char *error = json_string_value(json_object_get(reply, "error"));
	bool permitted = !error || !strstr(error, "permission denied");

	json_decref(reply);
	return permitted;
}

START_TEST(readers_applications_and_operators_are_apart)
{
	static const struct {
		const char *line;
		enum control_role needed;
	} commands_of[] = {
		{"{\"cmd\":\"planes\"}", CONTROL_READER},
		{"{\"cmd\":\"peers\"}", CONTROL_READER},
		{"{\"cmd\":\"paths\"}", CONTROL_READER},
		{"{\"cmd\":\"flows\"}", CONTROL_READER},
		{"{\"cmd\":\"qps\"}", CONTROL_READER},
		{"{\"cmd\":\"events\"}", CONTROL_READER},
		{"{\"cmd\":\"why\",\"peer\":\"198.19.0.2\"}", CONTROL_READER},
		{"{\"cmd\":\"drains\"}", CONTROL_READER},
		{"{\"cmd\":\"watch\"}", CONTROL_READER},
		{"{\"cmd\":\"counters\"}", CONTROL_READER},
		{"{\"cmd\":\"config\"}", CONTROL_READER},
		{"{\"cmd\":\"version\"}", CONTROL_READER},
		{"{\"cmd\":\"attach\"}", CONTROL_APPLICATION},
		{"{\"cmd\":\"drain\",\"peer\":\"all\"}", CONTROL_OPERATOR},
		{"{\"cmd\":\"undrain\",\"peer\":\"all\"}", CONTROL_OPERATOR},
		{"{\"cmd\":\"reload\"}", CONTROL_OPERATOR},
		{"{\"cmd\":\"reload\",\"dry_run\":true}", CONTROL_OPERATOR},
		{"{\"cmd\":\"confirm\"}", CONTROL_OPERATOR},
		{"{\"cmd\":\"trace\",\"peer\":\"198.19.0.2\",\"plane\":0}", CONTROL_OPERATOR},
	};

	for (size_t i = 0; i < sizeof(commands_of) / sizeof(commands_of[0]); i++)
		for (int role = CONTROL_READER; role <= CONTROL_OPERATOR; role++)
			ck_assert_msg(is_permitted((enum control_role)role, commands_of[i].line) ==
					      (role >= (int)commands_of[i].needed),
				      "%s by role %d", commands_of[i].line, role);
}
END_TEST

START_TEST(reloading_is_the_daemons)
{
	ck_assert(says("{\"cmd\":\"reload\",\"confirm_s\":9}", "\"confirm_s\":9"));
	ck_assert(says("{\"cmd\":\"confirm\"}", "\"confirmed\":true"));
}
END_TEST

START_TEST(the_configuration_is_shown_with_its_defaults)
{
	ck_assert(says("{\"cmd\":\"config\"}", "{\"key\":\"health.interval_ms\",\"value\":\"3\","
					       "\"reload\":\"restart\"}"));
	ck_assert(says("{\"cmd\":\"config\",\"cursor\":0,\"limit\":1}", "\"next_cursor\":1"));
}
END_TEST

/* Of what was told, what is asked for. */
START_TEST(events_are_filtered)
{
	static const struct {
		const char *filter;
		int n;
	} filters[] = {
		{"", 4},
		{",\"topic\":\"link\"", 2},
		{",\"topic\":\"peer\"", 0},
		{",\"plane\":1", 2},
		{",\"plane\":1,\"topic\":\"path\"", 1},
		{",\"level\":\"warning\"", 2},
		{",\"since_ns\":3000", 2},
		{",\"since_ns\":3000,\"level\":\"err\"", 1},
		{",\"since_ns\":5000", 0},
		{",\"limit\":1", 1},
		{",\"limit\":1,\"topic\":\"path\"", 1},
	};

	static const struct event events[] = {
		{.topic = "path", .plane = 1, .priority = LOG_NOTICE},
		{.topic = "link", .plane = 0, .priority = LOG_NOTICE},
		{.topic = "link", .plane = 1, .priority = LOG_WARNING},
		{.topic = "path", .plane = 0, .priority = LOG_ERR},
	};

	for (size_t i = 0; i < 4; i++) {
		events_add(commands.events, &events[i], 1, (i + 1) * 1000);
		events_flush(commands.events);
	}
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		char line[200];
		json_t *reply;

		snprintf(line, sizeof(line), "{\"cmd\":\"events\"%s}", filters[i].filter);
		reply = ask(&root, line, -1);
		ck_assert_msg((int)json_array_size(json_object_get(reply, "events")) ==
				      filters[i].n,
			      "%s", line);
		json_decref(reply);
	}
}
END_TEST

START_TEST(why_names_rule_inputs_and_what_next)
{
	json_t *reply = ask(&root, "{\"cmd\":\"why\",\"peer\":\"198.19.0.3\",\"plane\":1}", -1);
	char *text = json_dumps(reply, 0);

	ck_assert(ok(reply));
	ck_assert_ptr_nonnull(strstr(text, "plane 1: ok, usable 0.1 Gb/s"));
	ck_assert_ptr_nonnull(strstr(text, "advertises 0.1 Gb/s"));
	ck_assert_ptr_nonnull(strstr(text, "last received 9.0 s ago"));
	ck_assert_ptr_nonnull(strstr(text, "nonesuch1 absent"));
	ck_assert_ptr_nonnull(strstr(text, "look next"));
	free(text);
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"why\",\"peer\":\"198.19.0.99\"}", -1);
	ck_assert(!ok(reply));
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"why\",\"peer\":\"198.19.0.2\",\"plane\":7}", -1);
	ck_assert(!ok(reply));
	json_decref(reply);
}
END_TEST

/* bgpd may keep the listener of a target that was removed: it accepts, and says nothing. */
START_TEST(why_names_a_bgpd_that_says_nothing)
{
	json_t *reply, *cause;
	unsigned n = 0;
	size_t i;

	path_table_source_state(commands.table, PATH_SOURCE_BMP, BGP_SOURCE_DOWN,
				"reading from bgpd: it says nothing", 2 * S);
	reply = ask(&root, "{\"cmd\":\"why\"}", -1);
	json_array_foreach (json_object_get(reply, "causes"), i, cause) {
		if (strcmp(json_string_value(json_object_get(cause, "cause")),
			   "BMP is down: reading from bgpd: it says nothing"))
			continue;
		n++;
		ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(cause, "look_next")),
					     "'bmp targets'"));
	}
	ck_assert_uint_eq(n, 1);
	json_decref(reply);
}
END_TEST

START_TEST(counters_of_what_does_not_run_are_no_rows)
{
	json_t *reply = ask(&root, "{\"cmd\":\"counters\"}", -1);

	ck_assert(ok(reply));
	ck_assert(json_is_array(json_object_get(reply, "counters")));
	ck_assert_uint_eq(json_array_size(json_object_get(reply, "counters")), 0);
	json_decref(reply);
}
END_TEST

START_TEST(every_counter_has_a_row_with_its_meaning)
{
	static const struct sub_ports ports = {0};
	static const struct notice_keys keys = {0};
	static const struct reflector_handlers reflector_handlers = {0};
	static const struct prober_handlers prober_handlers = {0};
	const struct prober_options options = {
		.times = {.interval_ns = S / 100, .detect_multiplier = 3},
		.slow_interval_ns = S,
		.max_probes_per_s = 1000};
	struct reflector *reflector;
	struct prober *prober;
	json_t *reply;
	size_t n;

	/* without a GPU neither has a socket */
	ck_assert_int_eq(
		prober_create(&prober, NULL, &options, &ports, &keys, &prober_handlers, NULL, 1),
		0);
	ck_assert_int_eq(
		reflector_create(&reflector, NULL, &ports, &keys, &reflector_handlers, NULL), 0);
	commands.report.prober = prober;
	commands.report.reflector = reflector;
	reply = ask(&root, "{\"cmd\":\"counters\"}", -1);
	n = json_array_size(json_object_get(reply, "counters"));
	ck_assert_uint_eq(n, (sizeof(struct prober_counters) + sizeof(struct reflector_counters)) /
				     sizeof(uint64_t));
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_gt(strlen(field(reply, "counters", i, "meaning")), 0);
	ck_assert_str_eq(field(reply, "counters", 0, "counter"), "sent");
	ck_assert_str_eq(field(reply, "counters", n - 1, "counter"), "second_key");
	json_decref(reply);
	reflector_destroy(reflector);
	prober_destroy(prober);
	commands.report.prober = NULL;
	commands.report.reflector = NULL;
}
END_TEST

static int memfd_of_garbage(void)
{
	size_t size = sizeof(struct conn_shm_header) + 7 * CONN_SHM_ROW_BYTES;
	int fd = memfd_create("table", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct conn_shm_header *header;

	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(header, 0xfe, size);
	*header = (struct conn_shm_header){.magic = CONN_SHM_MAGIC,
					   .version = CONN_SHM_VERSION,
					   .n_entries = 3,
					   .n_qps = 2,
					   .n_paths = 2,
					   .used_entries = 3,
					   .used_qps = UINT32_MAX,
					   .used_paths = UINT32_MAX};
	munmap(header, size);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, CONN_SHM_SEALS), 0);
	return fd;
}

START_TEST(a_connection_table_full_of_garbage_is_shown_as_it_is)
{
	struct control_client client = {.pid = 77, .attached = -1, .role = CONTROL_APPLICATION};
	int fd = memfd_of_garbage();
	json_t *reply = ask(&client, "{\"cmd\":\"attach\",\"name\":\"caf\\u00e9 \\u001b[2J\"}", -1);

	ck_assert(!ok(reply)); /* no descriptor */
	json_decref(reply);
	reply = ask(&client, "{\"cmd\":\"attach\",\"name\":\"caf\\u00e9 \\u001b[2J\"}", fd);
	ck_assert(ok(reply));
	json_decref(reply);
	ck_assert_int_eq(client.attached, 0);
	reply = ask(&client, "{\"cmd\":\"attach\",\"name\":\"x\"}", fd);
	ck_assert(!ok(reply)); /* one per connection */
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"flows\"}", -1);
	ck_assert_uint_eq(json_array_size(json_object_get(reply, "flows")), 3);
	ck_assert_str_eq(field(reply, "flows", 0, "client"), "caf?? ?[2J");
	ck_assert_str_eq(field(reply, "flows", 2, "key"), "0xfefefefefefefefe");
	json_decref(reply);
	reply = ask(&root, "{\"cmd\":\"qps\",\"limit\":1}", -1);
	ck_assert_uint_eq(json_array_size(json_object_get(reply, "qps")), 1);
	ck_assert(json_is_integer(json_object_get(reply, "next_cursor")));
	ck_assert_str_eq(field(reply, "qps", 0, "state"), "?");
	json_decref(reply);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("commands");
	TCase *tc = tcase_create("replies");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, pages_join_without_gap_or_overlap);
	tcase_add_test(tc, a_large_table_is_asked_in_bounded_steps);
	tcase_add_test(tc, planes_and_sources);
	tcase_add_test(tc, planes_and_drains_come_in_pages);
	tcase_add_test(tc, draining_is_for_the_privileged);
	tcase_add_test(tc, a_drain_is_kept_for_the_next_daemon);
	tcase_add_test(tc, readers_applications_and_operators_are_apart);
	tcase_add_test(tc, reloading_is_the_daemons);
	tcase_add_test(tc, events_are_filtered);
	tcase_add_test(tc, the_configuration_is_shown_with_its_defaults);
	tcase_add_test(tc, a_drain_that_cannot_be_kept_is_refused);
	tcase_add_test(tc, why_names_rule_inputs_and_what_next);
	tcase_add_test(tc, why_names_a_bgpd_that_says_nothing);
	tcase_add_test(tc, counters_of_what_does_not_run_are_no_rows);
	tcase_add_test(tc, every_counter_has_a_row_with_its_meaning);
	tcase_add_test(tc, a_connection_table_full_of_garbage_is_shown_as_it_is);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
