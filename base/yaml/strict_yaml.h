/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strict_yaml.h - a YAML file of a known shape: loaded whole, or refused with one line that says
 * why.
 *
 * Solely owns: the parsed document, and the values that libcyaml made of it. In: bytes and a
 * libcyaml schema. Out: the values as the schema lays them out, the line of any key, or one error
 * "file:line: key: what is wrong and what is expected". Thread: any. libyaml's and libcyaml's codes
 * are translated here and go no further.
 *
 * libcyaml alone takes "400G" for 400, "0100" for 64 and any text for true, and does not know the
 * line of much that it refuses. So every node is first checked against the schema (strict_check.h):
 * - integers and fractions: decimal.h, within the range that the schema gives;
 * - booleans: true or false;
 * - no unknown, missing or repeated key, no alias, one document.
 * Of libcyaml's types a schema may use CYAML_INT, _UINT, _FLOAT, _BOOL, _STRING, _MAPPING and
 * _SEQUENCE.
 */
#ifndef STRICT_YAML_H
#define STRICT_YAML_H

#include <cyaml/cyaml.h>
#include <stdbool.h>
#include <stddef.h>

/* Limits of a numeric key, wherever in the file it stands. They have to fit the field's type. */
struct strict_yaml_range {
	const char *key;
	double min, max;
	bool above_min; /* min itself is too small */
};

struct strict_yaml_schema {
	const cyaml_schema_value_t *root; /* a CYAML_MAPPING with CYAML_FLAG_POINTER */
	const struct strict_yaml_range
		*ranges; /* ends with a NULL key; every numeric key has one */
};

struct strict_yaml;

/*
 * name is the file's, for errors. text is not needed after the call; schema is borrowed until
 * strict_yaml_destroy(), name and error until the last strict_yaml_wrong(). 0; -EBADMSG or -ENOMEM
 * with the reason in error; -EINVAL: libcyaml refuses what the check let pass, a defect of ours.
 */
int strict_yaml_load(struct strict_yaml **out, const char *name, const char *text, size_t length,
		     const struct strict_yaml_schema *schema, char *error, size_t error_size);
void strict_yaml_destroy(struct strict_yaml *y); /* NULL is fine */
/* What the schema's root describes; valid until strict_yaml_destroy(). */
const void *strict_yaml_values(const struct strict_yaml *y);

/* The line of a key ("local_gpus[0].planes[1].sub_ports"), or of the nearest thing around it that
 * exists. */
unsigned strict_yaml_line(const struct strict_yaml *y, const char *key);
/* For what a schema cannot express: writes "file:line: key: ..." to error and returns -EBADMSG. */
int strict_yaml_wrong(const struct strict_yaml *y, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
