/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom files are given to, by root and by others, who may do that with groups of theirs alone. */
#include "privileges.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOMEBODY ((uid_t)64001)
#define OTHER	 ((uid_t)64002)
#define OURS	 ((gid_t)64003)
#define FOREIGN	 ((gid_t)64004)
#define NONE	 ((gid_t)-1)

static char path[64];

static void setup(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/check_privileges.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

/* For good: each test is a process of its own. */
static void become_somebody(void)
{
	const gid_t ours = OURS;

	ck_assert_int_eq(lchown(path, SOMEBODY, SOMEBODY), 0);
	ck_assert_int_eq(setgroups(1, &ours), 0);
	ck_assert_int_eq(setresgid(SOMEBODY, SOMEBODY, SOMEBODY), 0);
	ck_assert_int_eq(setresuid(SOMEBODY, SOMEBODY, SOMEBODY), 0);
}

static void assert_is_of(uid_t uid, gid_t gid)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, uid);
	ck_assert_uint_eq(st.st_gid, gid);
}

START_TEST(root_gives_to_user_and_group)
{
	ck_assert_int_eq(privileges_give(path, SOMEBODY, OURS), 0);
	assert_is_of(SOMEBODY, OURS);
	ck_assert_int_eq(privileges_give(path, OTHER, NONE), 0);
	assert_is_of(OTHER, OURS);
}
END_TEST

START_TEST(a_user_gives_to_a_group_of_its_own)
{
	become_somebody();
	ck_assert_int_eq(privileges_give(path, OTHER, NONE), 0);
	assert_is_of(SOMEBODY, SOMEBODY);
	ck_assert_int_eq(privileges_give(path, OTHER, OURS), 0);
	assert_is_of(SOMEBODY, OURS);
}
END_TEST

START_TEST(and_is_told_where_it_is_no_member)
{
	become_somebody();
	ck_assert_int_eq(privileges_give(path, SOMEBODY, FOREIGN), -EPERM);
	assert_is_of(SOMEBODY, SOMEBODY);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("privileges");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	if (geteuid() != 0) {
		puts("skipped: it takes root to become somebody else");
		return 77;
	}
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, root_gives_to_user_and_group);
	tcase_add_test(tc, a_user_gives_to_a_group_of_its_own);
	tcase_add_test(tc, and_is_told_where_it_is_no_member);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
