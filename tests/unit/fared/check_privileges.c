/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whom files are given to, by root and by others, who may do that with groups of theirs alone; and
 * which capabilities are left.
 */
#include "privileges.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHER_UID ((uid_t)64001)
#define OTHER	  ((uid_t)64002)
#define OURS	  ((gid_t)64003)
#define FOREIGN	  ((gid_t)64004)
#define NONE	  ((gid_t)-1)

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

	ck_assert_int_eq(lchown(path, OTHER_UID, OTHER_UID), 0);
	ck_assert_int_eq(setgroups(1, &ours), 0);
	ck_assert_int_eq(setresgid(OTHER_UID, OTHER_UID, OTHER_UID), 0);
	ck_assert_int_eq(setresuid(OTHER_UID, OTHER_UID, OTHER_UID), 0);
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
	ck_assert_int_eq(privileges_give(path, OTHER_UID, OURS), 0);
	assert_is_of(OTHER_UID, OURS);
	ck_assert_int_eq(privileges_give(path, OTHER, NONE), 0);
	assert_is_of(OTHER, OURS);
}
END_TEST

START_TEST(a_user_gives_to_a_group_of_its_own)
{
	become_somebody();
	ck_assert_int_eq(privileges_give(path, OTHER, NONE), 0);
	assert_is_of(OTHER_UID, OTHER_UID);
	ck_assert_int_eq(privileges_give(path, OTHER, OURS), 0);
	assert_is_of(OTHER_UID, OURS);
}
END_TEST

START_TEST(and_is_told_where_it_is_no_member)
{
	become_somebody();
	ck_assert_int_eq(privileges_give(path, OTHER_UID, FOREIGN), -EPERM);
	assert_is_of(OTHER_UID, OTHER_UID);
}
END_TEST

static bool is_effective(cap_value_t c)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t now = cap_get_proc();

	ck_assert_int_eq(cap_get_flag(now, c, CAP_EFFECTIVE, &value), 0);
	cap_free(now);
	return value == CAP_SET;
}

/* Permitted, effective, inheritable and ambient sets hold that one, or nothing (-1). */
static void assert_capabilities(int kept)
{
	cap_t now = cap_get_proc(), expected = cap_init();
	cap_value_t c = kept;

	if (kept >= 0)
		ck_assert(!cap_set_flag(expected, CAP_PERMITTED, 1, &c, CAP_SET) &&
			  !cap_set_flag(expected, CAP_EFFECTIVE, 1, &c, CAP_SET));
	ck_assert_int_eq(cap_compare(now, expected), 0);
	for (c = 0; cap_get_bound(c) >= 0; c++)
		ck_assert_int_eq(cap_get_ambient(c), 0);
	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	cap_free(now);
	cap_free(expected);
}

static int resolve(struct privileges *p, const char *user, const char *group, const char *bmp_user,
		   char *why, size_t size)
{
	const struct privileges_names names = {user, group, "", "", bmp_user};

	return privileges_resolve(p, &names, why, size);
}

static void drop(const char *user)
{
	struct privileges p;
	char why[200] = "";

	ck_assert_int_eq(resolve(&p, user, "", "", why, sizeof(why)), 0);
	ck_assert_msg(!privileges_drop(&p, why, sizeof(why)), "%s", why);
}

/* As a service manager starts an ordinary user with AmbientCapabilities=. */
static void become_somebody_with_ambient_capabilities(void)
{
	const cap_value_t given[] = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_DAC_OVERRIDE, CAP_SETUID};
	cap_t caps = cap_init();

	ck_assert_int_eq(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), 0);
	become_somebody();
	for (int set = CAP_EFFECTIVE; set <= CAP_INHERITABLE; set++)
		ck_assert_int_eq(cap_set_flag(caps, (cap_flag_t)set, 4, given, CAP_SET), 0);
	ck_assert_int_eq(cap_set_proc(caps), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(cap_set_ambient(given[i], CAP_SET), 0);
	cap_free(caps);
	ck_assert(is_effective(CAP_NET_ADMIN));
}

START_TEST(ambient_capabilities_are_given_up)
{
	become_somebody_with_ambient_capabilities();
	drop("");
	assert_capabilities(-1);
	ck_assert_uint_eq(geteuid(), OTHER_UID);
}
END_TEST

START_TEST(root_that_stays_root_keeps_one)
{
	ck_assert(is_effective(CAP_DAC_OVERRIDE));
	drop("");
	assert_capabilities(CAP_DAC_OVERRIDE);
	drop("root"); /* the user that it is */
	assert_capabilities(CAP_DAC_OVERRIDE);
	ck_assert_uint_eq(geteuid(), 0);
}
END_TEST

START_TEST(root_that_becomes_a_user_keeps_none)
{
	drop("nobody");
	assert_capabilities(-1);
	ck_assert_uint_ne(geteuid(), 0);
}
END_TEST

START_TEST(names_are_looked_up)
{
	struct privileges_names names = {"", "", "", "", ""};
	struct privileges p;
	char why[200] = "";

	ck_assert_int_eq(resolve(&p, "", "", "root", why, sizeof(why)), 0);
	ck_assert_uint_eq(p.bmp_uid, 0);
	ck_assert_int_eq(resolve(&p, "", "", "64123", why, sizeof(why)), 0);
	ck_assert_uint_eq(p.bmp_uid, 64123);
	ck_assert_int_eq(resolve(&p, "", "", "4294967295", why, sizeof(why)), -ENOENT);
	ck_assert_int_eq(resolve(&p, "", "", "-1", why, sizeof(why)), -ENOENT);
	why[0] = '\0';
	ck_assert_int_eq(resolve(&p, "", "", "", why, sizeof(why)), 0); /* frr or none */
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(resolve(&p, "", "", "no such", why, sizeof(why)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "bgp.bmp_user: no user 'no such' here"));
	ck_assert_int_eq(resolve(&p, "no such", "", "", why, sizeof(why)), -ENOENT);
	ck_assert_int_eq(resolve(&p, "", "no such", "", why, sizeof(why)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "group: no group 'no such' here"));
	names.operator_group = "no such";
	ck_assert_int_eq(privileges_resolve(&p, &names, why, sizeof(why)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "operator_group: no group 'no such' here"));
	names = (struct privileges_names){"", "root", "daemon", "root", ""};
	ck_assert_int_eq(privileges_resolve(&p, &names, why, sizeof(why)), 0);
	ck_assert_uint_eq(p.socket_gid, 0);
	ck_assert_uint_eq(p.attach_gid, 1);
	ck_assert_uint_eq(p.operator_gid, 0);
	/* of a container, which has no name for it */
	names = (struct privileges_names){"", "", "", "64012", ""};
	ck_assert_int_eq(privileges_resolve(&p, &names, why, sizeof(why)), 0);
	ck_assert_uint_eq(p.operator_gid, 64012);
	names.operator_group = "64012x";
	ck_assert_int_eq(privileges_resolve(&p, &names, why, sizeof(why)), -ENOENT);
}
END_TEST

static unsigned long locked_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[200];

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %lu kB", &kb);
	fclose(f);
	return kb;
}

/* And memory that is mapped after privileges are gone is neither refused nor left out. */
START_TEST(memory_is_locked)
{
	const size_t size = 64 << 20;
	char *more;

#if defined(__SANITIZE_ADDRESS__)
	puts("skipped: under the address sanitizer mlockall() does nothing");
	return;
#endif
	if (!is_effective(CAP_SYS_RESOURCE) || !is_effective(CAP_IPC_LOCK)) {
		puts("skipped: this root has no CAP_SYS_RESOURCE or CAP_IPC_LOCK");
		return;
	}
	ck_assert_uint_eq(locked_kb(), 0);
	ck_assert_int_eq(privileges_lock_memory(), 0);
	ck_assert_uint_gt(locked_kb(), 0);
	drop("nobody");
	more = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(more, MAP_FAILED);
	ck_assert_uint_ge(locked_kb(), size >> 10);
}
END_TEST

START_TEST(memory_is_not_locked_where_the_limit_stands)
{
	const struct rlimit low = {1 << 16, 1 << 16};

	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &low), 0);
	become_somebody();
	ck_assert_int_eq(privileges_lock_memory(), -EPERM);
	ck_assert_uint_eq(locked_kb(), 0);
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
	tcase_add_test(tc, names_are_looked_up);
	tcase_add_test(tc, ambient_capabilities_are_given_up);
	tcase_add_test(tc, root_that_stays_root_keeps_one);
	tcase_add_test(tc, root_that_becomes_a_user_keeps_none);
	tcase_add_test(tc, memory_is_locked);
	tcase_add_test(tc, memory_is_not_locked_where_the_limit_stands);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
