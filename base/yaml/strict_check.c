/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/yaml/strict_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"

struct check {
	const yaml_document_t *document;
	const struct strict_yaml_range *ranges;
	struct strict_check_finding *found; /* its key is that of the node being checked */
	int last;			    /* index of the node that was visited last */
};

/* ---- the document ---------------------------------------------------------- */

const yaml_node_t *strict_check_node(const yaml_document_t *document, int index)
{
	yaml_node_t *first = document->nodes.start;

	return index > 0 && first + index - 1 < document->nodes.top ? first + index - 1 : NULL;
}

static bool strict_check_is_text(const yaml_node_t *node, const char *text, size_t length)
{
	return node && node->type == YAML_SCALAR_NODE && node->data.scalar.length == length &&
	       !memcmp(node->data.scalar.value, text, length);
}

const yaml_node_t *strict_check_member(const yaml_document_t *document, const yaml_node_t *mapping,
				       const char *key, size_t length, const yaml_node_t **key_node)
{
	if (mapping->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
	     p < mapping->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = strict_check_node(document, p->key);

		if (!strict_check_is_text(k, key, length))
			continue;
		*key_node = k;
		return strict_check_node(document, p->value);
	}
	return NULL;
}

static unsigned line_of(const yaml_node_t *node)
{
	return (unsigned)node->start_mark.line + 1;
}

/* ---- the finding ----------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int wrong(struct check *c, const yaml_node_t *node,
						       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->found->text, sizeof(c->found->text), format, args);
	va_end(args);
	c->found->line = line_of(node);
	return -EBADMSG;
}

/* Makes the key that of something inside. Returns what strict_check_leave() takes. */
__attribute__((format(printf, 2, 3))) static size_t enter(struct check *c, const char *format, ...)
{
	size_t length = strlen(c->found->key);
	va_list args;

	va_start(args, format);
	vsnprintf(c->found->key + length, sizeof(c->found->key) - length, format, args);
	va_end(args);
	return length;
}

static void strict_check_leave(struct check *c, size_t length)
{
	c->found->key[length] = '\0';
}

static size_t enter_key(struct check *c, const char *key)
{
	return enter(c, "%s%s", c->found->key[0] ? "." : "", key);
}

/* ---- scalars --------------------------------------------------------------- */

/* The unit of a number, from the end of its key; the first that fits. */
static const char *unit_of(const char *key)
{
	static const struct {
		const char *suffix, *unit;
	} units[] = {
		{"_mbps", " of megabits per second"},
		{"_percent", " of percent"},
		{"_bytes", " of bytes"},
		{"_ms", " of milliseconds"},
		{"_per_s", " per second"},
		{"_s", " of seconds"},
	};
	size_t length = strlen(key);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].suffix);

		if (length > n && !strcmp(key + length - n, units[i].suffix))
			return units[i].unit;
	}
	return "";
}

static const struct strict_yaml_range *range_of(const struct check *c, const char *key)
{
	static const struct strict_yaml_range any = {NULL, 0, 2147483647, false};

	for (const struct strict_yaml_range *r = c->ranges; r->key; r++)
		if (!strcmp(r->key, key))
			return r;
	return &any;
}

static int check_number(struct check *c, const yaml_node_t *node, bool whole)
{
	const char *text = (const char *)node->data.scalar.value,
		   *dot = strrchr(c->found->key, '.');
	const char *key = dot ? dot + 1 : c->found->key;
	const struct strict_yaml_range *r = range_of(c, key);
	size_t length = node->data.scalar.length;
	bool negative = length > 1 && text[0] == '-'; /* below every range */
	char expected[80];
	double value;

	snprintf(expected, sizeof(expected),
		 r->above_min ? "above %.10g and at most %.10g" : "from %.10g to %.10g", r->min,
		 r->max);
	if (!decimal_parse(text + negative, length - negative, whole, &value))
		return wrong(c, node, "\"%.60s\" is not a number%s: a decimal %s %s is expected%s",
			     text, unit_of(key), whole ? "integer" : "number", expected,
			     whole ? "" : ", such as 2.5");
	if (negative || value < r->min || value > r->max || (r->above_min && value <= r->min))
		return wrong(c, node, "%.60s is out of range: a number%s %s is expected", text,
			     unit_of(key), expected);
	return 0;
}

static int check_text(struct check *c, const yaml_node_t *node, const cyaml_schema_value_t *schema)
{
	size_t length = node->data.scalar.length;

	if (!length && schema->string.min)
		return wrong(c, node, "a value is expected");
	if (length < schema->string.min)
		return wrong(c, node, "too short: at least %u characters are expected",
			     schema->string.min);
	if (length > schema->string.max)
		return wrong(c, node, "too long: at most %u characters are expected",
			     schema->string.max);
	if (memchr(node->data.scalar.value, '\0', length))
		return wrong(c, node, "a zero byte inside: plain text is expected");
	return 0;
}

static int check_scalar(struct check *c, const yaml_node_t *node,
			const cyaml_schema_value_t *schema)
{
	if (node->type != YAML_SCALAR_NODE)
		return wrong(c, node, "one value is expected, not a %s",
			     node->type == YAML_MAPPING_NODE ? "mapping" : "list");
	switch (schema->type) {
	case CYAML_INT:
	case CYAML_UINT:
		return check_number(c, node, true);
	case CYAML_FLOAT:
		return check_number(c, node, false);
	case CYAML_BOOL:
		if (strict_check_is_text(node, "true", 4) || strict_check_is_text(node, "false", 5))
			return 0;
		return wrong(c, node, "\"%.60s\": true or false is expected",
			     node->data.scalar.value);
	default:
		return check_text(c, node, schema);
	}
}

/* ---- lists and mappings ---------------------------------------------------- */

static int check_value(struct check *c, int index, const cyaml_schema_value_t *schema);

/* libyaml numbers nodes as it meets them: only an alias leads back. */
static int visit(struct check *c, int index)
{
	if (index == ++c->last)
		return 0;
	return wrong(c, strict_check_node(c->document, index),
		     "what is on this line is used again by an alias (*): write it out in both "
		     "places");
}

static int check_list(struct check *c, const yaml_node_t *node, const cyaml_schema_value_t *schema)
{
	const yaml_node_item_t *items = node->data.sequence.items.start;
	ptrdiff_t n;
	int rc = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return wrong(c, node, "a list is expected (lines that begin with '- ')");
	n = node->data.sequence.items.top - items;
	if (n < schema->sequence.min || n > schema->sequence.max)
		return wrong(c, node, "the list has %td entries: %u to %u are expected", n,
			     schema->sequence.min, schema->sequence.max);
	for (ptrdiff_t i = 0; !rc && i < n; i++) {
		size_t length = enter(c, "[%td]", i);

		rc = check_value(c, items[i], schema->sequence.entry);
		if (!rc)
			strict_check_leave(c, length);
	}
	return rc;
}

static const cyaml_schema_field_t *find_field(const cyaml_schema_field_t *fields,
					      const yaml_node_t *key)
{
	for (; fields->key; fields++)
		if (strict_check_is_text(key, fields->key, strlen(fields->key)))
			return fields;
	return NULL;
}

static int unknown_key(struct check *c, const yaml_node_t *key, const cyaml_schema_field_t *fields)
{
	char known[300];
	size_t n = 0;

	for (; fields->key && n < sizeof(known); fields++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "",
				      fields->key);
	if (key->type == YAML_SCALAR_NODE)
		enter(c, "%s%.60s", c->found->key[0] ? "." : "", key->data.scalar.value);
	return wrong(c, key, "there is no such key here; known are %s", known);
}

static int check_pair(struct check *c, const yaml_node_t *mapping, const yaml_node_pair_t *pair,
		      const cyaml_schema_field_t *fields)
{
	const yaml_node_t *key = strict_check_node(c->document, pair->key), *first = NULL;
	const cyaml_schema_field_t *field;
	size_t length;
	int rc = visit(c, pair->key);

	if (rc)
		return rc;
	field = find_field(fields, key);
	if (!field)
		return unknown_key(c, key, fields);
	length = enter_key(c, field->key);
	strict_check_member(c->document, mapping, field->key, strlen(field->key), &first);
	if (first != key)
		return wrong(c, key, "given twice (first on line %u): keep one", line_of(first));
	rc = check_value(c, pair->value, &field->value);
	if (!rc)
		strict_check_leave(c, length);
	return rc;
}

static int check_mapping(struct check *c, const yaml_node_t *node,
			 const cyaml_schema_value_t *schema)
{
	const yaml_node_t *key;
	int rc = 0;

	if (node->type != YAML_MAPPING_NODE)
		return wrong(c, node, "a mapping is expected (lines such as '%s: ...')",
			     schema->mapping.fields[0].key);
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start;
	     !rc && p < node->data.mapping.pairs.top; p++)
		rc = check_pair(c, node, p, schema->mapping.fields);
	for (const cyaml_schema_field_t *f = schema->mapping.fields; !rc && f->key; f++) {
		if (f->value.flags & CYAML_FLAG_OPTIONAL ||
		    strict_check_member(c->document, node, f->key, strlen(f->key), &key))
			continue;
		rc = wrong(c, node, "this required key is missing %s",
			   c->found->key[0] ? "in the mapping that begins on this line"
					    : "at the top level");
		enter_key(c, f->key);
	}
	return rc;
}

static int check_value(struct check *c, int index, const cyaml_schema_value_t *schema)
{
	const yaml_node_t *node = strict_check_node(c->document, index);
	int rc = visit(c, index);

	if (rc)
		return rc;
	switch (schema->type) {
	case CYAML_MAPPING:
		return check_mapping(c, node, schema);
	case CYAML_SEQUENCE:
		return check_list(c, node, schema);
	default:
		return check_scalar(c, node, schema);
	}
}

int strict_check(const yaml_document_t *document, const struct strict_yaml_schema *schema,
		 struct strict_check_finding *found)
{
	struct check c = {.document = document, .ranges = schema->ranges, .found = found};

	found->key[0] = '\0';
	return check_value(&c, 1, schema->root);
}
