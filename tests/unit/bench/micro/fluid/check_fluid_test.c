/* SPDX-License-Identifier: BSD-2-Clause */
/* `farebench run fluid` from its arguments to its JSON; no lab, no root. */
#include <check.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/suite.h"

#define MAX_WORDS 32

static char dir[] = "/tmp/check_fluid.XXXXXX"; /* short: a parameter's level */
static char topology[40], json[64], dump[64];

static void make_files(void)
{
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(topology, sizeof(topology), "%s/t.yaml", dir);
	snprintf(json, sizeof(json), "%s/out.json", dir);
	snprintf(dump, sizeof(dump), "%s/dump", dir);
	file = fopen(topology, "w");
	ck_assert_ptr_nonnull(file);
	fputs("servers: 4\nplanes: 2\nsub_ports: 2\nrate_mbps: 100\n", file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(setenv("FAREBENCH_FLUID_DUMP", dump, 1), 0);
}

static void remove_files(void)
{
	unlink(topology);
	unlink(json);
	unlink(dump);
	rmdir(dir);
}

/* Words behind "run fluid", between blanks. */
static int run(const char *words)
{
	char text[512], *argv[MAX_WORDS] = {NULL}, *rest = text;
	int argc = 0;

	snprintf(text, sizeof(text), "run fluid %s", words);
	while (argc < MAX_WORDS - 1 && (argv[argc] = strtok_r(argc ? NULL : text, " ", &rest)))
		argc++;
	optind = 0; /* getopt() begins anew */
	return suite_main(argc, argv);
}

/* Levels of parameters, between blanks, over the topology. */
static int run_with(const char *levels)
{
	char words[512], text[256], *rest;
	int used = snprintf(words, sizeof(words), "--json %s --param topology=%s", json, topology);

	snprintf(text, sizeof(text), "%s", levels);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		used += snprintf(words + used, sizeof(words) - (size_t)used, " %s %s",
				 word[0] == '-' ? "" : "--param", word);
	return run(words);
}

static double number(const json_t *one, const char *key)
{
	return json_number_value(json_object_get(one, key));
}

/* 3 peers x 1 MiB x 8 over 2 planes x 200 Mb/s, or 150% of one plane. */
START_TEST(a_topology_becomes_cases)
{
	json_t *document, *cells, *one;
	size_t i;

	ck_assert_int_eq(run_with("qps=2,4 choice=fare,spray halve=1"), 0);
	document = json_load_file(json, 0, NULL);
	ck_assert_ptr_nonnull(document);
	cells = json_object_get(json_object_get(document, "cells"), "fluid");
	ck_assert_uint_eq(json_array_size(cells), 4);
	json_array_foreach (cells, i, one) {
		const char *choice = json_string_value(json_object_get(one, "choice"));

		ck_assert_double_eq_tol(number(one, "optimum"), 3 * 8 * 1048576.0 / 300e6, 1e-6);
		ck_assert_double_ge(number(one, "over_optimum"), 1 - 1e-6);
		ck_assert_double_gt(number(one, "wall"), 0);
		if (strcmp(choice, "spray") == 0)
			ck_assert_double_le(number(one, "over_optimum"), 1 + 1e-6);
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

	ck_assert_int_eq(run_with("gpus=8 qps=1 choice=hash --trials=2"), 0);
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
	ck_assert_uint_eq(ends, 1); /* trials are the same */
}
END_TEST

/* Words that no test knows are wrong usage, before anything is computed. */
START_TEST(wrong_usage_is_told)
{
	static const char *const wrong[] = {"pattern=rings", "choice=fare,luck", "choice=fare,",
					    "vary=much",     "quantum=1",	 "--unknown"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(run_with(wrong[i]) == 2, "%s", wrong[i]);
	ck_assert_int_ne(access(json, F_OK), 0);
}
END_TEST

/* Numbers that a fabric cannot have are wrong usage, too. */
START_TEST(wrong_numbers_are_told)
{
	static const char *const wrong[] = {"gpus=1",  "gpus=100000",	   "qps=65",   "qps=0",
					    "halve=2", "merge=1000001",	   "merge=-1", "vary=100",
					    "peers=0", "pattern=kv gpus=5"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(run_with(wrong[i]) == 2, "%s", wrong[i]);
	ck_assert_int_eq(run("--json /dev/null --param topology=/nonexistent.yaml"), 2);
	ck_assert_int_ne(access(json, F_OK), 0);
}
END_TEST

START_TEST(a_file_that_cannot_be_written_fails)
{
	char words[200];

	ck_assert_int_eq(setenv("FAREBENCH_FLUID_DUMP", "/no/such", 1), 0);
	ck_assert_int_eq(run_with("qps=1"), 1);
	ck_assert_int_eq(unsetenv("FAREBENCH_FLUID_DUMP"), 0);
	snprintf(words, sizeof(words), "--param topology=%s --json %s/no/such", topology, dir);
	ck_assert_int_eq(run(words), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fluid_test");
	TCase *tcase = tcase_create("fluid_test");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, make_files, remove_files);
	tcase_add_test(tcase, a_topology_becomes_cases);
	tcase_add_test(tcase, the_dump_is_whole);
	tcase_add_test(tcase, wrong_usage_is_told);
	tcase_add_test(tcase, wrong_numbers_are_told);
	tcase_add_test(tcase, a_file_that_cannot_be_written_fails);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
