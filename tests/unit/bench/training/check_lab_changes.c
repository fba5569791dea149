/* SPDX-License-Identifier: BSD-2-Clause */
/* check_lab_changes.c - daemons that ended, counters that wrapped, queues, of texts by hand. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "training/lab_changes.h"

/* Two hosts; what is written for the second one's bgpd, its bytes sent and its queue. */
static const char *text(int pid, const char *tx_bytes, int queued)
{
	static char out[2][1024];
	static unsigned turn;
	char *at = out[turn++ % 2];

	snprintf(at, sizeof(out[0]),
		 "{\"hosts\":[{\"name\":\"s0\",\"devices\":[{\"dev\":\"g0p0s0\",\"tx_bytes\":9,"
		 "\"tx_packets\":1,\"rx_bytes\":9,\"rx_packets\":1,\"device_drops\":0,"
		 "\"queue_drops\":7,\"backlog_bytes\":0}],\"daemons\":[{\"name\":\"fared\","
		 "\"pid\":5,\"rss_bytes\":4096}]},{\"name\":\"l0\",\"devices\":[{\"dev\":"
		 "\"s0g0s0\",\"tx_bytes\":%s,\"tx_packets\":3,\"rx_bytes\":9,\"rx_packets\":1,"
		 "\"device_drops\":0,\"queue_drops\":0,\"backlog_bytes\":%d}],\"daemons\":[{"
		 "\"name\":\"bgpd\",\"pid\":%d,\"rss_bytes\":8192}]}]}",
		 tx_bytes, queued, pid);
	return at;
}

static struct lab_changes between(const char *from, const char *to)
{
	struct lab_changes changes;

	ck_assert_int_eq(lab_changes(from, to, &changes), 0);
	return changes;
}

START_TEST(nothing_happens)
{
	struct lab_changes c = between(text(7, "1000", 0), text(7, "2000", 0));

	ck_assert_uint_eq(c.ended, 0);
	ck_assert_uint_eq(c.smaller, 0);
}
END_TEST

START_TEST(a_crash)
{
	static const char none[] = "{\"hosts\":[{\"name\":\"s0\",\"devices\":[],\"daemons\":[]},"
				   "{\"name\":\"l0\",\"devices\":[],\"daemons\":[]}]}";

	ck_assert_uint_eq(between(text(7, "1000", 0), text(8, "2000", 0)).ended, 1);
	ck_assert_uint_eq(between(text(7, "1000", 0), none).ended, 2);
	ck_assert_uint_eq(between(none, text(7, "1000", 0)).ended, 0);
}
END_TEST

START_TEST(a_counter_of_32_bits_wraps)
{
	ck_assert_uint_eq(between(text(7, "4294967290", 0), text(7, "4", 0)).smaller, 1);
}
END_TEST

struct seen {
	char text[128];
};

static void add(void *arg, const char *host, const char *name, double rss_bytes)
{
	struct seen *s = arg;
	size_t at = strlen(s->text);

	snprintf(s->text + at, sizeof(s->text) - at, "%s %s %.0f;", host, name, rss_bytes);
}

START_TEST(queues_and_daemons)
{
	struct seen seen = {""};
	struct hist bytes;

	hist_init(&bytes);
	ck_assert_int_eq(lab_changes_queues(text(7, "1000", 96), &bytes), 0);
	ck_assert_uint_eq(bytes.n, 2);
	ck_assert_uint_eq(bytes.max, 96);
	ck_assert_int_eq(lab_changes_daemons(text(7, "1000", 0), add, &seen), 0);
	ck_assert_str_eq(seen.text, "s0 fared 4096;l0 bgpd 8192;");
}
END_TEST

START_TEST(what_is_none)
{
	static const char other[] = "{\"hosts\":[{\"name\":\"s9\"}]}",
			  bad[] = "{\"hosts\":[{\"name\":\"s0\",\"devices\":[{\"backlog_bytes\":"
				  "-1}],\"daemons\":[{\"name\":\"fared\"}]}]}";
	struct lab_changes changes;
	struct seen seen = {""};
	struct hist bytes;

	hist_init(&bytes);
	ck_assert_int_eq(lab_changes("", text(7, "1", 0), &changes), -EBADMSG);
	ck_assert_int_eq(lab_changes(text(7, "1", 0), "{}", &changes), -EBADMSG);
	ck_assert_int_eq(lab_changes(other, text(7, "1", 0), &changes), -EBADMSG);
	ck_assert_int_eq(lab_changes_queues("[]", &bytes), -EBADMSG);
	ck_assert_int_eq(lab_changes_queues(bad, &bytes), -EBADMSG);
	ck_assert_int_eq(lab_changes_daemons(bad, add, &seen), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lab_changes");
	TCase *tcase = tcase_create("lab_changes");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, nothing_happens);
	tcase_add_test(tcase, a_crash);
	tcase_add_test(tcase, a_counter_of_32_bits_wraps);
	tcase_add_test(tcase, queues_and_daemons);
	tcase_add_test(tcase, what_is_none);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
