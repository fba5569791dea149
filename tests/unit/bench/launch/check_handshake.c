/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/handshake.h"

static const struct control_auth key = {.secret = "0123456789abcdef", .length = 16},
				 other = {.secret = "another key of.", .length = 16};

/* As admission.c does, for one connection. */
static int admit(struct rendezvous **link, int fd, const char **reason)
{
	struct handshake h;
	int err = handshake_offer(&h, fd);

	if (err) {
		*reason = "no offer";
		return err;
	}
	do {
		struct pollfd p = {.fd = rendezvous_fd(h.link), .events = POLLIN};

		ck_assert_int_eq(poll(&p, 1, 5000), 1);
		err = handshake_admit(&h, &key, link, reason);
	} while (err == -EAGAIN);
	ck_assert_ptr_null(h.link);
	return err;
}

/* Runs the agent's end in a child, with agent_key; what the coordinator's end says. */
static int meet(const struct control_auth *agent_key, int *agent_err, const char **reason)
{
	struct rendezvous *link = NULL;
	int ends[2], status, err;
	pid_t child;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		err = handshake_enter(&link, ends[1], agent_key, reason);
		if (!err) /* more than HELLO_MAX_LINE may follow */
			err = rendezvous_receive(link, 5000, &(json_t *){NULL});
		_exit(-err);
	}
	close(ends[1]);
	err = admit(&link, ends[0], reason);
	if (!err) {
		char text[5000];
		json_t *message;

		memset(text, 'x', sizeof(text));
		text[sizeof(text) - 1] = '\0';
		message = json_pack("{s:s}", "text", text);
		ck_assert_int_eq(rendezvous_send(link, message), 0);
		json_decref(message);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	*agent_err = -WEXITSTATUS(status);
	rendezvous_destroy(link);
	return err;
}

START_TEST(both_have_the_key)
{
	const char *reason = NULL;
	int agent;

	ck_assert_int_eq(meet(&key, &agent, &reason), 0);
	ck_assert_int_eq(agent, 0);
}
END_TEST

START_TEST(another_key_is_refused_at_both_ends)
{
	const char *reason = NULL;
	int agent;

	ck_assert_int_eq(meet(&other, &agent, &reason), -EACCES);
	ck_assert_ptr_nonnull(strstr(reason, "the keys differ"));
	ck_assert_int_eq(agent, -EACCES);
}
END_TEST

/* Somebody who connects and says something else, much, or nothing more. */
START_TEST(strangers_are_refused)
{
	static const char *const lines[] = {"GET / HTTP/1.0\r\n", "{}\n", "[1]\n", NULL, ""};
	char flood[4096];

	memset(flood, 'x', sizeof(flood));
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *text = lines[i] ? lines[i] : flood, *reason = NULL;
		size_t n = lines[i] ? strlen(text) : sizeof(flood);
		struct rendezvous *link = NULL;
		int ends[2], err;

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		ck_assert_int_eq(send(ends[1], text, n, 0), (ssize_t)n);
		shutdown(ends[1], SHUT_WR);
		err = admit(&link, ends[0], &reason);
		ck_assert(err == -EACCES || err == -EBADMSG || err == -EMSGSIZE || err == -EPIPE);
		ck_assert_ptr_nonnull(reason);
		ck_assert_ptr_null(link);
		close(ends[1]);
	}
}
END_TEST

START_TEST(key_files)
{
	struct control_auth loaded;
	char path[] = "/tmp/check_handshake.XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "0123456789abcdef\n", 17), 17);
	ck_assert_int_eq(handshake_key(&loaded, path), 0);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	ck_assert_int_eq(handshake_key(&loaded, path), -EKEYREJECTED);
	ck_assert_int_eq(fchmod(fd, 0600), 0);
	ck_assert_int_eq(ftruncate(fd, 15), 0);
	ck_assert_int_eq(handshake_key(&loaded, path), -EKEYREJECTED);
	close(fd);
	unlink(path);
	ck_assert_int_eq(handshake_key(&loaded, path), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handshake");
	TCase *tcase = tcase_create("handshake");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, both_have_the_key);
	tcase_add_test(tcase, another_key_is_refused_at_both_ends);
	tcase_add_test(tcase, strangers_are_refused);
	tcase_add_test(tcase, key_files);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
