/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <getopt.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/check_bench_page.h"
#include "figures/goals.h"

/* Says {"v":[1,3]} into {out} and counts its runs in `runs`. */
#define TELL "echo x >> runs; echo '{\"v\":[1,3]}' > {out}"

static char home[] = "/tmp/check_goals.XXXXXX";

static void write_registry(const char *text)
{
	FILE *file = fopen("figures.yaml", "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void add_n(char *text, size_t size, const char *id, const char *command, const char *json,
		  const char *goal, unsigned n)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used,
		 "  - id: %s\n    what: something\n    command: >-\n      %s\n    json: %s\n    "
		 "goal: \"%s\"\n    n: %u\n"
		 "    cheap: %s\n    duration_s: 1\n",
		 id, command, json, goal, n, strncmp(id, "a/", 2) == 0 ? "true" : "false");
}

static void add(char *text, size_t size, const char *id, const char *command, const char *json,
		const char *goal)
{
	add_n(text, size, id, command, json, goal, 1);
}

static void set_up(void)
{
	char text[4096] = "figures:\n";

	fake_gnuplot();
	ck_assert_ptr_nonnull(mkdtemp(home));
	ck_assert_int_eq(chdir(home), 0);
	add(text, sizeof(text), "a/met", TELL, "v", "<= 3");
	add(text, sizeof(text), "a/missed", TELL, "v", "< 3");
	add(text, sizeof(text), "b/exit", "echo why >&2; exit 7 # {out}", "v", "== 0");
	add(text, sizeof(text), "b/silent", "true {out}", "v", "== 0");
	add(text, sizeof(text), "c/slow", "exec sleep 100 # {out}", "v", "== 0");
	add(text, sizeof(text), "d/met", TELL, "v", ">= 1");
	write_registry(text);
}

static void tear_down(void)
{
	char command[64];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", home);
	ck_assert_int_eq(system(command), 0);
	strcpy(home, "/tmp/check_goals.XXXXXX");
	no_more_gnuplot();
}

static int check(const char *a, const char *b)
{
	const char *argv[] = {"check", "--figures", "figures.yaml", "--json", "out.json", a,
			      b,       NULL};
	int argc = b ? 7 : a ? 6 : 5;

	optind = 0;
	return goals_main(argc, (char **)(uintptr_t)argv);
}

/* What out.json says of a figure; fails if it is not there. */
static json_t *told(json_t *root, const char *id)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(root, "figures"), i, one)
		if (strcmp(json_string_value(json_object_get(one, "id")), id) == 0)
			return one;
	ck_abort_msg("%s is missing", id);
}

static void expect(json_t *root, const char *id, const char *verdict, const char *reason)
{
	json_t *one = told(root, id);
	const char *why = json_string_value(json_object_get(one, "reason"));

	ck_assert_str_eq(json_string_value(json_object_get(one, "verdict")), verdict);
	ck_assert_msg(reason ? why && strstr(why, reason) : !why, "%s: %s", id, why);
}

static json_t *loaded(void)
{
	json_t *root = json_load_file("out.json", 0, NULL);

	ck_assert_ptr_nonnull(root);
	return root;
}

static long runs(void)
{
	FILE *file = fopen("runs", "re");
	long n = 0;

	for (int c; file && (c = getc(file)) != EOF;)
		n += c == 'x';
	if (file)
		fclose(file);
	return n;
}

START_TEST(all_met)
{
	json_t *root;

	ck_assert_int_eq(check("a/met", "--group=d"), 0);
	ck_assert_int_eq(runs(), 1); /* one command, two figures */
	root = loaded();
	ck_assert_int_eq(json_integer_value(json_object_get(root, "met")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(root, "asked")), 2);
	expect(root, "a/met", "met", NULL);
	ck_assert(json_number_value(json_object_get(told(root, "a/met"), "value")) == 3);
	ck_assert(json_number_value(json_object_get(json_object_get(told(root, "a/met"), "spread"),
						    "min")) == 1);
	json_decref(root);
}
END_TEST

START_TEST(one_missed)
{
	json_t *root;

	ck_assert_int_eq(check("--cheap", NULL), 1);
	ck_assert_int_eq(runs(), 1);
	root = loaded();
	expect(root, "a/missed", "missed", NULL);
	ck_assert_int_eq(json_integer_value(json_object_get(root, "missed")), 1);
	ck_assert_int_eq(json_array_size(json_object_get(root, "figures")), 2);
	json_decref(root);
}
END_TEST

/* A command that does not tell the number is a failure, whatever the reason; the others go on. */
START_TEST(commands_that_fail)
{
	json_t *root;

	ck_assert_int_eq(check("b", "d"), 1);
	root = loaded();
	expect(root, "b/exit", "failed", "exit status 7: why");
	expect(root, "b/silent", "failed", "no JSON");
	expect(root, "d/met", "met", NULL);
	ck_assert_int_eq(json_integer_value(json_object_get(root, "failed")), 2);
	json_decref(root);
}
END_TEST

START_TEST(too_slow)
{
	json_t *root;

	ck_assert_int_eq(check("c", "--timeout=1"), 1);
	root = loaded();
	expect(root, "c/slow", "failed", "took too long");
	json_decref(root);
}
END_TEST

START_TEST(a_page)
{
	char text[16384];
	FILE *file;

	ck_assert_int_eq(check("a", "--html=page.html"), 1);
	file = fopen("page.html", "re");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	ck_assert_uint_eq(times(text, "1 of 2 goals met; 1 missed"), 1);
	ck_assert_uint_eq(times(text, "<td class=\"k\">MISSED</td>"), 1);
	ck_assert_uint_eq(times(text, "&gt; {out}</pre>"), 2);
}
END_TEST

START_TEST(documents_are_kept)
{
	json_t *root;

	ck_assert_int_eq(check("a", "--keep=."), 1);
	root = json_load_file("a-met.json", 0, NULL);
	ck_assert_ptr_nonnull(root);
	ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(root, "v"), 1)), 3);
	json_decref(root);
	ck_assert_int_eq(access("a-missed.json", F_OK), -1); /* the same command: once */
	ck_assert_int_eq(check("a", "--keep=no/such/place"), 2);
	ck_assert_int_eq(check("a", "--keep=.; echo x >> runs #"), 2);
	ck_assert_int_eq(runs(), 1);
}
END_TEST

static enum goals_verdict verdict(const char *json, const char *goal, const char *document)
{
	struct figure figure = {.id = (char *)(uintptr_t) "a/b",
				.json = (char *)(uintptr_t)json,
				.goal = (char *)(uintptr_t)goal,
				.n = 2};
	struct goals_outcome out = {0};
	json_t *root = json_loads(document, 0, NULL);

	ck_assert_ptr_nonnull(root);
	goals_evaluate(&figure, root, &out);
	ck_assert_int_eq(out.reason[0] != '\0',
			 out.verdict == GOALS_MISSED && strstr(document, "-1"));
	json_decref(root);
	return out.verdict;
}

/* Figures of one run, each with its own n: of what it repeats, and of the whole. */
START_TEST(one_run_has_figures_of_any_n)
{
	char text[1024] = "figures:\n";
	json_t *root;

	add_n(text, sizeof(text), "e/repeated", TELL " # --n {n} --trials 2", "v", "<= 3", 5);
	add_n(text, sizeof(text), "e/tried", TELL " # --n 5 --trials {n}", "v", "<= 3", 2);
	add_n(text, sizeof(text), "e/whole", TELL " # --n 5 --trials 2", "v", "<= 3", 1);
	add_n(text, sizeof(text), "e/other", TELL " # --n {n} --trials 2", "v", "<= 3", 4);
	write_registry(text);
	ck_assert_int_eq(check("e", NULL), 0);
	ck_assert_int_eq(runs(), 2);
	root = loaded();
	ck_assert_int_eq(json_integer_value(json_object_get(told(root, "e/repeated"), "n")), 5);
	ck_assert_int_eq(json_integer_value(json_object_get(told(root, "e/tried"), "n")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(told(root, "e/whole"), "n")), 1);
	json_decref(root);
}
END_TEST

/* -1 stands for what was not seen: an event that did not happen is no quick one. */
START_TEST(what_was_not_seen_is_not_met)
{
	ck_assert_int_eq(verdict("v", "<= 2", "{\"v\":[1,2]}"), GOALS_MET);
	ck_assert_int_eq(verdict("v", "<= 2", "{\"v\":[-1,-1]}"), GOALS_MISSED);
	/* not hidden by the others */
	ck_assert_int_eq(verdict("v", "<= 2", "{\"v\":[-1,2]}"), GOALS_MISSED);
	ck_assert_int_eq(verdict("v", "<= 2", "{\"v\":-1}"), GOALS_MISSED);
	/* a difference */
	ck_assert_int_eq(verdict("v - w", "<= 2", "{\"v\":[1,2],\"w\":[3,4]}"), GOALS_MET);
}
END_TEST

/* All have to meet it, and the worst is the figure. */
START_TEST(the_worst_number_counts)
{
	const char *document = "{\"v\":[1,3,2]}";

	ck_assert_int_eq(verdict("v", ">= 1", document), GOALS_MET);
	ck_assert_int_eq(verdict("v", "> 1", document), GOALS_MISSED);
	ck_assert_int_eq(verdict("v", "<= 3", document), GOALS_MET);
	ck_assert_int_eq(verdict("v", "< 3", document), GOALS_MISSED);
	ck_assert_int_eq(verdict("v", "== 1", document), GOALS_MISSED);
	ck_assert_int_eq(verdict("v", "== 3", document), GOALS_MISSED);
	ck_assert_int_eq(verdict("v", "== 3", "{\"v\":[3,3]}"), GOALS_MET);
}
END_TEST

START_TEST(a_miss_says_what_was_not_seen)
{
	const char *command = "echo '{\"v\":[-1,1]}' > {out}";
	char text[1024] = "figures:\n";
	json_t *root;

	add(text, sizeof(text), "e/unseen", command, "v", "<= 3");
	write_registry(text);
	ck_assert_int_eq(check("e", NULL), 1);
	root = loaded();
	expect(root, "e/unseen", "missed", "not, at least once");
	ck_assert(json_number_value(json_object_get(told(root, "e/unseen"), "value")) == 1);
	json_decref(root);
}
END_TEST

/* A typing error must not look like success. */
START_TEST(no_such_figure)
{
	ck_assert_int_eq(check("a", "nonsense"), 1);
	ck_assert_int_eq(check("d", "--cheap"), 1);
	ck_assert_int_eq(check("--timeout=0", NULL), 2);
	ck_assert_int_eq(runs(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("goals");
	TCase *tcase = tcase_create("goals");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, all_met);
	tcase_add_test(tcase, one_missed);
	tcase_add_test(tcase, commands_that_fail);
	tcase_add_test(tcase, too_slow);
	tcase_add_test(tcase, a_page);
	tcase_add_test(tcase, documents_are_kept);
	tcase_add_test(tcase, one_run_has_figures_of_any_n);
	tcase_add_test(tcase, what_was_not_seen_is_not_met);
	tcase_add_test(tcase, the_worst_number_counts);
	tcase_add_test(tcase, a_miss_says_what_was_not_seen);
	tcase_add_test(tcase, no_such_figure);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
