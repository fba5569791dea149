/* SPDX-License-Identifier: BSD-2-Clause */
/* A listening socket: its file's owner and mode from the first moment, and what is left behind. */
#include "control_listener.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY ((gid_t)-1)

static char dir[] = "/tmp/check_control_listener.XXXXXX";
static char path[64];
static struct control_listener listener;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.sock", dir);
}

static void teardown(void)
{
	ck_assert_int_eq(rmdir(dir), 0); /* nothing is left there */
}

static unsigned mode_of(const char *file)
{
	struct stat st;

	ck_assert_int_eq(stat(file, &st), 0);
	return st.st_mode & 07777;
}

START_TEST(its_mode_is_for_its_group_or_its_owner)
{
	mode_t mask = umask(0);

	ck_assert_int_eq(control_listener_open(&listener, dir, "x.sock", geteuid(), NOBODY), 0);
	ck_assert_uint_eq(mode_of(path), 0600);
	control_listener_close(&listener);
	umask(0777);
	ck_assert_int_eq(control_listener_open(&listener, dir, "x.sock", geteuid(), getegid()), 0);
	ck_assert_uint_eq(mode_of(path), 0660);
	control_listener_close(&listener);
	umask(mask);
}
END_TEST

START_TEST(what_a_former_daemon_left_is_replaced)
{
	struct control_listener former;

	ck_assert_int_eq(control_listener_open(&former, dir, "x.sock", geteuid(), NOBODY), 0);
	close(former.fd); /* it was killed */
	ck_assert_int_eq(control_listener_open(&listener, dir, "x.sock", geteuid(), NOBODY), 0);
	control_listener_close(&listener);
}
END_TEST

START_TEST(errors_leave_nothing_behind)
{
	char longer[200];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ck_assert_int_eq(control_listener_open(&listener, dir, longer, geteuid(), NOBODY),
			 -ENAMETOOLONG);
	ck_assert_int_eq(control_listener_open(&listener, "/nonexistent", "x", geteuid(), NOBODY),
			 -ENOENT);
}
END_TEST

START_TEST(credentials_are_the_kernels)
{
	static const struct control_groups none = {NOBODY, NOBODY, NOBODY};
	struct control_client who;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert(control_listener_admit(ends[0], &none, &who));
	ck_assert_int_eq(who.role, CONTROL_OPERATOR); /* of our own uid */
	ck_assert_int_eq(who.pid, getpid());
	ck_assert_int_eq(who.attached, -1);
	close(ends[0]);
	close(ends[1]);
	ck_assert(!control_listener_admit(-1, &none, &who));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_listener");
	TCase *tc = tcase_create("listener");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, its_mode_is_for_its_group_or_its_owner);
	tcase_add_test(tc, what_a_former_daemon_left_is_replaced);
	tcase_add_test(tc, errors_leave_nothing_behind);
	tcase_add_test(tc, credentials_are_the_kernels);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
