/* SPDX-License-Identifier: BSD-2-Clause */
/* A file of a known shape: what of YAML is taken, and which line and key an error names. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/yaml/strict_yaml.h"

struct part {
	int64_t *size_bytes;
	bool *on;
};

struct root {
	char *name;
	double *wait_s;
	struct part *parts;
	unsigned n_parts;
	struct part *spare;
};

static const cyaml_schema_field_t part_fields[] = {
	CYAML_FIELD_INT_PTR("size_bytes", CYAML_FLAG_POINTER, struct part, size_bytes),
	CYAML_FIELD_BOOL_PTR("on", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct part, on),
	CYAML_FIELD_END};
static const cyaml_schema_value_t part_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct part, part_fields)};
static const cyaml_schema_field_t root_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct root, name, 2, 5),
	CYAML_FIELD_FLOAT_PTR("wait_s", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct root,
			      wait_s),
	CYAML_FIELD_SEQUENCE_COUNT("parts", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct root,
				   parts, n_parts, &part_value, 1, 2),
	CYAML_FIELD_MAPPING_PTR("spare", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct root,
				spare, part_fields),
	CYAML_FIELD_END};
static const cyaml_schema_value_t root_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct root, root_fields)};
static const struct strict_yaml_range ranges[] = {{"wait_s", .max = 10, .above_min = true},
						  {.key = NULL}};
static const struct strict_yaml_schema schema = {&root_value, ranges};

static char error[512];

static int load(struct strict_yaml **out, const char *text, size_t length)
{
	return strict_yaml_load(out, "f", text, length, &schema, error, sizeof(error));
}

START_TEST(values_and_lines)
{
	static const char text[] = "# a comment\n"
				   "name: \"ab\"\n"
				   "wait_s: 2.5\n"
				   "parts:\n"
				   "  - {size_bytes: 0, on: true}\n"
				   "  - size_bytes: '12'\n"
				   "    on: false\n";
	const struct root *root;
	struct strict_yaml *y;

	ck_assert_msg(!load(&y, text, strlen(text)), "%s", error);
	root = strict_yaml_values(y);
	ck_assert_str_eq(root->name, "ab");
	ck_assert_double_eq(*root->wait_s, 2.5);
	ck_assert_uint_eq(root->n_parts, 2);
	ck_assert(*root->parts[0].on);
	ck_assert_int_eq(*root->parts[1].size_bytes, 12);
	ck_assert(!*root->parts[1].on);
	ck_assert_ptr_null(root->spare);
	ck_assert_uint_eq(strict_yaml_line(y, "wait_s"), 3);
	ck_assert_uint_eq(strict_yaml_line(y, "parts[0].on"), 5);
	ck_assert_uint_eq(strict_yaml_line(y, "parts[1].on"), 7);
	ck_assert_uint_eq(strict_yaml_line(y, "parts[1].absent"), 6);
	ck_assert_uint_eq(strict_yaml_line(y, "parts[7]"), 4);
	ck_assert_uint_eq(strict_yaml_line(y, "spare.on"), 2);
	ck_assert_int_eq(strict_yaml_wrong(y, "parts[1].on", "too %s", "late"), -EBADMSG);
	ck_assert_str_eq(error, "f:7: parts[1].on: too late");
	strict_yaml_destroy(y);
}
END_TEST

static const struct {
	const char *text, *error; /* as it begins */
} bad[] = {
	{"", "f:1: the file is empty"},
	{"# nothing\n", "f:1: the file is empty"},
	{"name: [\n", "f:2: not YAML: "},
	{"name: ab\n\twait_s: 1\n", "f:2: not YAML: "},
	{"name: ab\n# \x01\n", "f:2: not YAML: "},
	{"- name\n", "f:1: a mapping is expected (lines such as 'name: ...')"},
	{"name\n", "f:1: a mapping is expected"},
	{"wait_s: 1\n", "f:1: name: this required key is missing at the top level"},
	{"name: a\n", "f:1: name: too short: at least 2 characters are expected"},
	{"name:\n", "f:1: name: a value is expected"},
	{"name: abcdef\n", "f:1: name: too long: at most 5 characters are expected"},
	{"name: \"a\\0b\"\n", "f:1: name: a zero byte inside"},
	{"name: {a: b}\n", "f:1: name: one value is expected, not a mapping"},
	{"name: ab\nnick: b\n", "f:2: nick: there is no such key here; known are name, wait_s, "},
	{"name: ab\n[a]: b\n", "f:2: there is no such key here"},
	{"name: ab\nName: cd\n", "f:2: Name: there is no such key here"},
	{"name: ab\nwait_s: 1\nname: cd\n", "f:3: name: given twice (first on line 1): keep one"},
	{"name: ab\nwait_s: 0\n",
	 "f:2: wait_s: 0 is out of range: a number of seconds above 0 and at most 10 is expected"},
	{"name: ab\nwait_s: 10.01\n", "f:2: wait_s: 10.01 is out of range"},
	{"name: ab\nwait_s: -1\n", "f:2: wait_s: -1 is out of range"},
	{"name: ab\nwait_s: 1m\n", "f:2: wait_s: \"1m\" is not a number of seconds: a decimal "
				   "number above 0 and at most 10 is expected, such as 2.5"},
	{"name: ab\nparts: {size_bytes: 1}\n",
	 "f:2: parts: a list is expected (lines that begin with '- ')"},
	{"name: ab\nparts: []\n", "f:2: parts: the list has 0 entries: 1 to 2 are expected"},
	{"name: ab\nparts:\n  - size_bytes: 1\n  - on: true\n",
	 "f:4: parts[1].size_bytes: this required key is missing in the mapping that begins on "
	 "this line"},
	{"name: ab\nparts:\n  - size_bytes: 1\n    on: 1\n",
	 "f:4: parts[0].on: \"1\": true or false is expected"},
	{"name: ab\nparts:\n  - size_bytes: 9999999999\n",
	 "f:3: parts[0].size_bytes: 9999999999 is out of range: a number of bytes from 0 to "
	 "2147483647 is expected"},
	{"name: ab\nspare: 1\n",
	 "f:2: spare: a mapping is expected (lines such as 'size_bytes: ...')"},
	{"name: &a ab\nspare: {size_bytes: *a}\n",
	 "f:1: spare.size_bytes: what is on this line is used again by an alias (*)"},
	{"&a name: ab\n*a : 1\n", "f:1: what is on this line is used again by an alias (*)"},
	{"name: ab\nspare: &s {size_bytes: 1, on: *s}\n", "f:2: spare.on: what is on this line"},
	{"name: ab\n---\nname: cd\n", "f:3: a second document (after '---')"},
	{"name: ab\n---\nname: [\n", "f:4: not YAML: "},
};

START_TEST(an_error_names_line_and_key)
{
	struct strict_yaml *y = (struct strict_yaml *)1;

	ck_assert_int_eq(load(&y, bad[_i].text, strlen(bad[_i].text)), -EBADMSG);
	ck_assert_ptr_null(y);
	ck_assert_msg(!strncmp(error, bad[_i].error, strlen(bad[_i].error)), "'%s' is not '%s'",
		      error, bad[_i].error);
}
END_TEST

START_TEST(an_error_is_one_printable_line)
{
	static const char text[] = "\"na\\e\\nme\": 1\n";
	struct strict_yaml *y;

	ck_assert_int_eq(load(&y, text, strlen(text)), -EBADMSG);
	for (const char *p = error; *p; p++)
		ck_assert_int_ge(*p, ' ');
}
END_TEST

int main(void)
{
	Suite *s = suite_create("strict_yaml");
	TCase *tc = tcase_create("files");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, values_and_lines);
	tcase_add_loop_test(tc, an_error_names_line_and_key, 0,
			    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tc, an_error_is_one_printable_line);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
