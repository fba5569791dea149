/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"

START_TEST(output_and_status)
{
	const char *argv[] = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3", NULL};
	struct command_result r;

	ck_assert_int_eq(command_run(argv, 10000, &r), 0);
	ck_assert_int_eq(r.status, 3);
	ck_assert_str_eq(r.out, "out\n");
	ck_assert_str_eq(r.err, "err ");
	free(r.out);
}
END_TEST

/* More than a pipe holds, both ways at once. */
START_TEST(input_is_whole)
{
	const char *argv[] = {"/bin/cat", NULL};
	size_t size = 1u << 20;
	char *input = malloc(size);
	struct command_result r;

	for (size_t i = 0; i < size; i++)
		input[i] = (char)('a' + i % 26);
	ck_assert_int_eq(command_feed(argv, input, size, 10000, &r), 0);
	ck_assert_int_eq(r.status, 0);
	ck_assert_uint_eq(r.out_bytes, size);
	ck_assert_mem_eq(r.out, input, size);
	free(r.out);
	ck_assert_int_eq(command_feed(argv, "", 0, 10000, &r), 0);
	ck_assert_uint_eq(r.out_bytes, 0);
	free(r.out);
	free(input);
}
END_TEST

START_TEST(much_output_is_whole)
{
	const char *argv[] = {"/bin/sh", "-c", "head -c 3000000 /dev/zero", NULL};
	struct command_result r;

	ck_assert_int_eq(command_run(argv, 10000, &r), 0);
	ck_assert_uint_eq(r.out_bytes, 3000000);
	free(r.out);
}
END_TEST

START_TEST(too_much_output_ends_it)
{
	const char *argv[] = {"/bin/sh", "-c", "cat /dev/zero", NULL};
	struct command_result r;

	ck_assert_int_eq(command_run(argv, 60000, &r), -E2BIG);
}
END_TEST

START_TEST(time_is_up)
{
	const char *argv[] = {"/bin/sh", "-c", "while :; do :; done", NULL};
	struct command_result r;

	ck_assert_int_eq(command_run(argv, 100, &r), -ETIMEDOUT);
}
END_TEST

/* A daemon that keeps the pipes open must not keep us waiting. */
START_TEST(children_left_behind_do_not_matter)
{
	const char *argv[] = {"/bin/sh", "-c", "sleep 30 & echo $!", NULL};
	struct command_result r;
	char kill_it[64] = "kill ";

	ck_assert_int_eq(command_run(argv, 10000, &r), 0);
	ck_assert_int_eq(r.status, 0);
	strncat(kill_it, r.out, sizeof(kill_it) - 6);
	ck_assert_int_eq(system(kill_it), 0);
	free(r.out);
}
END_TEST

START_TEST(no_such_program)
{
	const char *argv[] = {"/nonexistent", NULL};
	struct command_result r;

	ck_assert_int_eq(command_run(argv, 10000, &r), 0);
	ck_assert_int_eq(r.status, 127);
	ck_assert_ptr_nonnull(strstr(r.err, "/nonexistent"));
	free(r.out);
}
END_TEST

static int count_until_three(void *arg, const char *line)
{
	unsigned *n = arg;
	char want[16];

	snprintf(want, sizeof(want), "%u", ++*n);
	ck_assert_str_eq(line, want);
	return *n == 3 ? -EPIPE : 0;
}

/* Each line as it comes: the child waits for ever after the third, and is ended. */
START_TEST(lines_are_seen_at_once)
{
	const char *argv[] = {"/bin/sh", "-c", "echo 1; printf 2; echo; echo 3; exec sleep 1000",
			      NULL};
	const char *brief[] = {"/bin/sh", "-c", "echo 1; printf 2", NULL};
	struct command_result r;
	unsigned n = 0;

	ck_assert_int_eq(command_watch(argv, 60000, count_until_three, &n, &r), -EPIPE);
	ck_assert_uint_eq(n, 3);
	n = 0;
	ck_assert_int_eq(command_watch(brief, 60000, count_until_three, &n, &r), 0);
	ck_assert_uint_eq(n, 1); /* the second is no whole line */
	ck_assert_str_eq(r.out, "1\n2");
	free(r.out);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("command");
	TCase *tcase = tcase_create("command");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, output_and_status);
	tcase_add_test(tcase, input_is_whole);
	tcase_add_test(tcase, much_output_is_whole);
	tcase_add_test(tcase, too_much_output_ends_it);
	tcase_add_test(tcase, time_is_up);
	tcase_add_test(tcase, children_left_behind_do_not_matter);
	tcase_add_test(tcase, no_such_program);
	tcase_add_test(tcase, lines_are_seen_at_once);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
