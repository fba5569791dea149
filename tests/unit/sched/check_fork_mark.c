/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork_mark.h"

START_TEST(a_copy_is_not_its_own)
{
	struct fork_mark mark, child_mark;
	int status;
	pid_t child;

	ck_assert_int_eq(fork_mark_init(&mark), 0);
	ck_assert(fork_mark_is_own(&mark));
	child = fork();
	if (!child) {
		bool fine = !fork_mark_is_own(&mark) && !fork_mark_init(&child_mark) &&
			    fork_mark_is_own(&child_mark) && !fork_mark_is_own(&mark);

		fork_mark_fini(&mark);
		_exit(fine ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert(fork_mark_is_own(&mark));
	fork_mark_fini(&mark);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fork_mark");
	TCase *t = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(t, a_copy_is_not_its_own);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
