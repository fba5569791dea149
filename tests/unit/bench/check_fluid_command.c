/* SPDX-License-Identifier: BSD-2-Clause */
/* `farebench fluid` from its arguments to its JSON; no lab, no root. */
#include <check.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fluid_command.h"

#define MAX_WORDS 24

static char dir[] = "/tmp/check_fluid_command.XXXXXX";
static char topology[64], json[64], dump[64];

static void make_files(void)
{
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(topology, sizeof(topology), "%s/topology.yaml", dir);
	snprintf(json, sizeof(json), "%s/out.json", dir);
	snprintf(dump, sizeof(dump), "%s/dump", dir);
	file = fopen(topology, "w");
	ck_assert_ptr_nonnull(file);
	fputs("servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 100\n", file);
	ck_assert_int_eq(fclose(file), 0);
}

static void remove_files(void)
{
	unlink(topology);
	unlink(json);
	unlink(dump);
	rmdir(dir);
}

/* Words behind "fluid", between blanks. */
static int run(const char *words)
{
	char text[512], *argv[MAX_WORDS] = {NULL}, *rest = text;
	int argc = 0;

	snprintf(text, sizeof(text), "fluid %s", words);
	while (argc < MAX_WORDS - 1 && (argv[argc] = strtok_r(NULL, " ", &rest)))
		argc++;
	optind = 0; /* getopt() begins anew */
	return fluid_command_main(argc, argv);
}

static int run_with(const char *words)
{
	char all[400];

	snprintf(all, sizeof(all), "%s --json %s --dump %s %s", topology, json, dump, words);
	return run(all);
}

/* 3 peers x 1 MiB x 8 over 2 planes x 200 Mb/s, or 150% of one plane. */
START_TEST(a_topology_becomes_cases)
{
	json_t *document, *root, *one;
	size_t i;

	ck_assert_int_eq(run_with("--qps 2,4 --choice fare,spray --halve-plane 1 --n 2"), 0);
	document = json_load_file(json, 0, NULL);
	ck_assert_ptr_nonnull(document);
	root = json_object_get(document, "fluid");
	ck_assert_int_gt(json_integer_value(json_object_get(root, "peak_memory_bytes")), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(root, "cases")), 8);
	json_array_foreach (json_object_get(root, "cases"), i, one) {
		double optimum = json_real_value(json_object_get(one, "optimum_s"));
		double over = json_real_value(json_object_get(one, "over_optimum_ratio"));
		const char *choice = json_string_value(json_object_get(one, "choice"));

		ck_assert_int_eq(json_integer_value(json_object_get(one, "gpus")), 4);
		ck_assert_int_eq(json_integer_value(json_object_get(one, "peers")), 3);
		ck_assert_double_eq_tol(optimum, 3 * 8 * 1048576.0 / 300e6, 1e-9);
		ck_assert_double_ge(over, 1 - 1e-9);
		if (strcmp(choice, "spray") == 0)
			ck_assert_double_le(over, 1 + 1e-9);
	}
	json_decref(document);
}
END_TEST

/* What another solver gets: links, flows, and when each was done, for each case. */
START_TEST(the_dump_is_whole)
{
	unsigned links = 0, flows = 0, done = 0, ends = 0;
	char line[200];
	FILE *file;

	ck_assert_int_eq(run_with("--gpus 8 --qps 1 --choice hash --n 2"), 0);
	file = fopen(dump, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		links += strncmp(line, "link ", 5) == 0;
		flows += strncmp(line, "flow ", 5) == 0;
		done += strncmp(line, "done ", 5) == 0;
		ends += strncmp(line, "end ", 4) == 0;
	}
	fclose(file);
	ck_assert_uint_eq(links, 8 * 2 * 2);
	ck_assert_uint_eq(flows, 8 * 7);
	ck_assert_uint_eq(done, flows);
	ck_assert_uint_eq(ends, 1); /* repetitions are the same */
}
END_TEST

START_TEST(wrong_usage_is_told)
{
	static const char *const wrong[] = {
		"--test rings",
		"--choice fare,luck",
		"--choice fare,",
		"--gpus 1",
		"--gpus 100000",
		"--qps 65",
		"--qps 0",
		"--halve-plane 2",
		"--merge 1000001",
		"--vary 100",
		"--n 0",
		"--size 0",
		"--unknown",
		"another.yaml",
		"--test kv --gpus 5",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(run_with(wrong[i]) == 2, "%s", wrong[i]);
	ck_assert_int_eq(run(""), 2);
	ck_assert_int_eq(run("/nonexistent.yaml"), 2);
}
END_TEST

START_TEST(a_file_that_cannot_be_written_fails)
{
	char words[200];

	snprintf(words, sizeof(words), "%s --json %s/no/such", topology, dir);
	ck_assert_int_eq(run(words), 1);
	snprintf(words, sizeof(words), "%s --dump %s/no/such", topology, dir);
	ck_assert_int_eq(run(words), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fluid_command");
	TCase *tcase = tcase_create("fluid_command");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, make_files, remove_files);
	tcase_add_test(tcase, a_topology_becomes_cases);
	tcase_add_test(tcase, the_dump_is_whole);
	tcase_add_test(tcase, wrong_usage_is_told);
	tcase_add_test(tcase, a_file_that_cannot_be_written_fails);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
