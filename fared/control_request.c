/* SPDX-License-Identifier: BSD-2-Clause */
#include "control_request.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "events.h"
#include "fare_limits.h"
#include "log.h"
#include "base/utf8.h"

#define KEY_TEXT_MAX 40 /* bytes of an argument that there is none of */

enum argument {
	ARG_PEER = 1 << 0,
	ARG_PLANE = 1 << 1,
	ARG_CURSOR = 1 << 2,
	ARG_AFTER = 1 << 3,
	ARG_LIMIT = 1 << 4,
	ARG_NAME = 1 << 5,
	ARG_PID = 1 << 6,
	ARG_SUB_PORT = 1 << 7,
	ARG_GPU = 1 << 8,
	ARG_DRY_RUN = 1 << 9,
	ARG_CONFIRM = 1 << 10,
	ARG_SINCE = 1 << 11,
	ARG_TOPIC = 1 << 12,
	ARG_LEVEL = 1 << 13,
	ARG_COUNT = 1 << 14,
	ARG_PLANES = 1 << 15,
};

#define ARG_EVENTS (ARG_AFTER | ARG_LIMIT | ARG_SINCE | ARG_TOPIC | ARG_LEVEL | ARG_PLANE)
#define ARG_PATH   (ARG_PEER | ARG_PLANE)
#define ARG_DRAIN  (ARG_PEER | ARG_PLANE | ARG_PLANES | ARG_SUB_PORT | ARG_GPU)

static const struct {
	const char *name;
	unsigned may, must;
} commands[CONTROL_COMMAND_COUNT] = {
	[CONTROL_PLANES] = {"planes", ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_PEERS] = {"peers", ARG_PEER | ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_PATHS] = {"paths", ARG_PEER | ARG_PLANE | ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_FLOWS] = {"flows", ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_QPS] = {"qps", ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_EVENTS] = {"events", ARG_EVENTS, 0},
	[CONTROL_WHY] = {"why", ARG_PEER | ARG_PLANE, 0},
	[CONTROL_DRAINS] = {"drains", ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_KERNEL] = {"kernel", ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_DRAIN] = {"drain", ARG_DRAIN, ARG_PEER},
	[CONTROL_UNDRAIN] = {"undrain", ARG_DRAIN, ARG_PEER},
	[CONTROL_WATCH] = {"watch", 0, 0},
	[CONTROL_ATTACH] = {"attach", ARG_NAME | ARG_PID, 0},
	[CONTROL_COUNTERS] = {"counters", 0, 0},
	[CONTROL_CONFIG] = {"config", ARG_CURSOR | ARG_LIMIT, 0},
	[CONTROL_RELOAD] = {"reload", ARG_DRY_RUN | ARG_CONFIRM, 0},
	[CONTROL_CONFIRM] = {"confirm", 0, 0},
	[CONTROL_TRACE] = {"trace", ARG_PATH | ARG_GPU | ARG_COUNT, ARG_PATH},
	[CONTROL_VERSION] = {"version", 0, 0},
};

static const struct {
	const char *name;
	enum argument bit;
} arguments[] = {
	{"peer", ARG_PEER},	  {"plane", ARG_PLANE},	      {"cursor", ARG_CURSOR},
	{"after", ARG_AFTER},	  {"limit", ARG_LIMIT},	      {"name", ARG_NAME},
	{"pid", ARG_PID},	  {"sub_port", ARG_SUB_PORT}, {"gpu", ARG_GPU},
	{"dry_run", ARG_DRY_RUN}, {"confirm_s", ARG_CONFIRM}, {"since_ns", ARG_SINCE},
	{"topic", ARG_TOPIC},	  {"level", ARG_LEVEL},	      {"count", ARG_COUNT},
	{"planes", ARG_PLANES},
};

struct reply {
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int bad(const struct reply *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->why, r->why_size, format, ap);
	va_end(ap);
	return -EBADMSG;
}

static int take_command(const json_t *root, struct control_request *out, const struct reply *r)
{
	const char *name = json_string_value(json_object_get(root, "cmd"));

	if (!name)
		return bad(r, "no \"cmd\"");
	for (int c = 0; c < CONTROL_COMMAND_COUNT; c++) {
		if (strcmp(commands[c].name, name))
			continue;
		out->command = (enum control_command)c;
		return 0;
	}
	return bad(r, "unknown command");
}

static int take_integer(const json_t *value, const char *name, uint64_t max, uint64_t *out,
			const struct reply *r)
{
	json_int_t i = json_integer_value(value);

	if (!json_is_integer(value) || i < 0 || (uint64_t)i > max)
		return bad(r, "\"%s\" must be an integer from 0 to %llu", name,
			   (unsigned long long)max);
	*out = (uint64_t)i;
	return 0;
}

static int take_peer(const json_t *value, struct control_request *out, const struct reply *r)
{
	const char *text = json_string_value(value);
	bool all_allowed = out->command == CONTROL_DRAIN || out->command == CONTROL_UNDRAIN;

	if (!text)
		return bad(r, "\"peer\" must be a string");
	if (all_allowed && !strcmp(text, "all"))
		return 0;
	if (address_parse(text, &out->peer))
		return bad(r, "peer '%.*s' is no IP address%s", utf8_fit(text, 60), text,
			   all_allowed ? " and not 'all'" : "");
	out->has_peer = true;
	return 0;
}

static int take_planes(const json_t *value, struct control_request *out, const struct reply *r)
{
	const json_t *item;
	size_t i;

	if (!json_array_size(value))
		return bad(r, "\"planes\" must be an array of planes");
	json_array_foreach (value, i, item) {
		uint64_t plane = 0;
		int rc = take_integer(item, "planes", FARE_MAX_PLANES - 1, &plane, r);

		if (rc)
			return rc;
		out->planes |= 1u << plane;
	}
	return 0;
}

static int control_request_text(const json_t *value, const char *name, char *out, size_t size,
				const struct reply *r)
{
	if (!json_string_length(value))
		return bad(r, "\"%s\" must be a string that is not empty", name);
	snprintf(out, size, "%s", json_string_value(value));
	utf8_trim(out);
	return 0;
}

static int take_argument(enum argument bit, const char *name, const json_t *value,
			 struct control_request *out, const struct reply *r)
{
	uint64_t number = 0;
	int rc;

	switch (bit) {
	case ARG_PEER:
		return take_peer(value, out, r);
	case ARG_PLANE:
		rc = take_integer(value, name, FARE_MAX_PLANES - 1, &number, r);
		out->plane = (uint32_t)number;
		out->has_plane = true;
		return rc;
	case ARG_PLANES:
		return take_planes(value, out, r);
	case ARG_CURSOR:
	case ARG_AFTER:
		return take_integer(value, name, INT64_MAX, &out->cursor, r);
	case ARG_LIMIT:
		rc = take_integer(value, name, CONTROL_LIMIT_MAX, &number, r);
		if (!rc && !number)
			return bad(r, "\"limit\" must be at least 1");
		out->limit = (uint32_t)number;
		return rc;
	case ARG_SUB_PORT:
		rc = take_integer(value, name, FARE_MAX_SUB_PORTS - 1, &number, r);
		out->sub_port = (uint32_t)number;
		out->has_sub_port = true;
		return rc;
	case ARG_SINCE:
		return take_integer(value, name, INT64_MAX, &out->since_ns, r);
	case ARG_TOPIC:
		if (!json_is_string(value) || !events_has_topic(json_string_value(value)))
			return bad(r, "\"topic\" must be one of: " EVENTS_TOPICS);
		return control_request_text(value, name, out->topic, sizeof(out->topic), r);
	case ARG_LEVEL:
		out->level = json_is_string(value) ? log_level_parse(json_string_value(value)) : -1;
		if (out->level < 0)
			return bad(r, "\"level\" must be debug, info, notice, warning or err");
		return 0;
	case ARG_DRY_RUN:
		if (!json_is_boolean(value))
			return bad(r, "\"dry_run\" must be true or false");
		out->dry_run = json_is_true(value);
		return 0;
	case ARG_CONFIRM:
		rc = take_integer(value, name, CONTROL_CONFIRM_MAX, &number, r);
		if (!rc && !number)
			return bad(r, "\"confirm_s\" must be at least 1");
		out->confirm_s = (uint32_t)number;
		return rc;
	case ARG_COUNT:
		rc = take_integer(value, name, CONTROL_TRACE_MAX, &number, r);
		if (!rc && !number)
			return bad(r, "\"count\" must be at least 1");
		out->count = (uint32_t)number;
		return rc;
	case ARG_GPU:
		if (json_string_length(value) >= sizeof(out->gpu))
			return bad(r, "\"gpu\" is no name of a local GPU");
		return control_request_text(value, name, out->gpu, sizeof(out->gpu), r);
	case ARG_NAME:
		return control_request_text(value, name, out->name, sizeof(out->name), r);
	case ARG_PID: /* the kernel tells the truth of it; accepted for the reader's sake */
		return take_integer(value, name, INT32_MAX, &number, r);
	}
	return bad(r, "unknown argument");
}

static int take_arguments(json_t *root, struct control_request *out, const struct reply *r)
{
	unsigned seen = 0;
	const char *key;
	json_t *value;

	json_object_foreach (root, key, value) {
		size_t i, n = sizeof(arguments) / sizeof(arguments[0]);
		int rc;

		if (!strcmp(key, "cmd"))
			continue;
		for (i = 0; i < n && strcmp(arguments[i].name, key); i++)
			;
		if (i == n || !(commands[out->command].may & arguments[i].bit))
			return bad(r, "\"%s\" takes no \"%.*s\"", commands[out->command].name,
				   utf8_fit(key, KEY_TEXT_MAX), key);
		rc = take_argument(arguments[i].bit, key, value, out, r);
		if (rc)
			return rc;
		seen |= arguments[i].bit;
	}
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		if (commands[out->command].must & ~seen & arguments[i].bit)
			return bad(r, "\"%s\" needs \"%s\"", commands[out->command].name,
				   arguments[i].name);
	if (out->has_sub_port && (!out->has_plane || out->has_peer))
		return bad(r, "a \"sub_port\" is one of a \"plane\", toward \"all\"");
	if (out->planes && out->has_plane)
		return bad(r, "\"plane\" and \"planes\" exclude each other");
	if (out->dry_run && out->confirm_s)
		return bad(r, "with \"dry_run\" there is nothing to confirm");
	return 0;
}

int control_request_parse(const char *line, size_t length, struct control_request *out, char *why,
			  size_t why_size)
{
	struct reply r = {why, why_size};
	json_error_t error;
	json_t *root;
	int rc;

	*out = (struct control_request){
		.limit = CONTROL_LIMIT_MAX, .level = LOG_DEBUG, .count = CONTROL_TRACE_COUNT};
	if (length > CONTROL_REQUEST_MAX)
		return bad(&r, "longer than %d bytes", CONTROL_REQUEST_MAX);
	root = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return bad(&r, "not JSON at offset %d: %.100s", error.position, error.text);
	rc = json_is_object(root) ? take_command(root, out, &r) : bad(&r, "not a JSON object");
	if (!rc)
		rc = take_arguments(root, out, &r);
	json_decref(root);
	return rc;
}
