/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The doctor on recorded facts: those of a server that is well (facts.json), and the same with one
 * thing wrong (planted.json), which has to be named by the check that is for it.
 */
#include "doctor.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor_host.h"

static json_t *well, *planted;

static json_t *load(const char *name)
{
	const char *source = getenv("FARE_SOURCE_DIR");
	json_error_t error;
	char path[4096];
	json_t *value;

	snprintf(path, sizeof(path), "%s/tests/unit/fared/doctor/%s", source ? source : ".", name);
	value = json_load_file(path, 0, &error);
	ck_assert_msg(value != NULL, "%s:%d: %s", path, error.line, error.text);
	return value;
}

static void setup(void)
{
	well = load("facts.json");
	planted = load("planted.json");
}

static void teardown(void)
{
	json_decref(well);
	json_decref(planted);
}

/* As RFC 7396 has it: objects are merged, null removes, all else replaces. */
static void merge(json_t *to, json_t *change)
{
	const char *key;
	json_t *value;

	json_object_foreach (change, key, value) {
		if (json_is_null(value))
			json_object_del(to, key);
		else if (json_is_object(value) && json_is_object(json_object_get(to, key)))
			merge(json_object_get(to, key), value);
		else
			json_object_set(to, key, value);
	}
}

static const struct doctor_line *line_of(const struct doctor_line *lines, size_t n,
					 const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(lines[i].name, name))
			return &lines[i];
	ck_abort_msg("no check is named %s", name);
}

START_TEST(a_server_that_is_well_is_well)
{
	struct doctor_line lines[DOCTOR_MAX_LINES];
	size_t n = doctor_run(well, lines);

	ck_assert_uint_ge(n, 30);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(lines[i].state == DOCTOR_OK, "%s is %s: %s", lines[i].name,
			      doctor_state_name(lines[i].state), lines[i].text);
}
END_TEST

START_TEST(each_planted_fault_is_named)
{
	const char *what, *check, *state, *says;
	struct doctor_line lines[DOCTOR_MAX_LINES];
	json_t *row, *change;
	size_t i;

	ck_assert_uint_ge(json_array_size(planted), 30);
	json_array_foreach (planted, i, row) {
		const struct doctor_line *line;
		json_t *facts = json_deep_copy(well);
		size_t n;

		ck_assert(!json_unpack(row, "{s:s, s:o, s:s, s:s, s:s}", "what", &what, "change",
				       &change, "check", &check, "state", &state, "says", &says));
		merge(facts, change);
		n = doctor_run(facts, lines);
		line = line_of(lines, n, check);
		ck_assert_msg(!strcmp(doctor_state_name(line->state), state) &&
				      strstr(line->text, says),
			      "%s: %s is %s: %s", what, check, doctor_state_name(line->state),
			      line->text);
		ck_assert_msg(*line->remedy, "%s: nothing to do", what);
		json_decref(facts);
	}
}
END_TEST

/* Each check names at least one planted fault: else nothing says that it can. */
START_TEST(each_check_has_a_planted_fault)
{
	struct doctor_line lines[DOCTOR_MAX_LINES];
	size_t n = doctor_run(well, lines), k;
	json_t *row;

	for (size_t i = 0; i < n; i++) {
		bool found = false;

		json_array_foreach (planted, k, row)
			found |= !strcmp(lines[i].name,
					 json_string_value(json_object_get(row, "check")));
		ck_assert_msg(found, "no planted fault is for %s", lines[i].name);
	}
}
END_TEST

/* What cannot be looked at is unknown; only that fared does not answer is wrong by itself. */
START_TEST(no_facts)
{
	struct doctor_line lines[DOCTOR_MAX_LINES];
	json_t *none = json_object();
	size_t n = doctor_run(none, lines);

	for (size_t i = 0; i < n; i++)
		ck_assert_msg(lines[i].state != DOCTOR_WRONG || !strcmp(lines[i].name, "fared"),
			      "%s: %s", lines[i].name, lines[i].text);
	json_decref(none);
}
END_TEST

/* Every value of it that is no object or array becomes that text's. */
static json_t *with_leaves(const json_t *value, const char *leaf)
{
	json_t *out, *item;
	const char *key;
	size_t i;

	if (json_is_object(value)) {
		out = json_object();
		json_object_foreach ((json_t *)(uintptr_t)value, key, item)
			json_object_set_new(out, key, with_leaves(item, leaf));
		return out;
	}
	if (!json_is_array(value))
		return json_loads(leaf, JSON_DECODE_ANY, NULL);
	out = json_array();
	json_array_foreach (value, i, item)
		json_array_append_new(out, with_leaves(item, leaf));
	return out;
}

/* A daemon of another version, or a reply cut short: members and all leaves are of other types. */
START_TEST(facts_of_other_shapes)
{
	static const char *const shapes[] = {
		"-1",
		"null",
		"true",
		"\"x\"",
		"[]",
		"{}",
		"[[], {}, 7, null, \"\", \"a/b\"]",
		("{\"planes\": [null, {\"sub_ports\": [7, {}]}], \"paths\": [{\"probe\": 5}, []],"
		 " \"events\": [{\"to\": \"notices refused\"}, 7], \"sources\": [{}, 7]}")};
	struct doctor_line lines[DOCTOR_MAX_LINES];
	json_t *value, *facts;
	const char *key;

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		json_object_foreach (well, key, value) {
			facts = json_copy(well);
			json_object_set_new(facts, key,
					    json_loads(shapes[s], JSON_DECODE_ANY, NULL));
			ck_assert_uint_gt(doctor_run(facts, lines), 0);
			json_decref(facts);
		}
		facts = with_leaves(well, shapes[s]);
		ck_assert_uint_gt(doctor_run(facts, lines), 0);
		json_decref(facts);
	}
}
END_TEST

/* One that has ended and is not waited for yet is no bgpd without -M bmp. */
START_TEST(a_process_that_has_ended_is_none)
{
	json_t *facts = json_object(), *row;
	pid_t pid = fork();
	siginfo_t info;
	size_t i;

	if (!pid)
		_exit(prctl(PR_SET_NAME, "bgpd"));
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	doctor_host_processes(facts);
	json_array_foreach (json_object_get(facts, "processes"), i, row)
		ck_assert_int_ne(json_integer_value(json_object_get(row, "pid")), pid);
	json_decref(facts);
	waitpid(pid, NULL, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("doctor");
	TCase *tc = tcase_create("doctor");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_server_that_is_well_is_well);
	tcase_add_test(tc, a_process_that_has_ended_is_none);
	tcase_add_test(tc, each_planted_fault_is_named);
	tcase_add_test(tc, each_check_has_a_planted_fault);
	tcase_add_test(tc, no_facts);
	tcase_add_test(tc, facts_of_other_shapes);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
