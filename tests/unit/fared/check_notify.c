/* SPDX-License-Identifier: BSD-2-Clause */
/* The service manager's socket: what is sent, and that nothing is sent where nobody listens. */
#include "notify.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

START_TEST(ready_arrives)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/check_notify.XXXXXX", text[64] = "";
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/n", dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	ck_assert_int_eq(notify_send("READY=1"), 0);
	ck_assert_int_eq(recv(fd, text, sizeof(text) - 1, 0), 7);
	ck_assert_str_eq(text, "READY=1");
	close(fd);
	ck_assert_int_eq(notify_send("READY=1"), -ECONNREFUSED);
	unlink(at.sun_path);
	rmdir(dir);
}
END_TEST

/* What is said once waits for room; what is said again does not. */
START_TEST(a_full_queue)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	uint64_t before;
	char name[64];

	snprintf(name, sizeof(name), "@check_notify.%d", (int)getpid());
	memcpy(at.sun_path + 1, name + 1, strlen(name) - 1);
	ck_assert_int_eq(
		bind(fd, (struct sockaddr *)&at, (socklen_t)(sizeof(at.sun_family) + strlen(name))),
		0);
	setenv("NOTIFY_SOCKET", name, 1);
	while (!notify_watchdog())
		;
	ck_assert_int_eq(notify_status("full"), -EAGAIN);
	before = clock_now_ns();
	ck_assert_int_eq(notify_send("READY=1"), -EAGAIN); /* but not for ever */
	ck_assert_uint_ge(clock_now_ns() - before, 90000000);
	ck_assert_int_ge(recv(fd, name, sizeof(name), 0), 0);
	ck_assert_int_eq(notify_send("READY=1"), 0);
	close(fd);
}
END_TEST

START_TEST(each_message_is_one_datagram)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "@check_notify"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	char text[512], name[64];

	snprintf(name, sizeof(name), "@check_notify.%d", (int)getpid());
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", name);
	at.sun_path[0] = '\0'; /* abstract */
	ck_assert_int_eq(
		bind(fd, (struct sockaddr *)&at, (socklen_t)(sizeof(at.sun_family) + strlen(name))),
		0);
	setenv("NOTIFY_SOCKET", name, 1);
	ck_assert(notify_has_manager());
	ck_assert_int_eq(notify_reloading(UINT64_C(12345678901)), 0);
	text[recv(fd, text, sizeof(text) - 1, 0)] = '\0';
	ck_assert_str_eq(text, "RELOADING=1\nMONOTONIC_USEC=12345678");
	ck_assert_int_eq(notify_status("%d peers\nREADY=1", 3), 0);
	text[recv(fd, text, sizeof(text) - 1, 0)] = '\0';
	ck_assert_str_eq(text, "STATUS=3 peers READY=1"); /* no second assignment */
	ck_assert_int_eq(notify_status("%0400d", 1), 0);
	ck_assert_int_lt(recv(fd, text, sizeof(text) - 1, 0), 256);
	close(fd);
	unsetenv("NOTIFY_SOCKET");
	ck_assert(!notify_has_manager());
}
END_TEST

START_TEST(no_manager_no_message)
{
	unsetenv("NOTIFY_SOCKET");
	ck_assert_int_eq(notify_send("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "relative", 1);
	ck_assert_int_eq(notify_send("READY=1"), -EINVAL);
}
END_TEST

START_TEST(the_watchdog_is_half_its_period_and_ours)
{
	char pid[16];

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "2000000", 1);
	ck_assert_uint_eq(notify_watchdog_ns(), 1000000000);
	setenv("WATCHDOG_USEC", "2s", 1);
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "2000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	ck_assert_uint_eq(notify_watchdog_ns(), 1000000000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("notify");
	TCase *tc = tcase_create("socket");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, ready_arrives);
	tcase_add_test(tc, a_full_queue);
	tcase_add_test(tc, each_message_is_one_datagram);
	tcase_add_test(tc, no_manager_no_message);
	tcase_add_test(tc, the_watchdog_is_half_its_period_and_ours);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
