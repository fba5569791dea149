/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines: one line each whatever the text, levels, and the budget for what others trigger. */
#include "log.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char text[1 << 16];

static const char *written(int fd)
{
	ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static int lines(const char *t)
{
	int n = 0;

	for (; *t; t++)
		n += *t == '\n';
	return n;
}

START_TEST(a_line_is_a_line)
{
	static char longer[3 * LOG_LINE_MAX];
	struct log log;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	log_init(&log, ends[1], LOG_INFO);
	log_line(&log, LOG_NOTICE, "path", "plane=%d text=%s", 2, "a\n<0>forged\x1b[2J");
	ck_assert_str_eq(written(ends[0]), "<5>path: plane=2 text=a?<0>forged?[2J\n");
	memset(longer, 'x', sizeof(longer) - 1);
	log_line(&log, LOG_ERR, "path", "%s", longer);
	ck_assert_int_eq(lines(written(ends[0])), 1);
	ck_assert_uint_le(strlen(text), LOG_LINE_MAX);
	log_line(&log, LOG_DEBUG, "path", "not at this level");
	log_line(&log, LOG_INFO, "path", "end");
	ck_assert_str_eq(written(ends[0]), "<6>path: end\n");
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(a_terminal_gets_no_priorities)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), terminal;
	struct log log;
	size_t n = 0;
	ssize_t got;

	ck_assert_int_ge(master, 0);
	ck_assert(!grantpt(master) && !unlockpt(master));
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	ck_assert_int_ge(terminal, 0);
	log_init(&log, terminal, LOG_INFO);
	log_line(&log, LOG_ERR, "config", "f.yaml:1");
	while (n < sizeof(text) - 1 &&
	       !memchr(text, '\n', n)) { /* the kernel hands it on by and by */
		got = read(master, text + n, sizeof(text) - 1 - n);
		ck_assert_int_gt(got, 0);
		n += (size_t)got;
	}
	text[n] = '\0';
	ck_assert_str_eq(text, "config: f.yaml:1\r\n");
	close(terminal);
	close(master);
}
END_TEST

/* Whatever comes, and however it falls on the clock: no second has more than ten lines. */
START_TEST(no_second_has_more_than_ten_lines)
{
	uint64_t now = UINT64_C(1000000000000);
	struct log log;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	log_init(&log, ends[1], LOG_INFO);
	for (int i = 0; i < 1000; i++)
		log_line_at(&log, now + (uint64_t)i * 999999, LOG_INFO, "bmp", "bad message");
	ck_assert_int_eq(lines(written(ends[0])), LOG_PER_SECOND);
	log_flush(&log, now + 999999999);
	ck_assert_str_eq(written(ends[0]), "");
	now += UINT64_C(1000000000);
	log_flush(&log, now);
	ck_assert_str_eq(written(ends[0]),
			 "<6>log: lines left out by the rate limit topic=bmp n=990\n");
	log_flush(&log, now);
	ck_assert_str_eq(written(ends[0]), "");
	/* the first line of the former second is a second old; the second one is not */
	log_line_at(&log, now, LOG_INFO, "bmp", "one");
	log_line_at(&log, now, LOG_INFO, "bmp", "two");
	ck_assert_str_eq(written(ends[0]), "<6>bmp: one\n");
	log.is_whole = true;
	for (int i = 0; i < 100; i++)
		log_line_at(&log, now, LOG_INFO, "bmp", "finding");
	ck_assert_int_eq(lines(written(ends[0])), 101); /* with the one that was left out */
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* By the clock as well. */
START_TEST(a_line_has_a_time)
{
	struct log log;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	log_init(&log, ends[1], LOG_INFO);
	for (int i = 0; i < 1000; i++)
		log_line(&log, LOG_INFO, "bmp", "bad message");
	ck_assert_int_le(lines(written(ends[0])), 2 * LOG_PER_SECOND);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* Who fills the budget of one topic and priority hides no other lines. */
START_TEST(each_topic_and_priority_has_its_own_budget)
{
	uint64_t now = UINT64_C(1000000000000);
	char topic[24];
	struct log log;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	log_init(&log, ends[1], LOG_INFO);
	for (int i = 0; i < 1000; i++)
		log_line_at(&log, now, LOG_INFO, "control", "client dropped");
	ck_assert_int_eq(lines(written(ends[0])), LOG_PER_SECOND);
	log_line_at(&log, now, LOG_NOTICE, "path", "ok -> probe-down");
	ck_assert_str_eq(written(ends[0]), "<5>path: ok -> probe-down\n");
	log_line_at(&log, now, LOG_WARNING, "control", "no descriptor");
	ck_assert_str_eq(written(ends[0]), "<4>control: no descriptor\n");
	/* more topics than there are budgets: bounded all the same */
	for (int i = 0; i < 100; i++)
		for (int line = 0; line < 100; line++) {
			snprintf(topic, sizeof(topic), "topic%d", i);
			log_line_at(&log, now, LOG_INFO, topic, "x");
		}
	ck_assert_int_le(lines(written(ends[0])), LOG_BUDGETS * LOG_PER_SECOND);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* The reader of a pipe, or of a socket as the journal has, is stopped: lines are dropped. */
static void drops_lines_of(int reading, int writing)
{
	int flags = fcntl(writing, F_GETFL), n_given = 0;
	struct log log;
	ssize_t n;

	log_init(&log, writing, LOG_INFO);
	log.is_whole = true;
	while (!log.untaken) {
		log_line(&log, LOG_INFO, "path", "%0*d", 900, n_given);
		n_given++;
	}
	log_line(&log, LOG_INFO, "path", "left out");
	log_line(&log, LOG_INFO, "path", "left out");
	ck_assert_uint_eq(log.untaken, 3);
	ck_assert_int_eq(fcntl(writing, F_GETFL), flags); /* which others share */
	do						  /* the reader goes on */
		n = recv(reading, text, sizeof(text), MSG_DONTWAIT);
	while (n > 0);
	if (errno == ENOTSOCK)
		for (n = 0; n < n_given - 1;)
			n += lines(written(reading));
	log_line(&log, LOG_INFO, "path", "end");
	ck_assert_str_eq(written(reading),
			 "<4>log: lines dropped, the log's reader is slow n=3\n<6>path: end\n");
	ck_assert_uint_eq(log.untaken, 0);
	close(reading);
	close(writing);
}

START_TEST(a_reader_that_is_stopped_stops_nobody)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	drops_lines_of(ends[0], ends[1]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	drops_lines_of(ends[0], ends[1]);
}
END_TEST

START_TEST(levels_have_names)
{
	ck_assert_int_eq(log_level_parse("warning"), LOG_WARNING);
	ck_assert_int_eq(log_level_parse("WARNING"), -1);
	ck_assert_str_eq(log_level_name(LOG_ERR), "err");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("log");
	TCase *tc = tcase_create("lines");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, a_line_is_a_line);
	tcase_add_test(tc, a_terminal_gets_no_priorities);
	tcase_add_test(tc, no_second_has_more_than_ten_lines);
	tcase_add_test(tc, a_line_has_a_time);
	tcase_add_test(tc, each_topic_and_priority_has_its_own_budget);
	tcase_add_test(tc, a_reader_that_is_stopped_stops_nobody);
	tcase_add_test(tc, levels_have_names);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
