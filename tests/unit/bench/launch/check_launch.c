/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/launch.h"

START_TEST(templates_are_filled)
{
	char out[128];

	ck_assert_int_eq(launch_fill("srun -w {host} {agent}", "h1", "x 'y'", out, sizeof(out)), 0);
	ck_assert_str_eq(out, "srun -w h1 x 'y'");
	ck_assert_int_eq(launch_fill("{agent} {unknown} {host", "h1", "x", out, sizeof(out)), 0);
	ck_assert_str_eq(out, "x {unknown} {host");
	ck_assert_int_eq(launch_fill("srun {host}", "h1", "x", out, sizeof(out)), -EINVAL);
	ck_assert_int_eq(launch_fill("{agent} {host}", "h1", "x", out, 4), -ENAMETOOLONG);
}
END_TEST

/* A shell reads each option as it was meant, whatever a path contains. */
START_TEST(lines_survive_a_shell)
{
	char dir[] = "/tmp/check launch'$x.XXXXXX", path[128], line[LAUNCH_LINE_MAX],
	     read[512] = "";
	char command[2 * LAUNCH_LINE_MAX], want[512];
	struct launch_options o = {.inventory = path, .listen = "h:1", .key = path};
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/f", dir);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
	ck_assert_int_eq(launch_line(&o, "h0", line, sizeof(line)), 0);
	snprintf(command, sizeof(command), "set -- %s; shift; printf '%%s|' \"$@\"", line);
	file = popen(command, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(read, sizeof(read), file));
	pclose(file);
	snprintf(want, sizeof(want), "agent|--connect|h:1|--key|%s|--hosts|%s|--name|h0|", path,
		 path);
	ck_assert_str_eq(read, want);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(launch_line(&o, "h0", line, sizeof(line)), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("launch");
	TCase *tcase = tcase_create("launch");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, templates_are_filled);
	tcase_add_test(tcase, lines_survive_a_shell);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
