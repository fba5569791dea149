/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections over loopback: what arrives, and when one of them receives nothing. */
#include "engine/tcp_flows.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../own_net.h"

#define FLOWS 8
#define PACE  100 /* bytes every 5 ms */
#define PORT  9000

static struct tcp_flows_received received;

static pid_t start_sender(double seconds)
{
	pid_t pid = fork();
	int err = -ECONNREFUSED;

	if (pid)
		return pid;
	while (err == -ECONNREFUSED)
		err = tcp_flows_send("127.0.0.1", "127.0.0.1", PORT, FLOWS, seconds, PACE);
	_exit(err ? 1 : 0);
}

START_TEST(what_is_sent_arrives)
{
	pid_t sender = start_sender(0.6);
	uint64_t sum = 0;
	int status;

	ck_assert_int_eq(tcp_flows_receive("127.0.0.1", PORT, FLOWS, 0.5, &received), 0);
	ck_assert_uint_eq(received.n_bins, 5);
	for (size_t i = 0; i < received.n_bins; i++) {
		ck_assert_uint_gt(received.bytes[i], 0);
		sum += received.bytes[i];
	}
	ck_assert_uint_ge(sum, FLOWS * PACE);
	ck_assert_double_gt(received.longest_gap_ms, 0);
	ck_assert_int_eq(waitpid(sender, &status, 0), sender);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* The sender stops for good: the gap lasts to the end, though nothing ends it. */
START_TEST(a_gap_lasts_to_the_end)
{
	pid_t sender = start_sender(0.2);

	ck_assert_int_eq(tcp_flows_receive("127.0.0.1", PORT, FLOWS, 0.8, &received), 0);
	ck_assert_double_ge(received.longest_gap_ms, 400);
	ck_assert_double_le(received.longest_gap_ms, 900);
	ck_assert(received.gap_is_open); /* at least so long */
	ck_assert_uint_eq(received.bytes[received.n_bins - 1], 0);
	ck_assert_int_eq(waitpid(sender, NULL, 0), sender);
}
END_TEST

START_TEST(errors_are_returned)
{
	ck_assert_int_eq(tcp_flows_send("127.0.0.1", "127.0.0.1", PORT, 1, 1, 0), -ECONNREFUSED);
	ck_assert_int_eq(tcp_flows_send("x", "127.0.0.1", PORT, 1, 1, 0), -EINVAL);
	ck_assert_int_eq(tcp_flows_send("127.0.0.1", "127.0.0.1", PORT, TCP_FLOWS_MAX + 1, 1, 0),
			 -E2BIG);
	ck_assert_int_eq(tcp_flows_receive("x", PORT, 1, 1, &received), -EINVAL);
	ck_assert_int_eq(tcp_flows_receive("192.0.2.1", PORT, 1, 1, &received), -EADDRNOTAVAIL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp_flows");
	TCase *tc = tcase_create("tcp_flows");
	SRunner *runner = srunner_create(suite);
	int rc = own_net(), failed;

	if (rc)
		return rc;
	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, what_is_sent_arrives);
	tcase_add_test(tc, a_gap_lasts_to_the_end);
	tcase_add_test(tc, errors_are_returned);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
