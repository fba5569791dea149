/* SPDX-License-Identifier: BSD-2-Clause */
/* config_yaml.c - see config_yaml.h */
#include "config_yaml.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define TEXT_MAX 255 /* of any string in the file */

struct config_yaml {
	yaml_document_t document;
	bool has_document;
	struct config_raw *raw;
};

/* ---- the schema ---------------------------------------------------------- */

/* A misspelt key must not pass for an absent one, so unknown keys are errors (libcyaml's default).
 */
#define MUST	CYAML_FLAG_POINTER
#define MAY	(CYAML_FLAG_POINTER_NULL_STR | CYAML_FLAG_OPTIONAL)
#define MAY_NUM (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, TEXT_MAX)};

static const cyaml_schema_field_t sub_port_fields[] = {
	CYAML_FIELD_STRING_PTR("dev", MUST, struct config_raw_sub_port, dev, 1, TEXT_MAX),
	CYAML_FIELD_INT_PTR("speed_mbps", MAY_NUM, struct config_raw_sub_port, speed_mbps),
	CYAML_FIELD_SEQUENCE_COUNT("neighbors", CYAML_FLAG_POINTER, struct config_raw_sub_port,
				   neighbors, n_neighbors, &text_value, 1, 8),
	CYAML_FIELD_END};
static const cyaml_schema_value_t sub_port_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_raw_sub_port, sub_port_fields)};
static const cyaml_schema_field_t plane_fields[] = {
	CYAML_FIELD_SEQUENCE_COUNT("sub_ports", CYAML_FLAG_POINTER, struct config_raw_plane,
				   sub_ports, n_sub_ports, &sub_port_value, 1, FARE_MAX_SUB_PORTS),
	CYAML_FIELD_END};
static const cyaml_schema_value_t plane_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_raw_plane, plane_fields)};
static const cyaml_schema_field_t gpu_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct config_raw_gpu, name, 1, TEXT_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("addresses", CYAML_FLAG_POINTER, struct config_raw_gpu,
				   addresses, n_addresses, &text_value, 1, 2),
	CYAML_FIELD_SEQUENCE_COUNT("planes", CYAML_FLAG_POINTER, struct config_raw_gpu, planes,
				   n_planes, &plane_value, 1, FARE_MAX_PLANES),
	CYAML_FIELD_END};
static const cyaml_schema_value_t gpu_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_raw_gpu, gpu_fields)};
static const cyaml_schema_field_t bgp_fields[] = {
	CYAML_FIELD_STRING_PTR("bmp_address", MAY, struct config_raw_bgp, bmp_address, 0, TEXT_MAX),
	CYAML_FIELD_INT_PTR("bmp_port", MAY_NUM, struct config_raw_bgp, bmp_port),
	CYAML_FIELD_FLOAT_PTR("bandwidth_scale", MAY_NUM, struct config_raw_bgp, bandwidth_scale),
	CYAML_FIELD_INT_PTR("max_as_path", MAY_NUM, struct config_raw_bgp, max_as_path),
	CYAML_FIELD_INT_PTR("stale_s", MAY_NUM, struct config_raw_bgp, stale_s),
	CYAML_FIELD_STRING_PTR("zserv_path", MAY, struct config_raw_bgp, zserv_path, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("frr_version", MAY, struct config_raw_bgp, frr_version, 0, TEXT_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("peer_prefixes", CYAML_FLAG_POINTER, struct config_raw_bgp,
				   peer_prefixes, n_peer_prefixes, &text_value, 1, 64),
	CYAML_FIELD_END};
/* libcyaml's own booleans take any word for true. */
static const cyaml_strval_t yes_no[] = {{"false", 0}, {"true", 1}};
static const cyaml_schema_field_t health_fields[] = {
	CYAML_FIELD_ENUM_PTR("enabled", MAY_NUM | CYAML_FLAG_STRICT, struct config_raw_health,
			     enabled, yes_no, 2),
	CYAML_FIELD_ENUM_PTR("realtime", MAY_NUM | CYAML_FLAG_STRICT, struct config_raw_health,
			     realtime, yes_no, 2),
	CYAML_FIELD_FLOAT_PTR("interval_ms", MAY_NUM, struct config_raw_health, interval_ms),
	CYAML_FIELD_FLOAT_PTR("slow_interval_ms", MAY_NUM, struct config_raw_health,
			      slow_interval_ms),
	CYAML_FIELD_UINT_PTR("max_probes_per_s", MAY_NUM, struct config_raw_health,
			     max_probes_per_s),
	CYAML_FIELD_INT_PTR("multiplier", MAY_NUM, struct config_raw_health, multiplier),
	CYAML_FIELD_INT_PTR("dscp", MAY_NUM, struct config_raw_health, dscp),
	CYAML_FIELD_INT_PTR("recover_probes", MAY_NUM, struct config_raw_health, recover_probes),
	CYAML_FIELD_FLOAT_PTR("max_loss_percent", MAY_NUM, struct config_raw_health,
			      max_loss_percent),
	CYAML_FIELD_INT_PTR("hold_ms", MAY_NUM, struct config_raw_health, hold_ms),
	CYAML_FIELD_INT_PTR("hold_max_ms", MAY_NUM, struct config_raw_health, hold_max_ms),
	CYAML_FIELD_INT_PTR("ramp_ms", MAY_NUM, struct config_raw_health, ramp_ms),
	CYAML_FIELD_STRING_PTR("key_file", MAY, struct config_raw_health, key_file, 0, TEXT_MAX),
	CYAML_FIELD_END};
static const cyaml_schema_field_t top_fields[] = {
	CYAML_FIELD_STRING_PTR("node", MUST, struct config_raw, node, 1, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("run_dir", MAY, struct config_raw, run_dir, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("log_level", MAY, struct config_raw, log_level, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("user", MAY, struct config_raw, user, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("group", MAY, struct config_raw, group, 0, TEXT_MAX),
	CYAML_FIELD_MAPPING_PTR("bgp", CYAML_FLAG_POINTER, struct config_raw, bgp, bgp_fields),
	CYAML_FIELD_MAPPING_PTR("health", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				struct config_raw, health, health_fields),
	CYAML_FIELD_SEQUENCE_COUNT("local_gpus", CYAML_FLAG_POINTER, struct config_raw, gpus,
				   n_gpus, &gpu_value, 1, FARE_MAX_LOCAL_GPUS),
	CYAML_FIELD_END};
static const cyaml_schema_value_t top_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config_raw, top_fields)};

/* ---- libyaml: syntax, and where things stand ----------------------------- */

static const yaml_node_t *node_at(const struct config_yaml *y, int index)
{
	yaml_node_t *first = y->document.nodes.start;

	return index > 0 && first + index - 1 < y->document.nodes.top ? first + index - 1 : NULL;
}

static const yaml_node_t *member(const struct config_yaml *y, const yaml_node_t *map,
				 const char *key, size_t length, const yaml_node_t **key_node)
{
	if (map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *k = node_at(y, p->key);

		if (!k || k->type != YAML_SCALAR_NODE || k->data.scalar.length != length ||
		    memcmp(k->data.scalar.value, key, length))
			continue;
		*key_node = k;
		return node_at(y, p->value);
	}
	return NULL;
}

unsigned config_yaml_line(const struct config_yaml *y, const char *key)
{
	const yaml_node_t *node = node_at(y, 1), *at = node;

	while (node && *key) {
		at = node;
		if (*key == '[') {
			long i = strtol(key + 1, (char **)&key, 10);
			ptrdiff_t n = node->type == YAML_SEQUENCE_NODE
					      ? node->data.sequence.items.top -
							node->data.sequence.items.start
					      : 0;

			node = i < n ? node_at(y, node->data.sequence.items.start[i]) : NULL;
			if (node)
				at = node;
			key += *key == ']';
		} else {
			size_t length = strcspn(key, ".[");

			node = member(y, node, key, length, &at);
			key += length;
		}
		key += *key == '.';
	}
	return at ? (unsigned)at->start_mark.line + 1 : 1;
}

/* YAML leaves open what a repeated key means; here it means a mistake. */
static int refuse_repeated_keys(const struct config_yaml *y, const char *name,
				struct config_error *error)
{
	for (const yaml_node_t *n = y->document.nodes.start; n < y->document.nodes.top; n++) {
		if (n->type != YAML_MAPPING_NODE)
			continue;
		for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
		     p < n->data.mapping.pairs.top; p++) {
			const yaml_node_t *k = node_at(y, p->key), *first = NULL;

			if (!k || k->type != YAML_SCALAR_NODE)
				continue;
			member(y, n, (const char *)k->data.scalar.value, k->data.scalar.length,
			       &first);
			if (first == k)
				continue;
			snprintf(error->text, sizeof(error->text),
				 "%s:%zu: %.60s: given twice (first on line %zu); keep one", name,
				 k->start_mark.line + 1, k->data.scalar.value,
				 first->start_mark.line + 1);
			return -EINVAL;
		}
	}
	return 0;
}

static int load_document(struct config_yaml *y, const char *text, size_t length, const char *name,
			 struct config_error *error)
{
	yaml_parser_t parser;
	int rc = 0;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	if (!yaml_parser_load(&parser, &y->document)) {
		snprintf(error->text, sizeof(error->text),
			 "%s:%zu: not YAML: %s; correct the line (indentation is by spaces)", name,
			 parser.problem_mark.line + 1,
			 parser.problem ? parser.problem : "unreadable");
		rc = parser.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
	} else {
		y->has_document = true;
	}
	yaml_parser_delete(&parser);
	if (!rc && !yaml_document_get_root_node(&y->document)) {
		snprintf(error->text, sizeof(error->text),
			 "%s:1: the file is empty; fared.yaml(5) has an example", name);
		rc = -EINVAL;
	}
	return rc ? rc : refuse_repeated_keys(y, name, error);
}

/* ---- libcyaml: types and the schema -------------------------------------- */

struct complaint {
	char first[256];
	char where[80]; /* innermost field of libcyaml's backtrace */
	unsigned line;
};

/* The first message says what is wrong; the backtrace that follows says where, innermost first. */
__attribute__((format(printf, 3, 0))) static void on_cyaml_log(cyaml_log_t level, void *arg,
							       const char *format, va_list args)
{
	struct complaint *c = arg;
	char message[256], field[64];
	const char *line;

	if (level < CYAML_LOG_ERROR)
		return;
	vsnprintf(message, sizeof(message), format, args);
	message[strcspn(message, "\n")] = '\0';
	line = strstr(message, "line: ");
	/* some errors, a refused alias among them, have a backtrace and no message */
	if (!c->first[0] && !line && !strstr(message, "Backtrace")) {
		const char *text = strncmp(message, "Load: ", 6) ? message : message + 6;

		snprintf(c->first, sizeof(c->first), "%s", text);
		return;
	}
	if (line && !c->line)
		c->line = (unsigned)strtoul(line + 6, NULL, 10);
	if (!c->where[0] && sscanf(message, " in mapping field '%63[^']'", field) == 1)
		snprintf(c->where, sizeof(c->where), "%s", field);
	else if (!c->where[0] && sscanf(message, "Load:   in mapping field '%63[^']'", field) == 1)
		snprintf(c->where, sizeof(c->where), "%s", field);
}

/* About keys libcyaml tells the line of what is around, or of what came before. */
static void improve(const struct config_yaml *y, struct complaint *c)
{
	static const char unexpected[] = "Unexpected key: ",
			  missing[] = "Missing required mapping field: ";
	const yaml_node_t *key = NULL;
	const char *name;

	if (!strncmp(c->first, missing, sizeof(missing) - 1))
		c->where[0] = '\0';
	if (strncmp(c->first, unexpected, sizeof(unexpected) - 1))
		return;
	name = c->first + sizeof(unexpected) - 1;
	for (const yaml_node_t *n = y->document.nodes.start; n < y->document.nodes.top && !key; n++)
		member(y, n, name, strlen(name), &key);
	if (key)
		c->line = (unsigned)key->start_mark.line + 1;
}

static void cyaml_settings(cyaml_config_t *settings, struct complaint *complaint)
{
	*settings = (cyaml_config_t){
		.log_fn = on_cyaml_log,
		.log_ctx = complaint,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS,
	};
}

static int load_values(struct config_yaml *y, const char *text, size_t length, const char *name,
		       struct config_error *error)
{
	struct complaint complaint = {0};
	cyaml_config_t settings;
	cyaml_err_t rc;

	cyaml_settings(&settings, &complaint);
	rc = cyaml_load_data((const uint8_t *)text, length, &settings, &top_value,
			     (cyaml_data_t **)&y->raw, NULL);
	if (rc == CYAML_OK)
		return 0;
	y->raw = NULL;
	if (rc == CYAML_ERR_OOM)
		return -ENOMEM;
	improve(y, &complaint);
	snprintf(error->text, sizeof(error->text),
		 "%s:%u: %s%s%s; fared.yaml(5) lists every key and its type", name,
		 complaint.line ? complaint.line : 1, complaint.where,
		 complaint.where[0] ? ": " : "",
		 complaint.first[0] ? complaint.first : cyaml_strerror(rc));
	return -EINVAL;
}

int config_yaml_parse(struct config_yaml **out, const char *text, size_t length, const char *name,
		      struct config_error *error)
{
	struct config_yaml *y = calloc(1, sizeof(*y));
	int rc;

	*out = NULL;
	if (!y)
		return -ENOMEM;
	rc = load_document(y, text, length, name, error);
	if (!rc)
		rc = load_values(y, text, length, name, error);
	if (rc) {
		config_yaml_destroy(y);
		return rc;
	}
	*out = y;
	return 0;
}

void config_yaml_destroy(struct config_yaml *y)
{
	struct complaint unused = {0};
	cyaml_config_t settings;

	if (!y)
		return;
	cyaml_settings(&settings, &unused);
	if (y->raw)
		cyaml_free(&settings, &top_value, y->raw, 0);
	if (y->has_document)
		yaml_document_delete(&y->document);
	free(y);
}

const struct config_raw *config_yaml_raw(const struct config_yaml *y)
{
	return y->raw;
}
