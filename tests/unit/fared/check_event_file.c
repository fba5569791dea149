/* SPDX-License-Identifier: BSD-2-Clause */
/* Events outlive the daemon; what is in the file is checked as what a stranger says. */
#include "event_file.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define SLOT (sizeof(struct event) + 8)
#define HEAD 16

static char dir[64], path[80], why[400];
static struct event_file *file;
static uint64_t seqs[2 * EVENTS_MAX];
static struct event last;
static size_t n;

static void on_former(void *arg, const struct event *event)
{
	(void)arg;
	ck_assert_uint_lt(n, EVENTS_MAX);
	seqs[n++] = event->seq;
	last = *event;
}

static int reopen(void)
{
	event_file_close(file);
	n = 0;
	return event_file_open(&file, dir, geteuid(), on_former, NULL, why, sizeof(why));
}

static void put(uint64_t seq)
{
	struct event e = {.seq = seq,
			  .mono_ns = 5,
			  .wall_ns = 6,
			  .priority = LOG_NOTICE,
			  .plane = 3,
			  .n = 2,
			  .topic = "path",
			  .subject = "g0->198.19.0.2",
			  .from = "ok",
			  .to = "no-route",
			  .reason = "B\xc3\xbc"
				    "cher",
			  .evidence = "none"};

	ck_assert_int_eq(event_file_put(file, &e), 0);
}

/* Bytes of the file as it is on disk. */
static void spoil(size_t at, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, bytes, length, (off_t)at), (ssize_t)length);
	close(fd);
}

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/check_event_file.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" EVENT_FILE_NAME, dir);
	file = NULL;
	ck_assert_int_eq(reopen(), 0);
	ck_assert_uint_eq(n, 0);
}

static void teardown(void)
{
	event_file_close(file);
	unlink(path);
	rmdir(dir);
}

START_TEST(what_was_put_comes_back)
{
	struct stat st;

	for (uint64_t seq = 1; seq <= 3; seq++)
		put(seq);
	ck_assert_int_eq(reopen(), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(seqs[0], 1);
	ck_assert_uint_eq(last.seq, 3);
	ck_assert_int_eq(last.plane, 3);
	ck_assert_str_eq(last.subject, "g0->198.19.0.2");
	ck_assert_str_eq(last.reason, "B\xc3\xbc"
				      "cher");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
}
END_TEST

START_TEST(of_many_the_last_ones)
{
	struct stat st;

	for (uint64_t seq = 1; seq <= 3 * EVENTS_MAX + 5; seq++)
		put(seq);
	ck_assert_int_eq(reopen(), 0);
	ck_assert_uint_eq(n, EVENTS_MAX);
	ck_assert_uint_eq(seqs[0], 2 * EVENTS_MAX + 6);
	ck_assert_uint_eq(last.seq, 3 * EVENTS_MAX + 5);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq((uint64_t)st.st_size, HEAD + EVENTS_MAX * SLOT);
}
END_TEST

#define AT(seq, field) (HEAD + (seq)*SLOT + offsetof(struct event, field))

/* Each spoils event 2 of 3; the others stay. */
static const struct {
	size_t at;
	const char *bytes;
	size_t length;
} spoils[] = {
	{AT(2, seq), "\x09\0\0\0\0\0\0\0", 8},
	{AT(2, seq), "\x02\x04\0\0\0\0\0\0", 8}, /* of that slot, but not whole */
	{AT(3, seq) - 8, "\x03\0\0\0\0\0\0\0", 8},
	{AT(2, wall_ns), "\xff\xff\xff\xff\xff\xff\xff\xff", 8},
	{AT(2, mono_ns), "\xff\xff\xff\xff\xff\xff\xff\xff", 8},
	{AT(2, priority), "\x08\0\0\0", 4},
	{AT(2, plane), "\x10\0\0\0", 4},
	{AT(2, plane), "\xfe\xff\xff\xff", 4},
	{AT(2, n), "\0\0\0\0", 4},
	{AT(2, n), "\xff\xff\xff\xff", 4},
	{AT(2, topic), "abcdefghijkl", 12}, /* without an end */
	{AT(2, reason), "\xc3(", 2},
	{AT(2, evidence), "\xff", 1},
};

START_TEST(a_slot_that_is_wrong_is_left_out)
{
	for (uint64_t seq = 1; seq <= 3; seq++)
		put(seq);
	spoil(spoils[_i].at, spoils[_i].bytes, spoils[_i].length);
	ck_assert_int_eq(reopen(), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(seqs[0], 1);
	ck_assert_uint_eq(seqs[1], 3);
}
END_TEST

START_TEST(a_file_that_ends_early_is_read_so_far)
{
	for (uint64_t seq = 1; seq <= 3; seq++)
		put(seq);
	ck_assert_int_eq(truncate(path, (off_t)(HEAD + 3 * SLOT + 7)), 0);
	ck_assert_int_eq(reopen(), 0);
	ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(another_layout_begins_anew)
{
	put(1);
	spoil(8, "\x01", 1);
	ck_assert_int_eq(reopen(), 0);
	ck_assert_uint_eq(n, 0);
	put(7);
	ck_assert_int_eq(reopen(), 0);
	ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(a_regular_file_of_ours_alone)
{
	char other[96];

	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(reopen(), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "not a file of ours; remove it"));
	ck_assert_ptr_null(file);
	ck_assert_int_eq(unlink(path), 0);
	snprintf(other, sizeof(other), "%s/other", dir);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert_int_eq(reopen(), -ELOOP);
	ck_assert_int_eq(access(other, F_OK), -1);
	ck_assert_int_eq(unlink(path), 0);
	if (geteuid() == 0) {
		close(open(path, O_WRONLY | O_CREAT, 0666));
		ck_assert_int_eq(chown(path, 64001, 64001), 0);
		ck_assert_int_eq(reopen(), -EINVAL);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("event_file");
	TCase *tc = tcase_create("file");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_was_put_comes_back);
	tcase_add_test(tc, of_many_the_last_ones);
	tcase_add_loop_test(tc, a_slot_that_is_wrong_is_left_out, 0,
			    sizeof(spoils) / sizeof(spoils[0]));
	tcase_add_test(tc, a_file_that_ends_early_is_read_so_far);
	tcase_add_test(tc, another_layout_begins_anew);
	tcase_add_test(tc, a_regular_file_of_ours_alone);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
