/* SPDX-License-Identifier: BSD-2-Clause */
/* Who says nothing keeps nobody waiting. */
#include "launch/admission.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/handshake.h"

#define SILENT 64u

static const struct control_auth key = {.secret = "0123456789abcdef", .length = 16},
				 other = {.secret = "another key of.", .length = 16};
static struct admission *admission;
static struct sockaddr_in at;
static int listener;

static void setup(void)
{
	socklen_t length = sizeof(at);

	at = (struct sockaddr_in){.sin_family = AF_INET};
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 4 * ADMISSION_MAX), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &length), 0);
	ck_assert_int_eq(admission_create(&admission, listener, &key), 0);
}

static void teardown(void)
{
	admission_destroy(admission);
	close(listener);
}

static int join(const char *from)
{
	struct sockaddr_in source = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(inet_pton(AF_INET, from, &source.sin_addr), 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&source, sizeof(source)), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* An agent, as a process of its own; its exit status is 0 if it was admitted. */
static pid_t begin_agent(const char *from, const struct control_auth *with)
{
	pid_t child = fork();

	if (!child) {
		struct rendezvous *link;
		const char *reason;

		_exit(handshake_enter(&link, join(from), with, &reason) != 0);
	}
	return child;
}

static bool was_admitted(pid_t child)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status) == 0;
}

/* Until one is admitted, or none of the agents is left; milliseconds. */
static long admitted_after_ms(void)
{
	struct timespec begin, end;
	struct rendezvous *link = NULL;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (admission_next(admission, &link)) {
		struct pollfd polled[ADMISSION_POLLED];

		ck_assert_int_ge(poll(polled, admission_polled(admission, polled), 1000), 0);
		clock_gettime(CLOCK_MONOTONIC, &end);
		ck_assert_int_lt(end.tv_sec - begin.tv_sec, 60);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	rendezvous_destroy(link);
	return (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
}

START_TEST(those_that_say_nothing_keep_nobody_waiting)
{
	pid_t child;

	for (unsigned i = 0; i < SILENT; i++)
		join("127.0.0.2");
	child = begin_agent("127.0.0.1", &key);
	ck_assert_int_lt(admitted_after_ms(), ADMISSION_MS);
	ck_assert(was_admitted(child));
}
END_TEST

/* More than there is room for: those of the flood go, and not the one that came first. */
START_TEST(a_flood_displaces_its_own)
{
	int first = join("127.0.0.1"), fds[4 * ADMISSION_MAX / 2];
	struct rendezvous *link;
	char byte;
	pid_t child;

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		fds[i] = join("127.0.0.2");
		ck_assert_int_eq(admission_next(admission, &link), -EAGAIN);
	}
	/* it has the offer, and was not closed */
	while (recv(first, &byte, 1, MSG_DONTWAIT) > 0)
		continue;
	ck_assert_int_eq(errno, EAGAIN);
	child = begin_agent("127.0.0.1", &key);
	ck_assert_int_lt(admitted_after_ms(), ADMISSION_MS);
	ck_assert(was_admitted(child));
}
END_TEST

START_TEST(another_key_is_refused_and_who_has_it_is_not)
{
	pid_t wrong = begin_agent("127.0.0.2", &other), right = begin_agent("127.0.0.1", &key);

	admitted_after_ms();
	ck_assert(was_admitted(right));
	kill(wrong, SIGKILL);
	waitpid(wrong, NULL, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admission");
	TCase *tc = tcase_create("admission");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, those_that_say_nothing_keep_nobody_waiting);
	tcase_add_test(tc, a_flood_displaces_its_own);
	tcase_add_test(tc, another_key_is_refused_and_who_has_it_is_not);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
