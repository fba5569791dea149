/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel counts, and what passes for time to spare. */
#include "cpu_idle.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What cpu_idle_read() makes of a file that says so. */
static int read_text(const char *text, uint64_t *idle, uint64_t *all)
{
	FILE *file = tmpfile();
	int rc;

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fflush(file);
	rc = cpu_idle_read(fileno(file), idle, all);
	fclose(file);
	return rc;
}

START_TEST(nice_work_is_time_to_spare)
{
	uint64_t idle, all;

	/* user nice system idle iowait irq softirq steal */
	ck_assert_int_eq(
		read_text("cpu  1 20 300 4000 50000 600000 7000000 80000000 0 0\ncpu0 9 9 9\n",
			  &idle, &all),
		0);
	ck_assert_uint_eq(idle, 20 + 4000 + 50000);
	ck_assert_uint_eq(all, 87654321);
}
END_TEST

START_TEST(what_is_not_understood_is_refused)
{
	static const char *const texts[] = {"", "cpu", "cpu 1 2 3 4 5 6 7", "intr 1 2 3 4 5 6 7 8",
					    "cpu a b c d e f g h"};
	uint64_t idle, all;

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(read_text(texts[i], &idle, &all), -EBADMSG);
	ck_assert_int_eq(cpu_idle_read(-1, &idle, &all), -EBADF);
}
END_TEST

START_TEST(the_real_one_moves)
{
	uint64_t idle, all, later;
	int fd = cpu_idle_open();

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(cpu_idle_read(fd, &idle, &all), 0);
	ck_assert_uint_le(idle, all);
	do
		ck_assert_int_eq(cpu_idle_read(fd, &idle, &later), 0);
	while (later <= all);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu_idle");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, nice_work_is_time_to_spare);
	tcase_add_test(tc, what_is_not_understood_is_refused);
	tcase_add_test(tc, the_real_one_moves);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
