/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/edition.h"

START_TEST(editions_are_named)
{
	static const char *const wrong[] = {"", "5", "03", "05,", ",05", "0505", "05 04"};
	struct editions e;
	json_t *run;

	ck_assert_int_eq(editions_parse("02", &e), 0);
	ck_assert(!e.newer[EDITION_INFERENCE] && !e.newer[EDITION_TRAINING]);
	ck_assert_int_eq(editions_parse("05", &e), 0);
	ck_assert(e.newer[EDITION_INFERENCE] && !e.newer[EDITION_TRAINING]);
	ck_assert_int_eq(editions_parse("04,05", &e), 0);
	ck_assert(e.newer[EDITION_INFERENCE] && e.newer[EDITION_TRAINING]);
	run = json_pack("{s:o}", "editions", editions_json(e));
	ck_assert(editions_of(run).newer[EDITION_INFERENCE]);
	ck_assert(editions_of(run).newer[EDITION_TRAINING]);
	json_decref(run);
	ck_assert(!editions_of(NULL).newer[EDITION_INFERENCE]);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(editions_parse(wrong[i], &e), -EINVAL);
}
END_TEST

START_TEST(clauses_have_their_revision)
{
	struct editions e = {{true, false}};
	char text[100];

	edition_clause(e, "draft-calabria-bmwg-ai-fabric-inference-bench-02, 5.1", text,
		       sizeof(text));
	ck_assert_str_eq(text, "draft-calabria-bmwg-ai-fabric-inference-bench-05, 5.1");
	edition_clause(e, "draft-calabria-bmwg-ai-fabric-training-bench-02, 9", text, sizeof(text));
	ck_assert_str_eq(text, "draft-calabria-bmwg-ai-fabric-training-bench-02, 9");
	edition_clause(e, "none", text, sizeof(text));
	ck_assert_str_eq(text, "none");
}
END_TEST

/* 8.4 has three trials in -02; the tests of this project have none of a draft. */
START_TEST(trials_of_each_edition)
{
	static const struct test storm = {.id = "8.4", .trials = {1, 2, 3}},
				 prompts = {.id = "10.1", .trials = {1, 2, 100}},
				 training = {.id = "T9.1", .trials = {1, 2, 3}},
				 soak = {.id = "13.1",
					 .trials = {4, 60, 96},
					 .seconds = {3, 30, 900},
					 .sample_s = 60};
	struct editions older = {{false}}, newer = {{true, true}};

	ck_assert_uint_eq(edition_trials(older, &storm), 3);
	ck_assert_uint_eq(edition_trials(newer, &storm), 20);
	ck_assert_uint_eq(edition_trials(newer, &prompts), 100);
	ck_assert_uint_eq(edition_trials(newer, &training), 3);
	/* 24 hours, by samples of 15 minutes and of one */
	ck_assert_uint_eq(edition_trials(older, &soak), 96);
	ck_assert_uint_eq(edition_trials(newer, &soak), 1440);
	ck_assert_double_eq(edition_seconds(older, &soak), 900);
	ck_assert_double_eq(edition_seconds(newer, &soak), 60);
	ck_assert_double_eq(edition_seconds(newer, &storm), 0);
}
END_TEST

/* Section 1.3: 20 trials of 60 s at least, 50 of bursts (6.4, 8.2). What asks for others: 8.4
 * (three), 10.1 (100, of a prompt each). */
START_TEST(no_test_has_fewer_trials_than_the_draft)
{
	size_t n;
	const struct test *const *tests = tests_all(&n);

	for (size_t i = 0; i < n; i++) {
		const struct test *test = tests[i];
		bool bursts = strcmp(test->id, "6.4") == 0 || strcmp(test->id, "8.2") == 0;
		unsigned least = bursts ? 50 : strcmp(test->id, "8.4") == 0 ? 3 : 20;

		if (!test_is_draft(test))
			continue;
		ck_assert_msg(edition_trials((struct editions){{false}}, test) >= least, "%s: %u",
			      test->id, edition_trials((struct editions){{false}}, test));
		if (strcmp(test->id, "10.1") != 0)
			ck_assert_msg(test->seconds[PROFILE_DRAFT] >= 60, "%s: %g s", test->id,
				      test->seconds[PROFILE_DRAFT]);
	}
}
END_TEST

static void asks(struct editions e, const char *id, const char *expected)
{
	size_t n;
	const struct test *const *tests = tests_all(&n);
	char text[200] = "no such test";

	for (size_t i = 0; i < n; i++)
		if (strcmp(tests[i]->id, id) == 0)
			edition_asks(e, tests[i], text, sizeof(text));
	ck_assert_str_eq(text, expected);
}

/* What the text of each clause has, and no number that it has not. */
START_TEST(what_the_text_asks_for)
{
	const struct editions older = {{false}}, newer = {{true, true}};

	asks(older, "5.1", "20 of 60 s");
	asks(older, "5.2", "20 of 120 s");
	asks(older, "5.3", "20 of 60 s (seconds: 1.3)");
	asks(older, "6.2", "20 of 60 s (1.3)");
	asks(older, "8.2", "50 of 60 s (1.3)");
	asks(older, "8.4", "trials not stated, 300 s; 3 of 300 s by this project");
	asks(older, "10.1", "100 trials, seconds not stated; 100 of 30 s by this project");
	asks(older, "10.2",
	     "10,000 samples of ITL a condition: trials not stated, seconds not stated; 20 of "
	     "120 s by this project");
	asks(older, "13.1", "96 of 900 s: 24 h, a sample every 15 minutes");
	asks(older, "T5.3",
	     "50 bursts of a length: trials not stated, seconds not stated; 5 of 60 s by this "
	     "project");
	asks(older, "T9.3",
	     "100 iterations of a size and number of ranks (9.1): trials not stated, seconds not "
	     "stated; 3 of 60 s by this project");
	asks(older, "T10.1",
	     "1,000 iterations: trials not stated, seconds not stated; 3 by this project");
	asks(older, "T11.2", "trials not stated, seconds not stated; 5 of 120 s by this project");
	asks(older, "demo-goodput", "-");
	asks(newer, "8.4", "20 of 300 s (1.3: 20 trials at least)");
}
END_TEST

/* docs/methodology.md has each difference, word for word. */
START_TEST(the_document_has_the_table)
{
	const char *source = getenv("FARE_SOURCE_DIR");
	static char text[200000];
	char path[4096], line[1000];
	const struct edition_change *change;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/docs/methodology.md", source ? source : ".");
	file = fopen(path, "re");
	ck_assert_msg(file != NULL, "%s", path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	change = edition_changes(&n);
	for (size_t i = 0; i < n; i++) {
		snprintf(line, sizeof(line), "\n| %s | %s | %s | %s | %s |\n",
			 change[i].draft == EDITION_TRAINING ? "training" : "inference",
			 change[i].clause, change[i].older, change[i].newer, change[i].here);
		ck_assert_msg(strstr(text, line) != NULL, "%s lacks:%s", path, line);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("edition");
	TCase *tcase = tcase_create("edition");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, editions_are_named);
	tcase_add_test(tcase, clauses_have_their_revision);
	tcase_add_test(tcase, trials_of_each_edition);
	tcase_add_test(tcase, no_test_has_fewer_trials_than_the_draft);
	tcase_add_test(tcase, what_the_text_asks_for);
	tcase_add_test(tcase, the_document_has_the_table);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
