/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "own_net.h"
#include "engine/rendezvous.h"

static struct rendezvous *fed(const char *text)
{
	struct rendezvous *r;

	ck_assert_int_eq(rendezvous_create(&r, -1), 0);
	ck_assert_int_eq(rendezvous_feed(r, text, strlen(text)), 0);
	return r;
}

START_TEST(lines_become_objects)
{
	struct rendezvous *r = fed("{\"a\":1}\n{\"b\":2}\n{\"c\"");
	json_t *message;

	ck_assert_int_eq(rendezvous_next(r, &message), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(message, "a")), 1);
	json_decref(message);
	ck_assert_int_eq(rendezvous_next(r, &message), 1);
	json_decref(message);
	ck_assert_int_eq(rendezvous_next(r, &message), 0);
	ck_assert_int_eq(rendezvous_feed(r, ":3}\n", 4), 0);
	ck_assert_int_eq(rendezvous_next(r, &message), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(message, "c")), 3);
	json_decref(message);
	rendezvous_destroy(r);
}
END_TEST

START_TEST(what_is_no_object_is_refused)
{
	static const char *const bad[] = {
		"\n", "[1]\n", "{\"a\":1\n", "{\"a\":1,\"a\":2}\n", "\xff\xfe\n", "1\n"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rendezvous *r = fed(bad[i]);
		json_t *message;

		ck_assert_int_eq(rendezvous_next(r, &message), -EBADMSG);
		rendezvous_destroy(r);
	}
}
END_TEST

START_TEST(an_endless_line_is_refused)
{
	static char block[65536];
	struct rendezvous *r;
	json_t *message;

	memset(block, ' ', sizeof(block));
	ck_assert_int_eq(rendezvous_create(&r, -1), 0);
	for (size_t fed_bytes = 0; fed_bytes < RENDEZVOUS_MAX_LINE; fed_bytes += sizeof(block)) {
		ck_assert_int_eq(rendezvous_next(r, &message), 0);
		ck_assert_int_eq(rendezvous_feed(r, block, sizeof(block)), 0);
	}
	ck_assert_int_eq(rendezvous_next(r, &message), -EMSGSIZE);
	rendezvous_destroy(r);
}
END_TEST

START_TEST(a_limit_can_be_lower)
{
	struct rendezvous *r = fed("{\"a\":1}\n{\"text\":\"of more than 16 bytes\"}\n");
	json_t *message;

	rendezvous_limit(r, 16);
	ck_assert_int_eq(rendezvous_next(r, &message), 1);
	json_decref(message);
	ck_assert_int_eq(rendezvous_next(r, &message), -EMSGSIZE);
	rendezvous_destroy(r);
}
END_TEST

/* A socket that goes to another process takes nothing along that was read already. */
START_TEST(a_socket_is_given_back)
{
	struct rendezvous *r = fed("{");
	char address[32];
	int ends[2];

	ck_assert_int_eq(rendezvous_release(r), -EBUSY);
	rendezvous_destroy(r);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert_int_eq(rendezvous_create(&r, ends[0]), 0);
	ck_assert_int_eq(rendezvous_release(r), ends[0]);
	snprintf(address, sizeof(address), "fd:%d", ends[0]);
	ck_assert_int_eq(rendezvous_connect(address), ends[0]);
	ck_assert_int_eq(rendezvous_connect("fd:x"), -EINVAL);
	ck_assert_int_eq(rendezvous_connect("fd:-1"), -EINVAL);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(both_ways_over_sockets)
{
	for (int i = 0; i < 2; i++) {
		char address[64];
		struct rendezvous *near, *far;
		json_t *message, *sent = json_pack("{s:i}", "x", 7);
		int listener = -1, fd;

		/* a port that is taken is no failure of ours: the next one may be free */
		for (int port = 20000 + getpid() % 20000; listener < 0 && port < 60000; port++) {
			if (i)
				snprintf(address, sizeof(address), "127.0.0.1:%d", port);
			else
				snprintf(address, sizeof(address), "/tmp/check_rendezvous.%d",
					 port);
			listener = rendezvous_listen(address);
		}
		ck_assert_int_ge(listener, 0);
		fd = rendezvous_connect(address);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(rendezvous_create(&near, fd), 0);
		ck_assert_int_eq(rendezvous_create(&far, accept(listener, NULL, NULL)), 0);
		ck_assert_int_eq(rendezvous_receive(far, 0, &message), -ETIMEDOUT);
		ck_assert_int_eq(rendezvous_send(near, sent), 0);
		ck_assert_int_eq(rendezvous_send(near, sent), 0);
		rendezvous_destroy(near);
		for (int j = 0; j < 2; j++) {
			ck_assert_int_eq(rendezvous_receive(far, 5000, &message), 0);
			ck_assert_int_eq(json_integer_value(json_object_get(message, "x")), 7);
			json_decref(message);
		}
		ck_assert_int_eq(rendezvous_receive(far, 5000, &message), -EPIPE);
		rendezvous_destroy(far);
		close(listener);
		json_decref(sent);
		if (i == 0)
			unlink(address);
	}
}
END_TEST

START_TEST(addresses_that_are_none)
{
	ck_assert_int_eq(rendezvous_connect("nowhere"), -EINVAL);
	ck_assert_int_eq(rendezvous_connect("/nonexistent/socket"), -ENOENT);
	ck_assert_int_lt(rendezvous_connect(":1"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rendezvous");
	TCase *tcase = tcase_create("rendezvous");
	SRunner *runner = srunner_create(suite);
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_test(tcase, lines_become_objects);
	tcase_add_test(tcase, what_is_no_object_is_refused);
	tcase_add_test(tcase, an_endless_line_is_refused);
	tcase_add_test(tcase, a_limit_can_be_lower);
	tcase_add_test(tcase, a_socket_is_given_back);
	tcase_add_test(tcase, both_ways_over_sockets);
	tcase_add_test(tcase, addresses_that_are_none);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
