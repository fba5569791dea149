/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/yaml/strict_yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/yaml/strict_check.h"

struct strict_yaml {
	const char *name;
	const struct strict_yaml_schema *schema;
	char *error;
	size_t error_size;
	yaml_document_t document;
	bool has_document;
	cyaml_data_t *values;
};

/* libcyaml is silent: what it would refuse, strict_check() has refused in better words. */
static const cyaml_config_t quiet = {
	.mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR, .flags = CYAML_CFG_NO_ALIAS};

/* ---- errors ---------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int refuse(const struct strict_yaml *y, unsigned line,
							const char *format, ...)
{
	int n = snprintf(y->error, y->error_size, "%.200s:%u: ", y->name, line);
	va_list args;

	va_start(args, format);
	if (n >= 0 && (size_t)n < y->error_size)
		vsnprintf(y->error + n, y->error_size - (size_t)n, format, args);
	va_end(args);
	/* the file's own bytes are in it */
	for (char *p = y->error; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return -EBADMSG;
}

int strict_yaml_wrong(const struct strict_yaml *y, const char *key, const char *format, ...)
{
	char what[300];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return refuse(y, strict_yaml_line(y, key), "%s: %s", key, what);
}

/* ---- libyaml: syntax, and where things stand ------------------------------- */

static unsigned lines_before(const char *text, size_t length, size_t offset)
{
	unsigned n = 0;

	for (size_t i = 0; i < length && i < offset; i++)
		n += text[i] == '\n';
	return n;
}

/* Bytes that are no text have an offset, all else has a mark. */
static int not_yaml(const struct strict_yaml *y, const yaml_parser_t *parser, const char *text,
		    size_t length)
{
	size_t line = parser->error == YAML_READER_ERROR
			      ? lines_before(text, length, parser->problem_offset)
			      : parser->problem_mark.line;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	return refuse(y, (unsigned)line + 1, "not YAML: %s; check the indentation (spaces only)",
		      parser->problem ? parser->problem : "unreadable");
}

static int load_document(struct strict_yaml *y, const char *text, size_t length)
{
	yaml_document_t second;
	yaml_parser_t parser;
	yaml_node_t *root = NULL;
	int rc = 0;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	y->has_document = yaml_parser_load(&parser, &y->document);
	if (y->has_document)
		root = yaml_document_get_root_node(&y->document);
	if (!y->has_document)
		rc = not_yaml(y, &parser, text, length);
	else if (!root)
		rc = refuse(y, 1, "the file is empty");
	else if (!yaml_parser_load(&parser, &second))
		rc = not_yaml(y, &parser, text, length);
	if (!rc) {
		root = yaml_document_get_root_node(&second);
		if (root)
			rc = refuse(y, (unsigned)root->start_mark.line + 1,
				    "a second document (after '---'): one is expected");
		yaml_document_delete(&second);
	}
	yaml_parser_delete(&parser);
	return rc;
}

/* The node of "[i]..." or "name...", of which *key becomes the rest; NULL: there is none. */
static const yaml_node_t *strict_yaml_step(const struct strict_yaml *y, const yaml_node_t *node,
					   const char **key, const yaml_node_t **at)
{
	if (**key == '[') {
		long i = strtol(*key + 1, (char **)key, 10);
		ptrdiff_t n =
			node->type == YAML_SEQUENCE_NODE
				? node->data.sequence.items.top - node->data.sequence.items.start
				: 0;

		*key += **key == ']';
		node = i < n ? strict_check_node(&y->document, node->data.sequence.items.start[i])
			     : NULL;
		if (node)
			*at = node;
	} else {
		size_t length = strcspn(*key, ".[");

		node = strict_check_member(&y->document, node, *key, length, at);
		*key += length;
	}
	*key += **key == '.';
	return node;
}

unsigned strict_yaml_line(const struct strict_yaml *y, const char *key)
{
	const yaml_node_t *node = strict_check_node(&y->document, 1), *at = node;

	while (node && *key)
		node = strict_yaml_step(y, node, &key, &at);
	return at ? (unsigned)at->start_mark.line + 1 : 1;
}

/* ---- the whole ------------------------------------------------------------- */

static int check_document(const struct strict_yaml *y)
{
	struct strict_check_finding found;
	int rc = strict_check(&y->document, y->schema, &found);

	if (rc)
		refuse(y, found.line, "%s%s%s", found.key, found.key[0] ? ": " : "", found.text);
	return rc;
}

static int load_values(struct strict_yaml *y, const char *text, size_t length)
{
	cyaml_err_t e = cyaml_load_data((const uint8_t *)text, length, &quiet, y->schema->root,
					&y->values, NULL);

	if (e == CYAML_OK && y->values)
		return 0;
	y->values = NULL;
	if (e == CYAML_ERR_OOM)
		return -ENOMEM;
	refuse(y, 1, "libcyaml: %s", cyaml_strerror(e));
	return -EINVAL;
}

int strict_yaml_load(struct strict_yaml **out, const char *name, const char *text, size_t length,
		     const struct strict_yaml_schema *schema, char *error, size_t error_size)
{
	struct strict_yaml *y = malloc(sizeof(*y));
	int rc;

	*out = NULL;
	snprintf(error, error_size, "%.200s: out of memory", name);
	if (!y)
		return -ENOMEM;
	*y = (struct strict_yaml){
		.name = name, .schema = schema, .error = error, .error_size = error_size};
	rc = load_document(y, text, length);
	if (!rc)
		rc = check_document(y);
	if (!rc)
		rc = load_values(y, text, length);
	if (rc) {
		strict_yaml_destroy(y);
		return rc;
	}
	*out = y;
	return 0;
}

void strict_yaml_destroy(struct strict_yaml *y)
{
	if (!y)
		return;
	if (y->values)
		cyaml_free(&quiet, y->schema->root, y->values, 0);
	if (y->has_document)
		yaml_document_delete(&y->document);
	free(y);
}

const void *strict_yaml_values(const struct strict_yaml *y)
{
	return y->values;
}
