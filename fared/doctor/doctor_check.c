/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"

/* ---- what was found ------------------------------------------------------ */

enum doctor_state doctor_found(struct doctor_line *line, enum doctor_state state,
			       const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(line->text, sizeof(line->text), format, ap);
	va_end(ap);
	return state;
}

#define ITEMS_NAMED 3

__attribute__((format(printf, 2, 0))) static void append(struct doctor_line *line,
							 const char *format, va_list ap)
{
	size_t length = strlen(line->text);

	vsnprintf(line->text + length, sizeof(line->text) - length, format, ap);
}

__attribute__((format(printf, 2, 3))) static void append_text(struct doctor_line *line,
							      const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	append(line, format, ap);
	va_end(ap);
}

void doctor_item(struct doctor_items *items, const char *format, ...)
{
	va_list ap;

	if (items->n++ >= ITEMS_NAMED)
		return;
	if (items->n > 1)
		append_text(items->line, "; ");
	va_start(ap, format);
	append(items->line, format, ap);
	va_end(ap);
}

enum doctor_state doctor_items_end(struct doctor_items *items, enum doctor_state state,
				   const char *well)
{
	if (!items->n)
		return doctor_found(items->line, DOCTOR_OK, "%s", well);
	if (items->n > ITEMS_NAMED)
		append_text(items->line, "; and %u more", items->n - ITEMS_NAMED);
	return state;
}

/* ---- facts --------------------------------------------------------------- */

const char *doctor_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text ? text : "";
}

const char *doctor_value(const json_t *facts, const char *key)
{
	return doctor_text(json_object_get(json_object_get(facts, "config"), key));
}

static const json_t *doctor_row(const json_t *rows, const char *key, const char *value)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (!strcmp(doctor_text(json_object_get(row, key)), value))
			return row;
	return NULL;
}

const json_t *doctor_process(const json_t *facts, const char *name)
{
	return doctor_row(json_object_get(facts, "processes"), "name", name);
}

const json_t *doctor_source(const json_t *facts, const char *name)
{
	return doctor_row(json_object_get(json_object_get(facts, "planes"), "sources"), "source",
			  name);
}

bool doctor_source_is_up(const json_t *facts, const char *name)
{
	return !strcmp(doctor_text(json_object_get(doctor_source(facts, name), "state")), "up");
}

bool doctor_next(const char **at, char item[64])
{
	size_t n;

	*at += strspn(*at, "[], ");
	n = strcspn(*at, "], ");
	snprintf(item, 64, "%.*s", (int)(n < 64 ? n : 63), *at);
	*at += n;
	return n > 0;
}

bool doctor_next_port(const json_t *facts, const char **key, struct doctor_port *out)
{
	json_t *config = json_object_get(facts, "config");
	void *at = *key ? json_object_iter_next(config, json_object_key_to_iter(*key))
			: json_object_iter(config);
	char number[96], neighbors[96];
	unsigned sub_port, entry;
	int used;

	for (; at; at = json_object_iter_next(config, at)) {
		*key = json_object_iter_key(at);
		used = 0;
		sscanf(*key, "local_gpus[%3u].planes[%3u].sub_ports[%3u].dev%n", &out->gpu, &entry,
		       &sub_port, &used);
		if (!used || (*key)[used])
			continue;
		snprintf(number, sizeof(number), "local_gpus[%u].planes[%u].plane", out->gpu,
			 entry);
		snprintf(neighbors, sizeof(neighbors),
			 "local_gpus[%u].planes[%u].sub_ports[%u].neighbors", out->gpu, entry,
			 sub_port);
		out->plane = (unsigned)atoi(doctor_value(facts, number));
		out->dev = doctor_value(facts, *key);
		out->neighbors = doctor_value(facts, neighbors);
		return true;
	}
	return false;
}

bool doctor_next_own(const json_t *facts, unsigned *gpu, const char **at, char address[64])
{
	char key[64];

	for (;;) {
		if (!*at) {
			snprintf(key, sizeof(key), "local_gpus[%u].addresses", *gpu);
			*at = doctor_value(facts, key);
			if (!**at)
				return false;
		}
		if (doctor_next(at, address))
			return true;
		*at = NULL;
		++*gpu;
	}
}

bool doctor_parse_prefix(const char *text, struct in6_addr *address, unsigned *length)
{
	const char *slash = strchr(text, '/');
	char host[64];
	int given;

	snprintf(host, sizeof(host), "%.*s", slash ? (int)(slash - text) : 63, text);
	if (address_parse(host, address))
		return false;
	given = slash ? atoi(slash + 1) : -1;
	if (IN6_IS_ADDR_V4MAPPED(address))
		given = given < 0 || given > 32 ? 128 : given + 96;
	*length = given < 0 || given > 128 ? 128 : (unsigned)given;
	return true;
}
