/* SPDX-License-Identifier: BSD-2-Clause */
#include "drain_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/text_file.h"
#include "config.h"

#define FILE_BYTES_MAX 32768 /* 64 rules of 200 bytes at most, and as much again */

struct place {
	const struct config *config;
	char *why;
	size_t why_size;
	size_t rule; /* that is being read */
};

/* ---- out ----------------------------------------------------------------- */

static json_t *number_or_null(bool given, uint32_t number)
{
	return given ? json_integer(number) : json_null();
}

json_t *drain_file_rule(const struct config *config, const struct drain_rule *rule)
{
	char peer[ADDRESS_TEXT_MAX];

	return json_pack("{s:s?, s:s?, s:o, s:o}", "gpu",
			 rule->has_gpu ? config->gpus[rule->gpu].name : NULL, "peer",
			 rule->has_peer ? address_format(&rule->peer, peer) : NULL, "plane",
			 number_or_null(rule->has_plane, rule->plane), "sub_port",
			 number_or_null(rule->has_sub_port, rule->sub_port));
}

const char *drain_file_text(const struct config *config, const struct drain_rule *rule, char *out,
			    size_t size)
{
	char peer[ADDRESS_TEXT_MAX] = "all", plane[24] = "", port[24] = "", gpu[48] = "";

	if (rule->has_peer)
		address_format(&rule->peer, peer);
	if (rule->has_plane)
		snprintf(plane, sizeof(plane), " plane %u", rule->plane);
	if (rule->has_sub_port)
		snprintf(port, sizeof(port), " sub-port %u", rule->sub_port);
	if (rule->has_gpu)
		snprintf(gpu, sizeof(gpu), " of GPU %s", config->gpus[rule->gpu].name);
	snprintf(out, size, "%s%s%s%s", peer, plane, port, gpu);
	return out;
}

static json_t *set_json(const struct config *config, const struct drain_set *set)
{
	json_t *rules = json_array();

	for (uint32_t i = 0; rules && i < set->n; i++)
		if (json_array_append_new(rules, drain_file_rule(config, &set->rules[i]))) {
			json_decref(rules);
			return NULL;
		}
	return rules;
}

int drain_file_save(const struct config *config, const struct drain_set *set)
{
	json_t *json = set_json(config, set);
	char path[300], *text = json_dumps(json, JSON_INDENT(1));
	int rc;

	snprintf(path, sizeof(path), "%s/" DRAIN_FILE_NAME, config->run_dir);
	rc = text ? text_file_replace(path, 0600, text, strlen(text)) : -ENOMEM;
	free(text);
	json_decref(json);
	return rc;
}

/* ---- in ------------------------------------------------------------------ */

static int drain_file_bad(const struct place *at, const char *what)
{
	snprintf(at->why, at->why_size, "%s/" DRAIN_FILE_NAME ": drain %zu: %s",
		 at->config->run_dir, at->rule, what);
	return -EBADMSG;
}

static int take_number(const struct place *at, const json_t *value, const char *what, uint32_t max,
		       bool *given, uint32_t *out)
{
	*given = !json_is_null(value);
	if (!*given)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > (json_int_t)max)
		return drain_file_bad(at, what);
	*out = (uint32_t)json_integer_value(value);
	return 0;
}

static int take_peer(const struct place *at, const json_t *value, struct drain_rule *out)
{
	out->has_peer = !json_is_null(value);
	if (!out->has_peer)
		return 0;
	if (!json_is_string(value) || address_parse(json_string_value(value), &out->peer))
		return drain_file_bad(at, "\"peer\" is no address");
	return 0;
}

static int take_rule(const struct place *at, const json_t *json, struct drain_rule *out)
{
	json_t *gpu, *peer, *plane, *sub_port;
	int rc;

	*out = (struct drain_rule){0};
	if (json_unpack((json_t *)json, "{s:o, s:o, s:o, s:o !}", "gpu", &gpu, "peer", &peer,
			"plane", &plane, "sub_port", &sub_port))
		return drain_file_bad(at, "not an object of gpu, peer, plane and sub_port");
	rc = take_peer(at, peer, out);
	if (!rc)
		rc = take_number(at, plane, "\"plane\" is out of range", FARE_MAX_PLANES - 1,
				 &out->has_plane, &out->plane);
	if (!rc)
		rc = take_number(at, sub_port, "\"sub_port\" is out of range",
				 FARE_MAX_SUB_PORTS - 1, &out->has_sub_port, &out->sub_port);
	if (!rc && out->has_sub_port && (!out->has_plane || out->has_peer))
		rc = drain_file_bad(at, "a sub-port needs a plane, and no peer");
	if (rc || json_is_null(gpu))
		return rc;
	if (!json_is_string(gpu))
		return drain_file_bad(at, "\"gpu\" is no name");
	out->has_gpu = true;
	return config_find_gpu(at->config, json_string_value(gpu), &out->gpu) ? 0 : -ENOENT;
}

static int take_set(struct place *at, const json_t *json, struct drain_set *out)
{
	const json_t *value;

	if (!json_is_array(json))
		return drain_file_bad(at, "the file is no list");
	json_array_foreach (json, at->rule, value) {
		struct drain_rule rule;
		int rc = take_rule(at, value, &rule);

		if (rc == -ENOENT) {
			drain_file_bad(
				at, "left out: the configuration names no such local GPU any more");
			continue;
		}
		if (!rc && drain_set_add(out, &rule))
			rc = drain_file_bad(at, "too many drains");
		if (rc)
			return rc;
	}
	return 0;
}

int drain_file_parse(const struct config *config, const char *text, size_t length,
		     struct drain_set *out, char *why, size_t why_size)
{
	struct place at = {config, why, why_size, 0};
	struct drain_set read = {0};
	json_error_t error;
	json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	int rc;

	*out = (struct drain_set){0};
	*why = '\0';
	if (!json) {
		snprintf(why, why_size, "%s/" DRAIN_FILE_NAME ":%d: not JSON: %.100s",
			 config->run_dir, error.line, error.text);
		return -EBADMSG;
	}
	rc = take_set(&at, json, &read);
	json_decref(json);
	if (!rc)
		*out = read;
	return rc;
}

/*
 * Before privileges are dropped, in a directory that another user may own: so no link is followed,
 * and nothing but a file of bounded size is read.
 */
int drain_file_load(const struct config *config, struct drain_set *out, char *why, size_t why_size)
{
	char path[300], *text;
	size_t length;
	int rc;

	*out = (struct drain_set){0};
	*why = '\0';
	snprintf(path, sizeof(path), "%s/" DRAIN_FILE_NAME, config->run_dir);
	rc = text_file_read_kept(path, FILE_BYTES_MAX, &text, &length);
	if (rc == -ENOENT)
		return 0;
	if (!rc) {
		rc = drain_file_parse(config, text, length, out, why, why_size);
		free(text);
		return rc;
	}
	if (rc == -EFBIG || rc == -EISDIR)
		rc = -EINVAL;
	snprintf(why, why_size, "%s: %s; expected is a file of at most %d bytes", path,
		 rc == -EINVAL ? "not one of ours" : strerror(-rc), FILE_BYTES_MAX);
	return rc;
}
