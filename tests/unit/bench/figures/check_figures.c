/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figures/figures.h"

#define ENTRY(id, command, goal, n)                                                                \
	"  - {id: " id ", what: w, command: \"" command "\", json: a.b, goal: \"" goal "\", n: " n \
	", cheap: true, duration_s: 60}\n"

static int load_as(const char *text, bool full, struct figures **list, char *reason)
{
	char path[] = "/tmp/check_figures.XXXXXX";
	int fd = mkstemp(path), err;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	err = figures_load(list, path, full, reason, 256);
	unlink(path);
	return err;
}

static int load(const char *text, struct figures **list, char *reason)
{
	return load_as(text, false, list, reason);
}

/* Without --full each group is measured within FIGURES_GROUP_S; commands are shared in a group. */
START_TEST(no_group_takes_long)
{
	char path[512], reason[256];
	struct figures *list;

	snprintf(path, sizeof(path), "%s/docs/figures.yaml", getenv("FARE_SOURCE_DIR"));
	ck_assert_int_eq(figures_load(&list, path, false, reason, sizeof(reason)), 0);
	for (unsigned i = 0; i < list->figures_count; i++) {
		size_t group = strcspn(list->figures[i].id, "/") + 1;
		unsigned seconds = 0;

		for (unsigned j = 0; j < list->figures_count; j++) {
			const struct figure *f = &list->figures[j];
			bool shared = f->full || strncmp(f->id, list->figures[i].id, group) != 0;

			for (unsigned k = 0; k < j && !shared; k++)
				shared = !list->figures[k].full && f->n == list->figures[k].n &&
					 strcmp(f->command, list->figures[k].command) == 0;
			seconds += shared ? 0 : f->duration_s;
		}
		ck_assert_msg(seconds <= FIGURES_GROUP_S, "%s: %u s", list->figures[i].id, seconds);
	}
	figures_destroy(list);
}
END_TEST

START_TEST(full_repeats_more)
{
	static const char text[] =
		"figures:\n" ENTRY("a/b", "x --n {n} {out}", ">= 0.95", "5, full_n: 20")
			ENTRY("a/c", "x {out}", "== 0", "1, full: true");
	char reason[256];
	struct figures *list;

	ck_assert_int_eq(load_as(text, false, &list, reason), 0);
	ck_assert_uint_eq(list->figures[0].n, 5);
	ck_assert_uint_eq(list->figures[0].duration_s, 60);
	ck_assert(!list->figures[0].full && list->figures[1].full);
	figures_destroy(list);
	ck_assert_int_eq(load_as(text, true, &list, reason), 0);
	ck_assert_uint_eq(list->figures[0].n, 20);
	ck_assert_uint_eq(list->figures[0].duration_s, 240);
	figures_destroy(list);
}
END_TEST

START_TEST(the_registry_of_this_tree)
{
	const char *source = getenv("FARE_SOURCE_DIR");
	char path[512], reason[256] = "";
	struct figures *list;
	unsigned demo = 0;

	ck_assert_ptr_nonnull(source);
	snprintf(path, sizeof(path), "%s/docs/figures.yaml", source);
	ck_assert_msg(figures_load(&list, path, false, reason, sizeof(reason)) == 0, "%s", reason);
	for (unsigned i = 0; i < list->figures_count; i++)
		demo += figures_selected(&list->figures[i], "demo");
	ck_assert_uint_ge(demo, 5);
	figures_destroy(list);
}
END_TEST

/*
 * What n is printed for is how often something is measured, not how large it is: no option but
 * these two takes it.
 */
START_TEST(n_is_a_number_of_repetitions)
{
	char path[512], reason[256];
	struct figures *list;

	snprintf(path, sizeof(path), "%s/docs/figures.yaml", getenv("FARE_SOURCE_DIR"));
	ck_assert_int_eq(figures_load(&list, path, false, reason, sizeof(reason)), 0);
	for (unsigned i = 0; i < list->figures_count; i++) {
		const struct figure *f = &list->figures[i];
		const char *n = strstr(f->command, "{n}");

		ck_assert_msg(!n || strncmp(n - 4, "--n ", 4) == 0 ||
				      strncmp(n - 9, "--trials ", 9) == 0,
			      "%s", f->id);
		/* one run has one duration */
		ck_assert_msg(!strstr(f->json, "duration_s") || f->n == 1, "%s", f->id);
	}
	figures_destroy(list);
}
END_TEST

START_TEST(a_good_one)
{
	char reason[256];
	struct figures *list;

	ck_assert_int_eq(load("figures:\n" ENTRY("a/b", "x --n {n} {out}", ">= 0.95",
						 "5, time_limit_s: 7200")
				      ENTRY("a/c", "x {out}", "== 0", "1"),
			      &list, reason),
			 0);
	ck_assert_uint_eq(list->figures_count, 2);
	ck_assert_str_eq(list->figures[0].goal, ">= 0.95");
	ck_assert_uint_eq(list->figures[0].n, 5);
	ck_assert(list->figures[1].cheap);
	ck_assert_uint_eq(list->figures[0].time_limit_s, 7200);
	ck_assert_uint_eq(list->figures[1].time_limit_s, 0);
	ck_assert(figures_selected(&list->figures[0], NULL));
	ck_assert(figures_selected(&list->figures[0], "a"));
	ck_assert(figures_selected(&list->figures[0], "a/b"));
	ck_assert(!figures_selected(&list->figures[0], "a/c"));
	ck_assert(!figures_selected(&list->figures[0], "ab"));
	figures_destroy(list);
}
END_TEST

START_TEST(bad_ones_say_why)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"figures:\n" ENTRY("abc", "x {out}", ">= 1", "1"), "group/name"},
		{"figures:\n" ENTRY("a/b", "x {out}", "about 1", "1"), "goal"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= x", "1"), "goal"},
		{"figures:\n" ENTRY("a/b", "x", ">= 1", "1"), "{out}"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= 1", "0"), "n: 0 is out of range"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= 1", "2"), "no {n}"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= 1", "1")
			 ENTRY("a/b", "x {out}", ">= 1", "1"),
		 "twice"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= 1", "1, time_limit_s: 86401"),
		 "to 86400"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= 1", "1e0"),
		 ":2: figures[0].n: \"1e0\" is not a number"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= 1", "1, time_limit_s: 10m"),
		 "\"10m\" is not a number of seconds"},
		{"figures:\n" ENTRY("a/b", "x {out}", ">= 1", "1, full_n: 9"), "no {n}"},
		{"figures:\n  - {id: a/b}\n", "missing"},
		{"figurines: []\n", "no such key"},
		{"figures: [\n", ""},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char reason[256] = "";
		struct figures *list;

		ck_assert_msg(load(bad[i].text, &list, reason) == -EBADMSG, "%zu", i);
		ck_assert_msg(reason[0] && strstr(reason, bad[i].says), "%zu: %s", i, reason);
	}
	struct figures *list;
	char reason[256];

	ck_assert_int_eq(figures_load(&list, "/nonexistent", false, reason, sizeof(reason)),
			 -ENOENT);
}
END_TEST

START_TEST(goals)
{
	ck_assert_int_eq(figures_goal_met(">= 0.95", 0.95), 1);
	ck_assert_int_eq(figures_goal_met(">= 0.95", 0.9499), 0);
	ck_assert_int_eq(figures_goal_met("<= 50", 50.1), 0);
	ck_assert_int_eq(figures_goal_met("< 15", 15), 0);
	ck_assert_int_eq(figures_goal_met("> -1", 0), 1);
	ck_assert_int_eq(figures_goal_met("== 0", 0), 1);
	ck_assert_int_eq(figures_goal_met("=> 1", 0), -EBADMSG);
	ck_assert_int_eq(figures_goal_met(">=", 0), -EBADMSG);
	ck_assert_int_eq(figures_goal_met(">= nan", 0), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("figures");
	TCase *tcase = tcase_create("figures");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, the_registry_of_this_tree);
	tcase_add_test(tcase, no_group_takes_long);
	tcase_add_test(tcase, full_repeats_more);
	tcase_add_test(tcase, n_is_a_number_of_repetitions);
	tcase_add_test(tcase, a_good_one);
	tcase_add_test(tcase, bad_ones_say_why);
	tcase_add_test(tcase, goals);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
